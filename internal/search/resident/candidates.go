package resident

import (
	"context"
	"math"
	"math/bits"
	"slices"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/quickselect"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// Candidates implements [rank.Source].
func (v *View) Candidates(ctx context.Context, r *rank.Request) ([]rank.Candidate, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := v.snapshot
	x := s.index.scratchFor(s)
	defer s.index.scratch.Put(x)
	v.selection()
	x.q.set(r.Vector)
	scores := x.scores[:len(s.live)*64]
	taken := x.taken[:len(s.live)]
	near := v.nearAside(x, r)
	if len(r.Words) > 0 && r.Best > 0 {
		v.score(x, r, scores)
		s.best(x, scores, v.selected, r.Best, taken)
	}
	for _, n := range near() {
		taken.set(n.ref)
	}
	for i := range r.Also {
		if ref, ok := v.known(&r.Also[i]); ok {
			taken.set(ref)
		}
	}
	return v.collect(x, r, scores, taken), nil
}

// apart is from how many passages on the nearest ones are looked for aside.
const apart = 10_000

// nearAside begins to look for the nearest passages, or puts it off; what it
// returns is called after all else that uses x.
func (v *View) nearAside(x *scratch, r *rank.Request) func() []scored {
	if r.Aside == nil || v.count < apart || x.q.inverse == 0 || r.Nearest <= 0 {
		return func() []scored { return v.near(x, r.Nearest) }
	}
	own := v.snapshot.index.scratchFor(v.snapshot)
	own.q.set(r.Vector)
	wait := r.Aside(func() { v.near(own, r.Nearest) })
	return func() []scored {
		wait()
		v.snapshot.index.scratch.Put(own)
		return v.nearest.list
	}
}

// score sets the scores of all selected passages; those of others mean nothing.
// Words are added up in their order, so that a passage's score is the same number
// wherever it is stored.
func (v *View) score(x *scratch, r *rank.Request, scores []float64) {
	clear(scores)
	x.damped.reset(r.AverageBody)
	s := v.snapshot
	for i := range s.parts {
		p := &s.parts[i]
		selected := p.within(v.selected)
		if v.count > s.statistics.Passages/4*3 {
			selected = nil // leaving the others out would take longer than scoring them
		}
		within := scores[p.base : int(p.base)+p.passageCount()]
		for w := range r.Words {
			word := &r.Words[w]
			x.found = p.find(x.found[:0], word.Terms)
			switch len(x.found) {
			case 0:
			case 1:
				p.segment.score(x.found[0], word.Weight, selected, &x.damped, within, nil)
			default:
				p.scoreWord(x.found, word.Weight, selected, x, within)
			}
		}
	}
}

// find appends the numbers of the terms that the part has.
func (p *part) find(numbers []uint32, terms []string) []uint32 {
	for _, t := range terms {
		if n, ok := p.terms.find(t); ok {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// best takes the k selected passages of the highest scores above 0. A sample says
// from which score on a passage may be among them; should that have been too high,
// all are looked at.
func (s *Snapshot) best(x *scratch, scores []float64, selected bitmap, k int, taken bitmap) {
	list := x.atLeast(x.list[:0], scores, selected, x.floor(scores, selected, k))
	if len(list) < k {
		list = x.atLeast(list[:0], scores, selected, math.SmallestNonzeroFloat64)
	}
	x.list = list
	for _, c := range s.top(list, k) {
		taken.set(c.ref)
	}
}

// sampleStep is how many scores one of a sample stands for.
const sampleStep = 32

// floor is a score that somewhat more than k of the selected scores reach, as far
// as a sample of them can tell.
func (x *scratch) floor(scores []float64, selected bitmap, k int) float64 {
	sample := x.sample[:0]
	for i := 0; i < len(scores); i += sampleStep {
		if scores[i] > 0 && selected.has(number(i)) {
			sample = append(sample, scores[i])
		}
	}
	x.sample = sample
	place := k/sampleStep*3/2 + 16
	if place >= len(sample) {
		return math.SmallestNonzeroFloat64
	}
	return slices.Min(quickselect.First(sample, place, func(a, b float64) int {
		switch {
		case a > b:
			return -1
		case a < b:
			return 1
		default:
			return 0
		}
	}))
}

// atLeast appends the selected passages whose scores reach a floor above 0. There
// are scores for whole blocks of 64.
func (x *scratch) atLeast(list []scored, scores []float64, selected bitmap, floor float64) []scored {
	for w, word := range selected {
		if word == 0 {
			continue
		}
		from := w * 64
		block := (*[64]float64)(scores[from:])
		for reached := reaching(block, floor) & word; reached != 0; reached &= reached - 1 {
			i := bits.TrailingZeros64(reached)
			list = append(list, scored{number(from + i), block[i]})
		}
	}
	return list
}

// collect makes candidates of the passages taken and clears the set.
func (v *View) collect(x *scratch, r *rank.Request, scores []float64, taken bitmap) []rank.Candidate {
	s := v.snapshot
	x.chosen = x.chosen[:0]
	for w, word := range taken {
		taken[w] = 0
		for ; word != 0; word &= word - 1 {
			x.chosen = append(x.chosen, number(w<<6+bits.TrailingZeros64(word)))
		}
	}
	out := r.Memory.Candidates(len(x.chosen))
	hits := r.Memory.Hits()
	report := min(max(r.Report, 0), len(r.Words))
	read := report // the words that are looked for in the passages themselves
	if r.Best <= 0 || len(r.Words) == 0 {
		scores, read = nil, len(r.Words)
		x.damped.reset(r.AverageBody)
	}
	from := 0
	for i := range s.parts {
		p := &s.parts[i]
		n, _ := slices.BinarySearch(x.chosen[from:], p.base+number(p.passageCount()))
		if n == 0 {
			continue
		}
		g := gatherer{part: p, q: &x.q, scores: scores, near: v.nearest.list, words: r.Words[:read], report: report, marked: &x.marks, damped: &x.damped}
		if x.q.inverse > 0 && !r.Brief {
			g.vectors = p.vectorsOf(len(r.Vector))
		}
		x.terms = x.terms[:0]
		x.marks.reset(len(p.terms.ends))
		for w := range g.words {
			from := len(x.terms)
			x.terms = p.find(x.terms, g.words[w].Terms)
			for _, t := range x.terms[from:] {
				x.marks.set(t, uint8(w+1)) //nolint:gosec // at most MaxWords
			}
		}
		if len(r.Also) == len(x.chosen) {
			g.also = r.Also[from : from+n]
		}
		if g.reads = len(x.terms) > 0; g.reads {
			x.marks.sieve(x.terms)
		}
		hits = g.gather(x.chosen[from:from+n], out[from:from+n], hits)
		for _, t := range x.terms {
			x.marks.unset(t)
		}
		from += n
	}
	r.Memory.Keep(hits)
	return out
}

// gatherer makes candidates of passages of a part.
type gatherer struct {
	part    *part
	q       *question
	vectors *vectors         // nil for none of the question's length
	scores  []float64        // of all passages of the snapshot; nil where the passages are read for them
	near    []scored         // by passage, those whose similarity is known
	words   []rank.Word      // that the passages are read for
	report  int              // how many of them hits are told of
	marked  *marks           // the terms of words
	reads   bool             // there are any
	also    []rank.Candidate // the passages as they were told of before; nil when others are among them
	damped  *dampedTable
	counts  counts
}

// counts are the occurrences of words in one passage.
type counts struct {
	of  [rank.MaxWords]occurrences
	any [rank.MaxWords / 64]uint64 // which are not 0
}

func (c *counts) add(word int, position uint16) {
	c.any[word>>6] |= 1 << (word & 63)
	c.of[word] = c.of[word].add(position)
}

// lexical is the passage's score, and clears the counts. Words are added up in
// their order, as [View.score] does.
func (g *gatherer) lexical(passage uint32) float64 {
	sum := 0.0
	length := g.part.segment.bodyWords[passage]
	for i, word := range g.counts.any {
		for ; word != 0; word &= word - 1 {
			w := i<<6 + bits.TrailingZeros64(word)
			sum += g.words[w].Weight * g.damped.of(g.counts.of[w], length)
			g.counts.of[w] = 0
		}
		g.counts.any[i] = 0
	}
	return sum
}

// gather writes the candidates of passages in rising order, and appends their
// hits to a list.
func (g *gatherer) gather(refs []uint32, out []rank.Candidate, hits []rank.Hit) []rank.Hit {
	p := g.part
	near := g.near
	for i, ref := range refs {
		if ahead := i + 4; ahead < len(refs) {
			g.expect(refs[ahead] - p.base)
		}
		c := &out[i]
		if i < len(g.also) && g.also[i].Ref == uint64(ref) {
			known := &g.also[i]
			*c = rank.Candidate{
				Passage: known.Passage, Document: known.Document, Ordinal: known.Ordinal, Words: known.Words, Time: known.Time,
				Similarity: math.NaN(), Ref: known.Ref,
			}
		} else {
			p.candidate(ref-p.base, c)
		}
		if g.scores != nil {
			c.Lexical = g.scores[ref]
		}
		if g.reads && (g.scores == nil || c.Lexical > 0) {
			from := len(hits)
			hits = g.appendHits(hits, ref-p.base)
			c.Hits = hits[from:len(hits):len(hits)]
			if lexical := g.lexical(ref - p.base); g.scores == nil {
				c.Lexical = lexical
			}
		}
		for len(near) > 0 && near[0].ref < ref {
			near = near[1:]
		}
		if len(near) > 0 && near[0].ref == ref {
			c.Similarity = near[0].score
		} else if g.vectors != nil {
			if slot := g.vectors.slot(ref - p.base); slot >= 0 {
				c.Similarity = g.vectors.similarity(slot, g.q)
			}
		}
	}
	return hits
}

// expect says that a passage is soon to be read.
func (g *gatherer) expect(passage uint32) {
	p := g.part
	if g.reads {
		prefetchCoded(p.forward[p.forwardAt[passage]:p.forwardAt[passage+1]])
	}
	if g.vectors != nil {
		if slot := g.vectors.slot(passage); slot >= 0 {
			prefetch(g.vectors.components(slot))
		}
	}
}

// candidate tells of a passage what does not depend on a request.
func (p *part) candidate(passage uint32, c *rank.Candidate) {
	document := p.documentOf[passage]
	c.Passage, c.Document = p.ids[passage], p.segment.documents.ids[document]
	c.Ordinal, c.Words = p.ordinals[passage], [index.FieldCount]int32(p.wordsOf(passage))
	c.Similarity, c.Ref = math.NaN(), uint64(p.base+passage)
	if t := p.segment.documents.time[document]; t != unknownTime {
		c.Time = floorSeconds(t)
	}
}

// floorSeconds is a time in microseconds in whole seconds, as time.Time.Unix is.
func floorSeconds(micros int64) int64 {
	s := micros / 1e6
	if micros%1e6 < 0 {
		s--
	}
	return s
}
