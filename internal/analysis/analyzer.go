package analysis

import (
	"slices"
	"sync"
)

// Token is one term found in a text.
type Token struct {
	// Term is the normalised form, at most maxTermRunes runes. It may share memory with the text it was found in: clone
	// it before keeping it longer than the text.
	Term string
	// Position counts words from 0. The whole of a compound has the position of its first part.
	Position int
	// Start and End are the byte offsets of the term's source in the text, 0 <= Start < End <= len(text), on rune
	// borders. Starts never decrease from one token to the next.
	Start, End int
}

// Word is one word of a query with every term under which a matching document may have stored it.
type Word struct {
	// Terms holds at least one term, without repetition, the likeliest first. A scorer should treat them as one word.
	Terms []string
	// Stop tells that the word says little about what is asked.
	Stop bool
}

// Analyzer turns text into terms. It is safe for concurrent use. The zero value works, without caches.
type Analyzer struct {
	terms *wordCache[string]
	forms *wordCache[[]string]
}

// New returns an Analyzer with bounded caches of stems. All of a process have the same ones: most texts are analyzed twice,
// for the words of the index and for a vector.
func New() *Analyzer { return shared() }

var shared = sync.OnceValue(func() *Analyzer {
	return &Analyzer{terms: newWordCache[string](termSlots), forms: newWordCache[[]string](formsSlots)}
})

// Tokens returns the terms of a text in order. The language is a code such as "de", "pt-BR" or "zh"; "" means unknown.
// The result is the same on every machine and for every state of the cache.
func (a *Analyzer) Tokens(text, language string) []Token {
	return a.AppendTokens(make([]Token, 0, len(text)/5+4), text, language)
}

// AppendTokens appends the terms of a text to tokens, for callers that keep a buffer. It is otherwise like Tokens.
func (a *Analyzer) AppendTokens(tokens []Token, text, language string) []Token {
	lang := languageOf(language)
	s := scanner{text: text}
	s.emit = func(p piece) {
		term := a.term(p, text[p.start:p.end], lang.stemmer(p.script))
		if term != "" {
			tokens = append(tokens, Token{Term: term, Position: p.position, Start: p.start, End: p.end})
		}
	}
	s.run()
	return tokens
}

// Words returns the words of a query, each with the terms to look up, stop words included.
func (a *Analyzer) Words(query, language string) []Word {
	languages := audienceOf(language)
	var words []Word
	var spellings []spelling
	s := scanner{text: query}
	s.emit = func(p piece) {
		if terms := a.queryTerms(p, query, languages); len(terms) > 0 {
			words = append(words, Word{Terms: terms})
			raw := query[p.start:p.end]
			spellings = append(spellings, a.spelling(p, raw, a.term(p, raw, stemNone)))
		}
	}
	s.run()
	for i, stop := range stopWords(spellings, languages) {
		words[i].Stop = stop
	}
	return words
}

// CountWords returns the number of words that Words returns for a query, and how many of them are stop words. It does not
// look for their terms.
func (a *Analyzer) CountWords(query, language string) (words, stops int) {
	var spellings []spelling
	s := scanner{text: query}
	s.emit = func(p piece) {
		raw := query[p.start:p.end]
		// Stemmers leave something of every word, so that one without this term has none.
		if folded := a.term(p, raw, stemNone); folded != "" {
			spellings = append(spellings, a.spelling(p, raw, folded))
		}
	}
	s.run()
	for _, stop := range stopWords(spellings, audienceOf(language)) {
		if stop {
			stops++
		}
	}
	return len(spellings), stops
}

// queryTerms returns every term under which documents may have stored a piece of a query, each once, the likeliest first.
// The list is not to be changed.
func (a *Analyzer) queryTerms(p piece, query string, languages audience) []string {
	raw := query[p.start:p.end]
	if p.exact {
		if term := a.term(p, raw, stemNone); term != "" {
			return []string{term}
		}
		return nil
	}
	find := func(raw string) []string {
		var terms []string
		for _, candidate := range languages.stemmers(p.script) {
			if term := a.term(p, raw, candidate); term != "" && !slices.Contains(terms, term) {
				terms = append(terms, term)
			}
		}
		return terms
	}
	if len(languages) > 0 {
		return find(raw)
	}
	return a.forms.lookup(raw, uint8(p.script), find)
}

// Terms returns the terms to look up for a query, each once, in the order of the query. Stop words are left out unless
// the query has no other words.
func (a *Analyzer) Terms(query, language string) []string {
	words := a.Words(query, language)
	onlyStops := !slices.ContainsFunc(words, func(w Word) bool { return !w.Stop })
	seen := make(map[string]struct{}, len(words))
	terms := make([]string, 0, len(words))
	for _, word := range words {
		if word.Stop && !onlyStops {
			continue
		}
		for _, term := range word.Terms {
			if _, found := seen[term]; !found {
				seen[term] = struct{}{}
				terms = append(terms, term)
			}
		}
	}
	return terms
}
