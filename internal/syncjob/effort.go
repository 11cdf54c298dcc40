package syncjob

import (
	"context"
	"log/slog"
	"time"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// Effort is the work that a job has caused. It is saved with each page and four
// times a second in between, so that a worker that is killed loses only the last
// moment.
type Effort struct {
	Pages   int   // of the source that were read
	Bytes   int64 // of content that were read, whatever the outcome
	Retried int   // number of releases to try again
}

func effortOf(row *ent.SyncJob) Effort {
	return Effort{Pages: row.Pages, Bytes: row.BytesFetched, Retried: row.Retried}
}

// Effort returns the present effort.
func (r *Run) Effort() Effort {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effort
}

// AddEffort changes the effort.
func (r *Run) AddEffort(change func(*Effort)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.effort)
}

// saveEffort saves the effort if it has changed. A failure is only logged, because
// the next page and the end of the job save it, too.
func (r *Run) saveEffort(ctx context.Context) {
	r.saving.Lock()
	defer r.saving.Unlock()
	now := r.Effort()
	if now == r.stored {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, r.jobs.times.Heartbeat)
	defer cancel()
	err := r.jobs.client.SyncJob.Update().
		Where(entjob.ID(r.job), entjob.Attempt(r.attempt), entjob.StatusEQ(entjob.StatusRunning)).
		SetPages(now.Pages).SetBytesFetched(now.Bytes).SetUpdatedAt(r.jobs.now()).
		Exec(r.Context(ctx))
	switch {
	case err == nil:
		r.stored = now
	case ctx.Err() == nil:
		r.jobs.log.DebugContext(ctx, "sync job effort not saved, will retry", slog.Any("job", r.job), slog.Any("error", err))
	}
}

// Duration returns how long workers have worked on a job, from the first claim to
// its end or until now. It is false if no worker has claimed it.
func Duration(row *ent.SyncJob, now time.Time) (time.Duration, bool) {
	switch {
	case row.StartedAt == nil:
		return 0, false
	case row.FinishedAt != nil:
		return max(0, row.FinishedAt.Sub(*row.StartedAt)), true
	default:
		return max(0, now.Sub(*row.StartedAt)), true
	}
}
