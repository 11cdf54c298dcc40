package syncjob

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/apierr"
)

// Watch returns the snapshots of a job that the viewer may see: the present one at
// once, then every state in order, and the counters as they change. A slow reader
// gets the latest counters of each state. The channel is closed after the final
// state, when ctx ends, when the job is deleted, and when j is closed.
func (j *Jobs) Watch(ctx context.Context, jobID uuid.UUID) (<-chan Snapshot, error) {
	return Watch(ctx, j, jobID, func(s Snapshot) Snapshot { return s })
}

// Watch is [Jobs.Watch] with snapshots converted by convert.
func Watch[T any](ctx context.Context, j *Jobs, jobID uuid.UUID, convert func(Snapshot) T) (<-chan T, error) {
	w := &watcher{hub: &j.hub, job: jobID, wake: make(chan struct{}, 1), sequence: sequence{single: true}}
	return begin(ctx, j, w, convert, func() ([]Snapshot, error) {
		row, err := j.snapshotQuery().Where(entjob.ID(jobID)).Only(outsideTransaction(ctx))
		if err != nil {
			return nil, rowError(err)
		}
		return []Snapshot{SnapshotOf(row)}, nil
	})
}

// WatchConnector returns the snapshots of the jobs of a connector that the viewer
// may see, one job after the other. The first are the present snapshots of the
// newest job or, with after, of that job and all later ones (at most 50, the
// newest). A connector without jobs has the zero Snapshot first. The channel is
// closed when ctx ends, when the connector is deleted, and when j is closed.
func WatchConnector[T any](ctx context.Context, j *Jobs, connectorID, after uuid.UUID, convert func(Snapshot) T) (<-chan T, error) {
	w := &watcher{hub: &j.hub, connector: connectorID, wake: make(chan struct{}, 1)}
	return begin(ctx, j, w, convert, func() ([]Snapshot, error) { return j.currentSnapshots(outsideTransaction(ctx), connectorID, after) })
}

// maxMissedJobs bounds the jobs that a reader gets after a reconnect.
const maxMissedJobs = 50

func (j *Jobs) currentSnapshots(ctx context.Context, connectorID, after uuid.UUID) ([]Snapshot, error) {
	if there, err := j.client.Connector.Query().Where(connector.ID(connectorID)).Exist(ctx); err != nil {
		return nil, apierr.Wrap("read the connector to watch", err)
	} else if !there {
		return nil, apierr.NotFound("Connector")
	}
	query := j.snapshotQuery().Where(entjob.ConnectorID(connectorID)).Order(entjob.ByCreatedAt(newestFirst), entjob.ByID(newestFirst)).Limit(1)
	if after != uuid.Nil {
		seen, err := j.client.SyncJob.Query().Where(entjob.ID(after), entjob.ConnectorID(connectorID)).Select(entjob.FieldCreatedAt).Only(ctx)
		switch {
		case ent.IsNotFound(err): // it has gone meanwhile
		case err != nil:
			return nil, apierr.Wrap("read the job that was seen", err)
		default:
			query.Where(entjob.CreatedAtGTE(seen.CreatedAt)).Limit(maxMissedJobs)
		}
	}
	rows, err := query.All(ctx)
	if err != nil {
		return nil, apierr.Wrap("read the jobs to watch", err)
	}
	if len(rows) == 0 {
		return []Snapshot{{}}, nil
	}
	list := make([]Snapshot, len(rows))
	for i, row := range rows {
		list[len(rows)-1-i] = SnapshotOf(row)
	}
	return list, nil
}

// outsideTransaction returns a context without a transaction, which has ended by
// the time that a watcher reads.
func outsideTransaction(ctx context.Context) context.Context { return ent.NewTxContext(ctx, nil) }

// begin registers a watcher before it reads the present state, so that it misses
// nothing in between.
func begin[T any](ctx context.Context, j *Jobs, w *watcher, convert func(Snapshot) T, read func() ([]Snapshot, error)) (<-chan T, error) {
	if !j.join(ctx, w) {
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	present, err := read()
	if err != nil {
		j.leave(w)
		return nil, err
	}
	w.sequence.start(present)
	out := make(chan T)
	go func() {
		defer j.leave(w)
		defer close(out)
		run(ctx, j.closing, w, out, convert)
	}()
	return out, nil
}

// A watcher is a reader of one job, or of the jobs of a connector.
type watcher struct {
	hub            *hub
	job, connector uuid.UUID // one of the two is set
	wake           chan struct{}
	sequence       sequence // used by the watcher's goroutine only

	mu      sync.Mutex
	updates map[uuid.UUID]Snapshot // the newest of each job that was not read yet
	deleted bool                   // what is watched does not exist any more
	// known is the version of each job that the sequence has.
	known []version
}

// A version orders the snapshots of a job.
type version struct {
	job                     uuid.UUID
	open                    bool
	rank, attempt, revision int
}

func (s Snapshot) version() version {
	return version{job: s.Job, open: Open(s.Status), rank: rank(s.Status), attempt: s.Attempt, revision: s.Revision}
}

func (v version) newer(than version) bool {
	return cmp.Or(cmp.Compare(v.rank, than.rank), cmp.Compare(v.attempt, than.attempt), cmp.Compare(v.revision, than.revision)) > 0
}

// update is called by the hub and does not block.
func (w *watcher) update(s Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := s.version()
	for _, v := range w.known {
		if v.job == s.Job && !version.newer(v) {
			return // most polls find no change
		}
	}
	if w.updates == nil {
		w.updates = make(map[uuid.UUID]Snapshot, 1)
	}
	if old, ok := w.updates[s.Job]; ok && !s.newer(old) {
		return
	}
	w.updates[s.Job] = s
	w.nudge()
}

func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deleted = true
	w.nudge()
}

func (w *watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take returns the pending updates, the oldest job first.
func (w *watcher) take() (list []Snapshot, deleted bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.updates {
		list = append(list, s)
	}
	w.updates = nil
	slices.SortFunc(list, Snapshot.order)
	return list, w.deleted
}

// reportKnown tells the hub what the sequence has.
func (w *watcher) reportKnown() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = w.known[:0]
	for _, s := range w.sequence.last {
		w.known = append(w.known, s.version())
	}
}

func run[T any](ctx context.Context, closing <-chan struct{}, w *watcher, out chan<- T, convert func(Snapshot) T) {
	w.reportKnown()
	deleted := false
	for {
		var to chan<- T
		var next T
		switch {
		case len(w.sequence.pending) > 0:
			to, next = out, convert(w.sequence.pending[0])
		case deleted || w.sequence.ended():
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-closing:
			return
		case to <- next:
			w.sequence.pending = w.sequence.pending[1:]
		case <-w.wake:
			var list []Snapshot
			list, deleted = w.take()
			for _, s := range list {
				w.sequence.add(s)
			}
			w.reportKnown()
		}
	}
}

// A sequence brings the updates of jobs, which come in any order, into the order of
// delivery.
type sequence struct {
	single  bool       // one job only
	last    []Snapshot // the newest of each job, in the order of jobs
	oldest  time.Time  // unknown jobs before this time are ignored
	pending []Snapshot // to deliver: at most two for each state of a job
}

// maxKeptJobs bounds the ended jobs that a sequence remembers.
const maxKeptJobs = 64

func (l *sequence) start(present []Snapshot) {
	for _, s := range present {
		if l.oldest.IsZero() {
			l.oldest = s.CreatedAt
		}
		if s.Job != uuid.Nil {
			l.last = append(l.last, s)
		}
		l.pending = append(l.pending, s)
	}
}

// ended reports whether nothing can follow.
func (l *sequence) ended() bool {
	return l.single && len(l.last) > 0 && !Open(l.last[0].Status)
}

// add queues s for delivery if it is newer than what is known. The state running is
// never left out: a job that was queued and has ended did run.
func (l *sequence) add(s Snapshot) {
	at := slices.IndexFunc(l.last, func(known Snapshot) bool { return known.Job == s.Job })
	switch {
	case at < 0 && s.CreatedAt.Before(l.oldest):
		return
	case at < 0:
		if !Open(s.Status) && !s.StartedAt.IsZero() {
			l.push(asRunning(s))
		}
		l.last = append(l.last, s)
		l.dropOldest()
	case !s.newer(l.last[at]):
		return
	default:
		if l.last[at].Status == entjob.StatusQueued && !Open(s.Status) && !s.StartedAt.IsZero() {
			l.push(asRunning(s))
		}
		l.last[at] = s
	}
	l.push(s)
}

func asRunning(s Snapshot) Snapshot {
	s.Status, s.FinishedAt, s.Error = entjob.StatusRunning, time.Time{}, ""
	return s
}

func (l *sequence) push(s Snapshot) {
	if n := len(l.pending); n > 0 && l.pending[n-1].Job == s.Job && l.pending[n-1].Status == s.Status {
		l.pending[n-1] = s
		return
	}
	l.pending = append(l.pending, s)
}

func (l *sequence) dropOldest() {
	if len(l.last) <= maxKeptJobs {
		return
	}
	oldest := slices.IndexFunc(l.last, func(s Snapshot) bool { return !Open(s.Status) })
	if oldest < 0 {
		oldest = 0
	}
	if f := l.last[oldest].CreatedAt.Add(1); f.After(l.oldest) {
		l.oldest = f
	}
	l.last = slices.Delete(l.last, oldest, oldest+1)
}

// order compares the times of creation.
func (s Snapshot) order(t Snapshot) int {
	return cmp.Or(s.CreatedAt.Compare(t.CreatedAt), bytes.Compare(s.Job[:], t.Job[:]))
}
