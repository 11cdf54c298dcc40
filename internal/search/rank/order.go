package rank

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/quickselect"
)

// maxPerDocument is the largest number of results of one document, in a search
// with a minimum score.
const maxPerDocument = 3

// scored is a candidate with its evidence. It points to the candidate, because
// candidates are large and most of them become no result.
type scored struct {
	*Candidate
	part     int
	evidence Evidence
	key      float64 // the candidates are ordered by it; in the end their score
}

func (c *scored) result() Result {
	r := Result{Candidate: *c.Candidate, Part: c.part, Score: c.key, Evidence: c.evidence}
	r.Matches = nil // they belong to the search
	return r
}

// sortKey is the key of a candidate with its index.
type sortKey struct {
	key   float64
	index int32
}

// rank scores the pools and orders the candidates. It returns the results up to
// Options.Limit, best first, and the number of all results.
func (s *search) rank() (results []Result, total int) {
	all := s.scratch.scored[:0]
	for part, pool := range s.pools {
		for i := range pool {
			all = append(all, scored{Candidate: &pool[i], part: part})
		}
	}
	s.scratch.scored = all
	switch s.opt.Mode {
	case Lexical:
		for i := range all {
			all[i].key = all[i].Lexical / (s.totalWeight + 1e-9)
		}
	case Dense:
		for i := range all {
			all[i].key = (all[i].Similarity + 1) / 2
		}
	case Hybrid:
		s.scoreEvidence(all)
	}
	order := s.topKeys(all)
	if s.opt.Mode == Hybrid {
		s.setConfidences(all, order)
	}
	s.trace(all, order)
	if s.opt.MinScore > 0 {
		order = s.confident(all, order)
	}
	total = len(order)
	if s.opt.Limit > 0 {
		order = order[:min(len(order), s.opt.Limit)]
	}
	results = make([]Result, len(order))
	for i, o := range order {
		results[i] = all[o.index].result()
	}
	return results, total
}

// topKeys returns the keys of the PoolSize best candidates, best first. Equal keys
// are ordered by passage id, so that pages never overlap.
func (s *search) topKeys(all []scored) []sortKey {
	order := s.scratch.keys[:0]
	for i := range all {
		order = append(order, sortKey{all[i].key, int32(i)})
	}
	s.scratch.keys = order
	compare := func(a, b sortKey) int {
		if c := descending(a.key, b.key); c != 0 {
			return c
		}
		return bytes.Compare(all[a.index].Passage[:], all[b.index].Passage[:])
	}
	order = quickselect.First(order, PoolSize, compare)
	s.scratch.sort(order, compare)
	return order
}

// sort sorts keys by compare, which orders them by falling key. It takes a third of
// the time of slices.SortFunc: it sorts numbers that hold the upper bits of a key
// and, in place of the last bits, the key's index. An insertion sort then puts in
// order the keys that differ in the last bits alone.
func (m *scratch) sort(keys []sortKey, compare func(a, b sortKey) int) {
	if len(keys) > maxPackedKeys {
		slices.SortFunc(keys, compare)
		return
	}
	packed := m.packed[:0]
	for i := range keys {
		bits := math.Float64bits(keys[i].key)
		if bits>>63 == 0 {
			bits = ^bits &^ (1 << 63) // the greatest first
		}
		packed = append(packed, bits&^(maxPackedKeys-1)|uint64(i))
	}
	slices.Sort(packed)
	sorted := m.sorted[:0]
	for _, p := range packed {
		sorted = append(sorted, keys[p&(maxPackedKeys-1)])
	}
	copy(keys, sorted)
	m.packed, m.sorted = packed, sorted
	for i := 1; i < len(keys); i++ {
		for j := i; j > 0 && compare(keys[j], keys[j-1]) < 0; j-- {
			keys[j], keys[j-1] = keys[j-1], keys[j]
		}
	}
}

// maxPackedKeys is the largest number of keys that can be packed: a power of two,
// at least PoolSize.
const maxPackedKeys = 1 << 10

// descending compares keys for an order from the greatest. It is faster than
// cmp.Compare, which checks for NaN first.
func descending(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	case a == b:
		return 0
	default:
		return cmp.Compare(b, a)
	}
}

// confident returns the keys that reach the minimum score, or with Options.Lenient have
// a word of the question: at most maxPerDocument of each document.
func (s *search) confident(all []scored, order []sortKey) []sortKey {
	if s.scratch.documents == nil {
		s.scratch.documents = make(map[uuid.UUID]int)
	}
	count := s.scratch.documents
	clear(count)
	kept := order[:0]
	for _, o := range order {
		c := &all[o.index]
		if c.key < s.opt.MinScore {
			if !s.opt.Lenient {
				break
			}
			if c.evidence.Lexical == 0 {
				continue
			}
		}
		n := count[c.Document] + 1
		if n > maxPerDocument {
			continue
		}
		count[c.Document] = n
		kept = append(kept, o)
	}
	return kept
}
