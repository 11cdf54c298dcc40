package index_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

const dimensions = 8

// fixture is a migrated database with a store on it.
type fixture struct {
	testing.TB
	urls  *testkit.DB
	db    *store.DB
	owner *pgx.Conn
	store *index.Store
}

// tenant is a workspace with one collection and one connector.
type tenant struct {
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	urls := testkit.Database(t)
	db, err := store.Open(t.Context(), urls.AppURL, 8)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	owner, err := pgx.Connect(t.Context(), urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.Background()) })
	return &fixture{TB: t, urls: urls, db: db, owner: owner, store: index.New(db.Pool, analysis.New())}
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.owner.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

func (f *fixture) tenant() tenant {
	f.Helper()
	id := tenant{workspace: gid.New(gid.Workspace)}
	f.exec("insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", id.workspace)
	var err error
	if id.scope, err = viewer.System(id.workspace).Scope(); err != nil {
		f.Fatal(err)
	}
	return f.collection(id)
}

// collection adds a collection with a connector to the tenant's workspace.
func (f *fixture) collection(id tenant) tenant {
	f.Helper()
	id.collection, id.connector = gid.New(gid.Collection), gid.New(gid.Connector)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, 'C', 'test')`, id.collection, id.workspace)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, id.connector, id.workspace, id.collection)
	return id
}

// job adds a running sync job of the tenant under attempt 1.
func (f *fixture) job(id tenant) index.Fence {
	f.Helper()
	fence := index.Fence{Job: gid.New(gid.SyncJob), Attempt: 1}
	f.exec(`insert into sync_jobs (id, created_at, updated_at, workspace_id, connector_id, status, attempt, warnings, heartbeat_at)
		values ($1, now(), now(), $2, $3, 'RUNNING', 1, '[]', now())`, fence.Job, id.workspace, id.connector)
	return fence
}

// record is a document of the tenant with one passage for each text.
func (id tenant) record(source string, texts ...string) *index.Record {
	r := &index.Record{
		Connector: id.connector, Collection: id.collection, SourceID: source, Path: source + ".md", Title: "Title of " + source,
		Language: "en", Model: "test", Hash: []byte(source),
	}
	for i, text := range texts {
		r.Passages = append(r.Passages, passage.Passage{
			Ordinal: i, Headings: []string{"Guide", "Part"}, Text: text, Anchor: "part", Start: len(r.Text), End: len(r.Text) + len(text),
		})
		r.Vectors = append(r.Vectors, vector(text))
		r.Text += text
	}
	return r
}

// vector is the same unit vector for the same text.
func vector(text string) []float32 {
	seed := uint64(len(text))
	for _, b := range []byte(text) {
		seed = seed*31 + uint64(b)
	}
	r := rand.New(rand.NewPCG(seed, 1))
	v := make([]float32, dimensions)
	v[r.IntN(dimensions)] = 1
	return v
}

func (f *fixture) put(id tenant, r *index.Record) index.Outcome {
	f.Helper()
	out, err := f.store.Put(f.Context(), id.scope, index.Fence{}, r)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// stats are the counters of the tenant's collection.
func (f *fixture) stats(id tenant) index.Stats {
	f.Helper()
	all, err := f.store.Stats(f.Context(), id.scope, []uuid.UUID{id.collection})
	if err != nil {
		f.Fatal(err)
	}
	return all[id.collection]
}

// count runs a counting query as the owner of the database, whom row-level
// security binds to the tenant's workspace.
func (f *fixture) count(id tenant, sql string, args ...any) int {
	f.Helper()
	tx, err := f.owner.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(f.Context(), "select set_config('magpie.workspace', $1, true)", id.workspace.String()); err != nil {
		f.Fatal(err)
	}
	var n int
	if err := tx.QueryRow(f.Context(), sql, args...).Scan(&n); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
	return n
}
