package resident

import (
	"context"
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/search/rank"
)

// A View is a snapshot through a filter. It is used by one goroutine at a time.
type View struct {
	snapshot *Snapshot
	filter   *rank.Filter
	selected bitmap // nil until needed; the snapshot's own if everything is selected
	all      bool   // everything is selected
	count    int    // of the selected passages
}

var _ rank.Source = (*View)(nil)

// View returns the snapshot through a filter; nil selects everything.
func (s *Snapshot) View(f *rank.Filter) *View { return &View{snapshot: s, filter: f} }

// Statistics implements [rank.Source].
func (v *View) Statistics(context.Context) (rank.Statistics, error) {
	return v.snapshot.statistics, nil
}

// Frequencies implements [rank.Source].
func (v *View) DocumentFrequencies(_ context.Context, terms []string) ([]int, error) {
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

// frequency returns the number of live passages of the part that contain a term.
func (p *part) frequency(term uint32) int {
	n := int(p.terms.passages[term])
	if p.dead != nil {
		n -= int(p.dead[term])
	}
	return n
}

// Background implements [rank.Source]. The sample has up to 512 passages.
func (v *View) Background(_ context.Context, vector []float32) (rank.Background, error) {
	s := v.snapshot
	i := slices.IndexFunc(s.samples, func(x sample) bool { return x.length == len(vector) })
	var q queryVector
	if i < 0 || !q.set(vector) {
		return rank.Background{}, nil
	}
	x := &s.samples[i]
	sum, squares := 0.0, 0.0
	for i := range x.scale {
		y := x.similarity(i, &q)
		sum += y
		squares += y * y
	}
	n := float64(len(x.scale))
	mean := sum / n
	return rank.Background{Mean: mean, StdDev: math.Sqrt(max(squares/n-mean*mean, 0)), SampleSize: len(x.scale)}, nil
}

// Terms implements [rank.Source]. Passages outside the view have no terms.
func (v *View) Terms(ctx context.Context, passages []rank.Candidate) ([][]rank.TermCount, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := v.snapshot
	x := s.index.scratchFor(s)
	defer s.index.scratch.Put(x)
	out := make([][]rank.TermCount, len(passages))
	for i := range passages {
		ref, ok := v.refOf(&passages[i])
		if !ok {
			continue
		}
		p := s.partOf(ref)
		x.tokens = p.tokens(x.tokens[:0], ref-p.base)
		ranks := x.terms[:0]
		counts := x.occurrences(len(p.terms.ends))
		for _, t := range x.tokens {
			if counts[t.term] == 0 {
				ranks = append(ranks, p.terms.rank[t.term])
			}
			counts[t.term] = counts[t.term].add(t.position)
		}
		x.terms = ranks
		slices.Sort(ranks)
		out[i] = make([]rank.TermCount, len(ranks))
		for j, r := range ranks {
			n := p.terms.number[r]
			out[i][j] = rank.TermCount{Term: p.terms.at(r), Counts: counts[n].counts()}
			counts[n] = 0
		}
	}
	return out, nil
}

// Vectors implements [rank.Source]. Passages outside the view have no vector.
func (v *View) Vectors(ctx context.Context, passages []rank.Candidate) ([][]float32, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([][]float32, len(passages))
	for i := range passages {
		ref, ok := v.refOf(&passages[i])
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
				out[i][j] = float32(c) * set.scale[slot]
			}
		}
	}
	return out, nil
}

// Editions implements [rank.Source]. Passages outside the view have none.
func (v *View) Editions(_ context.Context, passages []rank.Candidate) ([]rank.Edition, error) {
	out := make([]rank.Edition, len(passages))
	for i := range passages {
		if ref, ok := v.refOf(&passages[i]); ok {
			p := v.snapshot.partOf(ref)
			d, n := &p.segment.documents, ref-p.base
			out[i] = rank.Edition{Fingerprint: p.prints[n], Version: d.names[rank.FacetVersion][d.values[rank.FacetVersion][p.documentOf[n]]]}
		}
	}
	return out, nil
}

// refOf returns the number of a candidate's passage in the snapshot. ok is false if
// the candidate is not of this view.
func (v *View) refOf(c *rank.Candidate) (ref uint32, ok bool) {
	s := v.snapshot
	if c.Ref >= uint64(len(s.live))*64 {
		return 0, false
	}
	ref = uint32(c.Ref) //nolint:gosec // checked above
	if !v.selection().has(ref) || s.id(ref) != c.Passage {
		return 0, false
	}
	return ref, true
}
