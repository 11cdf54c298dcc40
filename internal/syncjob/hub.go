package syncjob

import (
	"context"
	"log/slog"
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

// A hub passes the updates of one listener on the bus to all watchers of a process.
// It also reads the watched jobs from the database, in one statement for all, since
// the bus may lose updates.
type hub struct {
	mu         sync.Mutex
	jobs       map[uuid.UUID]map[*watcher]struct{}
	connectors map[uuid.UUID]map[*watcher]struct{}
	count      int
	stop       context.CancelFunc
}

// overlap is how far back a poll looks for new jobs: a job that was created before
// the last poll may have been committed after it, and clocks differ.
const overlap = 2 * time.Minute

// join registers a watcher; false if j is closed. The first watcher starts the
// polling.
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
		// The polling serves all watchers and must outlive the first one.
		polling, h.stop = context.WithCancel(viewer.With(outsideTransaction(context.WithoutCancel(ctx)), viewer.System(uuid.Nil)))
		j.watchers.Go(func() { j.poll(polling) })
	}
	h.count++
	table, key := h.watchersLike(w)
	if table[key] == nil {
		table[key] = map[*watcher]struct{}{}
	}
	table[key][w] = struct{}{}
	return true
}

// leave removes a watcher. The last one stops the polling.
func (j *Jobs) leave(w *watcher) {
	defer j.watchers.Done()
	h := &j.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	table, key := h.watchersLike(w)
	delete(table[key], w)
	if len(table[key]) == 0 {
		delete(table, key)
	}
	if h.count--; h.count == 0 {
		h.stop()
	}
}

// watchersLike returns the table that a watcher belongs to, and its key there.
func (h *hub) watchersLike(w *watcher) (table map[uuid.UUID]map[*watcher]struct{}, key uuid.UUID) {
	if w.connector != uuid.Nil {
		return h.connectors, w.connector
	}
	return h.jobs, w.job
}

// deliver does not block.
func (h *hub) deliver(s Snapshot) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for w := range h.jobs[s.Job] {
		w.update(s)
	}
	for w := range h.connectors[s.Connector] {
		w.update(s)
	}
}

// poll reads what is watched, at intervals.
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
			j.log.WarnContext(ctx, "watched sync jobs not read, will retry", slog.Any("error", err))
		}
	}
}

const pollLimit = 30 * time.Second

// readWatched reads, in one statement, all watched jobs and the jobs of watched
// connectors that were created after since. A second statement finds the connectors
// that still exist.
func (j *Jobs) readWatched(ctx context.Context, since time.Time) error {
	jobs, single, connectors := j.hub.watched()
	if len(jobs) == 0 && len(connectors) == 0 {
		return nil
	}
	rows, err := j.snapshotQuery().Where(entjob.Or(
		entjob.IDIn(jobs...),
		entjob.And(entjob.ConnectorIDIn(connectors...), entjob.CreatedAtGTE(since)),
	)).All(ctx)
	if err != nil {
		return rowError(err)
	}
	exists := make(map[uuid.UUID]bool, len(rows)+len(connectors))
	for _, row := range rows {
		exists[row.ID] = true
		j.hub.deliver(SnapshotOf(row))
	}
	if len(connectors) > 0 {
		ids, err := j.client.Connector.Query().Where(connector.IDIn(connectors...), connector.DeletingAtIsNil()).IDs(ctx)
		if err != nil {
			return rowError(err)
		}
		for _, id := range ids {
			exists[id] = true
		}
	}
	j.hub.endMissing(exists, single, connectors)
	return nil
}

// watched returns the jobs to read, those that are watched on their own, and the
// connectors, each once.
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

// endMissing ends the watchers of jobs and connectors that do not exist any more.
func (h *hub) endMissing(exists map[uuid.UUID]bool, jobs, connectors []uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range jobs {
		if !exists[id] {
			for w := range h.jobs[id] {
				w.end()
			}
		}
	}
	for _, id := range connectors {
		if !exists[id] {
			for w := range h.connectors[id] {
				w.end()
			}
		}
	}
}

// snapshotQuery returns a query for the columns of a snapshot. Other columns may be
// large.
func (j *Jobs) snapshotQuery() *ent.SyncJobQuery {
	query := j.client.SyncJob.Query()
	query.Select(
		entjob.FieldID, entjob.FieldConnectorID, entjob.FieldStatus, entjob.FieldCreatedAt, entjob.FieldStartedAt, entjob.FieldFinishedAt,
		entjob.FieldCollected, entjob.FieldParsed, entjob.FieldIndexed, entjob.FieldAdded, entjob.FieldModified, entjob.FieldDeleted,
		entjob.FieldUnchanged, entjob.FieldSkipped, entjob.FieldFailed, entjob.FieldWarnings, entjob.FieldError,
		entjob.FieldAttempt, entjob.FieldRevision, entjob.FieldCancelRequested,
	)
	return query
}

// newestFirst orders by time of creation, descending.
func newestFirst(o *entsql.OrderTermOptions) { o.Desc = true }
