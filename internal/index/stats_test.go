package index_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
)

// counted are the numbers of a collection as its rows have them.
func (f *fixture) counted(id tenant) index.Stats {
	f.Helper()
	const live = ` from documents d join connectors k on k.id = d.connector_id
		where d.collection_id = $1 and k.deleting_at is null and d.indexed_at is not null and d.deleted_at is null and d.status <> 'DELETED'`
	n := func(what string) int { return f.count(id, "select ("+what+")::int", id.collection) }
	return index.Stats{
		Documents:  n("select count(*)" + live),
		Embeddings: n("select count(*) from passage_index i where i.document_id in (select d.id" + live + ")"),
		StorageBytes: int64(n("select coalesce(sum(octet_length(t.body)), 0) from document_texts t where t.document_id in (select d.id"+live+")")) +
			int64(n("select coalesce(sum(octet_length(p.body)), 0) from passages p where p.document_id in (select d.id"+live+")")) +
			int64(n("select coalesce(sum(2 * vector_dims(i.embedding)), 0) from passage_index i where i.document_id in (select d.id"+live+")")),
	}
}

// busy is a collection that things happen to.
type busy struct {
	*fixture
	tenant
	random     *rand.Rand
	connectors []uuid.UUID
	documents  []uuid.UUID
	serial     int
	dimensions map[string]int
	model      string
}

func (b *busy) vector() []float32 {
	v := make([]float32, b.dimensions[b.model])
	v[b.random.IntN(len(v))] = 1
	return v
}

func (b *busy) some() []uuid.UUID {
	var ids []uuid.UUID
	for _, id := range b.documents {
		if b.random.IntN(3) == 0 {
			ids = append(ids, id)
		}
	}
	return ids
}

// any is of a new item or of one that may be there.
func (b *busy) any() *index.Record {
	var texts []string
	for range b.random.IntN(4) {
		b.serial++
		texts = append(texts, fmt.Sprintf("Text %d of some length %x. ", b.serial, b.random.Uint64()))
	}
	r := b.record(fmt.Sprintf("item-%d", b.random.IntN(12)), texts...)
	r.Connector, r.Model = b.connectors[b.random.IntN(len(b.connectors))], b.model
	for i := range r.Vectors {
		r.Vectors[i] = b.vector()
	}
	return r
}

func (b *busy) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// change lets the collection change its model, a bit at a time.
func (b *busy) change() {
	b.Helper()
	next := "wide"
	if b.model == "wide" {
		next = "test"
	}
	b.exec("update collections set next_model = $2 where id = $1", b.tenant.collection, next)
	old := b.model
	b.model = next
	for {
		lacking, err := b.store.Lacking(b.Context(), b.scope, b.tenant.collection, next, 0, uuid.Nil, 3)
		b.must(err)
		if len(lacking) == 0 {
			break
		}
		vectors := make([][]float32, len(lacking))
		for i := range vectors {
			vectors[i] = b.vector()
		}
		b.must(b.store.AddVectors(b.Context(), b.scope, b.tenant.collection, next, lacking, vectors))
		b.check("while vectors are added")
	}
	if switched, err := b.store.SwitchModel(b.Context(), b.scope, b.tenant.collection, next, 0); err != nil || !switched {
		b.Fatalf("from %s to %s: %v, %v", old, next, switched, err)
	}
	for {
		b.check("while vectors are moved")
		n, err := b.store.FoldVectors(b.Context(), b.scope, b.tenant.collection, 2)
		b.must(err)
		if n == 0 {
			break
		}
	}
}

func (b *busy) check(after string) {
	b.Helper()
	want, got := b.counted(b.tenant), b.stats(b.tenant)
	got.ChangeNumber = 0
	if got != want {
		b.Fatalf("%s the statistics are %+v, the rows have %+v", after, got, want)
	}
}

func (b *busy) newConnector() {
	id := uuid.New()
	b.exec(`insert into connectors (id, created_at, updated_at, workspace_id, name, type, config, collection_id)
		values ($1, now(), now(), $2, 'K', 'file_upload', '{}', $3)`, id, b.workspace, b.tenant.collection)
	b.connectors = append(b.connectors, id)
}

func (b *busy) dropConnector() uuid.UUID {
	at := b.random.IntN(len(b.connectors))
	id := b.connectors[at]
	b.connectors = append(b.connectors[:at:at], b.connectors[at+1:]...)
	b.newConnector()
	return id
}

func TestStatisticsAreTrueWhateverHappens(t *testing.T) {
	t.Parallel()
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			b := &busy{fixture: f, tenant: f.tenant(), random: rand.New(rand.NewPCG(seed, 7)),
				dimensions: map[string]int{"test": dimensions, "wide": 3 * dimensions}, model: "test"}
			b.connectors = []uuid.UUID{b.connector}
			b.newConnector()
			steps := map[string]func(){
				"after a refresh": func() { _ = b.store.Refresh(b.Context(), b.scope, index.Fence{}, b.any()) }, // there may be nothing to refresh
				"after a soft deletion": func() {
					_, err := b.store.SoftDelete(b.Context(), b.scope, index.Fence{}, b.some())
					b.must(err)
				},
				"after a restoration": func() { _, err := b.store.Restore(b.Context(), b.scope, index.Fence{}, b.some()); b.must(err) },
				"after a failure": func() {
					id, err := b.store.Fail(b.Context(), b.scope, index.Fence{}, b.any(), "broken")
					b.must(err)
					b.documents = append(b.documents, id)
				},
				"after failures were forgotten": func() { _, err := b.store.Forget(b.Context(), b.scope, b.some()); b.must(err) },
				"after readers were set": func() {
					var changes []index.DocumentReaders
					for _, id := range b.some() {
						changes = append(changes, index.DocumentReaders{Document: id, Readers: []string{"user:a"}})
					}
					_, err := b.store.SetReaders(b.Context(), b.scope, index.Fence{}, changes)
					b.must(err)
				},
				"after a recount":        func() { _, err := b.store.Recount(b.Context(), b.scope, b.tenant.collection); b.must(err) },
				"after a connector went": func() { b.exec("delete from connectors where id = $1", b.dropConnector()) },
				"with a connector that goes": func() {
					id := b.dropConnector()
					b.exec("update connectors set deleting_at = now() where id = $1", id)
					b.check("at once")
					for {
						n, err := b.store.Purge(b.Context(), b.scope, id, 2)
						b.must(err)
						b.check("half way")
						if n == 0 {
							break
						}
					}
					b.must(b.store.PurgeConnector(b.Context(), b.scope, id))
				},
			}
			names := slices.Sorted(maps.Keys(steps))
			most := 0
			for step := range 60 {
				for range 3 {
					out := b.put(b.tenant, b.any())
					b.documents = append(b.documents, out.Document)
				}
				b.check("after documents were stored")
				most = max(most, b.stats(b.tenant).Documents)
				name := names[b.random.IntN(len(names))]
				steps[name]()
				b.check(name)
				if step%20 == 10 {
					b.change()
				}
			}
			if most < 5 {
				t.Errorf("there never were more than %d documents to count", most)
			}
		})
	}
}

func TestReadersOfDocumentsChangeAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	a, b := f.put(mine, mine.record("a", "one")).Document, f.put(mine, mine.record("b", "two")).Document
	foreign := f.put(theirs, theirs.record("c", "three")).Document
	before := f.state(mine)
	set := func(want int, changes ...index.DocumentReaders) {
		t.Helper()
		if n, err := f.store.SetReaders(t.Context(), mine.scope, index.Fence{}, changes); err != nil || n != want {
			t.Errorf("SetReaders = %d, %v; want %d", n, err, want)
		}
	}
	strangers := []index.DocumentReaders{{Document: foreign, Readers: []string{}}, {Document: uuid.New()}}
	set(2, append(strangers, index.DocumentReaders{Document: a, Readers: []string{"user:b", "user:a", "user:b", ""}}, index.DocumentReaders{Document: b, Readers: []string{}})...)
	if after := f.state(mine); after.Required <= before.Required {
		t.Errorf("searches need not see it: %+v", after)
	}
	for document, want := range map[uuid.UUID]string{a: "{user:a,user:b}", b: "{}", foreign: "null"} {
		var got string
		if err := f.owner.QueryRow(t.Context(), "select coalesce(readers::text, 'null') from documents where id = $1", document).Scan(&got); err != nil || got != want {
			t.Errorf("the readers are %s, %v; want %s", got, err, want)
		}
	}
	set(0, index.DocumentReaders{Document: a, Readers: []string{"user:a", "user:b"}})
	set(1, index.DocumentReaders{Document: a})
	set(0, strangers...)
	fence := f.job(mine)
	fence.Attempt++
	if _, err := f.store.SetReaders(t.Context(), mine.scope, fence, []index.DocumentReaders{{Document: b}}); err == nil {
		t.Error("a job that is held no longer set readers")
	}
}
