package slack_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

type object = map[string]any

// standIn answers as Slack does for what the package uses of it: it knows a token,
// channels, users, messages, triggers and response addresses, and refuses what exceeds
// Slack's limits.
type standIn struct {
	t *testing.T

	mu        sync.Mutex
	token     string
	channels  map[string]bool
	users     map[string]object
	messages  map[string]object // by channel and ts
	posted    int
	triggers  map[string]bool
	views     []object
	responses map[string][]object // by the path of a response address
	calls     map[string]int
	fail      map[string][]string // errors of the next calls of a method; "429" and "500" are statuses
}

func newStandIn(t *testing.T) *standIn {
	return &standIn{
		t: t, token: "xoxb-1", channels: map[string]bool{"C024BE91L": true}, users: map[string]object{}, messages: map[string]object{},
		triggers: map[string]bool{}, responses: map[string][]object{}, calls: map[string]int{}, fail: map[string][]string{},
	}
}

// RoundTrip implements http.RoundTripper.
func (s *standIn) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case r.URL.Scheme == "https" && r.URL.Host == "hooks.slack.com":
		s.respond(w, r.URL.Path, body)
	case r.URL.Scheme == "https" && r.URL.Host == "slack.com" && strings.HasPrefix(r.URL.Path, "/api/"):
		s.method(w, r, strings.TrimPrefix(r.URL.Path, "/api/"), body)
	default:
		s.t.Errorf("a request to %s", r.URL.Host)
		w.WriteHeader(http.StatusNotFound)
	}
	return w.Result(), nil
}

func (s *standIn) respond(w http.ResponseWriter, path string, body []byte) {
	var message object
	if json.Unmarshal(body, &message) != nil || len(s.responses[path]) == 5 {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	s.responses[path] = append(s.responses[path], message)
	_, _ = io.WriteString(w, "ok")
}

func (s *standIn) method(w http.ResponseWriter, r *http.Request, method string, body []byte) {
	s.calls[method]++
	answer := func(o object) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_ = json.NewEncoder(w).Encode(o)
	}
	refuse := func(code string) { answer(object{"ok": false, "error": code}) }
	if failures := s.fail[method]; len(failures) > 0 {
		s.fail[method] = failures[1:]
		switch failures[0] {
		case "429":
			w.Header().Set("Retry-After", "40")
			w.WriteHeader(http.StatusTooManyRequests)
		case "500":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			refuse(failures[0])
		}
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+s.token {
		refuse("invalid_auth")
		return
	}
	var in object
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") && len(body) > 0 && json.Unmarshal(body, &in) != nil {
		refuse("invalid_json")
		return
	}
	text := func(field string) string { v, _ := in[field].(string); return v }
	switch method {
	case "auth.test":
		answer(object{"ok": true})
	case "users.info":
		form, _ := url.ParseQuery(string(body))
		if u := s.users[form.Get("user")]; u != nil {
			answer(object{"ok": true, "user": u})
			return
		}
		refuse("user_not_found")
	case "chat.postMessage", "chat.update":
		s.message(method, text("channel"), text("ts"), in, answer, refuse)
	case "views.open":
		view, _ := in["view"].(object)
		switch {
		case !s.triggers[text("trigger_id")]:
			refuse("expired_trigger_id")
		case s.exceeds(view["blocks"]) || length(view["private_metadata"]) > 3000 || length(textOf(view["title"])) > 24 || view["type"] != "modal":
			refuse("invalid_arguments")
		default:
			delete(s.triggers, text("trigger_id"))
			s.views = append(s.views, view)
			answer(object{"ok": true, "view": object{"id": "V1"}})
		}
	default:
		refuse("unknown_method")
	}
}

func (s *standIn) message(method, channel, ts string, in object, answer func(object), refuse func(string)) {
	switch {
	case !s.channels[channel]:
		refuse("channel_not_found")
		return
	case s.exceeds(in["blocks"]):
		refuse("invalid_blocks")
		return
	case method == "chat.postMessage":
		s.posted++
		ts = nameOf(s.posted)
	case s.messages[channel+ts] == nil:
		refuse("message_not_found")
		return
	}
	s.messages[channel+ts] = in
	answer(object{"ok": true, "channel": channel, "ts": ts})
}

// nameOf returns the name of the n-th message.
func nameOf(n int) string { return fmt.Sprintf("1700000000.%06d", n) }

func length(v any) int {
	text, _ := v.(string)
	return utf8.RuneCountInString(text)
}

func textOf(v any) any {
	o, _ := v.(object)
	return o["text"]
}

// exceeds reports whether blocks are not as Slack takes them.
func (s *standIn) exceeds(v any) bool {
	blocks, ok := v.([]any)
	if !ok || len(blocks) == 0 || len(blocks) > 50 {
		return true
	}
	for _, b := range blocks {
		block, _ := b.(object)
		element, _ := block["element"].(object)
		elements, _ := block["elements"].([]any)
		switch block["type"] {
		case "header":
			ok = length(textOf(block["text"])) <= 150
		case "section":
			ok = length(textOf(block["text"])) <= 3000
		case "input":
			ok = length(textOf(block["label"])) <= 2000 && length(element["initial_value"]) <= 3000 && element["max_length"] == 3000.0
		case "context":
			ok = len(elements) <= 10
		case "actions":
			ok = len(elements) <= 25
			for _, e := range elements {
				button, _ := e.(object)
				ok = ok && length(textOf(button["text"])) > 0 && length(textOf(button["text"])) <= 75 && length(button["value"]) <= 2000
			}
		default:
			ok = false
		}
		if !ok {
			s.t.Errorf("Slack would refuse %v", block)
			return true
		}
	}
	return false
}

// shown returns the messages of all channels as texts.
func (s *standIn) shown() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for _, key := range slices.Sorted(maps.Keys(s.messages)) {
		text, _ := json.Marshal(s.messages[key])
		out = append(out, string(text))
	}
	return out
}

// whispered returns what was sent to the person of a response address.
func (s *standIn) whispered(path string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := json.Marshal(s.responses[path])
	return string(text)
}

// button returns the value of a button of the first message; empty for none.
func (s *standIn) button(action string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, message := range s.messages {
		blocks, _ := message["blocks"].([]any)
		for _, b := range blocks {
			block, _ := b.(object)
			elements, _ := block["elements"].([]any)
			for _, e := range elements {
				if button, _ := e.(object); button["action_id"] == action {
					value, _ := button["value"].(string)
					return value
				}
			}
		}
	}
	return ""
}
