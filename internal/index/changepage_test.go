package index_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// gathered is a reader that keeps what pages tell, also of documents that are gone.
type gathered struct {
	follower
	gone   map[uuid.UUID]bool
	begins int
	fail   error
}

func (g *gathered) Begin(at index.Position, model string, all bool) error {
	g.begins++
	if g.gone == nil {
		g.gone = map[uuid.UUID]bool{}
	}
	if all {
		return errors.New("a page is not everything")
	}
	return g.follower.Begin(at, model, false)
}

func (g *gathered) Entry(e *index.Entry) error {
	if g.fail != nil {
		return g.fail
	}
	delete(g.gone, e.Document)
	if !e.Live {
		g.gone[e.Document] = true
	}
	return g.follower.Entry(e)
}

// pages reads a collection to its end in pages and returns the number of pages.
func (f *fixture) pages(id tenant, g *gathered, page index.ChangePage) int {
	f.Helper()
	for n := 1; ; n++ {
		end, err := f.store.ChangePage(f.Context(), id.scope, id.collection, page, g)
		if err != nil {
			f.Fatal(err)
		}
		if !slices.IsSortedFunc(g.order, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }) || g.told != end.Documents || end.Documents > page.Documents {
			f.Fatalf("page %d tells %d documents as %v, and has %d", n, g.told, g.order, end.Documents)
		}
		if end.IsComplete {
			return n
		}
		if end.Documents == 0 || end.Last.Number < page.After.Number || n > 1000 {
			f.Fatalf("page %d ends at %+v after %+v", n, end, page.After)
		}
		page.After = end.Last
	}
}

func TestPagesTellEverything(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	second := f.collection(id)
	f.put(second, second.record("another", "collection"))
	var documents []uuid.UUID
	for i := range 20 {
		r := id.record(fmt.Sprint(i), fmt.Sprint("text ", i), "more")
		r.Tags, r.Readers = []string{"t"}, []string{"user:a"}
		documents = append(documents, f.put(id, r).Document)
	}
	f.put(id, id.record("empty"))
	if _, err := f.store.SoftDelete(t.Context(), id.scope, index.Fence{}, documents[:3]); err != nil { // at one change
		t.Fatal(err)
	}
	f.put(id, id.record("5", "changed"))
	var whole follower
	f.follow(id, &whole)
	for _, size := range []int{1, 2, 7, 24, 100} {
		var g gathered
		n := f.pages(id, &g, index.ChangePage{Documents: size, Passages: 1000})
		if want := max(1, (21+size-1)/size); n != want {
			t.Errorf("%d pages of %d documents, want %d", n, size, want)
		}
		if !reflect.DeepEqual(g.documents, whole.documents) || len(g.gone) != 3 || !g.gone[documents[0]] {
			t.Errorf("pages of %d tell %d documents and %d that are gone, want %d and 3", size, len(g.documents), len(g.gone), len(whole.documents))
		}
	}
	var g gathered
	if n := f.pages(id, &g, index.ChangePage{Documents: 100, Passages: 4}); n < 8 || n > 12 || len(g.documents) != len(whole.documents) {
		t.Errorf("%d pages of 4 passages with %d documents", n, len(g.documents))
	}
	bare := gathered{}
	f.pages(id, &bare, index.ChangePage{Documents: 7, Passages: 1000, Bare: true})
	if len(bare.documents) != len(whole.documents) {
		t.Errorf("%d documents without lexemes", len(bare.documents))
	}
	for document, e := range bare.documents {
		for i, p := range e.Passages {
			if full := whole.documents[document].Passages[i]; p.ID != full.ID || len(p.Lexemes) > 0 || p.Vector != nil {
				t.Errorf("a bare passage is %+v, want the id %s", p, full.ID)
			}
		}
	}
	// Up to a position, and from it on.
	middle := index.FeedPosition{Number: 10, Document: uuid.Max}
	var before, after gathered
	f.pages(id, &before, index.ChangePage{Until: middle, Documents: 3, Passages: 1000})
	f.pages(id, &after, index.ChangePage{After: middle, Documents: 3, Passages: 1000})
	if len(before.documents)+len(before.gone)+len(after.documents)+len(after.gone) != 21 || len(before.documents) != 6 {
		t.Errorf("%d and %d documents up to a position, %d and %d after it", len(before.documents), len(before.gone), len(after.documents), len(after.gone))
	}
}

func TestACutInOneChangeGoesOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for i := range 9 {
		f.put(id, id.record(fmt.Sprint(i), "text"))
	}
	f.exec("delete from connectors where id = $1", id.connector) // all documents at one change
	number := f.state(id).Change
	var g gathered
	page := index.ChangePage{After: index.Covered{Change: number - 1}.Position(), Documents: 2, Passages: 1000}
	if n := f.pages(id, &g, page); n != 5 || len(g.gone) != 9 || len(g.documents) != 0 {
		t.Errorf("%d pages tell %d documents that are gone", n, len(g.gone))
	}
}

func TestPagesStayWithinTheScope(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	mine, theirs := f.tenant(), f.tenant()
	second := f.collection(mine)
	own := f.put(mine, mine.record("a", "one")).Document
	foreign := f.put(theirs, theirs.record("b", "two")).Document
	other := f.put(second, second.record("c", "three")).Document
	narrow, err := mine.scope.Narrow(second.collection)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		scope      viewer.Scope
		collection uuid.UUID
		want       error
	}{
		"another workspace's":      {mine.scope, theirs.collection, viewer.ErrOutOfScope},
		"one that does not exist":  {mine.scope, uuid.New(), viewer.ErrOutOfScope},
		"one outside of the scope": {narrow, mine.collection, viewer.ErrOutOfScope},
		"without a scope":          {viewer.Scope{}, mine.collection, viewer.ErrNoScope},
	} {
		var g gathered
		if _, err := f.store.ChangePage(t.Context(), c.scope, c.collection, index.ChangePage{Documents: 10, Passages: 10}, &g); !errors.Is(err, c.want) || g.begins > 0 {
			t.Errorf("a page of %s: %v, %d calls", name, err, g.begins)
		}
		if err := f.store.Entries(t.Context(), c.scope, c.collection, []uuid.UUID{own, foreign}, false, &g); !errors.Is(err, c.want) || g.begins > 0 {
			t.Errorf("entries of %s: %v, %d calls", name, err, g.begins)
		}
	}
	var g gathered
	unknown := uuid.New()
	if err := f.store.Entries(t.Context(), mine.scope, mine.collection, []uuid.UUID{own, foreign, other, unknown, own}, false, &g); err != nil {
		t.Fatal(err)
	}
	if len(g.documents) != 1 || len(g.gone) != 3 || len(g.documents[own].Passages) != 1 {
		t.Errorf("the entries of documents of others are %+v", g.documents)
	}
	if err := f.store.Entries(t.Context(), mine.scope, mine.collection, nil, false, &g); err != nil || g.told != 0 {
		t.Errorf("no entries: %v, %d told", err, g.told)
	}
	g.fail = errors.New("full")
	if err := f.store.Entries(t.Context(), mine.scope, mine.collection, []uuid.UUID{own}, false, &g); !errors.Is(err, g.fail) {
		t.Errorf("a reader that fails: %v", err)
	}
	found, err := f.store.SampleDocuments(t.Context(), mine.scope, mine.collection, 100, []uuid.UUID{uuid.Nil, uuid.Nil, uuid.Max}, 5)
	if err != nil || !slices.Equal(found, []uuid.UUID{own}) {
		t.Errorf("a sample: %v, %v", found, err)
	}
	if found, err := f.store.SampleDocuments(t.Context(), mine.scope, theirs.collection, 100, []uuid.UUID{uuid.Nil}, 5); err != nil || len(found) != 0 {
		t.Errorf("a sample of another workspace: %v, %v", found, err)
	}
	if found, err := f.store.SampleDocuments(t.Context(), mine.scope, mine.collection, 0, []uuid.UUID{uuid.Nil}, 5); err != nil || len(found) != 0 {
		t.Errorf("a sample of nothing that is confirmed: %v, %v", found, err)
	}
}
