package index_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
)

func TestSoftDeleteAndRestore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine)
	a, b := f.put(mine, mine.record("a", "one", "two")).Document, f.put(mine, mine.record("b", "three")).Document
	c, foreign := f.put(second, second.record("c", "four")).Document, f.put(theirs, theirs.record("d", "five")).Document
	narrow, err := mine.scope.Narrow(mine.collection)
	if err != nil {
		t.Fatal(err)
	}
	all := []uuid.UUID{c, b, foreign, a, uuid.New(), a}
	if n, err := f.store.SoftDelete(t.Context(), narrow, index.Fence{}, all); err != nil || n != 2 {
		t.Errorf("SoftDelete within one collection = %d, %v", n, err)
	}
	if n, err := f.store.SoftDelete(t.Context(), mine.scope, index.Fence{}, all); err != nil || n != 1 {
		t.Errorf("SoftDelete of the rest = %d, %v", n, err)
	}
	if n, err := f.store.SoftDelete(t.Context(), mine.scope, index.Fence{}, nil); err != nil || n != 0 {
		t.Errorf("SoftDelete of nothing = %d, %v", n, err)
	}
	if got := f.stats(mine); got.Documents != 0 || got.Embeddings != 0 || got.StorageBytes != 0 {
		t.Errorf("statistics are %+v", got)
	}
	if got := f.stats(theirs); got.Documents != 1 {
		t.Errorf("their statistics are %+v", got)
	}
	if _, err := f.store.Content(t.Context(), mine.scope, a); apierr.From(err).Code != apierr.CodeNotFound {
		t.Errorf("Content of a deleted document: %v", err)
	}
	if n, err := f.store.Restore(t.Context(), narrow, index.Fence{}, all); err != nil || n != 2 {
		t.Errorf("Restore = %d, %v", n, err)
	}
	if got := f.stats(mine); got.Documents != 2 || got.Embeddings != 3 {
		t.Errorf("statistics after the restore are %+v", got)
	}
	if n, err := f.store.Restore(t.Context(), narrow, index.Fence{}, all); err != nil || n != 0 {
		t.Errorf("Restore of what is there = %d, %v", n, err)
	}
	if text, err := f.store.Content(t.Context(), mine.scope, a); err != nil || text != "onetwo" {
		t.Errorf("Content = %q, %v", text, err)
	}
}

func TestCountersFollowCascades(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.put(id, id.record("a", "one", "two"))
	deleted := f.put(id, id.record("b", "three")).Document
	if _, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{deleted}); err != nil {
		t.Fatal(err)
	}
	before := f.stats(id)
	if _, err := f.db.Pool.Exec(t.Context(), "delete from connectors where id = $1", id.connector); err != nil {
		t.Fatal(err)
	}
	after := f.stats(id)
	if after.Documents != 0 || after.Embeddings != 0 || after.StorageBytes != 0 || after.ChangeNumber <= before.ChangeNumber {
		t.Errorf("the counters went from %+v to %+v", before, after)
	}
	if n := f.count(id, "select (select count(*) from passages) + (select count(*) from passage_index) + (select count(*) from document_texts)"); n != 0 {
		t.Errorf("%d rows are left", n)
	}
	if _, err := f.db.Pool.Exec(t.Context(), "delete from collections where id = $1", id.collection); err != nil {
		t.Fatal(err)
	}
	if n := f.count(id, "select count(*) from collection_state"); n != 0 {
		t.Errorf("%d counter rows are left", n)
	}
}

func TestRecountRepairsCounters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	f.put(mine, mine.record("a", "one", "two"))
	want := f.stats(mine)
	f.exec("update collection_state set documents = 77, passages = 77, bytes = 77")
	got, err := f.store.Recount(t.Context(), mine.scope, mine.collection)
	if err != nil {
		t.Fatal(err)
	}
	want.ChangeNumber++
	if got != want || f.stats(mine) != want {
		t.Errorf("Recount = %+v, then %+v; want %+v", got, f.stats(mine), want)
	}
	if got, err := f.store.Recount(t.Context(), mine.scope, theirs.collection); err != nil || got != (index.Stats{}) {
		t.Errorf("Recount of another workspace's collection = %+v, %v", got, err)
	}
	if got, err := f.store.Stats(t.Context(), mine.scope, []uuid.UUID{theirs.collection, uuid.New()}); err != nil || len(got) != 0 {
		t.Errorf("Stats of another workspace's collection = %+v, %v", got, err)
	}
}

func TestContentAndSummary(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	id := f.put(mine, mine.record("a", "the text")).Document
	if got, err := f.store.Summary(t.Context(), mine.scope, id); err != nil || got != "" {
		t.Errorf("Summary before there is one = %q, %v", got, err)
	}
	if err := f.store.SetSummary(t.Context(), mine.scope, id, "short\x00"); err != nil {
		t.Fatal(err)
	}
	if got, err := f.store.Summary(t.Context(), mine.scope, id); err != nil || got != "short " {
		t.Errorf("Summary = %q, %v", got, err)
	}
	for name, err := range map[string]error{
		"Content":    second(f.store.Content(t.Context(), theirs.scope, id)),
		"Summary":    second(f.store.Summary(t.Context(), theirs.scope, id)),
		"SetSummary": f.store.SetSummary(t.Context(), theirs.scope, id, "taken over"),
		"unknown":    second(f.store.Content(t.Context(), mine.scope, uuid.New())),
	} {
		if apierr.From(err).Code != apierr.CodeNotFound {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.put(mine, mine.record("a", "a new text"))
	if got, err := f.store.Summary(t.Context(), mine.scope, id); err != nil || got != "" {
		t.Errorf("the old summary outlived its text: %q, %v", got, err)
	}
}

func second[T any](_ T, err error) error { return err }
