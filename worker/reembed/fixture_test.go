package reembed_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/reembed"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A model is an embedder whose vectors identify the text and the model.
type model struct {
	name       string
	dimensions int

	mu   sync.Mutex
	hook func() error // called before texts are embedded
	done int          // texts
}

func (m *model) Model() string   { return m.name }
func (m *model) Dimensions() int { return m.dimensions }

func (m *model) Embed(ctx context.Context, texts []string, _ embed.Purpose) ([][]float32, error) {
	m.mu.Lock()
	hook := m.hook
	m.mu.Unlock()
	if hook != nil {
		if err := hook(); err != nil {
			return nil, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done += len(texts)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		vectors[i] = m.vector(text)
	}
	return vectors, nil
}

func (m *model) vector(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(m.name + text))
	v := make([]float32, m.dimensions)
	v[h.Sum64()%uint64(m.dimensions)] = 1
	return v
}

func (m *model) before(hook func() error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = hook
}

func (m *model) embedded() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.done
	m.done = 0
	return n
}

type fixture struct {
	testing.TB
	db       *store.DB
	owner    *pgx.Conn
	index    *index.Store
	old, new *model
	log      *slog.Logger

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
	f := &fixture{
		TB: t, db: db, owner: owner, index: index.New(db.Pool, analysis.New()),
		old: &model{name: "old", dimensions: 4}, new: &model{name: "new", dimensions: 6},
		log:       slog.New(slog.NewTextHandler(t.Output(), nil)),
		workspace: gid.New(gid.Workspace),
	}
	f.exec("insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", f.workspace)
	if f.scope, err = viewer.System(f.workspace).Scope(); err != nil {
		t.Fatal(err)
	}
	f.newCollection("old")
	return f
}

// newCollection creates a collection, which the fixture uses from now on.
func (f *fixture) newCollection(model string) {
	f.Helper()
	f.collection, f.connector = gid.New(gid.Collection), gid.New(gid.Connector)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, 'C', $3)`, f.collection, f.workspace, model)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, f.connector, f.workspace, f.collection)
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.owner.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// setNext sets the next model of the collection.
func (f *fixture) setNext(next any) {
	f.Helper()
	f.exec("update collections set next_model = $2 where id = $1", f.collection, next)
}

func (f *fixture) models(of ...*model) *embed.Registry {
	f.Helper()
	embedders := make([]embed.Embedder, len(of))
	for i, m := range of {
		embedders[i] = m
	}
	models, err := embed.NewRegistry(embedders...)
	if err != nil {
		f.Fatal(err)
	}
	return models
}

// engine returns an engine whose slices are smaller than a document.
func (f *fixture) engine(idx reembed.Index) *reembed.Engine {
	f.Helper()
	return reembed.New(idx, f.models(f.old, f.new), reembed.Options{Slice: 3, Log: f.log})
}

// work runs an engine until nothing is pending.
func (f *fixture) work() {
	f.Helper()
	e := f.engine(f.index)
	for range 10 {
		pending, err := e.Pending(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if len(pending) == 0 {
			return
		}
		for _, t := range pending {
			if err := e.Reembed(f.Context(), t); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.Fatal("the work does not end")
}

func (f *fixture) task() queue.Reembed {
	return queue.Reembed{Workspace: f.workspace, Collection: f.collection}
}

func (f *fixture) record(m *model, source string, passages int) *index.Record {
	r := &index.Record{
		Connector: f.connector, Collection: f.collection, SourceID: source, Path: source + ".md", Title: "Title of " + source,
		Language: "en", Model: m.name, Hash: []byte(source),
	}
	for i := range passages {
		text := fmt.Sprintf("passage %d of %s ", i, source)
		p := passage.Passage{Ordinal: i, Text: text, Start: len(r.Text), End: len(r.Text) + len(text)}
		if i > 0 {
			p.Headings = []string{"Guide", "Part"}[:1+i%2]
		}
		r.Passages = append(r.Passages, p)
		r.Vectors = append(r.Vectors, m.vector(ingest.EmbeddingInput(r.Title, &p)))
		r.Text += text
	}
	return r
}

func (f *fixture) put(m *model, source string, passages int) uuid.UUID {
	f.Helper()
	out, err := f.index.Put(f.Context(), f.scope, index.Fence{}, f.record(m, source, passages))
	if err != nil {
		f.Fatal(err)
	}
	return out.Document
}

// A reader checks that every passage has the vector of its text by the model of the
// snapshot. It counts passages without a vector.
type reader struct {
	f         *fixture
	model     *model
	at        index.Position
	passages  int
	lacking   int
	documents []uuid.UUID
}

func (r *reader) Begin(at index.Position, model string, all bool) error {
	r.at = at
	if r.model = r.f.old; model == r.f.new.name {
		r.model = r.f.new
	}
	if model != r.model.name || !all {
		return fmt.Errorf("the model is %s, everything: %v", model, all)
	}
	return nil
}

func (r *reader) Entry(e *index.Entry) error {
	r.documents = append(r.documents, e.Document)
	for _, p := range e.Passages {
		r.passages++
		if p.Vector == nil {
			r.lacking++
			continue
		}
		if len(p.Vector) != r.model.dimensions || slices.Index(p.Vector, 1) < 0 || math.Abs(float64(norm(p.Vector))-1) > 0 {
			return fmt.Errorf("passage %d of %s has the vector %v of %s", p.Ordinal, e.Document, p.Vector, r.model.name)
		}
	}
	return nil
}

func norm(v []float32) (n float32) {
	for _, x := range v {
		n += x * x
	}
	return n
}

// read checks the collection with a new reader.
func (f *fixture) read(lacking int) *reader {
	f.Helper()
	r := &reader{f: f}
	if err := f.index.Changes(f.Context(), f.scope, index.State{Collection: f.collection}, index.Position{}, r); err != nil {
		f.Fatal(err)
	}
	if r.lacking != lacking {
		f.Errorf("%d of %d passages lack a vector of %s, want %d", r.lacking, r.passages, r.model.name, lacking)
	}
	return r
}

// expectSettled checks that the collection has the model and nothing is pending.
func (f *fixture) expectSettled(m *model) {
	f.Helper()
	var active string
	var next *string
	if err := f.owner.QueryRow(f.Context(), "select embedding_model, next_model from collections where id = $1", f.collection).Scan(&active, &next); err != nil {
		f.Fatal(err)
	}
	if active != m.name || next != nil {
		f.Errorf("the collection has the model %s and then %v, want %s", active, next, m.name)
	}
	for _, sql := range []string{
		"select count(*) from passage_vectors where collection_id = $1",
		"select count(*) from passage_index i join collections c on c.id = i.collection_id where c.id = $1 and (i.model <> c.embedding_model or vector_dims(i.embedding) <> " + fmt.Sprint(m.dimensions) + ")",
		"select count(*) from collection_state where collection_id = $1 and stale",
		"select count(*) from magpie_model_changes() where collection_id = $1",
	} {
		var n int
		if err := f.owner.QueryRow(f.Context(), sql, f.collection).Scan(&n); err != nil || n != 0 {
			f.Errorf("%s: %d, %v", sql, n, err)
		}
	}
	f.read(0)
	f.exact(m)
}

// exact checks each vector against its text.
func (f *fixture) exact(m *model) {
	f.Helper()
	tx, err := f.owner.Begin(f.Context())
	if err != nil {
		f.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(f.Context(), "select set_config('magpie.workspace', $1, true)", f.workspace.String()); err != nil {
		f.Fatal(err)
	}
	rows, err := tx.Query(f.Context(), `select d.title, p.headings, p.body, i.embedding::text
		from passages p join documents d on d.id = p.document_id join passage_index i on i.passage_id = p.id
		where p.collection_id = $1`, f.collection)
	if err != nil {
		f.Fatal(err)
	}
	var title, embedding string
	var p passage.Passage
	_, err = pgx.ForEachRow(rows, []any{&title, &p.Headings, &p.Text, &embedding}, func() error {
		want := fmt.Sprint(m.vector(ingest.EmbeddingInput(title, &p)))
		got := []byte(embedding)
		for i, c := range got {
			if c == ',' {
				got[i] = ' '
			}
		}
		if string(got) != want {
			f.Errorf("%q has the vector %s, want %s", p.Text, got, want)
		}
		return nil
	})
	if err != nil {
		f.Fatal(err)
	}
}
