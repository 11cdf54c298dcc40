package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/request/breaker"
)

// ErrCircuitOpen is returned for a question that was not sent, because the model failed before.
var ErrCircuitOpen = errors.New("the embedding model is not asked after failures")

// QuestionOptions are the options of Questions. Zero fields have defaults.
type QuestionOptions struct {
	// Timeout limits the time of a question; 1 s when zero.
	Timeout time.Duration
	// CacheBytes limits the cache of questions and their vectors; 8 MiB when zero.
	CacheBytes int64
	// Failures is the number of consecutive failures that open the circuit; 3 when zero. One
	// timeout opens it, too. Pause is how long it is open; 2 s when zero. Each failed test
	// doubles it up to 30 s.
	Failures int
	Pause    time.Duration
	// Now is the clock of the circuit; time.Now when nil.
	Now func() time.Time
	// Log logs when the circuit opens and closes; nil logs nothing.
	Log *slog.Logger
}

const (
	questionTimeout  = time.Second
	questionPause    = 2 * time.Second
	questionMaxPause = 30 * time.Second
	questionCache    = 8 << 20
)

// Questions embeds the questions of interactive requests. It has a timeout, a cache and a
// circuit breaker. It is safe for concurrent use.
type Questions struct {
	model   Embedder
	timeout time.Duration
	circuit *breaker.Breaker
	log     *slog.Logger
	vectors vectorCache
}

// NewQuestions returns Questions of a model.
func NewQuestions(model Embedder, opt QuestionOptions) *Questions {
	if opt.Timeout <= 0 {
		opt.Timeout = questionTimeout
	}
	if opt.CacheBytes <= 0 {
		opt.CacheBytes = questionCache
	}
	if opt.Pause <= 0 {
		opt.Pause = questionPause
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Questions{
		model: model, timeout: opt.Timeout, log: opt.Log, vectors: vectorCache{budget: opt.CacheBytes},
		circuit: breaker.New(breaker.Options{Failures: opt.Failures, Pause: opt.Pause, MaxPause: questionMaxPause, Now: opt.Now}),
	}
}

// Model returns the model.
func (q *Questions) Model() Embedder { return q.model }

// Embed returns the vector of a question, which must not be modified. Errors are those of
// the model, and ErrCircuitOpen.
func (q *Questions) Embed(ctx context.Context, text string) ([]float32, error) {
	if vector := q.vectors.get(text); vector != nil {
		return vector, nil
	}
	var vectors [][]float32
	err := q.Call(ctx, q.timeout, func(ctx context.Context) (err error) {
		vectors, err = q.model.Embed(ctx, []string{text}, Query)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("embed the question: %w", err)
	}
	if len(vectors) != 1 || len(vectors[0]) == 0 {
		return nil, fmt.Errorf("embed the question: %d vectors for one text", len(vectors))
	}
	q.vectors.put(text, vectors[0])
	return vectors[0], nil
}

// Call calls do, which calls the model, with a timeout. It returns ErrCircuitOpen while
// the circuit is open.
func (q *Questions) Call(ctx context.Context, within time.Duration, do func(context.Context) error) error {
	call, _, ok := q.circuit.Allow()
	if !ok {
		return ErrCircuitOpen
	}
	defer call.Abandon()
	limited, cancel := context.WithTimeoutCause(ctx, within,
		&provider.Error{Kind: provider.KindTimeout, Op: "embeddings", Message: "no answer within " + within.String()})
	defer cancel()
	err := do(limited)
	hung := limited.Err() != nil && ctx.Err() == nil
	switch {
	case err == nil:
		if call.Succeed() {
			q.log.InfoContext(ctx, "embedding model recovered", slog.String("model", q.model.Model()))
		}
		return nil
	case ctx.Err() != nil || !hung && !provider.IsOutage(err):
		return err // not an outage of the service
	}
	end := func() (time.Duration, int, bool) { return call.Fail(retryAfter(err)) }
	if hung {
		end = call.Timeout
	}
	if pause, failures, opened := end(); opened {
		q.log.WarnContext(ctx, "embedding model not asked after failures, searching by words only",
			slog.String("model", q.model.Model()), slog.Int("failures", failures), slog.Duration("pause", pause), slog.Any("error", err))
	}
	return err
}

// retryAfter returns the delay that the service asked for, up to questionMaxPause.
func retryAfter(err error) time.Duration {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return min(failure.RetryAfter(), questionMaxPause)
}

// A vectorCache is a cache of vectors by text. It has two generations and drops the older
// one when the younger one has half of the budget. A read moves a text to the younger one.
type vectorCache struct {
	budget int64

	mutex      sync.Mutex
	young, old map[string][]float32
	bytes      int64 // of young
}

// vectorOverhead is about the size of an entry without its text and vector, in bytes.
const vectorOverhead = 128

func (c *vectorCache) get(text string) []float32 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if vector := c.young[text]; vector != nil {
		return vector
	}
	vector := c.old[text]
	if vector != nil {
		c.keep(text, vector)
	}
	return vector
}

func (c *vectorCache) put(text string, vector []float32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.young[text] == nil {
		c.keep(text, vector)
	}
}

func (c *vectorCache) keep(text string, vector []float32) {
	size := int64(len(text)+4*len(vector)) + vectorOverhead
	if size > c.budget/2 {
		return
	}
	if c.bytes+size > c.budget/2 {
		c.old, c.young, c.bytes = c.young, nil, 0
	}
	if c.young == nil {
		c.young = make(map[string][]float32)
	}
	c.young[text] = vector
	c.bytes += size
}
