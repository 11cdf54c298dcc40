package syncjob

import (
	"context"
	"time"

	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
)

// Effort is what a job has cost so far. It is saved with each page and four times a
// second in between: of a worker that was killed only what it read in the last
// moment does not count.
type Effort struct {
	Pages   int   // of the source that were read
	Bytes   int64 // of content that was read, whatever became of it
	Retried int   // how often it was let go to be tried again
}

func effortOf(row *ent.SyncJob) Effort {
	return Effort{Pages: row.Pages, Bytes: row.BytesFetched, Retried: row.Retried}
}

// Effort is the present one.
func (r *Run) Effort() Effort {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.effort
}

// Spend changes the effort.
func (r *Run) Spend(change func(*Effort)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.effort)
}

// saveEffort stores the bytes and pages if they have changed since they were last
// stored by it. Its failure is only logged: the next page and the end store them.
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
		r.jobs.log.DebugContext(ctx, "the effort of a sync job could not be saved yet", "job", r.job, "error", err)
	}
}

// Duration is how long a job has been worked on, from when a worker took it
// first until it ended, or until now; false while none has taken it.
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
