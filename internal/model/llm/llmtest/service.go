package llmtest

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

// A Make returns the model of a service and closes it at the end of the test.
type Make func(t *testing.T, cfg llm.Config) llm.ChatModel

// key is the secret that no error may contain.
const key = "sk-test-0123456789"

// RunService tests the client of a service with a Server: the ChatModel interface, timeouts, retries, usage, and that errors
// do not contain the key.
func RunService(t *testing.T, build Make) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(*testing.T, Make)
	}{
		{"contract", func(t *testing.T, build Make) {
			Run(t, build(t, config(NewServer(t, Reply{Parts: []string{"two", " words"}}))))
		}},
		{"odd byte borders", oddBorders},
		{"retry", retries},
		{"no retry after text", noRetryAfterText},
		{"statuses", statuses},
		{"time limits", timeLimits},
		{"the consumer and the context", leaving},
		{"unreachable", unreachable},
		{"settings", settings},
		{"many at once", manyAtOnce},
		{"tool calls", toolCalls},
		{"odd tool calls", oddCalls},
		{"no tools", noTools},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, build)
		})
	}
}

func config(server *Server) llm.Config {
	return llm.Config{Name: "test", BaseURL: server.URL, Key: key, Model: "m-1", Sleep: func(context.Context, time.Duration) error { return nil }}
}

var hello = llm.Request{Messages: []llm.Message{{Role: llm.RoleSystem, Content: "Be short."}, {Role: llm.RoleUser, Content: "Hello?"}}}

// Collect reads an answer to its end.
func Collect(ctx context.Context, model llm.ChatModel, request llm.Request) (text string, usage *llm.Usage, err error) {
	for event, failure := range model.Stream(ctx, request) {
		text += event.Text
		if event.Usage != nil {
			usage = event.Usage
		}
		err = failure
	}
	return text, usage, err
}

func oddBorders(t *testing.T, build Make) {
	parts := []string{"Grüße, ", "数据库 ", "👍🏽 ", "\"quoted\" [DONE]\n\n", "data: x\nevent: error"}
	for _, pieces := range []int{0, 1, 3, 7, 64} {
		server := NewServer(t, Reply{Parts: parts, Usage: &[2]int{11, 7}, Pieces: pieces})
		text, usage, err := Collect(t.Context(), build(t, config(server)), hello)
		if err != nil || text != strings.Join(parts, "") {
			t.Errorf("in pieces of %d: text %q, error %v", pieces, text, err)
		}
		if usage == nil || *usage != (llm.Usage{PromptTokens: 11, CompletionTokens: 7}) || usage.TotalTokens() != 18 {
			t.Errorf("usage %+v", usage)
		}
	}
}

func retries(t *testing.T, build Make) {
	busy := func(after string) Reply {
		return Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": after}, Body: "{}"}
	}
	for after, c := range map[string]struct {
		wait time.Duration
		ok   bool
	}{"2": {2 * time.Second, true}, "0.25": {250 * time.Millisecond, true}, "": {500 * time.Millisecond, true}, "3600": {0, false}, "soon": {500 * time.Millisecond, true}} {
		server := NewServer(t, busy(after), Reply{Parts: []string{"at last"}})
		var waited []time.Duration
		cfg := config(server)
		cfg.Sleep = func(_ context.Context, d time.Duration) error {
			waited = append(waited, d)
			return nil
		}
		text, _, err := Collect(t.Context(), build(t, cfg), hello)
		if c.ok != (err == nil && text == "at last") {
			t.Errorf("after %q: text %q, error %v", after, text, err)
		}
		if c.ok && (len(waited) != 1 || waited[0] != c.wait) {
			t.Errorf("after %q: waited %v, want %s", after, waited, c.wait)
		}
		var failure *provider.Error
		if !c.ok && (!errors.As(err, &failure) || failure.RetryAfter() != time.Hour || len(waited) != 0 || len(server.Requests()) != 1) {
			t.Errorf("after %q: error %v, waited %v", after, err, waited)
		}
	}
}

func noRetryAfterText(t *testing.T, build Make) {
	server := NewServer(t, Reply{Parts: []string{"Hel"}, Cut: true}, Reply{Parts: []string{"Hello"}})
	text, usage, err := Collect(t.Context(), build(t, config(server)), hello)
	if !provider.IsKind(err, provider.KindInterrupted) || text != "Hel" || usage != nil || len(server.Requests()) != 1 {
		t.Errorf("text %q, usage %v, error %v after %d requests", text, usage, err, len(server.Requests()))
	}
}

func statuses(t *testing.T, build Make) {
	for status, c := range map[int]struct {
		kind  provider.Kind
		tries int
	}{
		400: {provider.KindInvalid, 1}, 401: {provider.KindAuth, 1}, 403: {provider.KindAuth, 1}, 404: {provider.KindInvalid, 1},
		413: {provider.KindContextLength, 1}, 429: {provider.KindRateLimited, 2}, 500: {provider.KindUnavailable, 2},
		503: {provider.KindUnavailable, 2}, 504: {provider.KindTimeout, 1}, 529: {provider.KindUnavailable, 2},
	} {
		for _, body := range []string{"", "<html>" + key + "</html>", `{"error":{"message":"no, ` + key + `","type":"x"}}`} {
			server := NewServer(t, Reply{Status: status, Body: body})
			text, usage, err := Collect(t.Context(), build(t, config(server)), hello)
			if !provider.IsKind(err, c.kind) || text != "" || usage != nil {
				t.Errorf("%d %s: text %q, error %v, want kind %s", status, body, text, err, c.kind)
			}
			if tries := len(server.Requests()); tries != c.tries {
				t.Errorf("%d: %d tries, want %d", status, tries, c.tries)
			}
			if err != nil && strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the error holds the key: %v", err)
			}
		}
	}
}

func timeLimits(t *testing.T, build Make) {
	never := make(chan struct{})
	for name, reply := range map[string]Reply{
		"first byte": {Hold: never}, "between parts": {Parts: []string{"Hel"}, HoldAfter: never},
	} {
		server := NewServer(t, reply)
		cfg := config(server)
		cfg.FirstByteTimeout, cfg.IdleTimeout = 200*time.Millisecond, 50*time.Millisecond
		cfg.HTTPClient = provider.NewHTTPClient(time.Second, time.Minute)
		_, _, err := Collect(t.Context(), build(t, cfg), hello)
		if !provider.IsKind(err, provider.KindTimeout) || len(server.Requests()) != 1 {
			t.Errorf("%s: error %v after %d requests", name, err, len(server.Requests()))
		}
		<-server.Gone()
	}
}

func leaving(t *testing.T, build Make) {
	server := NewServer(t, Reply{Parts: []string{"Hel", "lo"}, HoldAfter: make(chan struct{})})
	model := build(t, config(server))
	for range model.Stream(t.Context(), hello) {
		break
	}
	<-server.Gone()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for event, err := range model.Stream(ctx, hello) {
		if event.Text == "lo" {
			cancel()
		}
		last = err
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("error %v", last)
	}
	<-server.Gone()
}

func unreachable(t *testing.T, build Make) {
	cfg := config(&Server{URL: "http://127.0.0.1:1/v1"})
	if _, _, err := Collect(t.Context(), build(t, cfg), hello); !provider.IsKind(err, provider.KindUnavailable) {
		t.Errorf("error %v", err)
	}
}

func settings(t *testing.T, build Make) {
	server := NewServer(t, Reply{Parts: []string{"a"}})
	cfg := config(server)
	cfg.Limits = llm.Limits{ContextWindow: 9000, MaxOutputTokens: 40}
	model := build(t, cfg)
	if got := llm.LimitsOf(model); got != cfg.Limits {
		t.Errorf("limits %+v", got)
	}
	cfg.Limits, cfg.Model = llm.Limits{}, "claude-sonnet-4-5"
	if got := llm.LimitsOf(build(t, cfg)); got.ContextWindow != 200_000 {
		t.Errorf("limits %+v", got)
	}
	for _, wanted := range []int{0, 30, 400} {
		request := hello
		request.MaxTokens = wanted
		if _, _, err := Collect(t.Context(), model, request); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []float64{40, 30, 40} {
		if got := server.Requests()[i].Body; got["max_tokens"] != want || got["model"] != "m-1" || got["stream"] != true {
			t.Errorf("request %d: %v", i, got)
		}
	}
}

func manyAtOnce(t *testing.T, build Make) {
	server := NewServer(t, Reply{Parts: []string{"two", " words"}})
	model := build(t, config(server))
	failures := make(chan error, 32)
	for range cap(failures) {
		go func() {
			text, usage, err := Collect(t.Context(), model, hello)
			if err == nil && (text != "two words" || usage == nil) {
				err = errors.New("a wrong answer: " + text)
			}
			failures <- err
		}()
	}
	for range cap(failures) {
		if err := <-failures; err != nil {
			t.Error(err)
		}
	}
}
