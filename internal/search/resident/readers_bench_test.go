package resident_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// BenchmarkReaders reports the time of the readers filter on 100,000 passages in 10,000
// documents, each readable by ten of 2,000 groups. The least time is independent of
// other load on the machine.
func BenchmarkReaders(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	x := resident.New(resident.Options{})
	c := x.Change()
	if err := c.Begin(index.Position{Generation: 1, Change: 1}, "model", true); err != nil {
		b.Fatal(err)
	}
	for range 10_000 {
		e := &index.Entry{Document: uuid.New(), Live: true, Readers: make([]string, 10), Passages: make([]index.EntryPassage, 10)}
		for i := range e.Readers {
			e.Readers[i] = fmt.Sprintf("group:01a203d3-f3bb-8006-af0b-d40802b08d4d:%d", random.IntN(2000))
		}
		for i := range e.Passages {
			e.Passages[i] = index.EntryPassage{ID: uuid.New(), Ordinal: int32(i), Lexemes: make([]byte, 4)}
		}
		if err := c.Entry(e); err != nil {
			b.Fatal(err)
		}
	}
	s, err := c.Commit()
	if err != nil {
		b.Fatal(err)
	}
	for _, n := range []int{-1, 0, 1, 50, 1000} {
		name, filter := "unfiltered", (*rank.Filter)(nil)
		if n >= 0 {
			name, filter = fmt.Sprintf("principals-%d", n), &rank.Filter{Readers: []string{}}
			for i := range n {
				filter.Readers = append(filter.Readers, fmt.Sprintf("group:01a203d3-f3bb-8006-af0b-d40802b08d4d:%d", i*2))
			}
		}
		b.Run(name, func(b *testing.B) {
			least, documents := time.Hour, 0
			for b.Loop() {
				start := time.Now()
				counts, err := s.View(filter).Facets(b.Context(), &rank.FacetRequest{})
				if err != nil {
					b.Fatal(err)
				}
				least, documents = min(least, time.Since(start)), counts.Documents
			}
			b.ReportMetric(float64(least.Nanoseconds())/1000, "least-µs")
			b.ReportMetric(float64(documents), "documents")
		})
	}
}
