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

// ModelOptions configures a Model.
type ModelOptions struct {
	// Think is the time to the first token and Gap the time between two tokens.
	Think, Gap time.Duration
	// Tokens is the number of tokens of an answer.
	Tokens int
}

// A Model is a server that streams answers in the OpenAI chat completions protocol
// on a loopback port, at the pace of a real model. The first token of an answer is
// the time that the server took for it, in nanoseconds, so that a client can
// subtract it from its own waiting time.
type Model struct {
	// URL is the base URL for clients with the version.
	URL string

	opt       ModelOptions
	server    *http.Server
	served    chan error
	active    atomic.Int64 // answers
	peak      atomic.Int64 // of active
	completed atomic.Int64
	abandoned atomic.Int64
}

// StartModel starts a Model. The caller stops it.
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

// Stop stops the server and its active answers.
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

// Peak returns the highest number of active answers.
func (m *Model) Peak() int { return int(m.peak.Load()) }

// Completed returns the number of complete answers.
func (m *Model) Completed() int { return int(m.completed.Load()) }

// Abandoned returns the number of answers whose client left before the end.
func (m *Model) Abandoned() int { return int(m.abandoned.Load()) }

func (m *Model) serve(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Stream   bool  `json:"stream"`
		Messages []any `json:"messages"`
	}
	const maxBody = 16 << 20
	if err := json.NewDecoder(io.LimitReader(r.Body, maxBody)).Decode(&request); err != nil || !request.Stream || len(request.Messages) == 0 ||
		!strings.HasSuffix(r.URL.Path, "/chat/completions") {
		http.Error(w, `{"error":{"message":"not a streamed chat completion","type":"invalid_request_error"}}`, http.StatusBadRequest)
		return
	}
	active := m.active.Add(1)
	defer m.active.Add(-1)
	for peak := m.peak.Load(); active > peak && !m.peak.CompareAndSwap(peak, active); peak = m.peak.Load() {
	}
	if m.answer(w, r, time.Now()) {
		m.completed.Add(1)
	} else {
		m.abandoned.Add(1)
	}
}

// answer streams an answer and reports whether the client read all of it.
func (m *Model) answer(w http.ResponseWriter, r *http.Request, start time.Time) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	send := func(data string) bool {
		_, err := io.WriteString(w, "data: "+data+"\n\n")
		return err == nil && control.Flush() == nil
	}
	sendText := func(text string) bool {
		quoted, _ := json.Marshal(text) // a string has no encoding error
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
			text = strconv.FormatInt(int64(time.Since(start)), 10)
		}
		if !sendText(text) {
			return false
		}
	}
	return send(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`) &&
		send(fmt.Sprintf(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"bench","choices":[],"usage":{"prompt_tokens":2000,"completion_tokens":%d,"total_tokens":%d}}`,
			m.opt.Tokens, 2000+m.opt.Tokens)) && send("[DONE]")
}
