package bench

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Reading is what a soak saw of the service at one moment. Values that the
// service does not tell are zero.
type Reading struct {
	After time.Duration `json:"afterNanoseconds"`
	// Heap is what the garbage collector left alive the last time, RSS the
	// memory of the whole process, Resident what the search index says it holds.
	Heap     float64 `json:"heapBytes"`
	RSS      float64 `json:"rssBytes"`
	Resident float64 `json:"residentBytes"`
}

// Growth compares the last third of a soak with the middle one, the first being
// for warming up: medians, in bytes.
type Growth struct {
	What   string  `json:"what"`
	Middle float64 `json:"middleBytes"`
	Last   float64 `json:"lastBytes"`
	// Flat says that the last is not above the middle by more than allowed.
	Flat bool `json:"flat"`
}

// slack is growth in bytes that no share of a small process has to answer for.
const slack = 8 << 20

// Grown judges readings: memory is flat when the median of the last third is
// above that of the middle third by at most the share allowed and 8 MiB. A
// memory that was never told is left out. It takes three readings at least.
func Grown(readings []Reading, allowed float64) []Growth {
	third := len(readings) / 3
	if third == 0 {
		return nil
	}
	middle, last := readings[third:2*third], readings[len(readings)-third:]
	var out []Growth
	for _, kind := range []struct {
		what string
		of   func(Reading) float64
	}{
		{"heap after collection", func(r Reading) float64 { return r.Heap }},
		{"process (RSS)", func(r Reading) float64 { return r.RSS }},
		{"resident index", func(r Reading) float64 { return r.Resident }},
	} {
		g := Growth{What: kind.what, Middle: median(middle, kind.of), Last: median(last, kind.of)}
		if g.Middle == 0 && g.Last == 0 {
			continue
		}
		g.Flat = g.Last <= g.Middle*(1+allowed)+slack
		out = append(out, g)
	}
	return out
}

func median(readings []Reading, of func(Reading) float64) float64 {
	values := make([]float64, len(readings))
	for i, r := range readings {
		values[i] = of(r)
	}
	slices.Sort(values)
	return Quantile(values, .5)
}

// Truth knows which version of each document a search may return. Every version
// has a number of its own: a search sees it at the earliest when the write that
// makes it has begun, and at the latest when the write that ends it has returned.
// It is safe for concurrent use.
type Truth struct {
	mutex    sync.Mutex
	versions []span
}

type span struct {
	document     int
	begun, ended time.Time // ended is zero while it is current
}

// Begin notes that a document's next version is about to be written, and returns its number, from 1.
func (t *Truth) Begin(document int, now time.Time) (version int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.versions = append(t.versions, span{document: document, begun: now})
	return len(t.versions)
}

// End notes that the write which replaced or deleted a version has returned.
func (t *Truth) End(version int, now time.Time) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.versions[version-1].ended = now
}

// ErrWrong is inside what Check returns.
var ErrWrong = errors.New("a search returned something wrong")

// Check judges the versions that one search returned, which was sent at a time.
// A version that had been replaced or deleted by then is wrong, one that nobody
// wrote, and two versions of one document.
func (t *Truth) Check(found []int, sent time.Time) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	of := make(map[int]int, len(found))
	for _, version := range found {
		if version < 1 || version > len(t.versions) {
			return fmt.Errorf("%w: version %d, which nobody wrote", ErrWrong, version)
		}
		s := t.versions[version-1]
		if !s.ended.IsZero() && s.ended.Before(sent) {
			return fmt.Errorf("%w: version %d of document %d, which was gone for %s", ErrWrong, version, s.document, sent.Sub(s.ended))
		}
		if other, met := of[s.document]; met && other != version {
			return fmt.Errorf("%w: versions %d and %d of document %d", ErrWrong, other, version, s.document)
		}
		of[s.document] = version
	}
	return nil
}

// Marker is a word that no text has, for a number: of letters only, so that
// every analyzer keeps it whole.
func Marker(n int) string {
	letters := []byte("zqx")
	for range 7 {
		letters = append(letters, "bdfghjkmnpqrtvwz"[n&15])
		n >>= 4
	}
	return string(letters)
}
