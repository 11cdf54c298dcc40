package postgres_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	pgxvec "github.com/pgvector/pgvector-go/pgx"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	dimensions = 8
	model      = "test"
)

// fixture is a migrated database with the index and a tier on it.
type fixture struct {
	testing.TB
	urls  *testkit.DB
	db    *store.DB
	owner *pgx.Conn
	index *index.Store
	tier  *postgres.Tier
}

// tenant is a workspace with a collection and a connector.
type tenant struct {
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
}

func newFixture(t testing.TB, opt postgres.Options) *fixture {
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
	if err := pgxvec.RegisterTypes(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	return &fixture{
		TB: t, urls: urls, db: db, owner: owner, index: index.New(db.Pool, analysis.New()), tier: postgres.New(db.Pool, opt),
	}
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
	return f.another(id)
}

// another adds a collection with a connector to the tenant's workspace.
func (f *fixture) another(id tenant) tenant {
	f.Helper()
	id.collection, id.connector = gid.New(gid.Collection), gid.New(gid.Connector)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, 'C', $3)`, id.collection, id.workspace, model)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, id.connector, id.workspace, id.collection)
	return id
}

// record returns a document of the tenant with one passage for each text.
func (id tenant) record(random *rand.Rand, source, title string, texts ...string) *index.Record {
	r := &index.Record{
		Connector: id.connector, Collection: id.collection, SourceID: source, Path: source + ".md", Title: title,
		Language: "en", Model: model, Hash: []byte(source),
	}
	for i, text := range texts {
		r.Passages = append(r.Passages, passage.Passage{Ordinal: i, Text: text, Start: len(r.Text), End: len(r.Text) + len(text)})
		r.Vectors = append(r.Vectors, unit(random))
		r.Text += text
	}
	return r
}

// unit returns a random vector of unit length.
func unit(random *rand.Rand) []float32 {
	v := make([]float32, dimensions)
	square := 0.0
	for i := range v {
		v[i] = float32(random.NormFloat64())
		square += float64(v[i]) * float64(v[i])
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(square))
	}
	return v
}

func (f *fixture) put(id tenant, r *index.Record) uuid.UUID {
	f.Helper()
	out, err := f.index.Put(f.Context(), id.scope, index.Fence{}, r)
	if err != nil {
		f.Fatal(err)
	}
	return out.Document
}

// open opens the tenant's collection until the end of the test.
func (f *fixture) open(id tenant, filter *rank.Filter) *postgres.Source {
	f.Helper()
	return f.openWith(f.tier, id, filter)
}

func (f *fixture) openWith(tier *postgres.Tier, id tenant, filter *rank.Filter) *postgres.Source {
	f.Helper()
	s, err := tier.Open(f.Context(), id.workspace, index.State{Collection: id.collection, Model: model}, filter)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.Close(context.Background()) })
	return s
}

func (f *fixture) candidates(s *postgres.Source, r *rank.Request) []rank.Candidate {
	f.Helper()
	found, err := s.Candidates(f.Context(), r)
	if err != nil {
		f.Fatal(err)
	}
	return found
}

// words returns words of one term each, with falling weights.
func words(terms ...string) []rank.Word {
	var all []rank.Word
	for i, t := range terms {
		all = append(all, rank.Word{Terms: []string{t}, Weight: 1 / float64(i+1)})
	}
	return all
}

func names(prefix string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("%s%02d", prefix, i)
	}
	return out
}
