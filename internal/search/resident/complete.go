package resident

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// completion is a term that starts with a prefix, with its document frequency.
type completion struct {
	term      string
	frequency int
}

func compareCompletions(a, b completion) int {
	return cmp.Or(cmp.Compare(b.frequency, a.frequency), cmp.Compare(a.term, b.term))
}

// Complete implements [rank.Source].
func (v *View) Complete(ctx context.Context, prefix string, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil || limit <= 0 || len(v.snapshot.parts) == 0 {
		return nil, err
	}
	var completions []completion
	if parts := v.snapshot.parts; len(parts) == 1 && parts[0].dead == nil {
		completions = parts[0].complete(prefix, limit)
	} else {
		completions = v.snapshot.complete(prefix, limit)
	}
	out := make([]string, len(completions))
	for i, c := range completions {
		out[i] = c.term
	}
	return out, nil
}

// complete returns the completions of a snapshot's only part, if nothing in it is
// dead. Term numbers are in the order of completions.
func (p *part) complete(prefix string, limit int) []completion {
	from, to := p.terms.withPrefix(prefix)
	best := make([]uint32, 0, limit)
	for _, n := range p.terms.number[from:to] {
		if len(best) == limit {
			if n > best[limit-1] {
				continue
			}
			best = best[:limit-1]
		}
		i, _ := slices.BinarySearch(best, n)
		best = slices.Insert(best, i, n)
	}
	out := make([]completion, len(best))
	for i, n := range best {
		out[i] = completion{term: p.terms.term(n)}
	}
	return out
}

// complete adds up the frequencies of the parts. It merges the sorted terms of the
// small parts into those of the largest part.
func (s *Snapshot) complete(prefix string, limit int) []completion {
	var best []completion
	offer := func(c completion) {
		if c.frequency == 0 || len(best) == limit && compareCompletions(best[limit-1], c) < 0 {
			return
		}
		if len(best) == limit {
			best = best[:limit-1]
		}
		i, _ := slices.BinarySearchFunc(best, c, compareCompletions)
		best = slices.Insert(best, i, c)
	}
	largest := 0
	for i := range s.parts {
		if s.parts[i].passages > s.parts[largest].passages {
			largest = i
		}
	}
	var small []completion // of the other parts
	for i := range s.parts {
		if p := &s.parts[i]; i != largest {
			from, to := p.terms.withPrefix(prefix)
			for r := from; r < to; r++ {
				small = append(small, completion{p.terms.at(r), p.frequency(p.terms.number[r])})
			}
		}
	}
	slices.SortFunc(small, func(a, b completion) int { return cmp.Compare(a.term, b.term) })
	p := &s.parts[largest]
	next, to := p.terms.withPrefix(prefix)
	offerUpTo := func(end uint32) {
		for ; next < end; next++ {
			if n := p.frequency(p.terms.number[next]); len(best) < limit || n >= best[limit-1].frequency {
				offer(completion{p.terms.at(next), n})
			}
		}
	}
	for i := 0; i < len(small); {
		c := small[i]
		for i++; i < len(small) && small[i].term == c.term; i++ {
			c.frequency += small[i].frequency
		}
		offerUpTo(next + u32(sort.Search(int(to-next), func(j int) bool { return p.terms.at(next+u32(j)) >= c.term })))
		if next < to && p.terms.at(next) == c.term {
			c.frequency += p.frequency(p.terms.number[next])
			next++
		}
		offer(c)
	}
	offerUpTo(to)
	return best
}
