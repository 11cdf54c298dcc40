package quota_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/usage/quota"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// A fixture is a migrated database with a clock.
type fixture struct {
	t     testing.TB
	urls  *testkit.DB
	db    *store.DB
	clock *clock
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	urls := testkit.Database(t)
	h := &fixture{t: t, urls: urls, clock: &clock{at: time.Date(2026, 11, 30, 23, 59, 0, 0, time.UTC)}}
	h.db = h.open()
	return h
}

func (h *fixture) open() *store.DB {
	h.t.Helper()
	db, err := store.Open(h.t.Context(), h.urls.AppURL, 4)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(db.Close)
	return db
}

// node returns a Quota with its own pool, as in another process.
func (h *fixture) node(o quota.Options) *quota.Quota {
	h.t.Helper()
	if o.Now == nil {
		o.Now = h.clock.now
	}
	q := quota.New(h.t.Context(), h.open().Pool, o)
	h.t.Cleanup(q.Close)
	return q
}

func (h *fixture) workspace(name string) viewer.Scope {
	h.t.Helper()
	row, err := h.db.Ent.Workspace.Create().SetName(name).Save(viewer.With(h.t.Context(), viewer.System(uuid.Nil)))
	if err != nil {
		h.t.Fatal(err)
	}
	return scope(h.t, row.ID)
}

func scope(t testing.TB, workspace uuid.UUID) viewer.Scope {
	t.Helper()
	s, err := viewer.System(workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func limit(t testing.TB, q *quota.Quota, s viewer.Scope, n int64) {
	t.Helper()
	if err := q.SetLimit(t.Context(), s, &n); err != nil {
		t.Fatal(err)
	}
}

func usage(t testing.TB, q *quota.Quota, s viewer.Scope) quota.Usage {
	t.Helper()
	u, err := q.Usage(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func code(err error) apierr.Code {
	if err == nil {
		return ""
	}
	return apierr.From(err).Code
}

// asAdmin runs statements as the superuser of the database.
func (h *fixture) asAdmin(statements ...string) {
	h.t.Helper()
	connection, err := pgx.Connect(h.t.Context(), h.urls.AdminURL)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = connection.Close(h.t.Context()) }()
	for _, s := range statements {
		if _, err := connection.Exec(h.t.Context(), s); err != nil {
			h.t.Fatal(err)
		}
	}
}

// rush takes n queries at once, on alternating nodes, and returns how many were admitted.
func rush(t *testing.T, s viewer.Scope, n int, nodes ...*quota.Quota) int {
	t.Helper()
	var through atomic.Int64
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			switch err := nodes[i%len(nodes)].Take(t.Context(), s); code(err) {
			case "":
				through.Add(1)
			case apierr.QuotaExceeded:
			default:
				t.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
	return int(through.Load())
}

func TestTheLimitIsExactOverNodesAndConcurrentRequests(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	one, two := h.node(quota.Options{}), h.node(quota.Options{})
	for _, c := range []struct{ limit, requests int }{{1, 200}, {37, 200}, {199, 200}, {200, 200}, {300, 200}} {
		s := h.workspace("W")
		limit(t, one, s, int64(c.limit))
		want := min(c.limit, c.requests)
		if through := rush(t, s, c.requests, one, two); through != want {
			t.Errorf("limit %d: %d of %d were admitted", c.limit, through, c.requests)
		}
		for _, q := range []*quota.Quota{one, two} {
			if u := usage(t, q, s); u.Queries != int64(want) || u.Limit != int64(c.limit) || u.Remaining() != int64(c.limit-want) {
				t.Errorf("limit %d: %+v", c.limit, u)
			}
		}
	}
}

func TestTheRefusalNamesTheNextMonth(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	q := h.node(quota.Options{Limit: 2})
	s := h.workspace("W")
	if through := rush(t, s, 5, q); through != 2 {
		t.Fatalf("%d", through)
	}
	err := q.Take(t.Context(), s)
	if got, want := apierr.From(err).Message, "Query limit exceeded: the 2 queries of this month are used up; counting restarts on 2026-12-01 (UTC)"; code(err) != apierr.QuotaExceeded || got != want {
		t.Errorf("%q", got)
	}
}

func TestMonthsBeginInUTC(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	q := h.node(quota.Options{Limit: 3})
	s := h.workspace("W")
	kiritimati := time.FixedZone("+14", 14*3600)
	h.clock.set(time.Date(2026, 12, 1, 13, 59, 59, 0, kiritimati)) // in UTC it is still November
	if through := rush(t, s, 5, q); through != 3 {
		t.Errorf("November: %d", through)
	}
	if u := usage(t, q, s); !u.Start.Equal(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)) || !u.End.Equal(time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)) || u.Queries != 3 {
		t.Errorf("%+v", u)
	}
	h.clock.set(time.Date(2026, 12, 1, 14, 0, 0, 0, kiritimati))
	if u := usage(t, q, s); u.Queries != 0 || u.Remaining() != 3 || !u.End.Equal(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("%+v", u)
	}
	if through := rush(t, s, 5, q); through != 3 {
		t.Errorf("December: %d", through)
	}
}

func TestQueriesWithoutALimitAreAllCounted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	one, two := h.node(quota.Options{}), h.node(quota.Options{Interval: time.Hour})
	a, b := h.workspace("A"), h.workspace("B")
	if through := rush(t, a, 500, one, two) + rush(t, b, 300, one, two); through != 800 {
		t.Errorf("%d", through)
	}
	if u := usage(t, two, b); u.Queries < 150 || u.Limit != 0 {
		t.Errorf("a node does not see what it counted itself: %+v", u)
	}
	two.Close() // writes the counts
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	for h.stored(a) != 500 || h.stored(b) != 300 { // the other node writes periodically
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%d and %d are stored", h.stored(a), h.stored(b))
		}
	}
}

// stored returns the count of all months in the database.
func (h *fixture) stored(s viewer.Scope) (queries int64) {
	h.t.Helper()
	workspace, err := s.Workspace()
	if err != nil {
		h.t.Fatal(err)
	}
	connection, err := pgx.Connect(h.t.Context(), h.urls.AdminURL)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = connection.Close(h.t.Context()) }()
	err = connection.QueryRow(h.t.Context(), "select coalesce(sum(queries), 0) from usage_counters where workspace_id = $1", workspace).Scan(&queries)
	if err != nil {
		h.t.Fatal(err)
	}
	return queries
}

func TestLimitsAreSetChangedAndRemoved(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	operator, q := h.node(quota.Options{Limit: 5}), h.node(quota.Options{Limit: 5})
	s := h.workspace("W")
	none := int64(0)
	if err := operator.SetLimit(t.Context(), s, &none); err != nil {
		t.Fatal(err)
	}
	if through := rush(t, s, 20, q); through != 20 {
		t.Fatalf("without a limit: %d", through)
	}
	if u := usage(t, q, s); u.Limit != 0 || u.Queries != 20 || u.Remaining() != 0 {
		t.Errorf("%+v", u)
	}
	pass := func() { h.clock.set(h.clock.now().Add(time.Second)) } // cached limits expire
	limit(t, operator, s, 30)
	if pass(); rush(t, s, 20, q) != 10 {
		t.Error("queries made without a limit do not count against one set later")
	}
	limit(t, operator, s, 32) // applies at once if there was a limit before
	if through := rush(t, s, 20, q); through != 2 {
		t.Errorf("raised: %d", through)
	}
	limit(t, operator, s, 10)
	if through := rush(t, s, 3, q); through != 0 {
		t.Errorf("lowered: %d", through)
	}
	if u := usage(t, q, s); u.Queries != 32 || u.Remaining() != 0 || u.Limit != 10 {
		t.Errorf("%+v", u)
	}
	if err := operator.SetLimit(t.Context(), s, nil); err != nil {
		t.Fatal(err)
	}
	if u := usage(t, q, s); u.Limit != 5 {
		t.Errorf("the server's default: %+v", u)
	}
	limit(t, operator, s, 0) // the node has cached a limit
	if through := rush(t, s, 7, q); through != 7 {
		t.Errorf("removed: %d", through)
	}
	if u := usage(t, q, s); u.Queries != 39 {
		t.Errorf("%+v", u)
	}
	for _, wrong := range []int64{-1, quota.MaxLimit + 1} {
		if err := operator.SetLimit(t.Context(), s, &wrong); code(err) != apierr.InvalidRequest {
			t.Errorf("%d: %v", wrong, err)
		}
	}
}

func TestWorkspacesHaveTheirOwnCounts(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	q := h.node(quota.Options{Limit: 3})
	a, b := h.workspace("A"), h.workspace("B")
	if rush(t, a, 5, q) != 3 || rush(t, b, 2, q) != 2 {
		t.Error("workspaces share a limit")
	}
	if u := usage(t, q, b); u.Queries != 2 {
		t.Errorf("%+v", u)
	}
	nobody := scope(t, uuid.New())
	for what, err := range map[string]error{
		"take": q.Take(t.Context(), nobody), "set": q.SetLimit(t.Context(), nobody, nil), "usage": func() error { _, err := q.Usage(t.Context(), nobody); return err }(),
	} {
		if code(err) != apierr.CodeNotFound {
			t.Errorf("%s of a missing workspace: %v", what, err)
		}
	}
	var zero viewer.Scope
	if q.Take(t.Context(), zero) == nil || q.SetLimit(t.Context(), zero, nil) == nil {
		t.Error("the zero scope counts")
	}
	if _, err := q.Usage(t.Context(), zero); err == nil {
		t.Error("the zero scope reads")
	}
	// Row-level security separates the counters.
	workspace, err := a.Workspace()
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range []string{"", uuid.NewString()} {
		tx, err := h.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		err = tx.QueryRow(t.Context(), "select count(*) from set_config('magpie.workspace', $1, true), lateral (select from usage_counters) u", setting).Scan(&rows)
		if err != nil || rows != 0 {
			t.Errorf("as %q %d counters are seen, %v", setting, rows, err)
		}
		if _, err = tx.Exec(t.Context(), "insert into usage_counters values ($1, '2027-01-01', 1)", workspace); err == nil {
			t.Errorf("as %q another's counter was written", setting)
		}
		_ = tx.Rollback(t.Context())
	}
}

func TestALimitRefusesQueriesWhilePostgreSQLFails(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	log := &shared{}
	q := h.node(quota.Options{Log: slog.New(slog.NewTextHandler(log, nil)), Interval: time.Millisecond})
	limited, free := h.workspace("Limited"), h.workspace("Free")
	limit(t, q, limited, 10)
	if rush(t, limited, 4, q) != 4 || rush(t, free, 4, q) != 4 {
		t.Fatal("the queries before the failure were not all admitted")
	}
	h.asAdmin(`revoke insert, update on usage_counters from magpie_app`)
	if err := q.Take(t.Context(), limited); err == nil || code(err) == apierr.QuotaExceeded {
		t.Errorf("with a limit: %v", err)
	}
	if through := rush(t, free, 10, q); through != 10 { // counted in memory
		t.Errorf("without one: %d", through)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for tick := time.NewTicker(5 * time.Millisecond); log.text() == ""; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the failure was not logged")
		}
	}
	h.asAdmin(`grant insert, update on usage_counters to magpie_app`)
	if u := usage(t, q, free); u.Queries != 14 {
		t.Errorf("unwritten counts are lost: %+v", u)
	}
	if u := usage(t, q, limited); u.Queries != 4 {
		t.Errorf("refused queries count: %+v", u)
	}
	if n := strings.Count(log.text(), "\n"); n != 1 {
		t.Errorf("%d lines are logged for one failure", n)
	}
	if through := rush(t, limited, 10, q); through != 6 {
		t.Errorf("afterwards: %d", through)
	}
}

func TestADatabaseThatIsGoneIsUnavailable(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	db := h.open()
	q := quota.New(t.Context(), db.Pool, quota.Options{Limit: 10})
	s := h.workspace("W")
	if err := q.Take(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if err := q.Take(t.Context(), s); err == nil || code(err) == apierr.QuotaExceeded {
		t.Errorf("%v", err)
	}
	q.Close()
	q.Close()
}

func TestADeletedWorkspaceDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	q := h.node(quota.Options{Interval: time.Hour})
	gone, stays := h.workspace("Gone"), h.workspace("Stays")
	rush(t, gone, 5, q)
	rush(t, stays, 5, q)
	id, err := gone.Workspace()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.db.Ent.Workspace.DeleteOneID(id).Exec(viewer.With(t.Context(), viewer.System(uuid.Nil))); err != nil && !ent.IsNotFound(err) {
		t.Fatal(err)
	}
	if u := usage(t, q, stays); u.Queries != 5 {
		t.Errorf("%+v", u)
	}
}

// shared is a log that is safe for concurrent use.
type shared struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (s *shared) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.Write(b)
}

func (s *shared) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lines.String()
}

// BenchmarkTake measures a query with and without a limit.
func BenchmarkTake(b *testing.B) {
	h := newFixture(b)
	q := quota.New(b.Context(), h.db.Pool, quota.Options{})
	b.Cleanup(q.Close)
	for name, n := range map[string]int64{"limit": 1_000_000_000, "none": 0} {
		s := h.workspace(name)
		limit(b, q, s, n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := q.Take(b.Context(), s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestSearchesWhileTypingCountATenth(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	q := h.node(quota.Options{})
	for _, most := range []int64{0, 3} {
		s := h.workspace("W")
		limit(t, q, s, most)
		workspace, err := s.Workspace()
		if err != nil {
			t.Fatal(err)
		}
		ctx := viewer.With(t.Context(), viewer.Viewer{Workspace: workspace, Kind: viewer.KindKey, Surface: viewer.SurfacePublic, AllCollections: true})
		var counted []int64
		for i := range 31 {
			if err := q.ChargeTyping(ctx); code(err) != "" && (i < 30 || code(err) != apierr.QuotaExceeded) {
				t.Fatalf("search %d with the limit %d: %v", i, most, err)
			} else if err == nil && i == 30 && most > 0 {
				t.Error("a search over the limit is admitted")
			}
			if i%10 == 0 {
				counted = append(counted, usage(t, q, s).Queries)
			}
		}
		if want := []int64{1, 2, 3, 4 - most/3}; !slices.Equal(counted, want) {
			t.Errorf("after 1, 11, 21 and 31 searches with the limit %d, %v queries are counted, want %v", most, counted, want)
		}
		system := viewer.With(t.Context(), viewer.System(workspace))
		if err := q.ChargeTyping(system); err != nil {
			t.Errorf("Magpie itself is charged: %v", err)
		}
	}
	if err := q.ChargeTyping(t.Context()); err == nil {
		t.Error("nobody is charged")
	}
}
