package resident

import (
	"context"
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// View is a snapshot as one search sees it.
type View struct {
	snapshot *Snapshot
	filter   *rank.Filter
	selected bitmap // nil until it is needed; the snapshot's own without a filter
	all      bool   // everything that is live is selected
	count    int    // of what is selected
	nearest  nearest
}

var _ rank.Source = (*View)(nil)

// View returns the snapshot through a filter; nil leaves everything. It is used
// by one goroutine at a time.
func (s *Snapshot) View(f *rank.Filter) *View { return &View{snapshot: s, filter: f} }

// Statistics implements [rank.Source].
func (v *View) Statistics(context.Context) (rank.Statistics, error) {
	return v.snapshot.statistics, nil
}

// Frequencies implements [rank.Source].
func (v *View) Frequencies(_ context.Context, terms []string) ([]int, error) {
	out := make([]int, len(terms))
	for i, t := range terms {
		for j := range v.snapshot.parts {
			p := &v.snapshot.parts[j]
			if n, ok := p.terms.find(t); ok {
				out[i] += p.frequency(n)
			}
		}
	}
	return out, nil
}

// frequency is in how many live passages of the part a term stands.
func (p *part) frequency(term uint32) int {
	n := int(p.terms.passages[term])
	if p.dead != nil {
		n -= int(p.dead[term])
	}
	return n
}

// Chance implements [rank.Source]: the sample is up to 512 passages.
func (v *View) Chance(_ context.Context, vector []float32) (rank.Chance, error) {
	s := v.snapshot
	i := slices.IndexFunc(s.samples, func(x sample) bool { return x.length == len(vector) })
	var q question
	if i < 0 || !q.set(vector) {
		return rank.Chance{}, nil
	}
	x := &s.samples[i]
	sum, squares := 0.0, 0.0
	for i := range x.inverse {
		y := x.similarity(i, &q)
		sum += y
		squares += y * y
	}
	n := float64(len(x.inverse))
	mean := sum / n
	return rank.Chance{Mean: mean, Deviation: math.Sqrt(max(squares/n-mean*mean, 0)), Sample: len(x.inverse)}, nil
}

// Terms implements [rank.Source]. Each passage's terms are in the order of
// their bytes. Passages that the view does not know have none.
func (v *View) Terms(ctx context.Context, passages []rank.Candidate) ([][]rank.TermCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := v.snapshot
	x := s.index.scratchFor(s)
	defer s.index.scratch.Put(x)
	out := make([][]rank.TermCount, len(passages))
	for i := range passages {
		ref, ok := v.known(&passages[i])
		if !ok {
			continue
		}
		p := s.partOf(ref)
		x.tokens = p.tokens(x.tokens[:0], ref-p.base)
		x.found = x.found[:0]
		counts := x.occurrences(len(p.terms.ends))
		for _, t := range x.tokens {
			if counts[t.term] == 0 {
				x.found = append(x.found, p.terms.rank[t.term])
			}
			counts[t.term] = counts[t.term].add(t.position)
		}
		slices.Sort(x.found)
		out[i] = make([]rank.TermCount, len(x.found))
		for j, r := range x.found {
			n := p.terms.number[r]
			out[i][j] = rank.TermCount{Term: p.terms.at(r), Counts: counts[n].counts()}
			counts[n] = 0
		}
	}
	return out, nil
}

// Vectors implements [rank.Source]. Passages that the view does not know have none.
func (v *View) Vectors(ctx context.Context, passages []rank.Candidate) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([][]float32, len(passages))
	for i := range passages {
		ref, ok := v.known(&passages[i])
		if !ok {
			continue
		}
		p := v.snapshot.partOf(ref)
		for _, set := range p.vectors {
			slot := set.slot(ref - p.base)
			if slot < 0 {
				continue
			}
			out[i] = make([]float32, set.length)
			for j, c := range set.components(slot) {
				out[i][j] = float32(c) * set.inverse[slot]
			}
		}
	}
	return out, nil
}

// known returns the number of a passage that came from this view.
func (v *View) known(c *rank.Candidate) (uint32, bool) {
	s := v.snapshot
	if c.Ref >= uint64(len(s.live))*64 {
		return 0, false
	}
	ref := uint32(c.Ref) //nolint:gosec // checked above
	if !v.selection().has(ref) || s.id(ref) != c.Passage {
		return 0, false
	}
	return ref, true
}
