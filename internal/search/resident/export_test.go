package resident

import "github.com/magpie-search/magpie/internal/search/rank"

// Tests compare the vectorised functions with the portable ones.

func Dot(a []int8, b []int16) int                       { return dot(a, b) }
func DotGeneric(a []int8, b []int16) int                { return dotGeneric(a, b) }
func Hamming(out []uint16, codes, code []uint64)        { hamming(out, codes, code) }
func HammingGeneric(out []uint16, codes, code []uint64) { hammingGeneric(out, codes, code) }

func Below(numbers *[64]uint16, limit int) uint64        { return below(numbers, limit) }
func BelowGeneric(numbers *[64]uint16, limit int) uint64 { return belowGeneric(numbers, limit) }

func Reaching(scores *[64]float64, floor float64) uint64 { return reaching(scores, floor) }
func ReachingGeneric(scores *[64]float64, floor float64) uint64 {
	return reachingGeneric(scores, floor)
}

// TermScanner scans coded passages for terms.
type TermScanner struct{ g gatherer }

// NewTermScanner returns a scanner for terms of a dictionary of some size. Each term is
// a word, and matches are reported for the first matchWords of them.
func NewTermScanner(terms []uint32, dictionary, matchWords int) *TermScanner {
	m := new(marks)
	m.reset(dictionary)
	for w, t := range terms {
		m.set(t, uint8(w+1))
	}
	m.setDigits(terms)
	return &TermScanner{gatherer{marks: m, matchWords: matchWords}}
}

// Scan codes terms at positions, with some spare capacity, and scans them by the
// vectorised and by the portable code. vectorised says that the first was available.
func (s *TermScanner) Scan(terms []uint32, positions []uint16, spare int) (matches, generic []rank.Match, vectorised bool) {
	tokens := make([]token, len(terms))
	for i := range tokens {
		tokens[i] = token{terms[i], positions[i]}
	}
	codes := appendCodes(nil, tokens, 0)
	b := append(make([]uint16, 0, len(codes)+spare), codes...)
	_, vectorised = classify(nil, b, &s.g.marks.digits)
	matches, end := s.g.scan(nil, b, 0)
	generic, genericEnd := s.g.scanGeneric(nil, b, 0)
	if end != genericEnd {
		return nil, []rank.Match{{Position: end}, {Position: genericEnd}}, vectorised
	}
	return matches, generic, vectorised
}
