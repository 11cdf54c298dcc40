package syncjob

import (
	"context"
	"slices"
	"sync"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// hub passes what one listener at the bus hears on to all watchers of a process,
// and reads what the bus may have lost in one statement for all of them.
type hub struct {
	mu         sync.Mutex
	jobs       map[uuid.UUID]map[*watcher]struct{}
	connectors map[uuid.UUID]map[*watcher]struct{}
	count      int
	stop       context.CancelFunc
}

// overlap is how far back a reading looks for jobs that were queued since the
// one before: what began earlier may have been committed later, and clocks differ.
const overlap = 2 * time.Minute

// join registers a watcher; false when j is closed. The first one starts the hub.
func (j *Jobs) join(ctx context.Context, w *watcher) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closed {
		return false
	}
	j.watchers.Add(1)
	h := &j.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.count == 0 {
		h.jobs, h.connectors = map[uuid.UUID]map[*watcher]struct{}{}, map[uuid.UUID]map[*watcher]struct{}{}
		var polling context.Context
		// The polling serves all watchers and outlives the one that came first.
		polling, h.stop = context.WithCancel(viewer.With(plain(context.WithoutCancel(ctx)), viewer.System(uuid.Nil)))
		j.watchers.Go(func() { j.poll(polling) })
	}
	h.count++
	table, key := h.place(w)
	if table[key] == nil {
		table[key] = map[*watcher]struct{}{}
	}
	table[key][w] = struct{}{}
	return true
}

// leave takes a watcher out; the last one stops the hub.
func (j *Jobs) leave(w *watcher) {
	defer j.watchers.Done()
	h := &j.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	table, key := h.place(w)
	delete(table[key], w)
	if len(table[key]) == 0 {
		delete(table, key)
	}
	if h.count--; h.count == 0 {
		h.stop()
	}
}

func (h *hub) place(w *watcher) (table map[uuid.UUID]map[*watcher]struct{}, key uuid.UUID) {
	if w.connector != uuid.Nil {
		return h.connectors, w.connector
	}
	return h.jobs, w.job
}

// deliver never waits.
func (h *hub) deliver(s Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.jobs[s.Job] {
		w.tell(s)
	}
	for w := range h.connectors[s.Connector] {
		w.tell(s)
	}
}

// poll reads again and again what is watched.
func (j *Jobs) poll(ctx context.Context) {
	tick := time.NewTicker(j.times.Poll)
	defer tick.Stop()
	since := j.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-j.closing:
			return
		case <-tick.C:
		}
		now := j.now()
		limited, cancel := context.WithTimeout(ctx, pollLimit)
		err := j.readWatched(limited, since.Add(-overlap))
		cancel()
		switch {
		case err == nil:
			since = now
		case ctx.Err() == nil:
			j.log.WarnContext(ctx, "watched sync jobs cannot be read at the moment", "error", err)
		}
	}
}

const pollLimit = 30 * time.Second

// readWatched reads all watched jobs, and those of watched connectors that were
// queued after a time, in one statement, and in another which connectors there are.
func (j *Jobs) readWatched(ctx context.Context, since time.Time) error {
	jobs, single, connectors := j.hub.watched()
	if len(jobs) == 0 && len(connectors) == 0 {
		return nil
	}
	rows, err := j.shown().Where(entjob.Or(
		entjob.IDIn(jobs...),
		entjob.And(entjob.ConnectorIDIn(connectors...), entjob.CreatedAtGTE(since)),
	)).All(ctx)
	if err != nil {
		return rowError(err)
	}
	there := make(map[uuid.UUID]bool, len(rows)+len(connectors))
	for _, row := range rows {
		there[row.ID] = true
		j.hub.deliver(SnapshotOf(row))
	}
	if len(connectors) > 0 {
		ids, err := j.client.Connector.Query().Where(connector.IDIn(connectors...), connector.DeletingAtIsNil()).IDs(ctx)
		if err != nil {
			return rowError(err)
		}
		for _, id := range ids {
			there[id] = true
		}
	}
	j.hub.endMissing(there, single, connectors)
	return nil
}

// watched lists the jobs to read, those of them that are watched by themselves,
// and the connectors, each once.
func (h *hub) watched() (jobs, single, connectors []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id := range h.jobs {
		single = append(single, id)
	}
	jobs = slices.Clone(single)
	for id, watchers := range h.connectors {
		connectors = append(connectors, id)
		for w := range watchers {
			w.mu.Lock()
			for _, v := range w.known {
				if v.open {
					jobs = append(jobs, v.job)
				}
			}
			w.mu.Unlock()
		}
	}
	slices.SortFunc(jobs, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(jobs), single, connectors
}

// endMissing ends the watchers of what was read and is not there any more.
func (h *hub) endMissing(there map[uuid.UUID]bool, jobs, connectors []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range jobs {
		if !there[id] {
			for w := range h.jobs[id] {
				w.end()
			}
		}
	}
	for _, id := range connectors {
		if !there[id] {
			for w := range h.connectors[id] {
				w.end()
			}
		}
	}
}

// shown reads what a snapshot shows; the rest of a row may be large.
func (j *Jobs) shown() *ent.SyncJobQuery {
	query := j.client.SyncJob.Query()
	query.Select(
		entjob.FieldID, entjob.FieldConnectorID, entjob.FieldStatus, entjob.FieldCreatedAt, entjob.FieldStartedAt, entjob.FieldFinishedAt,
		entjob.FieldCollected, entjob.FieldParsed, entjob.FieldIndexed, entjob.FieldAdded, entjob.FieldModified, entjob.FieldDeleted,
		entjob.FieldUnchanged, entjob.FieldSkipped, entjob.FieldFailed, entjob.FieldWarnings, entjob.FieldError,
		entjob.FieldAttempt, entjob.FieldRevision, entjob.FieldCancelRequested,
	)
	return query
}

// newestFirst orders by time of queueing, backwards.
func newestFirst(o *entsql.OrderTermOptions) { o.Desc = true }
