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

// MaxLimit is the largest limit that can be set.
const MaxLimit = 1_000_000_000_000

// Options of a Quota. The zero value counts and limits nothing.
type Options struct {
	// Limit is that of workspaces that have none of their own; 0 is no limit.
	Limit int64
	// Every is how often what was counted in memory is written; 1 s when zero.
	Every time.Duration
	// FreshFor is how old the knowledge may be that a workspace has no limit;
	// 800 ms when zero.
	FreshFor time.Duration
	Log      *slog.Logger     // nil: silent
	Now      func() time.Time // nil: the system's clock
}

// Quota counts and limits queries. It owns a goroutine; Close ends it.
type Quota struct {
	pool   *pgxpool.Pool
	o      Options
	limits *ttlcache.Cache[uuid.UUID, int64] // of workspaces; 0 for none

	mu      sync.Mutex
	counted map[period]int64 // and not written yet

	writing sync.Mutex // one writer at a time, so that Usage sees all or nothing
	stop    chan struct{}
	stopped sync.WaitGroup
	once    sync.Once
}

// period is a workspace's month.
type period struct {
	workspace uuid.UUID
	month     time.Time // its beginning
}

// New makes the quotas of a database, over the application's pool
// (internal/store). Close it before the pool; the end of ctx changes nothing.
func New(ctx context.Context, pool *pgxpool.Pool, o Options) *Quota {
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	q := &Quota{pool: pool, o: o, counted: map[period]int64{}, stop: make(chan struct{})}
	q.limits = ttlcache.New(q.readLimit, ttlcache.Options{MaxAge: o.FreshFor, Now: o.Now})
	q.stopped.Add(1)
	go func() {
		defer q.stopped.Done()
		q.keepWriting(context.WithoutCancel(ctx))
	}()
	return q
}

// Close writes down what was counted in memory and ends.
func (q *Quota) Close() {
	q.once.Do(func() { close(q.stop) })
	q.stopped.Wait()
	q.limits.Close()
}

// Charge counts one query of the viewer as Take does. Queries of Magpie itself, on
// the command line or in benchmarks, are free.
func (q *Quota) Charge(ctx context.Context) error {
	if v, ok := viewer.From(ctx); ok && v.Surface == viewer.SurfaceInternal {
		return nil
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return err
	}
	return q.Take(ctx, scope)
}

// Take counts one query of the scope's workspace; quota_exceeded when that
// would be one too many. Where there is a limit and PostgreSQL cannot be asked,
// the query is refused with the error of that.
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
	case limit == 0: // since a moment ago
		q.count(at, 1)
		return nil
	case !taken:
		return apierr.New(apierr.QuotaExceeded, fmt.Sprintf(
			"Query limit exceeded: the %d queries of this month are used up; counting begins anew on %s (UTC)",
			limit, next(at.month).Format(time.DateOnly)))
	}
	return nil
}

// Usage is where a workspace stands in a month.
type Usage struct {
	Start, End time.Time // of the month; the end is the next one's start
	Queries    int64
	Limit      int64 // 0: none
}

// Remaining is how many queries are left, where there is a limit.
func (u Usage) Remaining() int64 { return max(u.Limit-u.Queries, 0) }

// Usage tells how many queries of this month the scope's workspace has made.
// Those that other nodes counted in memory may be missing for a second.
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

// SetLimit gives the scope's workspace a limit of its own, 0 for none; nil is
// the server's default. It binds on every node within a second.
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

// setLimit changes the limit and says so in the audit log.
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

// count notes queries to be written later.
func (q *Quota) count(at period, n int64) {
	q.mu.Lock()
	q.counted[at] += n
	q.mu.Unlock()
}

// monthOf is the beginning of the month of a time.
func monthOf(t time.Time) time.Time {
	year, month, _ := t.UTC().Date()
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

func next(month time.Time) time.Time { return month.AddDate(0, 1, 0) }
