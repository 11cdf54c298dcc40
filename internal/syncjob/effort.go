package syncjob

import (
	"time"

	"magpie/ent"
)

// Effort is what a job has cost so far. What a worker that was killed had not
// saved, a few seconds' worth, does not count.
type Effort struct {
	Pages   int   // of the source that were read
	Bytes   int64 // of content that was read
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
