package resident_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// versionOf returns a version of a document. Each passage stores the version as its
// body length and the number of passages as its heading length.
func versionOf(w *world, id uuid.UUID, version int) *index.Entry {
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

// TestSearchesSeeWholeDocumentsDuringChanges is most useful under the race detector.
func TestSearchesSeeWholeDocumentsDuringChanges(t *testing.T) {
	t.Parallel()
	const documents, changes, readers = 60, 60, 4
	w := newWorld(1, 10, 16)
	x := resident.New(resident.Options{})
	apply := func(version int, ids ...uuid.UUID) {
		var entries []*index.Entry
		for _, id := range ids {
			entries = append(entries, versionOf(w, id, version))
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
		// Half of the documents change at once: searches must see all of them or none.
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
	candidates, err := v.Candidates(t.Context(), &rank.Request{
		Words: []rank.Word{{Terms: []string{"all"}, Weight: 1}}, MatchWords: 1, AverageBody: 10, TopLexical: 1000,
	})
	if err != nil {
		t.Error(err)
		return
	}
	type document struct{ passages, want, version, matches int }
	seen := map[uuid.UUID]document{}
	newest := 0
	for _, c := range candidates {
		d := seen[c.Document]
		version := int(c.FieldWords[index.FieldBody])
		if d.passages > 0 && d.version != version {
			t.Errorf("a document has passages of versions %d and %d", d.version, version)
		}
		seen[c.Document] = document{d.passages + 1, int(c.FieldWords[index.FieldHeading]), version, d.matches + len(c.Matches)}
		newest = max(newest, version)
	}
	fresh := 0
	for _, d := range seen {
		if d.passages != d.want || d.matches != d.want {
			t.Errorf("%d passages and %d matches of a document of %d", d.passages, d.matches, d.want)
		}
		if d.version == newest {
			fresh++
		}
	}
	if len(seen) != documents || int64(newest) != s.Change || newest > 1 && fresh != documents/2 {
		t.Errorf("snapshot of change %d has %d documents, %d of version %d", s.Change, len(seen), fresh, newest)
	}
}

func TestChangesAreCommittedInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(2, 50, 8)
	x := resident.New(resident.Options{})
	if err := x.Change().Entry(w.entry(w.id())); err == nil {
		t.Error("Entry before Begin did not fail")
	}
	if _, err := x.Change().Commit(); err == nil {
		t.Error("Commit before Begin did not fail")
	}
	if err := x.Apply(index.Position{Change: 2}, []*index.Entry{w.entry(w.id())}); err != nil {
		t.Fatal(err)
	}
	if err := x.Apply(index.Position{Change: 1}, []*index.Entry{w.entry(w.id())}); err == nil {
		t.Error("an outdated change did not fail")
	}
	if n := x.Snapshot().Statistics().Documents; n != 1 {
		t.Errorf("%d documents, want 1", n)
	}
}

func TestTheLastEntryOfADocumentCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(3, 50, 8)
	x := resident.New(resident.Options{})
	replaced, deleted, restored := w.id(), w.id(), w.id()
	replacement, restoration := w.entry(replaced), w.entry(restored)
	err := x.Apply(index.Position{Change: 1}, []*index.Entry{
		w.entry(replaced), w.entry(deleted), w.entry(restored), {Document: deleted}, replacement, {Document: restored}, restoration,
	})
	if err != nil {
		t.Fatal(err)
	}
	o := &oracle{documents: map[uuid.UUID]*index.Entry{replaced: replacement, restored: restoration}}
	for range 20 {
		compare(t, w, o, x.Snapshot())
	}
}

func TestAnEmptyIndexFindsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(4, 50, 8)
	o := &oracle{documents: map[uuid.UUID]*index.Entry{}}
	x := resident.New(resident.Options{})
	for range 20 {
		compare(t, w, o, x.Snapshot())
	}
}

// TestBytesIsTheMemoryHeld is not parallel, because it measures the whole heap.
func TestBytesIsTheMemoryHeld(t *testing.T) {
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
	held, got := float64(after.HeapAlloc)-float64(before.HeapAlloc), float64(x.Bytes())
	if got < 0.85*held || got > 1.15*held {
		t.Errorf("Bytes() = %.0f, but the heap grew by %.0f", got, held)
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
			t.Fatalf("Apply() = %v, but the lexemes are malformed: %v", err, bad)
		case bad == nil && err != nil:
			t.Fatal(err)
		case bad != nil:
			if n := x.Snapshot().Statistics(); n != (rank.Statistics{}) {
				t.Fatalf("a malformed document was indexed: %+v", n)
			}
			return
		}
		o := &oracle{documents: map[uuid.UUID]*index.Entry{id: e}}
		w := newWorld(1, 10, 3)
		var all []*passage
		o.each(func(p *passage) { all = append(all, p) })
		r := &rank.Request{TopLexical: 10, AverageBody: 5}
		for _, term := range all[0].terms {
			if len(r.Words) < 8 {
				known := false
				for _, word := range r.Words {
					known = known || word.Terms[0] == term.term
				}
				if !known {
					r.Words = append(r.Words, rank.Word{Terms: []string{term.term}, Weight: w.Float64() + 0.1})
				}
			}
		}
		r.MatchWords = len(r.Words)
		got, err := x.Snapshot().View(nil).Candidates(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		compareCandidates(t, r, all, got)
	})
}
