package index_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/index"
)

// searchIndexes are the names of the collections' indexes, the invalid ones marked.
func (f *fixture) searchIndexes() []string {
	f.Helper()
	return f.texts(`select r.relname || case when x.indisvalid then '' else ' (invalid)' end
		from pg_index x join pg_class r on r.oid = x.indexrelid where r.relname ~ '^passage_index_(vectors|lexemes)_' order by 1`)
}

// texts are the rows of a statement that the owner asks.
func (f *fixture) texts(sql string) []string {
	f.Helper()
	rows, err := f.owner.Query(f.Context(), sql)
	if err != nil {
		f.Fatal(err)
	}
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		f.Fatal(err)
	}
	return texts
}

func TestALargeCollectionGetsIndexes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	small := f.collection(id)
	for i := range 30 {
		f.put(id, id.record(fmt.Sprint(i), fmt.Sprint("common text ", i), "common other text"))
	}
	wants := func(want uuid.UUID) {
		t.Helper()
		got, ok, err := f.store.NextIndexes(t.Context(), 0, 0)
		if err != nil || got != want || ok != (want != uuid.Nil) {
			t.Errorf("the next index to build is for %s, %v, %v; want %s", got, ok, err, want)
		}
	}
	wants(uuid.Nil) // below the limit
	f.exec("update search_settings set exact_passages = 50")
	wants(id.collection)
	if _, ok, err := f.store.NextIndexes(t.Context(), 60, 60); ok || err != nil {
		t.Errorf("a collection that is not above the limit named is to be indexed: %v", err)
	}
	if got, _, err := f.store.NextIndexes(t.Context(), 60, 59); got != id.collection || err != nil {
		t.Errorf("where all together are above the limit named none is to be indexed: %v", err)
	}
	if err := index.BuildIndexes(t.Context(), f.owner, small.collection); err != nil {
		t.Errorf("a build for an empty collection: %v", err)
	}
	for range 2 { // the second time finds it there
		if err := index.BuildIndexes(t.Context(), f.owner, id.collection); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.searchIndexes(); !slices.Equal(got, indexNames(id)) {
		t.Errorf("the indexes are %q", got)
	}
	wants(uuid.Nil) // it has its index
	if n := f.count(id, "select count(*) from collection_terms where collection_id = $1 and term = 'common' and passages = 60", id.collection); n != 1 {
		t.Error("the common words are not listed")
	}
	if n := f.count(id, "select count(*) from collection_terms where term like '#%'"); n != 0 {
		t.Error("what is no word is listed as one")
	}
	for i := range 70 {
		f.put(id, id.record(fmt.Sprint("more", i), "common text"))
	}
	wants(id.collection) // it has doubled, and its words are to be counted again
}

func TestIndexesAreBuiltOneAtATime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.put(id, id.record("a", "text"))
	other, err := pgx.Connect(t.Context(), f.urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = other.Close(t.Context()) })
	writer, err := pgx.Connect(t.Context(), f.urls.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = writer.Close(context.Background()) })
	// A writer that does not end holds the build up.
	tx, err := writer.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), fmt.Sprintf("lock table passage_index_p%d in row exclusive mode", f.part(id.collection))); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- index.BuildIndexes(t.Context(), f.owner, id.collection) }()
	f.untilBlocked()
	if err := index.BuildIndexes(t.Context(), other, id.collection); !errors.Is(err, index.ErrBuilding) {
		t.Errorf("a second build: %v", err)
	}
	if err := tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := index.BuildIndexes(t.Context(), other, id.collection); err != nil {
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
	if err := index.BuildIndexes(t.Context(), f.owner, gone.collection); err != nil {
		t.Fatal(err)
	}
	f.exec("delete from collections where id = $1", gone.collection)
	// Vectors of two lengths under one model make the build fail halfway.
	longer := broken.record("b", "text")
	longer.Vectors[0] = append(longer.Vectors[0], 0)
	f.put(broken, longer)
	if err := index.BuildIndexes(t.Context(), f.owner, broken.collection); err == nil {
		t.Fatal("vectors of two lengths were indexed")
	}
	lexemes, vectors := indexNames(broken)[0], indexNames(broken)[1]
	if got := f.searchIndexes(); !slices.Equal(got, []string{lexemes}) {
		t.Errorf("the failed build left %q", got)
	}
	// What a killed build leaves.
	if _, err := f.owner.Exec(t.Context(), fmt.Sprintf(`create index concurrently %s on passage_index_p%d
			using hnsw ((embedding::halfvec(8)) halfvec_cosine_ops) where collection_id = '%s'`, vectors, f.part(broken.collection), broken.collection)); err == nil {
		t.Fatal("vectors of two lengths were indexed")
	}
	if got := f.searchIndexes(); !slices.Equal(got, []string{lexemes, vectors + " (invalid)"}) {
		t.Fatalf("the killed build left %q", got)
	}
	if err := index.BuildIndexes(t.Context(), f.owner, id.collection); err != nil {
		t.Fatal(err)
	}
	want := append(indexNames(id), lexemes)
	slices.Sort(want)
	if got := f.searchIndexes(); !slices.Equal(got, want) {
		t.Errorf("the indexes are %q", got)
	}
}

// indexNames are the names of a collection's indexes, of lexemes and of vectors.
func indexNames(id tenant) []string {
	return []string{fmt.Sprintf("passage_index_lexemes_%x", id.collection[:]), fmt.Sprintf("passage_index_vectors_%x", id.collection[:])}
}

func TestAVectorIndexIsBuiltAnewForANewModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("update search_settings set exact_passages = 2")
	id := f.tenant()
	out := f.put(id, id.record("a", "one", "two", "three"))
	next := func() uuid.UUID {
		t.Helper()
		got, _, err := f.store.NextIndexes(t.Context(), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if err := index.BuildIndexes(t.Context(), f.owner, id.collection); err != nil || next() != uuid.Nil {
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
	if err := index.BuildIndexes(t.Context(), f.owner, id.collection); err != nil || next() != uuid.Nil {
		t.Fatal(err, next())
	}
	var definition string
	if err := f.owner.QueryRow(t.Context(), "select indexdef from pg_indexes where indexname = $1", indexNames(id)[1]).Scan(&definition); err != nil || !strings.Contains(definition, "'other'") {
		t.Errorf("the index is %s, %v", definition, err)
	}
}

// A first sync asks for each item by its source's id before PostgreSQL has
// statistics of the tables, when several indexes look equally good.
func TestItemsAreLookedUpByTheirIdBeforeThereAreStatistics(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec("set plan_cache_mode = force_generic_plan")
	f.exec(`prepare document as select d.id from documents d
		where d.connector_id = $1 and d.source_id = $2 and d.workspace_id = $3 and d.collection_id = $4 for no key update`)
	f.exec("prepare item as select status from sync_items where connector_id = $1 and source_id = $2")
	for statement, want := range map[string]string{
		"document('00000000-0000-0000-0000-000000000000', '', '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000')": "document_connector_id_source_id",
		"item('00000000-0000-0000-0000-000000000000', '')": "syncitem_connector_id_source_id",
	} {
		if text := strings.Join(f.texts("explain execute "+statement), "\n"); !strings.Contains(text, "using "+want+" ") {
			t.Errorf("create %s last, so that it is the newest index of its table; without statistics the plan is\n%s", want, text)
		}
	}
}
