package resident

import "github.com/magpie-search/magpie/internal/search/rank"

// For tests: both ways to compare vectors must agree.
func Dot(a []int8, b []int16) int                    { return dot(a, b) }
func DotPlain(a []int8, b []int16) int               { return dotPlain(a, b) }
func Differ(out []uint16, codes, code []uint64)      { differ(out, codes, code) }
func DifferPlain(out []uint16, codes, code []uint64) { differPlain(out, codes, code) }

// Below and BelowPlain must agree, too.
func Below(numbers *[64]uint16, limit int) uint64      { return below(numbers, limit) }
func BelowPlain(numbers *[64]uint16, limit int) uint64 { return belowPlain(numbers, limit) }

// Reaching and ReachingPlain must agree, too.
func Reaching(scores *[64]float64, floor float64) uint64      { return reaching(scores, floor) }
func ReachingPlain(scores *[64]float64, floor float64) uint64 { return reachingPlain(scores, floor) }

// Passage is a coded passage in which terms are looked for.
type Passage struct{ g gatherer }

// NewPassage looks for terms, of so many, as one word each; the first of them are reported.
func NewPassage(terms []uint32, of, reported int) *Passage {
	m := new(marks)
	m.reset(of)
	for w, t := range terms {
		m.set(t, uint8(w+1))
	}
	m.sieve(terms)
	return &Passage{gatherer{marked: m, report: reported}}
}

// Find returns the hits in terms at positions after a first one, in both ways,
// and whether there is another way than the plain one.
func (p *Passage) Find(terms []uint32, positions []uint16, room int) (found, plain []rank.Hit, wide bool) {
	tokens := make([]token, len(terms))
	for i := range tokens {
		tokens[i] = token{terms[i], positions[i]}
	}
	codes := appendTerms(nil, tokens, 0)
	b := append(make([]uint16, 0, len(codes)+room), codes...)
	_, wide = choose(nil, b, &p.g.marked.digits)
	found, end := p.g.scan(nil, b, 0)
	plain, plainEnd := p.g.scanPlain(nil, b, 0)
	if end != plainEnd {
		return nil, []rank.Hit{{Position: end}, {Position: plainEnd}}, wide
	}
	return found, plain, wide
}
