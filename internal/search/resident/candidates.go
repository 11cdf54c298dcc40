package resident

import (
	"context"
	"math"
	"math/bits"

	"magpie/internal/index"
	"magpie/internal/search/rank"
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
	scores := x.scores[:len(s.live)*64]
	worded := len(r.Words) > 0
	if worded {
		v.score(x, r, scores)
	}
	taken := x.taken[:len(s.live)]
	if worded && r.Best > 0 {
		s.best(x, scores, r.Best, taken)
	}
	x.q.set(r.Vector)
	for _, n := range v.near(x, r.Nearest) {
		taken.set(n.ref)
	}
	for i := range r.Also {
		if ref, ok := v.known(&r.Also[i]); ok {
			taken.set(ref)
		}
	}
	return v.collect(x, r, scores, taken), nil
}

// score sets the scores of all selected passages, those of others to 0. Words
// are added up in their order, so that a passage's score is the same number
// wherever it is stored.
func (v *View) score(x *scratch, r *rank.Request, scores []float64) {
	clear(scores)
	x.damped.reset(r.AverageBody)
	s := v.snapshot
	for i := range s.parts {
		p := &s.parts[i]
		selected := p.within(v.selected)
		if v.all && p.whole() {
			selected = nil
		}
		within := scores[p.base : int(p.base)+p.passageCount()]
		for w := range r.Words {
			word := &r.Words[w]
			x.found = p.find(x.found[:0], word.Terms)
			switch len(x.found) {
			case 0:
			case 1:
				p.segment.score(x.found[0], word.Weight, selected, &x.damped, within)
			default:
				p.scoreWord(x.found, word.Weight, selected, &x.damped, within, x.occurrences(p.passageCount()), x.seen[:bitmapWords(p.passageCount())])
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

// best takes the k passages of the highest scores above 0. It gathers those that
// reach the kth best so far, and finds the kth best anew when it has several
// times as many.
func (s *Snapshot) best(x *scratch, scores []float64, k int, taken bitmap) {
	list, floor := x.list[:0], math.SmallestNonzeroFloat64
	for ref, score := range scores {
		if score < floor {
			continue
		}
		list = append(list, scored{number(ref), score})
		if len(list) >= 4*k+64 {
			list = s.top(list, k)
			floor = list[0].score
			for _, c := range list {
				floor = min(floor, c.score)
			}
		}
	}
	x.list = list
	for _, c := range s.top(list, k) {
		taken.set(c.ref)
	}
}

// collect makes candidates of the passages taken and clears the set.
func (v *View) collect(x *scratch, r *rank.Request, scores []float64, taken bitmap) []rank.Candidate {
	s := v.snapshot
	out := make([]rank.Candidate, 0, taken.count())
	var hits []rank.Hit
	near := v.nearest.list
	for i := range s.parts {
		p := &s.parts[i]
		m := x.marksFor(len(p.terms.ends) + termCode)
		report := r.Words[:min(max(r.Report, 0), len(r.Words))]
		for w := range report {
			for _, n := range p.find(x.found[:0], report[w].Terms) {
				m[n+termCode] = uint16(w + 1) //nolint:gosec // at most MaxWords
			}
		}
		var set *vectors
		if x.q.inverse > 0 {
			set = p.vectorsOf(len(r.Vector))
		}
		within := p.within(taken)
		for w, word := range within {
			within[w] = 0
			for ; word != 0; word &= word - 1 {
				passage := number(w<<6 + bits.TrailingZeros64(word))
				ref := p.base + passage
				c := p.candidate(passage)
				if len(r.Words) > 0 {
					c.Lexical = scores[ref]
				}
				if c.Lexical > 0 && len(report) > 0 {
					from := len(hits)
					hits = p.appendHits(hits, passage, m)
					c.Hits = hits[from:len(hits):len(hits)]
				}
				for len(near) > 0 && near[0].ref < ref {
					near = near[1:]
				}
				if len(near) > 0 && near[0].ref == ref {
					c.Similarity = near[0].score
				} else if set != nil {
					if slot := set.slot(passage); slot >= 0 {
						c.Similarity = set.similarity(slot, &x.q)
					}
				}
				out = append(out, c)
			}
		}
		for w := range report {
			for _, n := range p.find(x.found[:0], report[w].Terms) {
				m[n+termCode] = 0
			}
		}
	}
	return out
}

// candidate tells of a passage what does not depend on a request.
func (p *part) candidate(passage uint32) rank.Candidate {
	document := p.documentOf[passage]
	c := rank.Candidate{
		Passage: p.ids[passage], Document: p.segment.documents.ids[document],
		Ordinal: p.ordinals[passage], Words: [index.FieldCount]int32(p.wordsOf(passage)),
		Similarity: math.NaN(), Ref: uint64(p.base + passage),
	}
	if t := p.segment.documents.time[document]; t != unknownTime {
		c.Time = floorSeconds(t)
	}
	return c
}

// floorSeconds is a time in microseconds in whole seconds, as time.Time.Unix is.
func floorSeconds(micros int64) int64 {
	s := micros / 1e6
	if micros%1e6 < 0 {
		s--
	}
	return s
}
