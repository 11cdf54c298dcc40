package index_test

import (
	"testing"
)

func TestPutStoresADocumentWithEverythingThatBelongsToIt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	out := f.put(id, id.record("a", "first passage", "second passage"))
	if !out.Added {
		t.Error("a new document does not count as added")
	}
	if n := f.count(id, "select count(*) from passages where document_id = $1", out.Document); n != 2 {
		t.Errorf("%d passages", n)
	}
	if n := f.count(id, "select count(*) from passage_index where document_id = $1 and lexemes @@ 'passag:D & titl:A & guid:B & part:B'", out.Document); n != 2 {
		t.Errorf("%d rows in the index", n)
	}
	if got := f.stats(id); got.Documents != 1 || got.Embeddings != 2 || got.ChangeNumber != 1 || got.StorageBytes != int64(2*len("first passagesecond passage")+2*2*dimensions) {
		t.Errorf("statistics %+v", got)
	}
}
