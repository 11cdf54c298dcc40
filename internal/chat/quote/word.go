package quote

import (
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// word is a word of the question.
type word struct {
	terms     []string
	weight    float64
	isName    bool    // written with a capital, or a number
	frequency float64 // share of all passages that have it, 0 if unknown
}

// Weights of words.
const (
	carriedWeight = 0.5 // of a word that comes from an earlier question
	relatedCredit = 0.6 // of a word that has another form or is part of a compound
	// absentPairWeight is the factor of a pair of characters that no passage has. Pairs
	// also run over the borders of words, where they say little.
	absentPairWeight = 0.5
	maxFrequency     = 0.95
	// extraPassages is the number of passages without the word that are added to every
	// collection. They keep the words of a tiny one from all being common.
	extraPassages = 5
)

// readWords sets the words to look for. Words that only the standalone question has weigh
// less.
func (s *selection) readWords(a *analysis.Analyzer) {
	seen := make(map[string]bool)
	names := s.names(a)
	add := func(text string, share float64) {
		all := a.Words(text, "")
		onlyStops := !slices.ContainsFunc(all, func(w analysis.Word) bool { return !w.Stop })
		for _, w := range all {
			if w.Stop && !onlyStops || seen[w.Terms[0]] {
				continue
			}
			found := s.statistics(w.Terms)
			for _, t := range found.terms {
				seen[t] = true
			}
			found.weight *= share
			found.isName = names[w.Terms[0]]
			s.words = append(s.words, found)
			s.total += found.weight
		}
	}
	q := s.question
	add(q.Text, 1)
	if q.Standalone != "" && q.Standalone != q.Text {
		add(q.Standalone, carriedWeight)
	}
}

// names returns the terms of the names, identifiers and numbers in the question. A
// language that writes all nouns with a capital does not show its names.
func (s *selection) names(a *analysis.Analyzer) map[string]bool {
	names := make(map[string]bool)
	hasCapitals := s.language != "de" && s.language != "lb"
	for i, field := range strings.Fields(s.question.Text) {
		field = strings.TrimFunc(field, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
		first, _ := utf8.DecodeRuneInString(field)
		switch {
		case strings.ContainsAny(field, identifierMarks):
			if words := a.Words(field, ""); len(words) > 0 {
				names[words[0].Terms[0]] = true // the whole, not its parts
			}
		case hasCapitals && (i > 0 && unicode.IsUpper(first) || unicode.IsDigit(first)):
			for _, w := range a.Words(field, "") {
				names[w.Terms[0]] = true
			}
		}
	}
	return names
}

// statistics returns a word as the search had it, or else with its inverse document
// frequency among the units.
func (s *selection) statistics(terms []string) word {
	q := s.question
	for i := range q.Words {
		if !slices.ContainsFunc(q.Words[i].Terms, func(t string) bool { return slices.Contains(terms, t) }) {
			continue
		}
		w := word{terms: union(terms, q.Words[i].Terms), weight: q.Words[i].Weight}
		documents := rank.DocumentFrequency(q.Passages, w.weight)
		if first, _ := utf8.DecodeRuneInString(terms[0]); documents < 1 && isPaired(first) {
			w.weight *= absentPairWeight
		}
		w.frequency = min(max(documents, 0.5)/float64(q.Passages+extraPassages), maxFrequency)
		return w
	}
	n := 0.0
	w := word{terms: terms}
	for i := range s.units {
		if w.in(s.units[i].terms) {
			n++
		}
	}
	w.weight = math.Log(1 + (float64(len(s.units))-n+0.5)/(n+0.5))
	return w
}

func union(x, y []string) []string {
	out := slices.Clone(x)
	for _, t := range y {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}

// isPaired reports whether r belongs to a script that is indexed by pairs of characters.
func isPaired(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
}

// in reports whether one of the terms is the word's.
func (w *word) in(terms map[string]bool) bool {
	return slices.ContainsFunc(w.terms, func(t string) bool { return terms[t] })
}

// match returns how far terms have the word: 1 if they do, less for a related word.
func (w *word) match(terms map[string]bool) float64 {
	if w.in(terms) {
		return 1
	}
	if utf8.RuneCountInString(w.terms[0]) >= minRelated {
		for t := range terms {
			if isRelated(w.terms[0], t) {
				return relatedCredit
			}
		}
	}
	return 0
}

// Lengths of related words in characters.
const (
	minRelated  = 5   // shorter words are related to none
	sharedStart = 0.7 // share of the shorter word that two forms begin with
)

// identifierMarks are inside identifiers and in no ordinary word.
const identifierMarks = "._/:@"

// isRelated reports whether two terms are probably forms of one word, or one is the last
// part of the other, as in German compounds. An identifier has no other forms.
func isRelated(x, y string) bool {
	nx, ny := utf8.RuneCountInString(x), utf8.RuneCountInString(y)
	if nx < minRelated || ny < minRelated || strings.ContainsAny(x+y, identifierMarks) {
		return false
	}
	n := 0
	for i, r := range x {
		if !strings.HasPrefix(y[min(i, len(y)):], string(r)) {
			break
		}
		n++
	}
	return float64(n) >= max(minRelated, sharedStart*float64(min(nx, ny))) || nx > minRelated && strings.HasSuffix(y, x) || ny > minRelated && strings.HasSuffix(x, y)
}
