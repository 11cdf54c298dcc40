package main

import (
	"fmt"
	"strings"
)

// measured is the largest number of held-out pairs of a kind that are measured.
const measured = 2000

// measure returns the mean reciprocal rank at 10 of the counterparts of held-out texts, among all held-out texts of the
// same kind.
func measure(c *corpus, table *matrix, workers int) string {
	var text strings.Builder
	for n := range 2 * kindCount {
		k, foreign := n%kindCount, n >= kindCount
		var chosen []*example
		total := 0
		for i := range c.Pairs {
			if c.Pairs[i].Held && c.Pairs[i].Kind == k && c.Pairs[i].Foreign == foreign {
				total++
			}
		}
		if total == 0 {
			continue
		}
		every := max(1, total/measured)
		for i, n := 0, 0; i < len(c.Pairs); i++ {
			if e := &c.Pairs[i]; e.Held && e.Kind == k && e.Foreign == foreign {
				if n%every == 0 && len(chosen) < measured {
					chosen = append(chosen, e)
				}
				n++
			}
		}
		if foreign {
			text.WriteString(" foreign")
		}
		fmt.Fprintf(&text, " %s %.3f", k, reciprocalRank(chosen, table, workers))
	}
	return text.String()
}

func reciprocalRank(chosen []*example, table *matrix, workers int) float64 {
	left, right := newMatrix(len(chosen), table.columns), newMatrix(len(chosen), table.columns)
	hashes := make([]uint64, len(chosen))
	inParallel(workers, len(chosen), func(_, i int) {
		var b bag
		b.fill(chosen[i].Left)
		b.sum(left.row(i), table)
		b.fill(chosen[i].Right)
		hashes[i] = b.hash
		b.sum(right.row(i), table)
	})
	ranks := make([]float64, len(chosen))
	inParallel(workers, len(chosen), func(_, i int) {
		own, better := dot(left.row(i), right.row(i)), 0
		for j := range chosen {
			if dot(left.row(i), right.row(j)) > own && hashes[j] != hashes[i] {
				better++
			}
		}
		if better < 10 {
			ranks[i] = 1 / float64(better+1)
		}
	})
	sum := 0.0
	for _, rank := range ranks {
		sum += rank
	}
	return sum / float64(max(1, len(ranks)))
}

// coverage returns the percentage of the terms of held-out texts that the table has, by language.
func (c *corpus) coverage() string {
	var text strings.Builder
	for i, known := range c.Known {
		if known[1] > 0 {
			fmt.Fprintf(&text, " %s %.1f", languageNames[i], 100*float64(known[0])/float64(known[1]))
		}
	}
	return text.String()
}
