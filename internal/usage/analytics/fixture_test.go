package analytics_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// now returns the time of the fixture, a noon.
func now() time.Time { return time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC) }

// A fixture is a migrated database with pools of the application and of the owner.
type fixture struct {
	testing.TB
	db    *store.DB
	owner *pgx.Conn
	url   string // of the owner
}

// A tenant is a workspace with one collection.
type tenant struct {
	workspace, collection, key uuid.UUID
	scope                      viewer.Scope
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	urls := testkit.Database(t)
	db, err := store.Open(t.Context(), urls.AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	f := &fixture{TB: t, db: db, url: urls.OwnerURL}
	f.owner = f.connect()
	return f
}

func (f *fixture) connect() *pgx.Conn {
	f.Helper()
	c, err := pgx.Connect(f.Context(), f.url)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.owner.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

func (f *fixture) count(sql string, args ...any) int {
	f.Helper()
	var n int
	if err := f.owner.QueryRow(f.Context(), "select count(*) from "+sql, args...).Scan(&n); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return n
}

func (f *fixture) tenant() tenant {
	f.Helper()
	id := tenant{workspace: gid.New(gid.Workspace), collection: gid.New(gid.Collection), key: gid.New(gid.APIKey)}
	f.exec("insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", id.workspace)
	f.addCollection(id, id.collection)
	var err error
	if id.scope, err = viewer.System(id.workspace).Scope(); err != nil {
		f.Fatal(err)
	}
	return id
}

func (f *fixture) addCollection(id tenant, collection uuid.UUID) {
	f.Helper()
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, $3, 'test')`, collection, id.workspace, collection.String())
}

// store returns a Store with the fixture's clock.
func (f *fixture) store(mode analytics.Mode) *analytics.Store {
	return analytics.New(f.db.Pool, analytics.StoreOptions{Mode: mode, Retention: 90 * 24 * time.Hour, Now: now})
}

// write logs queries and waits until they are stored.
func (f *fixture) write(mode analytics.Mode, queries ...analytics.Query) {
	f.Helper()
	l := analytics.NewLog(f.Context(), f.db.Pool, analytics.LogOptions{Mode: mode})
	for _, q := range queries {
		l.Add(q)
	}
	l.Close()
	if n := l.Dropped(); n > 0 {
		f.Fatalf("%d questions were dropped", n)
	}
}

// search returns a search by the tenant's key with results.
func (id tenant) search(request, text string, change ...func(*analytics.Query)) analytics.Query {
	score := 0.8
	q := analytics.Query{
		Workspace: id.workspace, Surface: viewer.SurfacePublic, Key: id.key, Kind: analytics.Search, Collection: id.collection,
		Text: text, Results: 3, TopScore: &score, Took: 4 * time.Millisecond, Request: request, At: now(),
	}
	for _, c := range change {
		c(&q)
	}
	return q
}

func nothingFound(q *analytics.Query) { q.Results, q.TopScore = 0, nil }

func nextPage(q *analytics.Query) { q.NextPage, q.TopScore = true, nil }

func daysAgo(n int) func(*analytics.Query) {
	return func(q *analytics.Query) { q.At = q.At.AddDate(0, 0, -n) }
}

// place returns the prefix of an event as the API does.
func place(i int) string { return fmt.Sprintf("events[%d].", i) }

func (f *fixture) record(s *analytics.Store, id tenant, events ...analytics.Event) analytics.Recorded {
	f.Helper()
	out, err := s.Record(f.Context(), id.scope, id.key, events, place)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

func click(request string, position int) analytics.Event {
	return analytics.Event{Type: "click", Request: request, Result: uuid.New(), Position: &position}
}

func (f *fixture) report(s *analytics.Store, id tenant, span analytics.Span) *analytics.Report {
	f.Helper()
	r, err := s.Report(f.Context(), id.scope, span)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// texts returns the texts of a list with their counts.
func (f *fixture) texts(list func(context.Context, int) ([]*analytics.QueryCount, error)) []string {
	f.Helper()
	rows, err := list(f.Context(), 100)
	if err != nil {
		f.Fatal(err)
	}
	var out []string
	for _, q := range rows {
		out = append(out, fmt.Sprintf("%s %d/%d/%d", q.Query, q.Count, q.ZeroResults, q.Clicks))
	}
	return out
}
