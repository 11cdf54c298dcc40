package search_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/parse"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// fixture is a migrated database with the index and an engine on it.
type fixture struct {
	testing.TB
	urls   *testkit.DB
	db     *store.DB
	owner  *pgx.Conn
	index  *index.Store
	engine *search.Engine
	models *embed.Registry
	parser *ingest.Pipeline
}

// tenant is a workspace with a collection and a connector.
type tenant struct {
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
}

func newFixture(t testing.TB, more ...embed.Embedder) *fixture {
	t.Helper()
	return fixtureAt(t, testkit.Database(t), more...)
}

// fixtureAt is newFixture on a migrated database.
func fixtureAt(t testing.TB, urls *testkit.DB, more ...embed.Embedder) *fixture {
	t.Helper()
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
	builtin := embed.NewBuiltin()
	models, err := embed.NewRegistry(append([]embed.Embedder{builtin}, more...)...)
	if err != nil {
		t.Fatal(err)
	}
	a := analysis.New()
	return &fixture{
		TB: t, urls: urls, db: db, owner: owner, index: index.New(db.Pool, a), models: models,
		engine: newEngine(t, db, a, models, search.Options{}), parser: ingest.New(parse.New(parse.Options{}), builtin, ingest.Options{}),
	}
}

func newEngine(t testing.TB, db *store.DB, a *analysis.Analyzer, models *embed.Registry, opt search.Options) *search.Engine {
	t.Helper()
	engine := search.New(db.Pool, a, models, opt)
	t.Cleanup(engine.Close)
	return engine
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
	return f.collection(id, "Docs", embed.BuiltinModel)
}

// collection adds a collection with a connector to the tenant's workspace.
func (f *fixture) collection(id tenant, name, model string) tenant {
	f.Helper()
	id.collection, id.connector = gid.New(gid.Collection), gid.New(gid.Connector)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, $3, $4)`, id.collection, id.workspace, name, model)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, id.connector, id.workspace, id.collection)
	return id
}

// record returns the record of a Markdown text as the pipeline makes it, changed by change.
func (f *fixture) record(id tenant, path, content string, change func(*index.Record)) *index.Record {
	f.Helper()
	result, err := f.parser.Process(f.Context(), parse.Input{Name: path, Content: []byte(content)})
	if err != nil {
		f.Fatalf("%s: %v", path, err)
	}
	d := result.Document
	r := &index.Record{
		Connector: id.connector, Collection: id.collection, SourceID: path, Path: path, Title: d.Title,
		URL: "https://docs.example/" + path, Section: d.Section, Version: d.Version, DocType: d.DocType, Language: d.Language,
		Tags: d.Tags, CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, Hash: result.Hash[:], Text: result.Text,
		Passages: result.Passages, Vectors: result.Vectors, Model: embed.BuiltinModel,
	}
	if change != nil {
		change(r)
	}
	return r
}

func (f *fixture) put(id tenant, r *index.Record) index.Outcome {
	f.Helper()
	out, err := f.index.Put(f.Context(), id.scope, index.Fence{}, r)
	if err != nil {
		f.Fatal(err)
	}
	return out
}

// add stores a Markdown text.
func (f *fixture) add(id tenant, path, content string, change func(*index.Record)) uuid.UUID {
	f.Helper()
	return f.put(id, f.record(id, path, content, change)).Document
}

// addFolder stores the files under a folder, and returns the documents' paths, relative to
// base, by id.
func (f *fixture) addFolder(id tenant, base, folder string) map[uuid.UUID]string {
	f.Helper()
	paths := make(map[uuid.UUID]string)
	err := filepath.WalkDir(filepath.Join(base, folder), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(strings.TrimPrefix(path, base), "/"))
		paths[f.add(id, name, string(content), nil)] = name
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
	return paths
}

func (f *fixture) search(id tenant, q search.Query) *search.Results {
	f.Helper()
	if q.Limit == 0 {
		q.Limit = 10
	}
	results, err := f.engine.Search(f.Context(), id.scope, q)
	if err != nil {
		f.Fatalf("search %q: %v", q.Text, err)
	}
	return results
}

// strings reads a column in each workspace in turn, because row-level security also binds
// the owner.
func (f *fixture) strings(sql string) []string {
	f.Helper()
	rows, err := f.owner.Query(f.Context(), "select id from workspaces")
	if err != nil {
		f.Fatal(err)
	}
	workspaces, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		f.Fatal(err)
	}
	var all []string
	for _, w := range workspaces {
		tx, err := f.owner.Begin(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if _, err := tx.Exec(f.Context(), "select set_config('magpie.workspace', $1, true)", w.String()); err != nil {
			f.Fatal(err)
		}
		rows, err := tx.Query(f.Context(), sql)
		if err != nil {
			f.Fatal(err)
		}
		found, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			f.Fatal(err)
		}
		all = append(all, found...)
		if err := tx.Commit(f.Context()); err != nil {
			f.Fatal(err)
		}
	}
	return all
}
