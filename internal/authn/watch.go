package authn

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"magpie/ent/membership"
	"magpie/ent/session"
	"magpie/internal/viewer"
)

// watchBatch is how many sessions are asked for in one statement.
const watchBatch = 5_000

// watch tells those who serve a session for long that it has ended. While
// somebody waits, one goroutine asks the database for all of them at once every
// FreshFor, whatever their number.
type watch struct {
	accounts *Accounts
	nudge    chan struct{}
	done     sync.WaitGroup

	mu      sync.Mutex
	waiting map[uuid.UUID]map[*watcher]struct{}
	running bool
	cancel  context.CancelFunc // of the goroutine that runs or ran
	closed  bool
	failing bool
}

type watcher struct {
	role  viewer.Role
	ended chan struct{}
	told  bool
}

func newWatch(a *Accounts) *watch {
	return &watch{accounts: a, nudge: make(chan struct{}, 1), waiting: map[uuid.UUID]map[*watcher]struct{}{}}
}

// Watch gives a channel that is closed when the viewer's session has ended, or
// when the person's role in the workspace is another than the viewer's: what was
// begun for this viewer may not go on. That is seen within FreshFor and the time
// of a statement. stop ends the watching; call it once. Close of the accounts
// closes the channel.
func (a *Accounts) Watch(ctx context.Context, v viewer.Viewer) (ended <-chan struct{}, stop func()) {
	return a.watched.add(ctx, v)
}

func (w *watch) add(ctx context.Context, v viewer.Viewer) (<-chan struct{}, func()) {
	one := &watcher{role: v.Role, ended: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		close(one.ended)
		return one.ended, func() {}
	}
	if w.waiting[v.Session] == nil {
		w.waiting[v.Session] = map[*watcher]struct{}{}
	}
	w.waiting[v.Session][one] = struct{}{}
	if !w.running {
		w.running = true
		ctx, cancel := context.WithCancel(asSystem(context.WithoutCancel(ctx)))
		w.cancel = cancel
		w.done.Go(func() {
			defer cancel()
			w.run(ctx)
		})
	}
	return one.ended, func() { w.remove(v.Session, one) }
}

func (w *watch) remove(id uuid.UUID, one *watcher) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waiting[id], one)
	if len(w.waiting[id]) == 0 {
		delete(w.waiting, id)
	}
}

// hurry makes the next look come at once.
func (w *watch) hurry() {
	select {
	case w.nudge <- struct{}{}:
	default:
	}
}

// run looks while somebody waits.
func (w *watch) run(ctx context.Context) {
	tick := time.NewTicker(FreshFor)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-w.nudge:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		ids := make([]uuid.UUID, 0, len(w.waiting))
		for id := range w.waiting {
			ids = append(ids, id)
		}
		if len(ids) == 0 {
			w.running = false
			w.mu.Unlock()
			return
		}
		w.mu.Unlock()
		for batch := range slices.Chunk(ids, watchBatch) {
			w.look(ctx, batch)
		}
	}
}

// look tells those whose session has ended. While the database does not answer
// nobody is told anything.
func (w *watch) look(ctx context.Context, ids []uuid.UUID) {
	asking, cancel := context.WithTimeout(ctx, noteTime)
	defer cancel()
	roles, err := w.accounts.rolesOf(asking, ids)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil {
		if !w.failing && ctx.Err() == nil {
			w.accounts.log.WarnContext(ctx, "sessions could not be watched", slog.Any("error", err))
		}
		w.failing = true
		return
	}
	w.failing = false
	for _, id := range ids {
		role, alive := roles[id]
		for one := range w.waiting[id] {
			if (!alive || role != one.role) && !one.told {
				one.told = true
				close(one.ended)
			}
		}
	}
}

// rolesOf are the roles in those of the sessions that have not ended.
func (a *Accounts) rolesOf(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]viewer.Role, error) {
	rows, err := a.ent.Session.Query().
		Where(session.IDIn(ids...), session.RevokedAtIsNil(), session.ExpiresAtGT(a.now())).
		Select(session.FieldID, session.FieldWorkspaceID, session.FieldUserID).All(ctx)
	if err != nil {
		return nil, err
	}
	type seat struct{ workspace, person uuid.UUID }
	people := make([]uuid.UUID, 0, len(rows))
	for _, row := range rows {
		people = append(people, row.UserID)
	}
	slices.SortFunc(people, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	members, err := a.ent.Membership.Query().Where(membership.UserIDIn(slices.Compact(people)...)).
		Select(membership.FieldWorkspaceID, membership.FieldUserID, membership.FieldRole).All(ctx)
	if err != nil {
		return nil, err
	}
	seats := make(map[seat]viewer.Role, len(members))
	for _, m := range members {
		seats[seat{m.WorkspaceID, m.UserID}] = roleOf(m.Role)
	}
	roles := make(map[uuid.UUID]viewer.Role, len(rows))
	for _, row := range rows {
		if role, ok := seats[seat{row.WorkspaceID, row.UserID}]; ok {
			roles[row.ID] = role
		}
	}
	return roles, nil
}

// close ends the watching and tells everybody.
func (w *watch) close() {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return
	}
	w.closed = true
	if w.cancel != nil {
		w.cancel()
	}
	w.mu.Unlock()
	w.done.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, some := range w.waiting {
		for one := range some {
			if !one.told {
				one.told = true
				close(one.ended)
			}
		}
	}
	clear(w.waiting)
}
