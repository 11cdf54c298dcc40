package resident_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// edition is a version of a document: it tells in each passage of how many
// there are and of which version it is.
func edition(w *world, id uuid.UUID, version int) *index.Entry {
	e := &index.Entry{Document: id, Live: true, Version: fmt.Sprint(version)}
	n := 1 + w.IntN(6)
	for i := range n {
		p := index.EntryPassage{
			ID: w.id(), Ordinal: int32(i), Vector: w.vector(16),
			Lexemes: lexemesOf([]occurrence{{"title", 1}, {"all", 1024}, {fmt.Sprintf("v%d", version), 1025}}),
		}
		p.Words[index.FieldHeading], p.Words[index.FieldBody] = int32(n), int32(version)
		e.Passages = append(e.Passages, p)
	}
	return e
}

// TestReadersSeeWholeDocumentsWhileTheyChange runs searches beside changes; the
// race detector looks on.
func TestReadersSeeWholeDocumentsWhileTheyChange(t *testing.T) {
	t.Parallel()
	const documents, changes, readers = 60, 60, 4
	w := newWorld(1, 10, 16)
	x := resident.New(resident.Options{})
	apply := func(version int, ids ...uuid.UUID) {
		var entries []*index.Entry
		for _, id := range ids {
			entries = append(entries, edition(w, id, version))
		}
		if err := x.Apply(index.Position{Change: int64(version)}, entries); err != nil {
			t.Error(err)
		}
	}
	ids := make([]uuid.UUID, documents)
	for i := range ids {
		ids[i] = w.id()
	}
	apply(1, ids...)
	var group sync.WaitGroup
	done := make(chan struct{})
	for range readers {
		group.Go(func() {
			last := int64(0)
			for {
				s := x.Snapshot()
				if s.Change < last {
					t.Errorf("change %d after %d", s.Change, last)
				}
				last = s.Change
				checkWhole(t, s, documents)
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	for version := 2; version < 2+changes; version++ {
		// Half of the documents at once: all of them or none are to be seen.
		var some []uuid.UUID
		for _, i := range w.Perm(documents)[:documents/2] {
			some = append(some, ids[i])
		}
		apply(version, some...)
	}
	close(done)
	group.Wait()
}

func checkWhole(t *testing.T, s *resident.Snapshot, documents int) {
	t.Helper()
	v := s.View(nil)
	found, err := v.Candidates(t.Context(), &rank.Request{
		Words: []rank.Word{{Terms: []string{"all"}, Weight: 1}}, Report: 1, AverageBody: 10, Best: 1000,
	})
	if err != nil {
		t.Error(err)
		return
	}
	type whole struct{ passages, of, version, hits int }
	seen := map[uuid.UUID]whole{}
	newest := 0
	for _, c := range found {
		d := seen[c.Document]
		version := int(c.Words[index.FieldBody])
		if d.passages > 0 && d.version != version {
			t.Errorf("a document is of versions %d and %d", d.version, version)
		}
		seen[c.Document] = whole{d.passages + 1, int(c.Words[index.FieldHeading]), version, d.hits + len(c.Hits)}
		newest = max(newest, version)
	}
	fresh := 0
	for _, d := range seen {
		if d.passages != d.of || d.hits != d.of {
			t.Errorf("%d passages and %d hits of a document of %d", d.passages, d.hits, d.of)
		}
		if d.version == newest {
			fresh++
		}
	}
	if len(seen) != documents || int64(newest) != s.Change || newest > 1 && fresh != documents/2 {
		t.Errorf("%d documents, %d of version %d at change %d", len(seen), fresh, newest, s.Change)
	}
}

func TestChangesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 50, 8)
	x := resident.New(resident.Options{})
	if err := x.Change().Entry(w.entry(w.id())); err == nil {
		t.Error("an entry came before the beginning")
	}
	if _, err := x.Change().Commit(); err == nil {
		t.Error("a change was committed before its beginning")
	}
	if err := x.Apply(index.Position{Change: 2}, []*index.Entry{w.entry(w.id())}); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(index.Position{Change: 1}, []*index.Entry{w.entry(w.id())}); err == nil {
		t.Error("a change of the past was taken")
	}
	if n := x.Snapshot().Statistics().Documents; n != 1 {
		t.Errorf("%d documents", n)
	}
}

func TestTheLastWordOnADocumentCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(3, 50, 8)
	x := resident.New(resident.Options{})
	twice, gone, back := w.id(), w.id(), w.id()
	last, again := w.entry(twice), w.entry(back)
	err := x.Apply(index.Position{Change: 1}, []*index.Entry{
		w.entry(twice), w.entry(gone), w.entry(back), {Document: gone}, last, {Document: back}, again,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{documents: map[uuid.UUID]*index.Entry{twice: last, back: again}}
	for range 20 {
		compare(t, w, o, x.Snapshot())
	}
}

func TestAnEmptyIndexAnswersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(4, 50, 8)
	o := &oracle{documents: map[uuid.UUID]*index.Entry{}}
	x := resident.New(resident.Options{})
	for range 20 {
		compare(t, w, o, x.Snapshot())
	}
}

// TestBytesAreWhatIsHeld runs alone: it looks at the whole heap.
func TestBytesAreWhatIsHeld(t *testing.T) {
	var before, after runtime.MemStats
	x := resident.New(resident.Options{})
	fill := func() {
		w := newWorld(6, 400, 96)
		w.rare = 40_000
		c := x.Change()
		if err := c.Begin(index.Position{Generation: 1}, "m", true); err != nil {
			t.Fatal(err)
		}
		for range 4000 {
			if err := c.Entry(w.entry(w.id())); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	fill()
	runtime.GC()
	runtime.ReadMemStats(&after)
	held, told := float64(after.HeapAlloc)-float64(before.HeapAlloc), float64(x.Bytes())
	if told < 0.85*held || told > 1.15*held {
		t.Errorf("Bytes = %.0f, the heap has %.0f more", told, held)
	}
	runtime.KeepAlive(x)
}

func FuzzLexemes(f *testing.F) {
	f.Add([]byte(lexemesOf([]occurrence{{"a", 1}, {"b", 300}, {"a", 1024}, {"c", 16383}})))
	f.Add([]byte{0, 0, 0, 2, 'a', 0, 0, 1, 0})
	f.Add([]byte{0, 0, 0, 2, 'a', 0, 0, 2, 0, 9, 0, 1, 'a', 0, 0, 1, 0xff, 0xff})
	f.Add(binary.BigEndian.AppendUint32(nil, 1<<31))
	f.Fuzz(func(t *testing.T, lexemes []byte) {
		id := uuid.UUID{1}
		e := &index.Entry{Document: id, Live: true, Passages: []index.EntryPassage{
			{ID: uuid.UUID{2}, Lexemes: lexemes}, {ID: uuid.UUID{3}, Lexemes: lexemes},
		}}
		bad := index.Lexemes(lexemes).Each(func([]byte, []uint16) {})
		x := resident.New(resident.Options{})
		switch err := x.Apply(index.Position{Change: 1}, []*index.Entry{e}); {
		case bad != nil && !errors.Is(err, index.ErrLexemes):
			t.Fatalf("Apply = %v, the lexemes are bad: %v", err, bad)
		case bad == nil && err != nil:
			t.Fatal(err)
		case bad != nil:
			if n := x.Snapshot().Statistics(); n != (rank.Statistics{}) {
				t.Fatalf("a broken document became %+v", n)
			}
			return
		}
		o := &oracle{documents: map[uuid.UUID]*index.Entry{id: e}}
		w := newWorld(1, 10, 3)
		var left []*known
		o.each(func(k *known) { left = append(left, k) })
		r := &rank.Request{Best: 10, AverageBody: 5}
		for _, term := range left[0].terms {
			if len(r.Words) < 8 {
				taken := false
				for _, word := range r.Words {
					taken = taken || word.Terms[0] == term.term
				}
				if !taken {
					r.Words = append(r.Words, rank.Word{Terms: []string{term.term}, Weight: w.Float64() + 0.1})
				}
			}
		}
		r.Report = len(r.Words)
		got, err := x.Snapshot().View(nil).Candidates(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		compareCandidates(t, r, left, got)
	})
}

// The nearest passages are looked for aside where there are many.
func TestAnswersAreTheSameWithHelp(t *testing.T) {
	t.Parallel()
	w := newWorld(31, 80, 32)
	x := resident.New(resident.Options{})
	var entries []*index.Entry
	for n := 0; n < 12_000; {
		e := w.entry(w.id())
		n += len(e.Passages)
		entries = append(entries, e)
	}
	if err := x.Apply(index.Position{Generation: 0, Change: 1}, entries); err != nil {
		t.Fatal(err)
	}
	helped := 0
	for range 40 {
		r := w.request()
		alone, err := x.Snapshot().View(nil).Candidates(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		r.Aside = func(work func()) func() {
			done := make(chan struct{})
			go func() {
				defer close(done)
				work()
			}()
			helped++
			return func() { <-done }
		}
		together, err := x.Snapshot().View(nil).Candidates(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(alone, together, cmpopts.EquateNaNs()); diff != "" {
			t.Fatal(diff)
		}
	}
	if helped == 0 {
		t.Errorf("nobody was asked for help with %d passages", x.Snapshot().Statistics().Passages)
	}
}
