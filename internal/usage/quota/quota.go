package quota

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// TypingFraction is the number of searches of a query that is being typed that count as one
// query.
const TypingFraction = 10

// MaxLimit is the largest limit that can be set.
const MaxLimit = 1_000_000_000_000

// Options of a Quota. The zero value counts and limits nothing.
type Options struct {
	// Limit is the default limit of workspaces; 0 is no limit.
	Limit int64
	// Interval is the time between two writes of the counts in memory; 1 s when zero.
	Interval time.Duration
	// MaxLimitAge is how long limits are cached; 800 ms when zero.
	MaxLimitAge time.Duration
	Log         *slog.Logger     // nil logs nothing
	Now         func() time.Time // time.Now when nil
}

// A Quota counts and limits queries. It owns a goroutine, which Close ends.
type Quota struct {
	pool   *pgxpool.Pool
	o      Options
	limits *ttlcache.Cache[uuid.UUID, int64] // of workspaces; 0 for none

	mu      sync.Mutex
	counted map[period]int64 // not written yet
	typed   map[period]int64 // what is left of the last query that was counted for typing, in fractions

	writing sync.Mutex // one writer at a time, so that Usage sees all or nothing
	stop    chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
}

// A period is a month of a workspace.
type period struct {
	workspace uuid.UUID
	month     time.Time // its start
}

// New returns a Quota on the application's pool (internal/store). It must be closed before
// the pool. The end of ctx does not end it.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) *Quota {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	q := &Quota{pool: pool, o: o, counted: map[period]int64{}, typed: map[period]int64{}, stop: make(chan struct{})}
	q.limits = ttlcache.New(q.readLimit, ttlcache.Options{MaxAge: o.MaxLimitAge, Now: o.Now})
	q.stopped.Add(1)
	go func() {
		defer q.stopped.Done()
		q.writeLoop(context.WithoutCancel(ctx))
	}()
	return q
}

// Close writes the counts in memory and ends the Quota.
func (q *Quota) Close() {
	q.once.Do(func() { close(q.stop) })
	q.stopped.Wait()
	q.limits.Close()
}

// Charge counts one query of the viewer as Take does. Queries of Magpie itself, on
// the command line or in benchmarks, are free.
func (q *Quota) Charge(ctx context.Context) error {
	if isInternal(ctx) {
		return nil
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	return q.Take(ctx, scope)
}

// isInternal reports whether a query is Magpie's own, which is not counted.
func isInternal(ctx context.Context) bool {
	v, ok := viewer.From(ctx)
	return ok && v.Surface == viewer.SurfaceInternal
}

// ChargeTyping counts a search of a query that is being typed: the first of TypingFraction
// of a workspace counts a query as Charge does, on each node.
func (q *Quota) ChargeTyping(ctx context.Context) error {
	if isInternal(ctx) {
		return nil
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return apierr.Wrap("count the query", err)
	}
	at := period{workspace, monthOf(q.o.Now())}
	if q.spendTyped(at) {
		return nil
	}
	if err := q.Take(ctx, scope); err != nil {
		return err
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	for old := range q.typed {
		if !old.month.Equal(at.month) {
			delete(q.typed, old)
		}
	}
	q.typed[at] += TypingFraction - 1
	return nil
}

// spendTyped takes a fraction of a query that was counted. ok is false if none is left.
func (q *Quota) spendTyped(at period) (ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left := q.typed[at]
	if left == 0 {
		return false
	}
	if left == 1 {
		delete(q.typed, at)
	} else {
		q.typed[at] = left - 1
	}
	return true
}

// Take counts one query of the scope's workspace. It returns quota_exceeded if the limit is
// reached. If PostgreSQL is unavailable, it returns an error for a workspace with a limit.
func (q *Quota) Take(ctx context.Context, scope viewer.Scope) error {
	workspace, err := scope.Workspace()
	if err != nil {
		return apierr.Wrap("count the query", err)
	}
	at := period{workspace, monthOf(q.o.Now())}
	limit, found, err := q.limits.Get(ctx, workspace)
	switch {
	case err != nil:
		return apierr.Wrap("read the query limit", err)
	case !found:
		return apierr.NotFound("Workspace")
	case limit == 0:
		q.count(at, 1)
		return nil
	}
	limit, taken, err := q.take(ctx, at)
	switch {
	case err != nil:
		return apierr.Wrap("count the query", err)
	case limit == 0: // the cached limit was out of date
		q.count(at, 1)
		return nil
	case !taken:
		return apierr.New(apierr.QuotaExceeded, fmt.Sprintf(
			"Query limit exceeded: the %d queries of this month are used up; counting restarts on %s (UTC)",
			limit, next(at.month).Format(time.DateOnly)))
	}
	return nil
}

// Usage is the usage of a workspace in a month.
type Usage struct {
	Start, End time.Time // of the month; End is the start of the next one
	Queries    int64
	Limit      int64 // 0: none
}

// Remaining returns how many queries are left, if there is a limit.
func (u Usage) Remaining() int64 { return max(u.Limit-u.Queries, 0) }

// Usage returns the usage of the scope's workspace in this month. Queries that other nodes
// count in memory may be missing for a second.
func (q *Quota) Usage(ctx context.Context, scope viewer.Scope) (Usage, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return Usage{}, apierr.Wrap("read the usage", err)
	}
	if err := q.write(ctx); err != nil {
		return Usage{}, apierr.Wrap("write the usage", err)
	}
	at := period{workspace, monthOf(q.o.Now())}
	u := Usage{Start: at.month, End: next(at.month)}
	switch u.Limit, u.Queries, err = q.read(ctx, at); {
	case errors.Is(err, errNoWorkspace):
		return Usage{}, apierr.NotFound("Workspace")
	case err != nil:
		return Usage{}, apierr.Wrap("read the usage", err)
	}
	return u, nil
}

// SetLimit sets the limit of the scope's workspace: 0 for no limit, nil for the default.
// Every node applies it within a second.
func (q *Quota) SetLimit(ctx context.Context, scope viewer.Scope, limit *int64) error {
	if limit != nil && (*limit < 0 || *limit > MaxLimit) {
		return apierr.Invalid("limit", fmt.Sprintf("must be 0 (no limit) to %d", int64(MaxLimit)))
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return apierr.Wrap("set the query limit", err)
	}
	err = pgx.BeginFunc(ctx, q.pool, func(tx pgx.Tx) error { return setLimit(ctx, tx, workspace, limit) })
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return apierr.NotFound("Workspace")
	case err != nil:
		return apierr.Wrap("set the query limit", err)
	}
	q.limits.Invalidate(func(int64) bool { return true })
	return nil
}

// setLimit changes the limit and writes an audit entry.
func setLimit(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, limit *int64) error {
	var before *int64
	var name string
	err := tx.QueryRow(ctx, "select query_limit, name from workspaces where id = $1 for no key update", workspace).Scan(&before, &name)
	if err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, "update workspaces set query_limit = $2, updated_at = now() where id = $1", workspace, limit); err != nil {
		return err
	}
	return audit.Record(ctx, func(ctx context.Context, query string, arguments ...any) error {
		_, err := tx.Exec(ctx, query, arguments...)
		return err
	}, audit.Event{
		Workspace: workspace, Action: "quota.set", TargetKind: "workspace", TargetID: workspace, TargetName: name,
		Changes: []audit.Change{{Field: "query_limit", Old: orNone(before), New: orNone(limit)}},
	})
}

func orNone(n *int64) any {
	if n == nil {
		return nil
	}
	return *n
}

// count adds to the counts in memory.
func (q *Quota) count(at period, n int64) {
	q.mu.Lock()
	q.counted[at] += n
	q.mu.Unlock()
}

// monthOf returns the start of the month of a time (UTC).
func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

func next(month time.Time) time.Time { return month.AddDate(0, 1, 0) }
