package resident

import (
	"cmp"
	"context"
	"slices"
	"sort"
)

// completion is a term that starts with a prefix.
type completion struct {
	term     string
	passages int
}

func better(a, b completion) int {
	return cmp.Or(cmp.Compare(b.passages, a.passages), cmp.Compare(a.term, b.term))
}

// Complete implements [rank.Source].
func (v *View) Complete(ctx context.Context, prefix string, limit int) ([]string, error) {
	if err := ctx.Err(); err != nil || limit <= 0 || len(v.snapshot.parts) == 0 {
		return nil, err
	}
	var found []completion
	if parts := v.snapshot.parts; len(parts) == 1 && parts[0].dead == nil {
		found = parts[0].complete(prefix, limit)
	} else {
		found = v.snapshot.complete(prefix, limit)
	}
	out := make([]string, len(found))
	for i, c := range found {
		out[i] = c.term
	}
	return out, nil
}

// complete answers for a part that is all: terms have their numbers in just the
// order that is asked for.
func (p *part) complete(prefix string, limit int) []completion {
	from, to := p.terms.prefixed(prefix)
	best := make([]uint32, 0, limit)
	for _, n := range p.terms.number[from:to] {
		if len(best) == limit {
			if n > best[limit-1] {
				continue
			}
			best = best[:limit-1]
		}
		at, _ := slices.BinarySearch(best, n)
		best = slices.Insert(best, at, n)
	}
	out := make([]completion, len(best))
	for i, n := range best {
		out[i] = completion{term: p.terms.term(n)}
	}
	return out
}

// complete adds up what the parts have. It goes through the largest part's
// terms, and stops at those that the small parts have too.
func (s *Snapshot) complete(prefix string, limit int) []completion {
	var best []completion
	offer := func(c completion) {
		if c.passages == 0 || len(best) == limit && better(best[limit-1], c) < 0 {
			return
		}
		if len(best) == limit {
			best = best[:limit-1]
		}
		at, _ := slices.BinarySearchFunc(best, c, better)
		best = slices.Insert(best, at, c)
	}
	large := 0
	for i := range s.parts {
		if s.parts[i].passages > s.parts[large].passages {
			large = i
		}
	}
	var few []completion // of the small parts, each term once
	for i := range s.parts {
		if p := &s.parts[i]; i != large {
			from, to := p.terms.prefixed(prefix)
			for r := from; r < to; r++ {
				few = append(few, completion{p.terms.at(r), p.frequency(p.terms.number[r])})
			}
		}
	}
	slices.SortFunc(few, func(a, b completion) int { return cmp.Compare(a.term, b.term) })
	p := &s.parts[large]
	at, to := p.terms.prefixed(prefix)
	upTo := func(end uint32) {
		for ; at < end; at++ {
			if n := p.frequency(p.terms.number[at]); len(best) < limit || n >= best[limit-1].passages {
				offer(completion{p.terms.at(at), n})
			}
		}
	}
	for i := 0; i < len(few); {
		c := few[i]
		for i++; i < len(few) && few[i].term == c.term; i++ {
			c.passages += few[i].passages
		}
		end := at + number(sort.Search(int(to-at), func(j int) bool { return p.terms.at(at+number(j)) >= c.term }))
		upTo(end)
		if at < to && p.terms.at(at) == c.term {
			c.passages += p.frequency(p.terms.number[at])
			at++
		}
		offer(c)
	}
	upTo(to)
	return best
}
