package resident

import (
	"context"
	"math"
	"math/bits"
	"slices"
	"sync"

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
	x.query.set(r.Vector)
	scores := x.scores[:len(s.live)*64]
	candidates := x.candidates[:len(s.live)]
	var nearest []scored
	byVectors := func() { nearest = v.nearest(x, r.TopSimilar) }
	if len(r.Words) > 0 && r.TopLexical > 0 {
		var aside sync.WaitGroup
		if v.count >= s.index.opt.MinConcurrent {
			aside.Go(byVectors)
			byVectors = aside.Wait
		}
		v.score(x, r, scores)
		s.addBest(x, scores, v.selected, r.TopLexical, candidates)
	}
	byVectors()
	for _, n := range nearest {
		candidates.set(n.ref)
	}
	for i := range r.Rescore {
		if ref, ok := v.refOf(&r.Rescore[i]); ok {
			candidates.set(ref)
		}
	}
	return v.gather(x, r, scores, nearest, candidates), nil
}

// score sets the lexical scores of the selected passages; the scores of others are
// undefined. Words are added up in their order, so that the score of a passage does not
// depend on where it is stored.
func (v *View) score(x *scratch, r *rank.Request, scores []float64) {
	x.saturation.reset(r.AverageBody)
	s := v.snapshot
	// Scoring all is faster than testing each, if most are selected.
	all := v.count > s.statistics.Passages/4*3
	for i := range s.parts {
		p := &s.parts[i]
		partScores := scores[p.base : int(p.base)+p.passageCount()]
		if all {
			p.scoreAll(x, r.Words, s.index.opt.Window, partScores)
			continue
		}
		clear(partScores)
		selected := p.within(v.selected)
		for w := range r.Words {
			word := &r.Words[w]
			x.terms = p.find(x.terms[:0], word.Terms)
			switch len(x.terms) {
			case 0:
			case 1:
				p.segment.score(x.terms[0], word.Weight, selected, &x.saturation, partScores, nil)
			default:
				p.scoreWord(x.terms, word.Weight, selected, x, partScores)
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

// addBest adds the k selected passages with the highest scores above 0 to a set. It
// estimates the lowest of these scores from a sample, and looks at all scores if the
// estimate was too high.
func (s *Snapshot) addBest(x *scratch, scores []float64, selected bitmap, k int, set bitmap) {
	list := atLeast(x.list[:0], scores, selected, x.estimateFloor(scores, selected, k))
	if len(list) < k {
		list = atLeast(list[:0], scores, selected, math.SmallestNonzeroFloat64)
	}
	x.list = list
	for _, c := range s.top(list, k) {
		set.set(c.ref)
	}
}

// sampleStep is the number of scores of which one is sampled; of more than
// sampleStep*maxSample scores, maxSample are.
const (
	sampleStep = 32
	maxSample  = 1 << 13
)

// estimateFloor returns a score that probably more than k of the selected scores reach.
func (x *scratch) estimateFloor(scores []float64, selected bitmap, k int) float64 {
	sample := x.sample[:0]
	step := max(sampleStep, len(scores)/maxSample)
	for i := 0; i < len(scores); i += step {
		if scores[i] > 0 && selected.has(u32(i)) {
			sample = append(sample, scores[i])
		}
	}
	x.sample = sample
	place := k/step*3/2 + 16
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

// atLeast appends the selected passages whose scores are at least floor, which is above
// 0. The number of scores is a multiple of 64.
func atLeast(list []scored, scores []float64, selected bitmap, floor float64) []scored {
	for w, word := range selected {
		if word == 0 {
			continue
		}
		first := w * 64
		block := (*[64]float64)(scores[first:])
		for reached := reaching(block, floor) & word; reached != 0; reached &= reached - 1 {
			i := bits.TrailingZeros64(reached)
			list = append(list, scored{u32(first + i), block[i]})
		}
	}
	return list
}

// gather returns the candidates in a set and clears the set. nearest are those with a
// known similarity.
func (v *View) gather(x *scratch, r *rank.Request, scores []float64, nearest []scored, set bitmap) []rank.Candidate {
	s := v.snapshot
	x.refs = x.refs[:0]
	set.each(func(ref uint32) { x.refs = append(x.refs, ref) })
	clear(set)
	out := r.Buffers.Candidates(len(x.refs))
	matches := r.Buffers.Matches()
	matchWords := min(max(r.MatchWords, 0), len(r.Words))
	scannedWords := matchWords // words that are looked for in the passages' terms
	if r.TopLexical <= 0 || len(r.Words) == 0 {
		scores, scannedWords = nil, len(r.Words)
		x.saturation.reset(r.AverageBody)
	}
	first := 0
	for i := range s.parts {
		p := &s.parts[i]
		n, _ := slices.BinarySearch(x.refs[first:], p.base+u32(p.passageCount()))
		if n == 0 {
			continue
		}
		g := gatherer{
			part: p, query: &x.query, scores: scores, nearest: nearest, words: r.Words[:scannedWords], matchWords: matchWords,
			marks: &x.marks, saturation: &x.saturation,
		}
		if x.query.scale > 0 && !r.OmitSimilarity {
			g.vectors = p.vectorsOf(len(r.Vector))
		}
		x.terms = x.terms[:0]
		x.marks.reset(len(p.terms.ends))
		for w := range g.words {
			n := len(x.terms)
			x.terms = p.find(x.terms, g.words[w].Terms)
			for _, t := range x.terms[n:] {
				x.marks.set(t, uint8(w+1)) //nolint:gosec // at most MaxWords
			}
		}
		if len(r.Rescore) == len(x.refs) {
			g.earlier = r.Rescore[first : first+n]
		}
		if g.scans = len(x.terms) > 0; g.scans {
			x.marks.setDigits(x.terms)
		}
		matches = g.gather(x.refs[first:first+n], out[first:first+n], matches)
		for _, t := range x.terms {
			x.marks.unset(t)
		}
		first += n
	}
	r.Buffers.SetMatches(matches)
	return out
}

// A gatherer makes candidates of the passages of a part.
type gatherer struct {
	part       *part
	query      *queryVector
	vectors    *vectors         // nil if similarities are not computed
	scores     []float64        // of all passages of the snapshot; nil if they come from the scan
	nearest    []scored         // passages with a known similarity, ordered by number
	words      []rank.Word      // that are scanned for
	matchWords int              // number of words whose matches are reported
	marks      *marks           // of the terms of words
	scans      bool             // there are such terms
	earlier    []rank.Candidate // the passages' candidates of an earlier answer; nil if there are other passages
	saturation *saturationTable
	counts     wordCounts
}

// wordCounts are the occurrences of words in one passage.
type wordCounts struct {
	word    [rank.MaxWords]occurrences
	nonzero [rank.MaxWords / 64]uint64
}

func (c *wordCounts) add(word int, position uint16) {
	c.nonzero[word>>6] |= 1 << (word & 63)
	c.word[word] = c.word[word].add(position)
}

// lexical returns the lexical score of a passage and clears the counts. Words are added
// up in their order, as in [View.score].
func (g *gatherer) lexical(passage uint32) float64 {
	sum := 0.0
	length := g.part.segment.bodyWords[passage]
	for i, word := range g.counts.nonzero {
		for ; word != 0; word &= word - 1 {
			w := i<<6 + bits.TrailingZeros64(word)
			sum += g.words[w].Weight * g.saturation.value(g.counts.word[w], length)
			g.counts.word[w] = 0
		}
		g.counts.nonzero[i] = 0
	}
	return sum
}

// gather writes the candidates of passages, whose numbers rise, and appends their matches.
func (g *gatherer) gather(refs []uint32, out []rank.Candidate, matches []rank.Match) []rank.Match {
	p := g.part
	nearest := g.nearest
	for i, ref := range refs {
		if next := i + 4; next < len(refs) {
			g.prefetch(refs[next] - p.base)
		}
		c := &out[i]
		if i < len(g.earlier) && g.earlier[i].Ref == uint64(ref) {
			e := &g.earlier[i]
			*c = rank.Candidate{
				Passage: e.Passage, Document: e.Document, Ordinal: e.Ordinal, FieldWords: e.FieldWords, Time: e.Time,
				Similarity: math.NaN(), Ref: e.Ref,
			}
		} else {
			p.candidate(ref-p.base, c)
		}
		if g.scores != nil {
			c.Lexical = g.scores[ref]
		}
		if g.scans && (g.scores == nil || c.Lexical > 0) {
			first := len(matches)
			matches = g.appendMatches(matches, ref-p.base)
			c.Matches = matches[first:len(matches):len(matches)]
			if lexical := g.lexical(ref - p.base); g.scores == nil {
				c.Lexical = lexical
			}
		}
		for len(nearest) > 0 && nearest[0].ref < ref {
			nearest = nearest[1:]
		}
		if len(nearest) > 0 && nearest[0].ref == ref {
			c.Similarity = nearest[0].score
		} else if g.vectors != nil {
			if slot := g.vectors.slot(ref - p.base); slot >= 0 {
				c.Similarity = g.vectors.similarity(slot, g.query)
			}
		}
	}
	return matches
}

// prefetch loads what gather will read of a passage into the cache.
func (g *gatherer) prefetch(passage uint32) {
	p := g.part
	if g.scans {
		prefetchCodes(p.forward[p.forwardAt[passage]:p.forwardAt[passage+1]])
	}
	if g.vectors != nil {
		if slot := g.vectors.slot(passage); slot >= 0 {
			prefetch(g.vectors.components(slot))
		}
	}
}

// candidate sets the fields of a candidate that do not depend on a request.
func (p *part) candidate(passage uint32, c *rank.Candidate) {
	document := p.documentOf[passage]
	c.Passage, c.Document = p.ids[passage], p.segment.documents.ids[document]
	c.Ordinal, c.FieldWords = p.ordinals[passage], [index.FieldCount]int32(p.fieldWords(passage))
	c.Similarity, c.Ref = math.NaN(), uint64(p.base+passage)
	if t := p.segment.documents.time[document]; t != unknownTime {
		c.Time = floorSeconds(t)
	}
}

// floorSeconds returns a time in microseconds in whole seconds, as time.Time.Unix does.
func floorSeconds(micros int64) int64 {
	s := micros / 1e6
	if micros%1e6 < 0 {
		s--
	}
	return s
}
