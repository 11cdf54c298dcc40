package resident

import (
	"context"
	"slices"

	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// Similar implements [rank.Source]. It compares all terms of the pattern's ranges: the
// words with the same first letter, which are next to each other.
func (v *View) Similar(ctx context.Context, pattern *spelling.Pattern, limit int) ([]rank.SimilarTerm, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var found []rank.SimilarTerm
	numbers := make(map[string]int) // indexes in found, by term
	for i := range v.snapshot.parts {
		p := &v.snapshot.parts[i]
		for _, r := range pattern.Ranges() {
			to := p.terms.lowerBound(r.To)
			for at := p.terms.lowerBound(r.From); at < to; at++ {
				term := p.terms.at(at)
				distance, ok := pattern.Distance(term)
				if !ok {
					continue
				}
				n, seen := numbers[term]
				if !seen {
					n = len(found)
					numbers[term] = n
					found = append(found, rank.SimilarTerm{Term: term, Distance: distance})
				}
				found[n].Frequency += v.frequency(p, p.terms.number[at])
			}
		}
	}
	found = slices.DeleteFunc(found, func(t rank.SimilarTerm) bool { return t.Frequency == 0 })
	slices.SortFunc(found, rank.CompareSimilar)
	return found[:min(limit, len(found))], nil
}

// frequency returns the number of selected passages of a part that have a term.
func (v *View) frequency(p *part, term uint32) int {
	n := p.frequency(term)
	if n == 0 || v.selectsAll() {
		return n
	}
	selected := p.within(v.selected)
	n = 0
	all := p.segment.postings(term)
	all.each(selected, func(uint32, occurrences) { n++ })
	return n
}

// Contains implements [rank.Source].
func (v *View) Contains(ctx context.Context, terms []string) ([]bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]bool, len(terms))
	for i, t := range terms {
		for j := range v.snapshot.parts {
			p := &v.snapshot.parts[j]
			n, ok := p.terms.find(t)
			out[i] = out[i] || ok && v.frequency(p, n) > 0
		}
	}
	return out, nil
}
