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

// ErrPassedOver is returned for a question that was not sent to its model,
// because the model did not answer the ones before.
var ErrPassedOver = errors.New("the embedding model is passed over after failures")

// QuestionOptions are the settings of Questions; the zero value is useful.
type QuestionOptions struct {
	// Timeout is how long a question may take; 0 means a second.
	Timeout time.Duration
	// CacheBytes bounds the memory of questions with their vectors; 0 means 8 MiB.
	CacheBytes int64
	// Failures in a row, or one question that took Timeout, after which the
	// model is passed over; 0 means 3. Pause is for how long; 0 means two
	// seconds. Each try that fails doubles it up to half a minute.
	Failures int
	Pause    time.Duration
	// Now is the clock of pauses; nil is time.Now.
	Now func() time.Time
	// Log is told when a model is passed over and when it answers again; nil discards it.
	Log *slog.Logger
}

const (
	questionTimeout  = time.Second
	questionPause    = 2 * time.Second
	questionMaxPause = 30 * time.Second
	questionCache    = 8 << 20
)

// Questions embeds the questions of people who wait, by one model: none waits
// longer than the timeout, the same question is sent once, and a model that does
// not answer is passed over for a while. It is safe for concurrent use.
type Questions struct {
	model   Embedder
	timeout time.Duration
	circuit *breaker.Breaker
	log     *slog.Logger
	vectors vectorCache
}

// NewQuestions embeds questions by a model.
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

// Model is the model that questions are embedded by.
func (q *Questions) Model() Embedder { return q.model }

// Embed returns a question's vector, which is not to be changed. Errors are those
// of the model, and ErrPassedOver.
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

// Call makes a call to the model that takes no longer than a time, unless the
// model is passed over (ErrPassedOver).
func (q *Questions) Call(ctx context.Context, within time.Duration, do func(context.Context) error) error {
	call, _, ok := q.circuit.Allow()
	if !ok {
		return ErrPassedOver
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
			q.log.InfoContext(ctx, "an embedding model answers again", slog.String("model", q.model.Model()))
		}
		return nil
	case ctx.Err() != nil || !hung && !provider.IsOutage(err):
		return err // which says nothing about the service
	}
	end := func() (time.Duration, int, bool) { return call.Fail(retryAfter(err)) }
	if hung {
		end = call.Timeout
	}
	if pause, failures, opened := end(); opened {
		q.log.WarnContext(ctx, "an embedding model is passed over: questions are answered by words alone",
			slog.String("model", q.model.Model()), slog.Int("failures", failures), slog.Duration("pause", pause), slog.Any("error", err))
	}
	return err
}

// retryAfter is how long the service asked to wait, within reason.
func retryAfter(err error) time.Duration {
	var failure *provider.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return min(failure.RetryAfter(), questionMaxPause)
}

// vectorCache remembers the vectors of texts. It holds two generations and
// forgets the older one when the younger has half of the budget; what is asked
// for again stays.
type vectorCache struct {
	budget int64

	mutex      sync.Mutex
	young, old map[string][]float32
	bytes      int64 // of the young
}

// vectorOverhead is about what an entry takes beside its text and its vector, in bytes.
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
