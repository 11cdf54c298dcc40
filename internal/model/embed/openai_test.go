package embed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/embed/embedtest"
	"github.com/magpie-search/magpie/internal/model/llm/provider"
)

const key = "sk-test-0123456789"

// service is a server of the embeddings protocol. Vectors depend on the length of the text, unless a test has a script.
type service struct {
	mu     sync.Mutex
	inputs [][]string
	bodies []map[string]any
	script func(try int, w http.ResponseWriter) bool // reports whether it has answered
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Input []string `json:"input"`
	}
	var raw map[string]any
	decoder := json.NewDecoder(r.Body)
	if err := decoder.Decode(&raw); err != nil || r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer "+key {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	for _, text := range raw["input"].([]any) {
		body.Input = append(body.Input, text.(string))
	}
	s.mu.Lock()
	s.inputs, s.bodies = append(s.inputs, body.Input), append(s.bodies, raw)
	try := len(s.inputs)
	s.mu.Unlock()
	if s.script != nil && s.script(try, w) {
		return
	}
	var parts []string
	for i, text := range slices.Backward(body.Input) { // services may answer in any order
		parts = append(parts, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,2,1]}`, i, len(text)))
	}
	_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s],"model":"m","usage":{"prompt_tokens":1,"total_tokens":1}}`, strings.Join(parts, ","))
}

func newOpenAI(t *testing.T, s *service, change func(*embed.Config)) *embed.Remote {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	cfg := embed.Config{
		Name: "test", BaseURL: server.URL + "/v1/", Key: key, Model: "m", Dimensions: 3, Batch: 10,
		Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
	if change != nil {
		change(&cfg)
	}
	embedder, err := embed.NewOpenAI(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(embedder.Close)
	return embedder
}

func TestOpenAIKeepsTheContract(t *testing.T) {
	t.Parallel()
	embedtest.Run(t, newOpenAI(t, &service{}, nil))
}

func TestOpenAIBatchesInOrderAndPreparesTexts(t *testing.T) {
	t.Parallel()
	s := &service{}
	embedder := newOpenAI(t, s, func(cfg *embed.Config) {
		cfg.Batch, cfg.MaxRunes, cfg.QueryPrefix, cfg.SendDimensions = 2, 5, "q: ", new(true)
	})
	vectors, err := embedder.Embed(t.Context(), []string{"a", "數據數據數據", "\x00 "}, embed.Query)
	if err != nil {
		t.Fatal(err)
	}
	if want := [][]string{{"q: a", "q: 數據數據數"}, {"q: ."}}; fmt.Sprint(s.inputs) != fmt.Sprint(want) {
		t.Errorf("sent %q, want %q", s.inputs, want)
	}
	if len(vectors) != 3 || vectors[0][0] >= vectors[1][0] {
		t.Errorf("vectors are not in the order of the texts: %v", vectors)
	}
	if s.bodies[0]["dimensions"] != 3.0 || s.bodies[0]["model"] != "m" {
		t.Errorf("body %v", s.bodies[0])
	}
}

func TestOpenAIRetriesTemporaryErrors(t *testing.T) {
	t.Parallel()
	var waited []time.Duration
	s := &service{script: func(try int, w http.ResponseWriter) bool {
		switch try {
		case 1:
			w.Header().Set("Retry-After", "3")
			http.Error(w, `{"error":{"message":"slow down"}}`, http.StatusTooManyRequests)
		case 2:
			http.Error(w, "oops", http.StatusBadGateway)
		default:
			return false
		}
		return true
	}}
	embedder := newOpenAI(t, s, func(cfg *embed.Config) {
		cfg.Sleep = func(_ context.Context, d time.Duration) error {
			waited = append(waited, d)
			return nil
		}
	})
	if _, err := embedder.Embed(t.Context(), []string{"a"}, embed.Passage); err != nil {
		t.Fatal(err)
	}
	if want := []time.Duration{3 * time.Second, time.Second}; !slices.Equal(waited, want) {
		t.Errorf("waited %v, want %v", waited, want)
	}
}

func TestOpenAIErrors(t *testing.T) {
	t.Parallel()
	answer := func(status int, body string) func(int, http.ResponseWriter) bool {
		return func(_ int, w http.ResponseWriter) bool {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		script func(int, http.ResponseWriter) bool
		kind   provider.Kind
		tries  int
		says   string
	}{
		"wrong key":        {answer(401, `{"error":{"message":"Incorrect API key `+key+`"}}`), provider.KindAuth, 1, "status 401"},
		"always busy":      {answer(429, `{}`), provider.KindRateLimited, 4, ""},
		"too long":         {answer(400, `{"error":{"message":"maximum context length is 8192 tokens"}}`), provider.KindContextLength, 1, ""},
		"wrong dimensions": {answer(200, `{"data":[{"index":0,"embedding":[1,2]}]}`), provider.KindInvalid, 1, "2 dimensions, the setting says 3"},
		"wrong count":      {answer(200, `{"data":[]}`), provider.KindInvalid, 1, "0 vectors for 1 texts"},
		"zero vector":      {answer(200, `{"data":[{"index":0,"embedding":[0,0,0]}]}`), provider.KindInvalid, 1, "without a direction"},
		"no JSON":          {answer(200, `<html>`), provider.KindInvalid, 1, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &service{script: c.script}
			_, err := newOpenAI(t, s, nil).Embed(t.Context(), []string{"a"}, embed.Passage)
			if !provider.IsKind(err, c.kind) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), key) {
				t.Errorf("error %v, want kind %s that says %q", err, c.kind, c.says)
			}
			if len(s.inputs) != c.tries {
				t.Errorf("%d tries, want %d", len(s.inputs), c.tries)
			}
		})
	}
}

func TestOpenAIHasATimeout(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := &service{script: func(int, http.ResponseWriter) bool {
		<-release
		return true
	}}
	embedder := newOpenAI(t, s, func(cfg *embed.Config) { cfg.Timeout, cfg.Tries = 50*time.Millisecond, 2 })
	t.Cleanup(func() { close(release) }) // before the server is closed, which waits for its handlers
	if _, err := embedder.Embed(t.Context(), []string{"a"}, embed.Passage); !provider.IsKind(err, provider.KindTimeout) {
		t.Errorf("a service that does not answer gives %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := embedder.Embed(ctx, []string{"a"}, embed.Passage); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an ended context gives %v", err)
	}
}

func TestOpenAIConfigIsChecked(t *testing.T) {
	t.Parallel()
	for _, cfg := range []embed.Config{
		{BaseURL: "http://h/v1", Dimensions: 3}, {Model: "m", BaseURL: "http://h/v1"}, {Model: "m", BaseURL: "h", Dimensions: 3},
	} {
		if _, err := embed.NewOpenAI(cfg); err == nil {
			t.Errorf("%+v was accepted", cfg)
		}
	}
}
