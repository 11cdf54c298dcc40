package main

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/model/embed/static"
)

// languageNames are the languages in order of their numbers.
var languageNames = strings.Fields(languages)

// The words of a language with little text count more, because the table should have words of each language: its counts are
// multiplied by the square root of the ratio of the largest language to it, at most by mostBoost.
const mostBoost = 12

// A lexicon counts terms. Each worker has one.
type lexicon struct {
	numbers map[string]uint32
	terms   []string
	counts  [][]uint32 // of each term in each language
	reader  *static.Reader
}

// read returns the numbers of the terms of a text. It counts them if counted is true.
func (l *lexicon) read(text string, language int, counted bool) []uint32 {
	features := l.reader.Features(text)
	ids := make([]uint32, 0, len(features))
	counts := l.counts[language]
	for _, feature := range features {
		id, found := l.numbers[feature.Term]
		if !found {
			id = uint32(len(l.terms)) //nolint:gosec // a few million terms
			term := strings.Clone(feature.Term)
			l.numbers[term] = id
			l.terms = append(l.terms, term)
		}
		for len(counts) <= int(id) {
			counts = append(counts, make([]uint32, max(1024, int(id)/2))...)
		}
		if counted {
			counts[id]++
		}
		ids = append(ids, id)
	}
	l.counts[language] = counts
	return ids
}

func languageNumber(language string) int { return max(0, slices.Index(languageNames, language)) }

// number assigns numbers to terms. Each worker first has its own numbers.
func number(drafts []draft, workers int) *corpus {
	analyzer := analysis.New()
	locals := make([]lexicon, workers)
	for i := range locals {
		locals[i] = lexicon{numbers: make(map[string]uint32), counts: make([][]uint32, len(languageNames)), reader: static.NewReader(analyzer)}
	}
	examples := make([]example, len(drafts))
	owner := make([]uint8, len(drafts))
	inParallel(workers, len(drafts), func(worker, i int) {
		d, l := drafts[i], &locals[worker]
		owner[i] = uint8(worker) //nolint:gosec // a few workers
		from, to := languageNumber(d.from), languageNumber(d.to)
		// Terms of dictionary pairs count as terms of texts. Pairs of passages are already counted.
		counted := !d.isPair || d.kind <= kindMessage
		examples[i] = example{
			Kind: d.kind, Held: d.held, Foreign: d.foreign, Collection: d.collection, Language: uint8(to), //nolint:gosec // a few languages
			Left: l.read(d.left, from, counted),
		}
		if d.isPair {
			examples[i].Right = l.read(d.right, to, counted)
		}
	})
	c := &corpus{}
	c.chooseTerms(locals)
	numbers := make(map[string]uint32, len(c.Terms))
	for i, term := range c.Terms {
		numbers[term] = uint32(i)
	}
	renumber := make([][]int64, workers)
	for w, l := range locals {
		renumber[w] = make([]int64, len(l.terms))
		for id, term := range l.terms {
			renumber[w][id] = -1
			if n, found := numbers[term]; found {
				renumber[w][id] = int64(n)
			}
		}
	}
	c.Known = make([][2]int, len(languageNames))
	for i := range examples {
		e := &examples[i]
		if e.Held {
			known := &c.Known[e.Language]
			for _, id := range e.Right {
				known[1]++
				if n := renumber[owner[i]][id]; n >= 0 && n < words {
					known[0]++
				}
			}
		}
		e.Left, e.Right = translate(e.Left, renumber[owner[i]]), translate(e.Right, renumber[owner[i]])
		switch {
		case !drafts[i].isPair:
			c.Texts = append(c.Texts, e.Left)
		case len(e.Left) > 0 && len(e.Right) > 0:
			c.Pairs = append(c.Pairs, *e)
		}
	}
	return c
}

// chooseTerms sets Terms and Shares by the counts of all workers.
func (c *corpus) chooseTerms(locals []lexicon) {
	numbers := make(map[string]int)
	var terms []string
	counts := make([][]float64, len(languageNames))
	totals := make([]float64, len(languageNames))
	for _, l := range locals {
		for language := range counts {
			for id, count := range l.counts[language][:min(len(l.counts[language]), len(l.terms))] {
				if count == 0 {
					continue
				}
				n, found := numbers[l.terms[id]]
				if !found {
					n = len(terms)
					numbers[l.terms[id]] = n
					terms = append(terms, l.terms[id])
				}
				for len(counts[language]) <= n {
					counts[language] = append(counts[language], make([]float64, 1024+n/2)...)
				}
				counts[language][n] += float64(count)
				totals[language] += float64(count)
			}
		}
	}
	largest := slices.Max(totals)
	type candidate struct {
		term          string
		weight, share float64
	}
	var candidates []candidate
	for n, term := range terms {
		total, t := 0.0, candidate{term: term}
		for language := range counts {
			if n < len(counts[language]) && counts[language][n] > 0 {
				count := counts[language][n]
				total += count
				t.weight += count * min(mostBoost, math.Sqrt(largest/totals[language]))
				t.share += count * count / totals[language]
			}
		}
		if t.share /= total; total >= minCount {
			candidates = append(candidates, t)
		}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.term, b.term))
	})
	for _, t := range candidates[:min(len(candidates), maxTerms)] {
		c.Terms, c.Shares = append(c.Terms, t.term), append(c.Shares, float32(t.share))
	}
}
