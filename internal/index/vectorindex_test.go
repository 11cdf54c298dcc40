package index_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"magpie/internal/index"
)

// vectorIndexes are the names of the vector indexes, the invalid ones marked.
func (f *fixture) vectorIndexes() []string {
	f.Helper()
	rows, err := f.owner.Query(f.Context(), `select r.relname || case when x.indisvalid then '' else ' (invalid)' end
		from pg_index x join pg_class r on r.oid = x.indexrelid where r.relname like 'passage_index_vectors_%' order by 1`)
	if err != nil {
		f.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.Fatal(err)
	}
	return names
}

func TestALargeCollectionGetsAVectorIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	small := f.collection(id)
	for i := range 30 {
		f.put(id, id.record(fmt.Sprint(i), fmt.Sprint("common text ", i), "common other text"))
	}
	wants := func(want uuid.UUID) {
		t.Helper()
		got, ok, err := f.store.NextVectorIndex(t.Context())
		if err != nil || got != want || ok != (want != uuid.Nil) {
			t.Errorf("the next index to build is for %s, %v, %v; want %s", got, ok, err, want)
		}
	}
	wants(uuid.Nil) // below the limit
	f.exec("update search_settings set exact_passages = 50")
	wants(id.collection)
	if err := index.BuildVectorIndex(t.Context(), f.owner, small.collection); err != nil {
		t.Errorf("a build for an empty collection: %v", err)
	}
	for range 2 { // the second time finds it there
		if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.vectorIndexes(); len(got) != 1 {
		t.Errorf("the indexes are %q", got)
	}
	wants(uuid.Nil) // it has its index
	if n := f.count(id, "select count(*) from collection_terms where collection_id = $1 and term = 'common' and passages = 60", id.collection); n != 1 {
		t.Error("the common words are not listed")
	}
	if n := f.count(id, "select count(*) from collection_terms where term like '#%'"); n != 0 {
		t.Error("the collection's own lexeme is listed as a word")
	}
	for i := range 70 {
		f.put(id, id.record(fmt.Sprint("more", i), "common text"))
	}
	wants(id.collection) // it has doubled, and its words are to be counted again
}

func TestOneVectorIndexIsBuiltAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.put(id, id.record("a", "text"))
	other, err := pgx.Connect(t.Context(), f.urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(t.Context()) })
	// A writer that does not end holds the build up.
	tx, err := f.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `insert into passage_index select id, document_id, collection_id, workspace_id, 0, 0, 0, 0, 0, '', 'other', '[1]'
			from passages where false`); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- index.BuildVectorIndex(t.Context(), f.owner, id.collection) }()
	f.untilBlocked()
	if err := index.BuildVectorIndex(t.Context(), other, id.collection); !errors.Is(err, index.ErrBuilding) {
		t.Errorf("a second build: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := index.BuildVectorIndex(t.Context(), other, id.collection); err != nil {
		t.Errorf("a build after the first one's end: %v", err)
	}
}

func TestABuildSweepsBrokenIndexesAndThoseOfDeletedCollections(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	gone, broken := f.collection(id), f.collection(id)
	for _, c := range []tenant{id, gone, broken} {
		f.put(c, c.record("a", "text"))
	}
	if err := index.BuildVectorIndex(t.Context(), f.owner, gone.collection); err != nil {
		t.Fatal(err)
	}
	f.exec("delete from collections where id = $1", gone.collection)
	// Vectors of two lengths under one model make the build fail halfway.
	longer := broken.record("b", "text")
	longer.Vectors[0] = append(longer.Vectors[0], 0)
	f.put(broken, longer)
	if err := index.BuildVectorIndex(t.Context(), f.owner, broken.collection); err == nil {
		t.Fatal("vectors of two lengths were indexed")
	}
	if got := f.vectorIndexes(); len(got) != 0 {
		t.Errorf("the failed build left %q", got)
	}
	// What a killed build leaves.
	name := f.vectorIndexName(broken)
	if _, err := f.owner.Exec(t.Context(), fmt.Sprintf(`create index concurrently %s on passage_index
			using hnsw ((embedding::halfvec(8)) halfvec_cosine_ops) where collection_id = '%s'`, name, broken.collection)); err == nil {
		t.Fatal("vectors of two lengths were indexed")
	}
	if got := f.vectorIndexes(); len(got) != 1 || got[0] != name+" (invalid)" {
		t.Fatalf("the killed build left %q", got)
	}
	if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil {
		t.Fatal(err)
	}
	if got := f.vectorIndexes(); len(got) != 1 || got[0] != f.vectorIndexName(id) {
		t.Errorf("the indexes are %q", got)
	}
}

func (f *fixture) vectorIndexName(id tenant) string {
	return fmt.Sprintf("passage_index_vectors_%x", id.collection[:])
}

func TestAVectorIndexIsBuiltAnewForANewModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("update search_settings set exact_passages = 2")
	id := f.tenant()
	out := f.put(id, id.record("a", "one", "two", "three"))
	next := func() uuid.UUID {
		t.Helper()
		got, _, err := f.store.NextVectorIndex(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil || next() != uuid.Nil {
		t.Fatal(err, next())
	}
	f.exec("update collections set embedding_model = 'other' where id = $1", id.collection)
	if next() != uuid.Nil {
		t.Error("an index is wanted while vectors are missing")
	}
	lacking, err := f.store.Lacking(t.Context(), id.scope, id.collection, "other", 0, uuid.Nil, 10)
	if err != nil || len(lacking) != 3 || lacking[0].Document != out.Document {
		t.Fatal(lacking, err)
	}
	vectors := [][]float32{vector("1"), vector("2"), vector("3")}
	if err := f.store.AddVectors(t.Context(), id.scope, id.collection, "other", lacking, vectors); err != nil {
		t.Fatal(err)
	}
	if settled, err := f.store.Settle(t.Context(), id.scope, id.collection, "other", 0); settled || err != nil {
		t.Errorf("settled with vectors apart: %v, %v", settled, err)
	}
	if n, err := f.store.FoldVectors(t.Context(), id.scope, id.collection, 10); n != 3 || err != nil {
		t.Error(n, err)
	}
	if settled, err := f.store.Settle(t.Context(), id.scope, id.collection, "other", 0); !settled || err != nil {
		t.Errorf("not settled: %v", err)
	}
	if next() != id.collection {
		t.Error("no index of the new model is wanted")
	}
	if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil || next() != uuid.Nil {
		t.Fatal(err, next())
	}
	var definition string
	if err := f.owner.QueryRow(t.Context(), "select indexdef from pg_indexes where indexname = $1", f.vectorIndexName(id)).Scan(&definition); err != nil || !strings.Contains(definition, "'other'") {
		t.Errorf("the index is %s, %v", definition, err)
	}
}
