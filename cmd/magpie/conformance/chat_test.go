package conformance_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/rest"
)

// event is one of a stream.
type event struct {
	name string
	data map[string]any
	raw  string
}

// events reads a stream's body; every line has to be one of the format.
func events(t testing.TB, body string) []event {
	t.Helper()
	var all []event
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		var e event
		for line := range strings.SplitSeq(block, "\n") {
			switch {
			case strings.HasPrefix(line, "event: "):
				e.name = line[len("event: "):]
			case strings.HasPrefix(line, "data: "):
				e.raw += line[len("data: "):]
			case !strings.HasPrefix(line, ":"):
				t.Errorf("the stream has the line %q", line)
			}
		}
		if e.name == "" {
			continue
		}
		if err := json.Unmarshal([]byte(e.raw), &e.data); err != nil {
			t.Errorf("event %s: %s: %v", e.name, e.raw, err)
		}
		all = append(all, e)
	}
	return all
}

// talk asks and gives the events of an answer that has to succeed.
func talk(t testing.TB, s *site, body string, headers ...string) (answer, []event) {
	t.Helper()
	a := s.post(t, chatPath, body, headers...)
	if a.status != 200 {
		t.Fatalf("%.200s: %d %s", body, a.status, a.body)
	}
	sound(t, "chat", a)
	if got := a.header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("Content-Type is %q", got)
	}
	return a, events(t, a.body)
}

func only(t testing.TB, all []event, name string) event {
	t.Helper()
	var of []event
	for _, e := range all {
		if e.name == name {
			of = append(of, e)
		}
	}
	if len(of) != 1 {
		t.Fatalf("%d events %s in %v", len(of), name, all)
	}
	return of[0]
}

const ask = `{"message":"How is the signing key rotated?"}`

func chatCases() map[string]check {
	return map[string]check{
		"4 POST /v1/chat/stream": func(t *testing.T, s *site) {
			_, all := talk(t, s, `{"message":"How is the signing key rotated?","model":"x","system_prompt":"y","stream":false,"conversation_id":null,"collection":null}`)
			var order []string
			for _, e := range all {
				if len(order) == 0 || order[len(order)-1] != e.name {
					order = append(order, e.name)
				}
			}
			if want := []string{"content", "sources", "follow_up", "done"}; !slices.Equal(order, want) {
				t.Errorf("the events come as %v", order)
			}
			for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "PATCH"} {
				a := s.do(t, call{method, chatPath, "", s.keyed(nil)})
				if a.status != 405 || a.header.Get("Allow") != "POST" {
					t.Errorf("%s: %d, Allow %q", method, a.status, a.header.Get("Allow"))
				}
			}
		},
		"4 chat: any origin by CORS": func(t *testing.T, s *site) { anyOrigin(t, s, chatPath) },
		"4 chat: message": func(t *testing.T, s *site) {
			for what, body := range map[string]string{
				"missing": `{}`, "no body": "", "null": `{"message":null}`, "empty": `{"message":""}`, "blank": `{"message":" \n\t\u2003"}`, "number": `{"message":4}`,
				"list": `{"message":["a"]}`, "object": `{"message":{"text":"a"}}`, "NUL": `{"message":"a\u0000"}`, "invisible": `{"message":"\u200b\u200b"}`,
			} {
				invalid(t, what, s.post(t, chatPath, body), "message")
			}
			for _, text := range []string{"?", "🦊", "the of and", "'; drop table", "<script>", "data: x\n\nevent: done\ndata: {}\n\n", "\u2028\u2029\r\r\n"} {
				body, err := json.Marshal(map[string]string{"message": text + "?"})
				must(t, err)
				_, all := talk(t, s, string(body))
				only(t, all, "done")
			}
		},
		"4 chat: conversation_id": func(t *testing.T, s *site) {
			a, all := talk(t, s, ask)
			id := a.header.Get("X-Conversation-Id")
			again, more := talk(t, s, `{"message":"And how often?","conversation_id":"`+strings.ToUpper(id)+`"}`)
			if got := again.header.Get("X-Conversation-Id"); got != id || only(t, more, "done").data["conversation_id"] != id || only(t, all, "done").data["conversation_id"] != id {
				t.Errorf("the conversation %s goes on as %s", id, got)
			}
			other := s.key(t, map[string]any{"rateLimitPerMinute": 0})
			refused(t, "of another key", s.post(t, chatPath, `{"message":"And?","conversation_id":"`+id+`"}`, "X-Service-Key", other.Secret), 404, "not_found", "Conversation not found")
			refused(t, "unknown", s.post(t, chatPath, `{"message":"And?","conversation_id":"`+uuid.NewString()+`"}`), 404, "not_found", "Conversation not found")
			for _, bad := range []string{`""`, `"x"`, `1`, `{}`} {
				invalid(t, bad, s.post(t, chatPath, `{"message":"And?","conversation_id":`+bad+`}`), "conversation_id")
			}
		},
		"4 chat: collection": func(t *testing.T, s *site) {
			both := s.key(t, map[string]any{"allowedCollections": []string{s.docs.id, s.notes.id}, "rateLimitPerMinute": 0})
			_, all := talk(t, s, `{"message":"What does the note say of marmalade?","collection":"`+s.notes.id+`"}`, "X-Service-Key", both.Secret)
			if raw := only(t, all, "sources").raw; !strings.Contains(raw, "A note") {
				t.Errorf("pinned to the notes: %s", raw)
			}
			_, all = talk(t, s, `{"message":"What does the note say of marmalade?"}`, "X-Service-Key", both.Secret)
			if raw := only(t, all, "sources").raw; strings.Contains(raw, "A note") {
				t.Errorf("not pinned it looks into the default collection: %s", raw)
			}
			refused(t, "outside", s.post(t, chatPath, `{"message":"x","collection":"`+s.notes.id+`"}`), 403, "forbidden", "Collection access denied")
			for _, bad := range []string{`""`, `"docs"`, `1`, `[]`} {
				invalid(t, bad, s.post(t, chatPath, `{"message":"x","collection":`+bad+`}`), "collection")
			}
		},
		"4 chat: model and prompt come from the key": func(t *testing.T, _ *site) {
			model := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"It is rotated ", "once a year [1]."}, Usage: &[2]int{7, 5}})
			s := start(t, map[string]string{"LLM_BASE_URL": model.URL, "LLM_MODEL": "small", "LLM_MODELS": "large", "ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"})
			s.put(t, s.docs, library()...)
			k := s.key(t, map[string]any{"widgetModelId": "large", "widgetContext": "Speak like a lighthouse keeper.", "rateLimitPerMinute": 0})
			talk(t, s, `{"message":"How is the signing key rotated?","model":"small","widget_context":"Forget it."}`, "X-Service-Key", k.Secret)
			seen := fmt.Sprint(model.Requests())
			if len(model.Requests()) == 0 || !strings.Contains(seen, "model:large") || strings.Contains(seen, "model:small") || !strings.Contains(seen, "lighthouse keeper") || strings.Contains(seen, "Forget it") {
				t.Errorf("the model saw %s", seen)
			}
		},
		"6 content": func(t *testing.T, s *site) {
			_, all := talk(t, s, ask)
			text := ""
			for _, e := range all {
				if delta, ok := e.data["delta"].(string); e.name == "content" {
					if !ok || len(e.data) != 1 {
						t.Errorf("content is %s", e.raw)
					}
					text += delta
				}
			}
			if !strings.Contains(text, "rotated once a year") || !strings.Contains(text, "[1]") {
				t.Errorf("the answer is %q", text)
			}
		},
		"6 sources": func(t *testing.T, s *site) {
			_, all := talk(t, s, ask)
			list, _ := only(t, all, "sources").data["sources"].([]any)
			if len(list) == 0 {
				t.Fatalf("no sources in %v", all)
			}
			for _, one := range list {
				source, _ := one.(map[string]any)
				if _, err := uuid.Parse(fmt.Sprint(source["id"])); err != nil || len(source) != 3 || source["title"] == "" {
					t.Errorf("a source is %v", one)
				}
				if address, listed := source["url"]; !listed || source["title"] == "Rotate the signing key" && address != "https://example.com/keys" {
					t.Errorf("its address is %v", address)
				}
			}
			_, all = talk(t, s, `{"message":"Quetzalcoatl xylophone Timbuktu?"}`)
			if list, ok := only(t, all, "sources").data["sources"].([]any); !ok || list == nil {
				t.Errorf("sources of an answer without any: %s", only(t, all, "sources").raw)
			}
		},
		"6 follow_up": func(t *testing.T, s *site) {
			for _, message := range []string{ask, `{"message":"Quetzalcoatl xylophone Timbuktu?"}`} {
				_, all := talk(t, s, message)
				questions, ok := only(t, all, "follow_up").data["questions"].([]any)
				if !ok {
					t.Errorf("follow_up is %s", only(t, all, "follow_up").raw)
				}
				for _, q := range questions {
					if text, ok := q.(string); !ok || text == "" {
						t.Errorf("a question is %v", q)
					}
				}
			}
		},
		"6 done": func(t *testing.T, s *site) {
			a, all := talk(t, s, ask)
			done := all[len(all)-1]
			usage, _ := done.data["usage"].(map[string]any)
			prompt, one := usage["prompt_tokens"].(float64)
			completion, two := usage["completion_tokens"].(float64)
			total, three := usage["total_tokens"].(float64)
			if done.name != "done" || !one || !two || !three || prompt < 0 || completion < 0 || total != prompt+completion || total != float64(int(total)) {
				t.Errorf("done is %s", done.raw)
			}
			if done.data["conversation_id"] != a.header.Get("X-Conversation-Id") {
				t.Errorf("%s is not %s", done.raw, a.header.Get("X-Conversation-Id"))
			}
		},
		"6 errors on the stream are safe": func(t *testing.T, _ *site) { streamFails(t) },
		"design stream error event":       func(t *testing.T, _ *site) { streamFails(t) },
		"8 message length": func(t *testing.T, s *site) {
			for _, letter := range []string{"a", "ü", "語", "🦊", "\u0301"} {
				body := func(n int) string { return `{"message":"` + strings.Repeat(letter, n-1) + `?"}` }
				_, all := talk(t, s, body(4000))
				only(t, all, "done")
				invalid(t, letter, s.post(t, chatPath, body(4001)), "message")
			}
			escaped := `{"message":"` + strings.Repeat(`\ud83e\udd8a`, 4000) + `"}`
			_, all := talk(t, s, escaped)
			only(t, all, "done")
			invalid(t, "a million", s.post(t, chatPath, `{"message":"`+strings.Repeat("a", 1_000_000)+`"}`), "message")
		},
		"design conversation_id on chat": func(t *testing.T, s *site) {
			a, _ := talk(t, s, ask, "X-Service-Key", s.open.Publishable, "Origin", origin)
			if _, err := uuid.Parse(a.header.Get("X-Conversation-Id")); err != nil {
				t.Errorf("X-Conversation-Id: %v", err)
			}
			if !listed(a.header.Get("Access-Control-Expose-Headers"), "X-Conversation-Id") {
				t.Errorf("CORS exposes %q", a.header.Get("Access-Control-Expose-Headers"))
			}
			if early := s.post(t, chatPath, `{"message":""}`); early.header.Get("X-Conversation-Id") != "" {
				t.Error("a refused message has a conversation")
			}
		},
		"design streams": func(t *testing.T, _ *site) {
			hold := make(chan struct{})
			defer close(hold)
			model := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"It is rotated "}, HoldAfter: hold})
			s := start(t, map[string]string{"LLM_BASE_URL": model.URL, "LLM_MODEL": "small", "ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"})
			s.put(t, s.docs, library()...)
			quick := s.with(t, func(o *rest.Options) { o.Limits.KeepAlive = 20 * time.Millisecond })
			ctx, leave := context.WithTimeout(t.Context(), time.Minute)
			defer leave()
			r := quick.request(t, call{http.MethodPost, chatPath, ask, s.keyed(nil)}).WithContext(ctx)
			response, err := quick.client.Do(r)
			must(t, err)
			defer func() { _ = response.Body.Close() }()
			lines, comments, text := bufio.NewScanner(response.Body), 0, false
			for (comments < 3 || !text) && lines.Scan() { // the text says that the model is at work
				text = text || strings.HasPrefix(lines.Text(), "data: ")
				if strings.HasPrefix(lines.Text(), ":") {
					comments++
				}
			}
			if comments < 3 || response.Header.Get("X-Accel-Buffering") != "no" || response.Header.Get("Cache-Control") == "" {
				t.Errorf("%d comments, %v", comments, response.Header)
			}
			leave()
			_, _ = io.Copy(io.Discard, response.Body)
			testkit.Receive(t, "the model's request to be canceled", model.Gone())
		},
	}
}

// streamFails breaks a model off in the middle of an answer.
func streamFails(t *testing.T) {
	t.Helper()
	model := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"It is rotated "}, Cut: true})
	s := start(t, map[string]string{"LLM_BASE_URL": model.URL, "LLM_MODEL": "small", "LLM_API_KEY": "hunter2", "ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"})
	s.put(t, s.docs, library()...)
	_, all := talk(t, s, ask)
	last := all[len(all)-1]
	fields, _ := last.data["error"].(map[string]any)
	code, _ := fields["code"].(string)
	text, _ := fields["message"].(string)
	if last.name != "error" || len(last.data) != 1 || len(fields) != 2 || code == "" || text == "" {
		t.Fatalf("the stream ends with %s %s", last.name, last.raw)
	}
	for _, secret := range []string{"127.0.0.1", "hunter2", "EOF", "small", "http"} {
		if strings.Contains(last.raw, secret) {
			t.Errorf("the error tells %q: %s", secret, last.raw)
		}
	}
}
