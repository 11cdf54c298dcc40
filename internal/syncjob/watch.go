package syncjob

import (
	"context"
	"time"

	"github.com/google/uuid"

	"magpie/ent"
	entjob "magpie/ent/syncjob"
	"magpie/internal/apierr"
)

// Watch follows a job that the viewer may see. The channel gives the present
// snapshot at once, then every state in order and the counters as they change;
// who reads slowly gets the latest counters of each state. It is closed after
// the final state, when ctx ends, when the job is deleted and when j is closed.
func (j *Jobs) Watch(ctx context.Context, jobID uuid.UUID) (<-chan Snapshot, error) {
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	j.watchers.Add(1)
	j.mu.Unlock()

	// Subscribed before the row is read, so that nothing falls in between.
	w := &watcher{jobs: j, job: jobID, news: j.bus.Subscribe(jobID), out: make(chan Snapshot)}
	present, err := w.read(ctx)
	if err != nil {
		w.news.Close()
		j.watchers.Done()
		return nil, err
	}
	w.offer(present)
	go func() {
		defer j.watchers.Done()
		defer w.news.Close()
		defer close(w.out)
		w.run(ctx)
	}()
	return w.out, nil
}

// watcher is one consumer of one job.
type watcher struct {
	jobs *Jobs
	job  uuid.UUID
	news Subscription
	out  chan Snapshot

	last    Snapshot   // the newest one that was offered
	started bool       // whether last is set
	pending []Snapshot // to be delivered, at most one for each state
}

func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(w.jobs.times.Poll)
	defer tick.Stop()
	for {
		var out chan Snapshot
		var next Snapshot
		if len(w.pending) > 0 {
			out, next = w.out, w.pending[0]
		} else if !Open(w.last.Status) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-w.jobs.closing:
			return
		case out <- next:
			w.pending = w.pending[1:]
		case <-w.news.News():
			if s, ok := w.news.Latest(); ok {
				w.offer(s)
			}
		case <-tick.C:
			s, err := w.read(ctx)
			switch {
			case err == nil:
				w.offer(s)
			case apierr.From(err).Code == apierr.CodeNotFound:
				return
			case ctx.Err() == nil:
				w.jobs.log.WarnContext(ctx, "a watched sync job cannot be read at the moment", "job", w.job, "error", err)
			}
		}
	}
}

// read takes the row outside any transaction: one that ctx may still name is
// over by the time a watcher reads. What a snapshot does not show, which may be
// large, is left out.
func (w *watcher) read(ctx context.Context) (Snapshot, error) {
	row, err := w.jobs.client.SyncJob.Query().Where(entjob.ID(w.job)).Select(
		entjob.FieldID, entjob.FieldConnectorID, entjob.FieldStatus, entjob.FieldCreatedAt, entjob.FieldStartedAt, entjob.FieldFinishedAt,
		entjob.FieldCollected, entjob.FieldParsed, entjob.FieldIndexed, entjob.FieldAdded, entjob.FieldModified, entjob.FieldDeleted,
		entjob.FieldUnchanged, entjob.FieldSkipped, entjob.FieldFailed, entjob.FieldWarnings, entjob.FieldError,
		entjob.FieldAttempt, entjob.FieldRevision, entjob.FieldCancelRequested,
	).Only(ent.NewTxContext(ctx, nil))
	if err != nil {
		return Snapshot{}, rowError(err)
	}
	return SnapshotOf(row), nil
}

// offer queues s for delivery when it is newer than what was offered. The
// running state is never left out: a job that was seen queued and next finished
// did run in between.
func (w *watcher) offer(s Snapshot) {
	if w.started && !s.newer(w.last) {
		return
	}
	if w.started && w.last.Status == entjob.StatusQueued && !Open(s.Status) && !s.StartedAt.IsZero() {
		running := s
		running.Status, running.FinishedAt, running.Error = entjob.StatusRunning, time.Time{}, ""
		w.pending = append(w.pending, running)
	}
	if n := len(w.pending); n > 0 && w.pending[n-1].Status == s.Status {
		w.pending[n-1] = s
	} else {
		w.pending = append(w.pending, s)
	}
	w.last, w.started = s, true
}
