package rehearsal

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	slackTeam    = "T024BE7LD"
	slackUser    = "U2147483697"
	slackChannel = "C024BE91L"
	slackToken   = "xoxb-stand-in" //nolint:gosec // of the stand-in
)

// slack is a stand-in of Slack with one channel and one person, who presses buttons.
type slack struct {
	stage  *Stage
	url    string // of the methods
	secret string // by which its requests are signed
	person string // mail address of the person

	mu       sync.Mutex
	messages []*message
	view     object // the form that is open
	waiters  chan struct{}
}

// message is a message in the channel.
type message struct {
	ts, text string
	value    string // of its buttons; empty when it has none
	unknown  bool   // asks about an unknown outcome
}

func newSlack(stage *Stage) *slack {
	return &slack{stage: stage, secret: rand.Text(), waiters: make(chan struct{})}
}

// ServeHTTP answers the methods that approvals use.
func (s *slack) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer := func(o object) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(o) // the caller may be gone
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err != nil || r.Header.Get("Authorization") != "Bearer "+slackToken {
		answer(object{"ok": false, "error": "invalid_auth"})
		return
	}
	switch method := strings.TrimPrefix(r.URL.Path, "/api/"); method {
	case "auth.test":
		answer(object{"ok": true})
	case "users.info":
		answer(object{"ok": true, "user": object{"id": slackUser, "team_id": slackTeam, "is_email_confirmed": true, "profile": object{"email": s.person}}})
	case "views.open":
		var in struct {
			View object `json:"view"`
		}
		if json.Unmarshal(body, &in) != nil {
			answer(object{"ok": false, "error": "invalid_json"})
			return
		}
		s.change(func() { s.view = in.View })
		answer(object{"ok": true})
	case "chat.postMessage", "chat.update":
		var in posted
		if json.Unmarshal(body, &in) != nil || in.Channel != slackChannel {
			answer(object{"ok": false, "error": "channel_not_found"})
			return
		}
		if method == "chat.postMessage" && s.stage.reach(PointPosting) {
			return
		}
		ts := s.keep(in)
		if method == "chat.postMessage" && s.stage.reach(PointPosted) {
			return
		}
		answer(object{"ok": true, "ts": ts, "channel": in.Channel})
	default:
		answer(object{"ok": false, "error": "unknown_method"})
	}
}

// posted is a message that is posted or replaces the one with its ts.
type posted struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
	Text    string `json:"text"`
	Blocks  []struct {
		Type string `json:"type"`
		Text struct {
			Text string `json:"text"`
		} `json:"text"`
		Elements []struct {
			Value string `json:"value"`
		} `json:"elements"`
	} `json:"blocks"`
}

func (s *slack) keep(in posted) (ts string) {
	m := &message{ts: in.TS, text: in.Text}
	for _, b := range in.Blocks {
		m.unknown = m.unknown || strings.Contains(b.Text.Text, "not known whether it took effect")
		if b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			if e.Value != "" {
				m.value = e.Value
			}
		}
	}
	s.change(func() {
		if m.ts == "" {
			m.ts = fmt.Sprintf("%d.%06d", time.Now().Unix(), len(s.messages)+1)
			s.messages = append(s.messages, m)
			return
		}
		for i, old := range s.messages {
			if old.ts == m.ts {
				s.messages[i] = m
			}
		}
	})
	return m.ts
}

// change changes the state and wakes who waits for it.
func (s *slack) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.waiters)
	s.waiters = make(chan struct{})
}

// await waits until find returns something, under the lock.
func await[T any](ctx context.Context, s *slack, what string, find func() (T, bool)) (T, error) {
	for {
		s.mu.Lock()
		found, ok := find()
		changed := s.waiters
		s.mu.Unlock()
		if ok {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		}
	}
}

// question waits for a message with buttons whose value is not among the known ones.
func (s *slack) question(ctx context.Context, known map[string]bool) (message, error) {
	return await(ctx, s, "a question in Slack", func() (message, bool) {
		for _, m := range s.messages {
			if m.value != "" && !known[m.value] {
				return *m, true
			}
		}
		return message{}, false
	})
}

// count returns the number of messages.
func (s *slack) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.messages)
}

// press presses a button of a question, and sends the form that it may open.
func (s *slack) press(ctx context.Context, magpie, button string, m message) error {
	s.change(func() { s.view = nil })
	actions := []object{{"action_id": button, "value": m.value}}
	if err := s.interact(ctx, magpie, object{
		"type": "block_actions", "trigger_id": "1", "channel": object{"id": slackChannel}, "message": object{"ts": m.ts}, "actions": actions,
	}); err != nil || button == "approve" {
		return err
	}
	view, err := await(ctx, s, "a form in Slack", func() (object, bool) { return s.view, s.view != nil })
	if err != nil {
		return err
	}
	return s.interact(ctx, magpie, object{"type": "view_submission", "view": view})
}

// interact sends a signed request, as Slack does for what its person did.
func (s *slack) interact(ctx context.Context, magpie string, payload object) error {
	payload["team"], payload["user"] = object{"id": slackTeam}, object{"id": slackUser, "team_id": slackTeam}
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	body, stamp := url.Values{"payload": {string(text)}}.Encode(), strconv.FormatInt(time.Now().Unix(), 10)
	mac := hmac.New(sha256.New, []byte(s.secret))
	_, _ = mac.Write([]byte("v0:" + stamp + ":" + body)) // never fails
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, magpie+"/api/v1/webhooks/slack/approvals", strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("X-Slack-Request-Timestamp", stamp)
	request.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if said, err := io.ReadAll(io.LimitReader(response.Body, 1<<16)); err != nil || response.StatusCode != http.StatusOK || len(said) > 0 {
		return fmt.Errorf("the button was answered with %d %s", response.StatusCode, said)
	}
	return nil
}

// outcomes waits until a number of messages after the first ones have no buttons any more,
// and returns their texts.
func (s *slack) outcomes(ctx context.Context, first, number int) ([]string, error) {
	return await(ctx, s, "the outcomes in Slack", func() ([]string, bool) {
		out := []string{}
		for _, m := range s.messages[first:] {
			if m.value == "" {
				out = append(out, m.text)
			}
		}
		return out, len(out) >= number
	})
}
