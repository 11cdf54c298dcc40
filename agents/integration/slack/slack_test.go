package slack_test

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/agents/integration/integrationtest"
	"github.com/magpie-search/magpie/agents/integration/slack"
)

type message = map[string]any

// workspace is a Slack with the channels C1, which everybody reads, and C2 of Ada.
type workspace struct {
	messages  map[string][]message
	reactions []string
	next      int
}

func (s *workspace) sees(person, channel string) bool {
	return channel == "C1" || channel == "C2" && person == "ada"
}

func failed(code string) integrationtest.Answer { return integrationtest.Refused(http.StatusOK, code) }

func setup(t *testing.T) integrationtest.Setup {
	t.Helper()
	s := &workspace{next: 100, messages: map[string][]message{
		"C1": {{"type": "message", "user": "U1", "text": "The build is green", "ts": "1.0", "reply_count": 1}, {"type": "message", "user": "U2", "text": "Good", "ts": "2.0", "thread_ts": "1.0"}},
		"C2": {{"type": "message", "user": "U1", "text": "Only Ada reads this build", "ts": "3.0"}},
	}}
	stub := &integrationtest.Stub{
		Unstatused: true,
		Authorized: integrationtest.Bearer(map[string]string{"xoxp-ada-1": "ada", "xoxp-eve-2": "eve", "xoxe-granted-3": "ada"}),
		Failure: func(status int, text string) any {
			if status == http.StatusUnauthorized {
				text = "invalid_auth"
			}
			return message{"ok": false, "error": text}
		},
	}
	ok := func(fields message) integrationtest.Answer {
		fields["ok"] = true
		return integrationtest.Answer{Body: fields}
	}
	stub.Handle("POST /api/auth.test", func(*integrationtest.Call) integrationtest.Answer { return ok(message{"user_id": "U1"}) })
	stub.Handle("GET /api/search.messages query count", func(c *integrationtest.Call) integrationtest.Answer {
		found := []message{}
		for channel, all := range s.messages {
			for _, m := range all {
				if s.sees(c.Person, channel) && strings.Contains(m["text"].(string), c.Query.Get("query")) {
					found = append(found, message{"text": m["text"], "ts": m["ts"], "channel": message{"id": channel, "name": "general"}, "permalink": "https://acme.slack.com/archives/" + channel})
				}
			}
		}
		return ok(message{"messages": message{"total": len(found), "matches": found}})
	})
	stub.Handle("GET /api/conversations.list exclude_archived types limit cursor", func(c *integrationtest.Call) integrationtest.Answer {
		all := []message{{"id": "C1", "name": "general", "is_member": true, "topic": message{"value": "All"}}}
		if c.Person == "ada" {
			all = append(all, message{"id": "C2", "name": "board", "is_private": true})
		}
		return ok(message{"channels": all, "response_metadata": message{"next_cursor": ""}})
	})
	read := func(c *integrationtest.Call) integrationtest.Answer {
		limit, err := strconv.Atoi(c.Query.Get("limit"))
		switch {
		case err != nil || limit < 1:
			return failed("invalid_arguments")
		case !s.sees(c.Person, c.Query.Get("channel")):
			return failed("channel_not_found")
		}
		found := []message{}
		for _, m := range s.messages[c.Query.Get("channel")] {
			if ts := c.Query.Get("ts"); !c.Query.Has("ts") || m["ts"] == ts || m["thread_ts"] == ts {
				found = append(found, m)
			}
		}
		if len(found) == 0 {
			return failed("thread_not_found")
		}
		return ok(message{"messages": found, "has_more": false})
	}
	stub.Handle("GET /api/conversations.history channel limit", read)
	stub.Handle("GET /api/conversations.replies channel ts limit", read)
	stub.Handle("POST /api/chat.postMessage", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct {
			Channel  string `json:"channel"`
			Text     string `json:"text"`
			Thread   string `json:"thread_ts"`
			Unfurl   bool   `json:"unfurl_links"`
			Metadata struct {
				Type    string            `json:"event_type"`
				Payload map[string]string `json:"event_payload"`
			} `json:"metadata"`
		}
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !s.sees(c.Person, in.Channel):
			return failed("channel_not_found")
		case in.Text == "" || in.Metadata.Type == "":
			return failed("no_text")
		}
		s.next++
		ts := strconv.Itoa(s.next) + ".0"
		s.messages[in.Channel] = append(s.messages[in.Channel], message{"text": in.Text, "ts": ts, "thread_ts": in.Thread, "metadata": in.Metadata.Payload})
		return ok(message{"channel": in.Channel, "ts": ts})
	})
	stub.Handle("POST /api/reactions.add", func(c *integrationtest.Call) integrationtest.Answer {
		var in struct{ Channel, Timestamp, Name string }
		switch {
		case !c.Decode(&in):
			return c.Invalid()
		case !s.sees(c.Person, in.Channel):
			return failed("channel_not_found")
		case slices.Contains(s.reactions, in.Timestamp+in.Name):
			return failed("already_reacted")
		case in.Timestamp != "1.0":
			return failed("message_not_found")
		}
		s.reactions = append(s.reactions, in.Timestamp+in.Name)
		return ok(message{})
	})
	return integrationtest.Setup{
		Provider: slack.Provider(), Server: stub, Token: "xoxe-granted-3",
		Config:      func(url string) map[string]any { return map[string]any{"apiUrl": url + "/api"} },
		Credentials: map[string]string{"token": "xoxp-ada-1"}, Other: map[string]string{"token": "xoxp-eve-2"},
		Examples: map[string]integrationtest.Example{
			"search_messages": {Arguments: `{"query": "build", "limit": 5}`, Want: []string{"The build is green", "https://acme.slack.com/archives/C1"}, Own: "Only Ada"},
			"list_channels":   {Arguments: `{"cursor": "abc"}`, Want: []string{`"C1"`}, Own: "board"},
			"read_channel":    {Arguments: `{"channel": "C2", "limit": 5}`, Own: "Only Ada"},
			"read_thread":     {Arguments: `{"channel": "C1", "thread_ts": "1.0", "limit": 5}`, Want: []string{"Good"}},
			"post_message":    {Arguments: `{"channel": "C1", "text": "Hello\n*all*"}`, Want: []string{`"ts":`}},
			"reply":           {Arguments: `{"channel": "C1", "thread_ts": "1.0", "text": "Thanks"}`, Want: []string{`"ts":`}},
			"add_reaction":    {Arguments: `{"channel": "C1", "ts": "1.0", "emoji": "eyes"}`, Want: []string{"eyes"}},
		},
	}
}

func TestSlackPassesTheSuite(t *testing.T) {
	t.Parallel()
	integrationtest.Run(t, setup)
}

func TestRefusalsOfSlackAreExplained(t *testing.T) {
	t.Parallel()
	f := integrationtest.Start(t, setup)
	for arguments, want := range map[string]string{
		`{"channel":"C9"}`: "Slack does not have this, or the credentials may not see it: channel_not_found.",
	} {
		if got := f.Fails(t, "read_channel", arguments); got != want {
			t.Errorf("%s: %s", arguments, got)
		}
	}
	f.Call(t, "post_message", `{"channel": "C1", "text": "A new message"}`)
	if text := f.Call(t, "read_channel", `{"channel": "C1"}`); !strings.Contains(text, "A new message") {
		t.Errorf("the message is not there: %s", text)
	}
}
