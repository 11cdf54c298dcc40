package metrics

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/model/llm/provider"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// Outcomes of tasks and calls. Failed calls have the kind of the failure.
const (
	ok       = "ok"
	failed   = "failed"
	canceled = "canceled"
)

// Task counts and times a task of the queue. The caller calls ended with its error.
func (m *Metrics) Task(name string) (ended func(error)) {
	start, running := time.Now(), m.tasksRunning.WithLabelValues(name)
	running.Inc()
	return func(err error) {
		running.Dec()
		m.taskSeconds.WithLabelValues(name).Observe(time.Since(start).Seconds())
		outcome := ok
		if err != nil {
			outcome = failed
		}
		m.tasks.WithLabelValues(name, outcome).Inc()
	}
}

// JobEnded counts a sync job that has ended, with the outcomes of its items.
func (m *Metrics) JobEnded(s syncjob.Snapshot) {
	m.jobs.WithLabelValues(strings.ToLower(string(s.Status))).Inc()
	if !s.StartedAt.IsZero() && s.FinishedAt.After(s.StartedAt) {
		m.jobSeconds.Observe(s.FinishedAt.Sub(s.StartedAt).Seconds())
	}
	for outcome, n := range map[string]int{
		"added": s.Added, "modified": s.Modified, "deleted": s.Deleted, "unchanged": s.Unchanged, "skipped": s.Skipped, "failed": s.Failed,
	} {
		m.items.WithLabelValues(outcome).Add(float64(n))
	}
}

// Calls returns a function that counts and times the calls of a model. kind is
// embedding, chat or reranker.
func (m *Metrics) Calls(kind, model string) provider.Observe {
	seconds := m.callSeconds.WithLabelValues(kind, model)
	m.calls.WithLabelValues(kind, model, ok)
	return func(context.Context) (ended func(context.Context, error)) {
		start := time.Now()
		return func(ctx context.Context, err error) {
			seconds.Observe(time.Since(start).Seconds())
			m.calls.WithLabelValues(kind, model, outcomeOf(ctx, err)).Inc()
		}
	}
}

// outcomeOf returns the outcome of a call: ok, canceled by its caller, the kind of a
// failure of the service, or failed.
func outcomeOf(ctx context.Context, err error) string {
	var failure *provider.Error
	switch {
	case err == nil:
		return ok
	case ctx.Err() != nil && !provider.IsKind(err, provider.KindTimeout):
		return canceled
	case errors.As(err, &failure):
		return strings.ReplaceAll(string(failure.Kind), " ", "_")
	default:
		return failed
	}
}
