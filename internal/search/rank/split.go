package rank

import (
	"cmp"
	"context"
	"slices"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
)

const (
	maxSplitWords = 4   // words of a question that are split
	maxSplits     = 2   // ways to split a word whose passages are looked at
	splitPool     = 100 // passages in which the two words are looked for side by side
)

// split returns the two words that an unknown word is if a space is put in: words that
// stand side by side in a passage. It returns "" if there are none.
func (r *respeller) split(ctx context.Context, w *analysis.QueryWord) (string, error) {
	if r.Knows != nil && r.Knows(w.Surface) {
		return "", nil
	}
	type pair struct {
		words     [2]Word
		text      string
		frequency int // of the rarer word
	}
	var pairs []pair
	var terms []string
	for i := range r.compounds {
		c := &r.compounds[i]
		if c.written == solid && c.owner == w.Surface && min(utf8.RuneCountInString(c.first), utf8.RuneCountInString(c.second)) > minPart {
			p := pair{text: c.first + " " + c.second}
			for n, word := range [2]string{c.first, c.second} {
				p.words[n] = Word{Terms: formsOf(r.Analyzer, word, r.question.language), Weight: 1}
				terms = append(terms, p.words[n].Terms...)
			}
			pairs = append(pairs, p)
		}
	}
	if err := r.lookUp(ctx, terms); err != nil {
		return "", err
	}
	for i := range pairs {
		p := &pairs[i]
		p.frequency = min(r.sum(p.words[0].Terms), r.sum(p.words[1].Terms))
		// The words of a request have no term in common.
		p.words[1].Terms = slices.DeleteFunc(slices.Clone(p.words[1].Terms), func(t string) bool { return slices.Contains(p.words[0].Terms, t) })
	}
	pairs = slices.DeleteFunc(pairs, func(p pair) bool { return p.frequency == 0 || len(p.words[1].Terms) == 0 })
	slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(b.frequency, a.frequency) })
	for _, p := range pairs[:min(maxSplits, len(pairs))] {
		ok, err := r.sideBySide(ctx, p.words[:])
		if err != nil {
			return "", err
		}
		if ok {
			return p.text, nil
		}
	}
	return "", nil
}

// sideBySide reports whether two words stand side by side in one of the passages that
// match best.
func (r *respeller) sideBySide(ctx context.Context, words []Word) (bool, error) {
	request := Request{Words: words, MatchWords: len(words), TopLexical: splitPool, AverageBody: 1}
	for _, p := range r.parts {
		candidates, err := p.Source.Candidates(ctx, &request)
		if err != nil {
			return false, err
		}
		for _, c := range candidates {
			for _, first := range c.Matches {
				if first.Word == 0 && slices.ContainsFunc(c.Matches, func(m Match) bool {
					return m.Word == 1 && m.Position == first.Position+1 && index.FieldOf(m.Position) == index.FieldOf(first.Position)
				}) {
					return true, nil
				}
			}
		}
	}
	return false, nil
}
