package syncer

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

// Spans of a slice are its pages, and of the items of a page the first ones and those
// that were slow or failed (package tracing). How long all items took together is in
// attributes of the slice.

// stages are the times of all items of a slice, which run in parallel.
type stages struct{ fetch, process, store atomic.Int64 }

// add adds the time since start to one of them.
func (*stages) add(stage *atomic.Int64, start time.Time) { stage.Add(int64(time.Since(start))) }

// begin begins the span of a slice. A slice of another job than the task was queued for
// has a trace of its own.
func (s *slice) begin(ctx context.Context, t queue.Sync) (context.Context, *tracing.Span) {
	start := tracing.Start
	if s.job.ID != t.JobID {
		start = tracing.Restart
	}
	if tracing.From(ctx) == nil && s.job.ID == t.JobID {
		return ctx, nil
	}
	workspace, _ := s.run.Scope().Workspace() // a job has one
	return start(ctx, "sync", slog.String("magpie.sync.job_id", s.job.ID.String()), slog.String("magpie.connector_id", s.job.ConnectorID.String()),
		slog.String(tracing.WorkspaceKey, workspace.String()), slog.String("magpie.sync.mode", string(s.job.Mode)), slog.Int("magpie.sync.attempt", s.run.Attempt()))
}

// end ends the span of a slice that returned err.
func (s *slice) end(span *tracing.Span, err error) {
	if span == nil {
		return
	}
	if s.connector != nil {
		span.Set(slog.String("magpie.connector.kind", s.connector.Type))
	}
	c := s.run.Counters()
	span.Set(slog.Int("magpie.sync.collected", c.Collected), slog.Int("magpie.sync.added", c.Added), slog.Int("magpie.sync.modified", c.Modified), slog.Int("magpie.sync.deleted", c.Deleted),
		slog.Int("magpie.sync.unchanged", c.Unchanged), slog.Int("magpie.sync.skipped", c.Skipped), slog.Int("magpie.sync.failed", c.Failed), slog.Bool("magpie.sync.done", err == nil),
		slog.Duration("magpie.sync.fetch_seconds", time.Duration(s.took.fetch.Load())), slog.Duration("magpie.sync.process_seconds", time.Duration(s.took.process.Load())),
		slog.Duration("magpie.sync.store_seconds", time.Duration(s.took.store.Load())))
	endSpan(span, err)
}

// endSpan ends a span. A slice that stops for another one to continue has not failed.
func endSpan(span *tracing.Span, err error) {
	for _, expected := range []error{errSliceDone, errInterrupted, syncjob.ErrCanceled, syncjob.ErrPaused, syncjob.ErrLost} {
		if errors.Is(err, expected) {
			err = nil
		}
	}
	span.End(err)
}
