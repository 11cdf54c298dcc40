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

// Watch follows a job that the viewer may see. The channel gives the present
// snapshot at once, then every state in order and the counters as they change;
// who reads slowly gets the latest counters of each state. It is closed after
// the final state, when ctx ends, when the job is deleted and when j is closed.
func (j *Jobs) Watch(ctx context.Context, jobID uuid.UUID) (<-chan Snapshot, error) {
	return Watch(ctx, j, jobID, func(s Snapshot) Snapshot { return s })
}

// Watch is [Jobs.Watch] with snapshots changed by convert, without a further
// goroutine for it.
func Watch[T any](ctx context.Context, j *Jobs, jobID uuid.UUID, convert func(Snapshot) T) (<-chan T, error) {
	w := &watcher{hub: &j.hub, job: jobID, wake: make(chan struct{}, 1), line: line{single: true}}
	return begin(ctx, j, w, convert, func() ([]Snapshot, error) {
		row, err := j.shown().Where(entjob.ID(jobID)).Only(plain(ctx))
		if err != nil {
			return nil, rowError(err)
		}
		return []Snapshot{SnapshotOf(row)}, nil
	})
}

// WatchConnector follows the jobs of a connector that the viewer may see, one
// after the other. First come the present snapshots: of the newest job, or of
// the job after and all that were queued since (at most 50, the newest), in
// their order. A connector that was never synced gives the zero Snapshot at
// first. The channel is closed when ctx ends, when the connector is deleted and
// when j is closed; for all else [Jobs.Watch] holds.
func WatchConnector[T any](ctx context.Context, j *Jobs, connectorID, after uuid.UUID, convert func(Snapshot) T) (<-chan T, error) {
	w := &watcher{hub: &j.hub, connector: connectorID, wake: make(chan struct{}, 1)}
	return begin(ctx, j, w, convert, func() ([]Snapshot, error) { return j.present(plain(ctx), connectorID, after) })
}

// mostSince bounds the jobs that are told of after a reconnect.
const mostSince = 50

func (j *Jobs) present(ctx context.Context, connectorID, after uuid.UUID) ([]Snapshot, error) {
	if there, err := j.client.Connector.Query().Where(connector.ID(connectorID)).Exist(ctx); err != nil {
		return nil, apierr.Wrap("read the connector to watch", err)
	} else if !there {
		return nil, apierr.NotFound("Connector")
	}
	query := j.shown().Where(entjob.ConnectorID(connectorID)).Order(entjob.ByCreatedAt(newestFirst), entjob.ByID(newestFirst)).Limit(1)
	if after != uuid.Nil {
		seen, err := j.client.SyncJob.Query().Where(entjob.ID(after), entjob.ConnectorID(connectorID)).Select(entjob.FieldCreatedAt).Only(ctx)
		switch {
		case ent.IsNotFound(err): // it has gone meanwhile
		case err != nil:
			return nil, apierr.Wrap("read the job that was seen", err)
		default:
			query.Where(entjob.CreatedAtGTE(seen.CreatedAt)).Limit(mostSince)
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

// plain is outside any transaction: one that ctx may still name is over by the
// time a watcher reads.
func plain(ctx context.Context) context.Context { return ent.NewTxContext(ctx, nil) }

// begin registers a watcher before it reads what is, so that nothing falls in between.
func begin[T any](ctx context.Context, j *Jobs, w *watcher, convert func(Snapshot) T, read func() ([]Snapshot, error)) (<-chan T, error) {
	if !j.join(ctx, w) {
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	present, err := read()
	if err != nil {
		j.leave(w)
		return nil, err
	}
	w.line.start(present)
	out := make(chan T)
	go func() {
		defer j.leave(w)
		defer close(out)
		run(ctx, j.closing, w, out, convert)
	}()
	return out, nil
}

// watcher is one consumer of one job, or of the jobs of a connector.
type watcher struct {
	hub            *hub
	job, connector uuid.UUID // one of both
	wake           chan struct{}
	line           line // of the goroutine that runs

	mu   sync.Mutex
	news map[uuid.UUID]Snapshot // the newest of each job that was not looked at yet
	gone bool                   // what is watched has been deleted
	// known is how far the line has come with each of its jobs.
	known []version
}

// version is the place of a snapshot among those of its job.
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

// tell is called by the hub and never waits.
func (w *watcher) tell(s Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := s.version()
	for _, v := range w.known {
		if v.job == s.Job && !told.newer(v) {
			return // most of what is read again is known
		}
	}
	if w.news == nil {
		w.news = make(map[uuid.UUID]Snapshot, 1)
	}
	if old, ok := w.news[s.Job]; ok && !s.newer(old) {
		return
	}
	w.news[s.Job] = s
	w.nudge()
}

func (w *watcher) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.gone = true
	w.nudge()
}

func (w *watcher) nudge() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take empties the box, the oldest job first.
func (w *watcher) take() (list []Snapshot, gone bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.news {
		list = append(list, s)
	}
	w.news = nil
	slices.SortFunc(list, Snapshot.order)
	return list, w.gone
}

// note tells the hub how far the line has come.
func (w *watcher) note() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = w.known[:0]
	for _, s := range w.line.last {
		w.known = append(w.known, s.version())
	}
}

func run[T any](ctx context.Context, closing <-chan struct{}, w *watcher, out chan<- T, convert func(Snapshot) T) {
	w.note()
	gone := false
	for {
		var to chan<- T
		var next T
		switch {
		case len(w.line.pending) > 0:
			to, next = out, convert(w.line.pending[0])
		case gone || w.line.over():
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-closing:
			return
		case to <- next:
			w.line.pending = w.line.pending[1:]
		case <-w.wake:
			var list []Snapshot
			list, gone = w.take()
			for _, s := range list {
				w.line.offer(s)
			}
			w.note()
		}
	}
}

// line puts what is heard of jobs, in whatever order, into the order in which
// it is to be told.
type line struct {
	single  bool       // one job only
	last    []Snapshot // the newest that was offered of each job, in the order of jobs
	floor   time.Time  // unknown jobs before it are old ones
	pending []Snapshot // to be delivered, at most two for each state of a job
}

// keptJobs bounds the finished jobs that a line remembers.
const keptJobs = 64

func (l *line) start(present []Snapshot) {
	for _, s := range present {
		if l.floor.IsZero() {
			l.floor = s.CreatedAt
		}
		if s.Job != uuid.Nil {
			l.last = append(l.last, s)
		}
		l.pending = append(l.pending, s)
	}
}

// over says that nothing can follow.
func (l *line) over() bool {
	return l.single && len(l.last) > 0 && !Open(l.last[0].Status)
}

// offer queues s for delivery when it is newer than what was offered. The
// running state is never left out: a job that was seen queued and next finished
// did run in between.
func (l *line) offer(s Snapshot) {
	at := slices.IndexFunc(l.last, func(known Snapshot) bool { return known.Job == s.Job })
	switch {
	case at < 0 && s.CreatedAt.Before(l.floor):
		return
	case at < 0:
		if !Open(s.Status) && !s.StartedAt.IsZero() {
			l.push(running(s))
		}
		l.last = append(l.last, s)
		l.forget()
	case !s.newer(l.last[at]):
		return
	default:
		if l.last[at].Status == entjob.StatusQueued && !Open(s.Status) && !s.StartedAt.IsZero() {
			l.push(running(s))
		}
		l.last[at] = s
	}
	l.push(s)
}

func running(s Snapshot) Snapshot {
	s.Status, s.FinishedAt, s.Error = entjob.StatusRunning, time.Time{}, ""
	return s
}

func (l *line) push(s Snapshot) {
	if n := len(l.pending); n > 0 && l.pending[n-1].Job == s.Job && l.pending[n-1].Status == s.Status {
		l.pending[n-1] = s
		return
	}
	l.pending = append(l.pending, s)
}

func (l *line) forget() {
	if len(l.last) <= keptJobs {
		return
	}
	oldest := slices.IndexFunc(l.last, func(s Snapshot) bool { return !Open(s.Status) })
	if oldest < 0 {
		oldest = 0
	}
	if f := l.last[oldest].CreatedAt.Add(1); f.After(l.floor) {
		l.floor = f
	}
	l.last = slices.Delete(l.last, oldest, oldest+1)
}

// order is that in which jobs were queued.
func (s Snapshot) order(t Snapshot) int {
	return cmp.Or(s.CreatedAt.Compare(t.CreatedAt), bytes.Compare(s.Job[:], t.Job[:]))
}
