package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// ModelOptions say how a Model answers.
type ModelOptions struct {
	// Think is the time to the first token, Gap the time between two tokens.
	Think, Gap time.Duration
	// Tokens is how many tokens an answer has.
	Tokens int
}

// Model is a service that speaks the streaming OpenAI chat completions protocol on a loopback port, at the pace of a real
// one. The first token of an answer is how long the service took for it, in nanoseconds, so that a client knows what of
// its waiting was the model's.
type Model struct {
	// URL is the base URL for clients, version included.
	URL string

	opt      ModelOptions
	server   *http.Server
	served   chan error
	streams  atomic.Int64 // under way
	most     atomic.Int64
	complete atomic.Int64
	left     atomic.Int64
}

// StartModel starts the service. The caller stops it.
func StartModel(ctx context.Context, opt ModelOptions) (*Model, error) {
	var settings net.ListenConfig
	listener, err := settings.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("start the model: %w", err)
	}
	m := &Model{URL: "http://" + listener.Addr().String() + "/v1", opt: opt, served: make(chan error, 1)}
	m.server = &http.Server{Handler: http.HandlerFunc(m.serve), ReadHeaderTimeout: time.Minute}
	go func() { m.served <- m.server.Serve(listener) }()
	return m, nil
}

// Stop ends the service and every answer under way.
func (m *Model) Stop() error {
	err := m.server.Close()
	if ended := <-m.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	if err != nil {
		return fmt.Errorf("stop the model: %w", err)
	}
	return nil
}

// Most is how many answers were under way at once, at most.
func (m *Model) Most() int { return int(m.most.Load()) }

// Complete is how many answers were given whole.
func (m *Model) Complete() int { return int(m.complete.Load()) }

// Left is how many clients went away before their answer was whole.
func (m *Model) Left() int { return int(m.left.Load()) }

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Stream   bool  `json:"stream"`
		Messages []any `json:"messages"`
	}
	const longest = 16 << 20
	if err := json.NewDecoder(io.LimitReader(r.Body, longest)).Decode(&asked); err != nil || !asked.Stream || len(asked.Messages) == 0 ||
		!strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.Error(w, `{"error":{"message":"not a streamed chat completion","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	now := m.streams.Add(1)
	defer m.streams.Add(-1)
	for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
	}
	if m.answer(w, r, time.Now()) {
		m.complete.Add(1)
	} else {
		m.left.Add(1)
	}
}

// answer streams an answer and reports whether the client stayed.
func (m *Model) answer(w http.ResponseWriter, r *http.Request, began time.Time) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(data string) bool {
		_, err := io.WriteString(w, "data: "+data+"\n\n")
		return err == nil && control.Flush() == nil
	}
	say := func(text string) bool {
		quoted, _ := json.Marshal(text) // a text can always be written
		return send(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{"content":` + string(quoted) + `},"finish_reason":null}]}`)
	}
	for i := range m.opt.Tokens {
		pause, text := m.opt.Gap, " word"
		if i == 0 {
			pause = m.opt.Think
		}
		if i%20 == 19 {
			text = " [1]."
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return false
		}
		if i == 0 {
			text = strconv.FormatInt(int64(time.Since(began)), 10)
		}
		if !say(text) {
			return false
		}
	}
	return send(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) &&
		send(fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":%d,"total_tokens":%d}}`,
			m.opt.Tokens, 2000+m.opt.Tokens)) && send("[DONE]")
}
