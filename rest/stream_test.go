package rest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/rest"
)

func chat(body string) *http.Request {
	return request(http.MethodPost, "/v1/chat/stream", body, "X-Service-Key", secretKey)
}

const chatBody = `{"message":"What are queues?"}`

// answerChat sets the events of chats. An error is a GraphQL error.
func (h *fixture) answerChat(events ...any) {
	h.chat = func(ctx context.Context, _ call) (any, error) { return stream(ctx, events...), nil }
}

// names returns the names of the events of a stream.
func names(body string) string {
	var out []string
	for line := range strings.Lines(body) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "event: "); ok {
			out = append(out, name)
		}
	}
	return strings.Join(out, " ")
}

func TestErrorsBeforeTheFirstEventAreErrorResponses(t *testing.T) {
	t.Parallel()
	start := object{"__typename": "ChatStart", "conversationId": conversationID}
	for name, c := range map[string]struct {
		chat func(ctx context.Context, c call) (any, error)
		want refusal
	}{
		"refused": {func(context.Context, call) (any, error) { return nil, apierr.NotFound("Conversation") }, refusal{404, "not_found", "Conversation not found"}},
		"quota": {func(context.Context, call) (any, error) {
			return nil, apierr.New(apierr.QuotaExceeded, "Query limit exceeded")
		}, refusal{402, "quota_exceeded", "Query limit exceeded"}},
		"unknown": {func(context.Context, call) (any, error) { return nil, errors.New("pq: secret") }, refusal{500, "internal", "Something went wrong on our side; the log has the details under this request's id."}},
		"error": {func(ctx context.Context, _ call) (any, error) {
			return stream(ctx, apierr.New(apierr.Unavailable, "Busy"), start), nil
		}, refusal{503, "unavailable", "Busy"}},
		"failure": {func(ctx context.Context, _ call) (any, error) {
			return stream(ctx, object{"__typename": "StreamError", "code": "unavailable", "message": "Busy"}), nil
		}, refusal{503, "unavailable", "Busy"}},
		"no events": {func(ctx context.Context, _ call) (any, error) { return stream(ctx), nil }, refusal{500, "internal", "Something went wrong on our side; the log has the details under this request's id."}},
	} {
		h := newFixture(t)
		h.chat = c.chat
		answer := h.send(chat(chatBody))
		if got := refusalOf(t, answer); got != c.want {
			t.Errorf("%s: got %+v, want %+v", name, got, c.want)
		}
		if answer.Header().Get("X-Conversation-Id") != "" || !strings.HasPrefix(answer.Header().Get("Content-Type"), "application/json") {
			t.Errorf("%s: header of a stream: %v", name, answer.Header())
		}
	}
}

func TestLaterErrorsEndTheStreamWithAnEvent(t *testing.T) {
	t.Parallel()
	events := answerEvents()
	const hidden = `data: {"error":{"code":"internal","message":"Something went wrong on our side; the log has the details under this request's id."}}`
	for name, c := range map[string]struct {
		last []any
		want string
	}{
		"stream error": {[]any{object{"__typename": "StreamError", "code": "unavailable", "message": "The model does not answer"}, events[2]},
			`data: {"error":{"code":"unavailable","message":"The model does not answer"}}`},
		"code out of the table": {[]any{object{"__typename": "StreamError", "code": "sqlstate", "message": "relation does not exist"}}, hidden},
		"GraphQL error":         {[]any{errors.New("pq: secret"), events[2]}, hidden},
		"broken event":          {[]any{object{"__typename": "ChatContent"}, events[2]}, hidden},
		"end without done":      {nil, `data: {"error":{"code":"unavailable","message":"The answer ended early; try again."}}`},
	} {
		h := newFixture(t)
		h.answerChat(append(events[:2:2], c.last...)...)
		answer := h.send(chat(chatBody))
		body := answer.Body.String()
		if answer.Code != 200 || names(body) != "content error" || !strings.HasSuffix(body, "event: error\n"+c.want+"\n\n") {
			t.Errorf("%s: %d\n%s", name, answer.Code, body)
		}
	}
}

func TestNothingFollowsDone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	h.answerChat(append(answerEvents(), object{"__typename": "ChatContent", "delta": "late"})...)
	if got := names(h.send(chat(chatBody)).Body.String()); got != "content content sources follow_up done" {
		t.Errorf("events: %s", got)
	}
}

func TestAnIdleStreamIsKeptOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newFixture(t)
		h.chat = func(ctx context.Context, _ call) (any, error) {
			out := make(chan any)
			go func() {
				defer close(out)
				for _, e := range answerEvents() {
					if testkit.Delay(ctx, 40*time.Second) != nil {
						return
					}
					out <- e
				}
			}()
			return (<-chan any)(out), nil
		}
		began := time.Now()
		body := h.send(chat(chatBody)).Body.String()
		if took := time.Since(began); took != 240*time.Second {
			t.Errorf("the stream took %v", took)
		}
		// No comment before the first event; then two in each pause of 40 s.
		if got := strings.Count(body, ": keep-alive\n\n"); got != 10 || !strings.HasPrefix(body, ": keep-alive\n\n: keep-alive\n\nevent: content\n") {
			t.Errorf("%d comments:\n%s", got, body)
		}
	})
}

// open sends a request to a server and returns the response.
func open(ctx context.Context, t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/stream", strings.NewReader(chatBody))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Service-Key", secretKey)
	r.Header.Set("Content-Type", "application/json")
	answer, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEventsArriveOneByOneAndADisconnectCancelsTheOperation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	events, ended := make(chan any), make(chan struct{})
	h.chat = func(ctx context.Context, _ call) (any, error) {
		context.AfterFunc(ctx, func() { close(ended) })
		return (<-chan any)(events), nil
	}
	server := httptest.NewServer(h.http)
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	go func() { events <- answerEvents()[0] }()
	answer := open(ctx, t, server.URL)
	defer func() { _ = answer.Body.Close() }()
	if got := answer.Header.Get("X-Conversation-Id"); got != conversationID {
		t.Errorf("X-Conversation-Id = %q", got)
	}
	lines := bufio.NewReader(answer.Body)
	for range 3 { // each event is read before the next one is sent
		events <- object{"__typename": "ChatContent", "delta": "more"}
		for _, want := range []string{"event: content\n", "data: {\"delta\":\"more\"}\n", "\n"} {
			if got, err := lines.ReadString('\n'); err != nil || got != want {
				t.Fatalf("read %q %v, want %q", got, err, want)
			}
		}
	}
	leave()
	<-ended
}

func TestAClientThatStopsReadingIsDisconnected(t *testing.T) {
	t.Parallel()
	// Long enough for the first write on a loaded machine.
	h := newFixture(t, func(o *rest.Options) { o.Limits.Write = 2 * time.Second })
	ended := make(chan struct{})
	h.chat = func(ctx context.Context, _ call) (any, error) {
		out := make(chan any)
		go func() {
			defer close(ended)
			long := object{"__typename": "ChatContent", "delta": strings.Repeat("x", 1<<20)}
			for {
				select {
				case out <- long:
				case <-ctx.Done():
					return
				}
			}
		}()
		return (<-chan any)(out), nil
	}
	server := httptest.NewServer(h.http)
	defer server.Close()
	answer := open(t.Context(), t, server.URL)
	<-ended
	_, _ = io.Copy(io.Discard, answer.Body)
	_ = answer.Body.Close()
}

func FuzzStreamedTextCannotForgeEvents(f *testing.F) {
	f.Add("content", "plain")
	f.Add("con\ntent", "a\r\nb\rc\n\nevent: done\ndata: {}\n\n")
	f.Fuzz(func(t *testing.T, name, text string) {
		raw := string(rest.AppendEvent(nil, name, []byte(text)))
		// By the standard, lines end with CRLF, CR or LF.
		lines := strings.Split(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(raw), "\n")
		if !strings.HasPrefix(lines[0], "event: ") {
			t.Fatalf("the first line is %q", lines[0])
		}
		if n := len(lines); n < 4 || lines[n-1] != "" || lines[n-2] != "" {
			t.Fatalf("the event has no end: %q", raw)
		}
		var data []string
		for _, line := range lines[1 : len(lines)-2] {
			part, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				t.Fatalf("line %q is not data", line)
			}
			data = append(data, part)
		}
		if got, want := strings.Join(data, "\n"), strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text); got != want {
			t.Fatalf("read %q, sent %q", got, want)
		}
	})
}
