package approval

import (
	"context"
	"encoding/base64"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/approval"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Filter selects approvals. The zero value selects all that the viewer may see.
type Filter struct {
	Statuses []approval.Status // none: any
	Mine     bool              // only those of the viewer's own runs
	Run      uuid.UUID         // zero: any
}

// Query returns the query of the approvals that the viewer may see.
func (s *Store) Query(ctx context.Context, f Filter) *ent.ApprovalQuery {
	q := s.client(ctx).Approval.Query()
	if len(f.Statuses) > 0 {
		q.Where(approval.StatusIn(f.Statuses...))
	}
	if f.Mine {
		v, _ := viewer.From(ctx)
		q.Where(approval.SubjectID(v.Subject))
	}
	if f.Run != uuid.Nil {
		q.Where(approval.RunID(f.Run))
	}
	return q
}

// List is [Store.Query], but the run of a filter must be the viewer's own or one with
// approvals that the viewer may see. Otherwise it is not found.
func (s *Store) List(ctx context.Context, f Filter) (*ent.ApprovalQuery, error) {
	q := s.Query(ctx, f)
	if f.Run == uuid.Nil {
		return q, nil
	}
	seen, err := s.client(ctx).AgentRun.Query().Where(agentrun.ID(f.Run)).Exist(ctx)
	if err == nil && !seen {
		seen, err = s.Query(ctx, Filter{Run: f.Run}).Exist(ctx)
	}
	if err != nil {
		return nil, apierr.Wrap("look for a run", err)
	}
	if !seen {
		return nil, apierr.NotFound("Run")
	}
	return q, nil
}

// Get returns an approval that the viewer may see.
func (s *Store) Get(ctx context.Context, id uuid.UUID) (*ent.Approval, error) {
	row, err := s.client(ctx).Approval.Get(ctx, id)
	return row, lookup.Error("Approval", err)
}

// A Change is a new state of an approval.
type Change struct {
	// Cursor is the position after this change.
	Cursor   string
	Approval *ent.Approval
}

const (
	// overlap is how far a watcher looks back, because a transaction commits after the
	// time that its rows have.
	overlap = 30 * time.Second
	// watchPage bounds the rows that a watcher reads at once.
	watchPage = 200
)

// watchers wakes the watchers of a process.
type watchers struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next change
	closed  bool
	closing chan struct{}
	running sync.WaitGroup
}

func (w *watchers) wait() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

func (w *watchers) wake() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.changed)
	w.changed = make(chan struct{})
}

// Close ends the watches of the store and waits for them.
func (s *Store) Close() {
	s.watchers.mu.Lock()
	if !s.watchers.closed {
		s.watchers.closed = true
		close(s.watchers.closing)
	}
	s.watchers.mu.Unlock()
	s.watchers.running.Wait()
}

// Watch returns the approvals that the viewer may see, and that the filter selects,
// whenever they change. Without a cursor, the pending ones come first; with the cursor
// of the last change received, what has changed since. After a cursor, changes of the
// last half minute before it may come again. A slow reader gets only the newest states.
// With an id, only that approval is watched, in any state, until it is decided. The
// channel is closed when ctx ends and when the store is closed.
func (s *Store) Watch(ctx context.Context, f Filter, id uuid.UUID, after string) (<-chan Change, error) {
	ctx = transaction.Outside(ctx)
	since, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	if id != uuid.Nil {
		if _, err := s.Get(ctx, id); err != nil {
			return nil, err
		}
	}
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	if s.watchers.closed {
		return nil, apierr.New(apierr.Unavailable, "The server is shutting down; try again.")
	}
	w := &watch{store: s, filter: f, id: id, since: since, seen: map[uuid.UUID]time.Time{}, out: make(chan Change)}
	s.watchers.running.Go(func() {
		defer close(w.out)
		w.run(ctx)
	})
	return w.out, nil
}

// watch is one reader.
type watch struct {
	store  *Store
	filter Filter
	id     uuid.UUID
	since  time.Time // zero until the pending approvals have been sent
	seen   map[uuid.UUID]time.Time
	out    chan Change
}

func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(w.store.opt.Poll)
	defer tick.Stop()
	for {
		changed := w.store.watchers.wait()
		ended, err := w.step(ctx)
		if ended || ctx.Err() != nil {
			return
		}
		if err != nil {
			w.store.opt.Log.WarnContext(ctx, "approvals not read, will retry", slog.Any("error", err))
		}
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		case <-w.store.watchers.closing:
			return
		}
	}
}

// step sends what has changed and reports whether the watch has ended.
func (w *watch) step(ctx context.Context) (ended bool, err error) {
	first, started, since := w.since.IsZero(), w.store.now(), w.since
	if first {
		since = started
	}
	for offset := 0; ; offset += watchPage {
		rows, err := w.query(ctx, first).Offset(offset).Limit(watchPage).All(ctx)
		if err != nil {
			return false, err
		}
		if w.id != uuid.Nil && len(rows) == 0 {
			return true, nil // its run is gone
		}
		for _, row := range rows {
			if at, ok := w.seen[row.ID]; ok && !row.UpdatedAt.After(at) {
				continue
			}
			if !first && row.UpdatedAt.After(since) {
				since = row.UpdatedAt
			}
			if !w.send(ctx, Change{Cursor: cursorOf(since), Approval: row}) {
				return true, nil
			}
			w.seen[row.ID] = row.UpdatedAt
			if w.id != uuid.Nil && row.Status != approval.StatusPending {
				return true, nil
			}
		}
		if len(rows) < watchPage || w.id != uuid.Nil {
			break
		}
	}
	w.since = since
	for id, at := range w.seen {
		if at.Before(since.Add(-2 * overlap)) {
			delete(w.seen, id)
		}
	}
	return false, nil
}

// query returns the query of what a step looks at.
func (w *watch) query(ctx context.Context, first bool) *ent.ApprovalQuery {
	q := w.store.Query(ctx, w.filter).Order(ent.Asc(approval.FieldUpdatedAt, approval.FieldID))
	switch {
	case w.id != uuid.Nil:
		return q.Where(approval.ID(w.id))
	case first:
		return q.Where(approval.StatusEQ(approval.StatusPending))
	default:
		return q.Where(approval.UpdatedAtGT(w.since.Add(-overlap)))
	}
}

func (w *watch) send(ctx context.Context, c Change) bool {
	select {
	case w.out <- c:
		return true
	case <-ctx.Done():
	case <-w.store.watchers.closing:
	}
	return false
}

func cursorOf(at time.Time) string {
	return base64.RawURLEncoding.EncodeToString([]byte(at.UTC().Format(time.RFC3339Nano)))
}

func parseCursor(text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	plain, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		var at time.Time
		if at, err = time.Parse(time.RFC3339Nano, string(plain)); err == nil && !at.IsZero() {
			return at, nil
		}
	}
	return time.Time{}, apierr.Invalid("after", "is not a cursor of this subscription")
}
