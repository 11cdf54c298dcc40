package project_test

import (
	"context"
	"fmt"
	"hash/fnv"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/ingest/passage"
	"github.com/magpie-search/magpie/internal/search/engine"
	"github.com/magpie-search/magpie/internal/search/engine/memory"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/worker/project"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// dimensions are those of the model "test".
const dimensions = 4

// lengths are the configured models with the lengths of their vectors.
func lengths(model string) int {
	return map[string]int{"test": dimensions, "longer": 6}[model]
}

// A clock is the time of the processes, which a test moves.
type clock struct {
	mu    sync.Mutex
	ahead time.Duration
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Add(c.ahead)
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead += d
}

type fixture struct {
	testing.TB
	owner   *pgx.Conn
	index   *index.Store
	backend *memory.Backend
	clock   clock
	log     *logText
}

// logText keeps what was logged.
type logText struct {
	mu   sync.Mutex
	text strings.Builder
	out  testing.TB
}

func (l *logText) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	_, _ = l.out.Output().Write(b)
	return len(b), nil
}

func (l *logText) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
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
	f := &fixture{TB: t, owner: owner, index: index.New(db.Pool, analysis.New()), backend: memory.New(3), log: &logText{out: t}}
	f.exec("update search_settings set engine_passages = 1")
	return f
}

func (f *fixture) exec(sql string, args ...any) {
	f.Helper()
	if _, err := f.owner.Exec(f.Context(), sql, args...); err != nil {
		f.Fatalf("%s: %v", sql, err)
	}
}

// tenant is a collection with a connector in a workspace of its own.
type tenant struct {
	workspace, collection, connector uuid.UUID
	scope                            viewer.Scope
}

func (f *fixture) tenant() tenant {
	f.Helper()
	id := tenant{workspace: gid.New(gid.Workspace), collection: gid.New(gid.Collection), connector: gid.New(gid.Connector)}
	f.exec("insert into workspaces (id, created_at, updated_at, name) values ($1, now(), now(), 'W')", id.workspace)
	f.exec(`insert into collections (id, created_at, updated_at, workspace_id, name, embedding_model)
		values ($1, now(), now(), $2, 'C', 'test')`, id.collection, id.workspace)
	f.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, id.connector, id.workspace, id.collection)
	var err error
	if id.scope, err = viewer.System(id.workspace).Scope(); err != nil {
		f.Fatal(err)
	}
	return id
}

// put stores a document with one passage for each text.
func (f *fixture) put(id tenant, source string, texts ...string) uuid.UUID {
	return f.store(id, source, nil, texts...)
}

// store stores a document with readers, nil for everyone.
func (f *fixture) store(id tenant, source string, readers []string, texts ...string) uuid.UUID {
	f.Helper()
	r := &index.Record{
		Connector: id.connector, Collection: id.collection, SourceID: source, Path: source + ".md", Title: "Title of " + source,
		Language: "en", Model: "test", Hash: []byte(source), Readers: readers, Tags: []string{"tag", source}, DocType: "md", Section: "guides",
	}
	for i, text := range texts {
		r.Passages = append(r.Passages, passage.Passage{Ordinal: i, Headings: []string{"Guide", "Part"}, Text: text, Start: len(r.Text), End: len(r.Text) + len(text)})
		r.Vectors = append(r.Vectors, vector(text))
		r.Text += text
	}
	out, err := f.index.Put(f.Context(), id.scope, index.Fence{}, r)
	if err != nil {
		f.Fatal(err)
	}
	return out.Document
}

func (f *fixture) remove(id tenant, documents ...uuid.UUID) {
	f.Helper()
	if _, err := f.index.SoftDelete(f.Context(), id.scope, index.Fence{}, documents); err != nil {
		f.Fatal(err)
	}
}

// vector is the same unit vector for the same text.
func vector(text string) []float32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(text))
	v := make([]float32, dimensions)
	v[h.Sum32()%dimensions] = 1
	return v
}

// options make small pages and batches, and everything due at once.
func (f *fixture) options() project.Options {
	return project.Options{
		Dimensions: lengths, BatchBytes: 1500, Documents: 3, Passages: 5, Parallel: 1, Lease: 30 * time.Second,
		SweepEvery: time.Nanosecond, Now: f.clock.now, Log: slog.New(slog.NewTextHandler(f.log, nil)),
	}
}

func (f *fixture) projector() *project.Projector { return project.New(f.index, f.backend, f.options()) }

// tick works once, which must not fail.
func (f *fixture) tick(p *project.Projector) {
	f.Helper()
	if err := p.Tick(f.Context()); err != nil {
		f.Fatal(err)
	}
}

// row returns the projection of a collection, and false if there is none.
func (f *fixture) row(id tenant) (index.Projection, bool) {
	f.Helper()
	all, err := f.index.Projections(f.Context(), id.scope)
	if err != nil {
		f.Fatal(err)
	}
	for _, p := range all {
		if p.Collection == id.collection {
			return p, true
		}
	}
	return index.Projection{}, false
}

// change returns the change number of a collection.
func (f *fixture) change(id tenant) int64 {
	f.Helper()
	states, err := f.index.States(f.Context(), id.scope)
	if err != nil || len(states) != 1 {
		f.Fatal(states, err)
	}
	return states[0].Change
}

// live is a reader of the objects that a collection has.
type live struct {
	objects map[uuid.UUID]engine.Object
	lengths int
}

func (l *live) Begin(index.Position, string, bool) error {
	l.objects = map[uuid.UUID]engine.Object{}
	return nil
}

func (l *live) Entry(e *index.Entry) error {
	all, err := engine.AppendObjects(nil, e, 0)
	for i := range all {
		if len(all[i].Vector) != l.lengths {
			all[i].Vector = nil
		}
		l.objects[all[i].Passage] = all[i]
	}
	return err
}

// exact fails unless every replica of the class has the live passages of the collection as
// they are, with their newest changes, and nothing else.
func (f *fixture) exact(id tenant) {
	f.Helper()
	row, ok := f.row(id)
	if !ok || row.State != index.ProjectionReady || row.Confirmed != row.Written || row.Written != (index.Covered{Change: f.change(id)}) || row.IsBehind || row.LastError != "" {
		f.Fatalf("the projection is %+v at the change %d", row, f.change(id))
	}
	want := live{lengths: row.Dimensions}
	if err := f.index.Changes(f.Context(), id.scope, index.State{Collection: id.collection}, index.Position{}, &want); err != nil {
		f.Fatal(err)
	}
	newest := f.newest(id)
	for _, node := range []string{"node1", "node2"} {
		got := f.backend.Objects(row.Class, node)
		if len(got) != len(want.objects) {
			f.Errorf("%s has %d objects, want %d", node, len(got), len(want.objects))
		}
		for _, o := range got {
			if o.Change < newest[o.Document] || o.Change > row.Written.Change {
				f.Errorf("%s has an object of change %d of a document of change %d", node, o.Change, newest[o.Document])
			}
			o.Change = 0
			if !reflect.DeepEqual(o, want.objects[o.Passage]) {
				f.Errorf("%s has %+v, want %+v", node, o, want.objects[o.Passage])
			}
		}
	}
	classes, err := f.backend.Classes(f.Context(), "M")
	if err != nil || len(classes) != f.projections() {
		f.Errorf("the engine has the classes %v, %v", classes, err)
	}
}

// newest returns the newest change of each document of a collection.
func (f *fixture) newest(id tenant) map[uuid.UUID]int64 {
	f.Helper()
	changes, err := f.index.DocumentChanges(f.Context(), id.scope, id.collection, index.FeedPosition{}, 10_000)
	if err != nil {
		f.Fatal(err)
	}
	newest := map[uuid.UUID]int64{}
	for _, c := range changes {
		newest[c.Document] = c.At.Number
	}
	return newest
}

func (f *fixture) projections() (n int) {
	f.Helper()
	if err := f.owner.QueryRow(f.Context(), "select count(*) from engine_collections").Scan(&n); err != nil {
		f.Fatal(err)
	}
	return n
}

// expire ends the claims of killed processes, and every pause.
func (f *fixture) expire() {
	f.exec("update engine_collections set held_until = null, next_try_at = now()")
}

// fill stores n documents of one to three passages.
func (f *fixture) fill(id tenant, n int) (documents []uuid.UUID) {
	f.Helper()
	for i := range n {
		texts := []string{fmt.Sprintf("first words of %d", i), "second words", "third words"}[:1+i%3]
		documents = append(documents, f.put(id, fmt.Sprintf("document%d", i), texts...))
	}
	return documents
}
