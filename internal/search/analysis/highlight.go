package analysis

import (
	"slices"
	"strings"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// span is a stretch of text in bytes.
type span struct{ start, end int }

// Marks is what a query wants to see in a text.
type Marks struct {
	// Terms are marked wherever they stand: what Analyzer.Terms returns, or the terms of a Query's words.
	Terms []string
	// Phrases are marked word by word where all of one stands in a row, stop words too.
	Phrases []Phrase
}

// Highlight returns text escaped for HTML with every word wrapped in before and after that has one of the query's terms,
// as returned by Terms for the same or an unknown language. The language is that of the text. Marks never cut an escape
// or a character of several runes; before and after are written as they are.
func Highlight(text string, queryTerms []string, language string, before, after string) string {
	return new(Analyzer).Highlight(text, queryTerms, language, before, after)
}

// Highlight is the function of the same name with the analyzer's cache.
func (a *Analyzer) Highlight(text string, queryTerms []string, language string, before, after string) string {
	return a.HighlightMarks(text, Marks{Terms: queryTerms}, language, before, after)
}

// HighlightMarks is Highlight for terms and phrases.
func (a *Analyzer) HighlightMarks(text string, m Marks, language string, before, after string) string {
	matches, phrases := a.matches(text, m, language)
	for _, found := range phrases {
		matches = append(matches, found.words...)
	}
	var b strings.Builder
	b.Grow(len(text) + len(matches)*(len(before)+len(after)) + 16)
	writeMarked(&b, text, matches, before, after)
	return b.String()
}

// writeMarked writes text as HTML with the matches between before and after.
func writeMarked(b *strings.Builder, text string, matches []match, before, after string) {
	at := 0
	for _, match := range joinSpans(text, matches) {
		escape(b, text[at:match.start])
		b.WriteString(before)
		escape(b, text[match.start:match.end])
		b.WriteString(after)
		at = match.end
	}
	escape(b, text[at:])
}

// match is a token of the text that the query asks for.
type match struct {
	span
	term string
}

// occurrence is a phrase that stands in the text.
type occurrence struct {
	phrase int // which one of the Marks
	words  []match
}

// matches finds what is wanted. The starts of the matches never decrease, and neither do those of one phrase's words.
func (a *Analyzer) matches(text string, m Marks, language string) ([]match, []occurrence) {
	if len(m.Terms) == 0 && len(m.Phrases) == 0 {
		return nil, nil
	}
	wanted := make(map[string]struct{}, len(m.Terms))
	for _, term := range m.Terms {
		wanted[term] = struct{}{}
	}
	if len(m.Phrases) == 0 {
		return a.termMatches(text, wanted, language), nil
	}
	tokens := a.Tokens(text, language)
	var found []match
	for _, token := range tokens {
		if _, ok := wanted[token.Term]; ok {
			found = append(found, match{span{token.Start, token.End}, token.Term})
		}
	}
	var phrases []occurrence
	for i, phrase := range m.Phrases {
		for at := range tokens {
			if at > 0 && tokens[at-1].Position == tokens[at].Position {
				continue
			}
			if words := phrase.at(tokens[at:]); words != nil {
				phrases = append(phrases, occurrence{i, words})
			}
		}
	}
	return found, phrases
}

// termMatches finds the tokens with wanted terms. It stems only the words that may have one.
func (a *Analyzer) termMatches(text string, wanted map[string]struct{}, language string) []match {
	var starts beginnings
	for term := range wanted {
		starts.add(term)
	}
	lang := languageOf(language)
	var found []match
	s := scanner{text: text}
	s.emit = func(p piece) {
		raw := text[p.start:p.end]
		if !starts.may(raw) {
			return
		}
		term := a.term(p, raw, lang.stemmer(p.script))
		if _, ok := wanted[term]; ok {
			found = append(found, match{span{p.start, p.end}, term})
		}
	}
	s.run()
	return found
}

// beginnings are the first two letters that some terms begin with: of words of plain letters, which are normalised to no
// others, stemmers leave the first one as it is, and the second one unless it is a y of theirs.
type beginnings struct {
	first [letters]bool
	both  [letters][letters]bool
}

const letters = 'z' - 'a' + 1

func (b *beginnings) add(term string) {
	if term == "" || term[0] < 'a' || term[0] > 'z' {
		return
	}
	x := term[0] - 'a'
	b.first[x] = true
	if len(term) > 1 && 'a' <= term[1] && term[1] <= 'z' {
		b.both[x][term[1]-'a'] = true
		return
	}
	for y := range b.both[x] {
		b.both[x][y] = true // little may be left of a word
	}
}

// may reports whether a word may be stored under one of the terms.
func (b *beginnings) may(word string) bool {
	x := word[0] | 0x20
	if x < 'a' || x > 'z' || !isASCII(word) {
		return true
	}
	if len(word) < 4 {
		return b.first[x-'a']
	}
	y := word[1] | 0x20
	if y < 'a' || y >= 'y' {
		return b.first[x-'a']
	}
	return b.both[x-'a'][y-'a']
}

// at returns the words of the phrase when it stands where the tokens begin, nil when it does not.
func (p Phrase) at(tokens []Token) []match {
	var words []match
	for i, place := range p {
		if len(tokens) == 0 {
			return nil
		}
		position, before := tokens[0].Position, len(words)
		for len(tokens) > 0 && tokens[0].Position == position {
			if slices.Contains(place, tokens[0].Term) {
				words = append(words, match{span{tokens[0].Start, tokens[0].End}, tokens[0].Term})
			}
			tokens = tokens[1:]
		}
		last := i == len(p)-1
		if len(words) == before || !last && (len(tokens) == 0 || tokens[0].Position != position+1) {
			return nil
		}
	}
	return words
}

// joinSpans widens matches to the borders of characters and joins those that touch.
func joinSpans(text string, matches []match) []span {
	if len(matches) == 0 {
		return nil
	}
	spans := make([]span, len(matches))
	for i, m := range matches {
		spans[i] = m.span
	}
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	widen(text, spans)
	joined := spans[:1]
	for _, s := range spans[1:] {
		last := &joined[len(joined)-1]
		if s.start <= last.end {
			last.end = max(last.end, s.end)
		} else {
			joined = append(joined, s)
		}
	}
	return joined
}

// widen moves each span's ends out to the borders of grapheme clusters. Spans are sorted by start.
func widen(text string, spans []span) {
	if isASCII(text) && !strings.Contains(text, "\r") {
		return
	}
	borders := make([]int, 0, len(text))
	clusters := graphemes.FromString(text)
	for clusters.Next() {
		borders = append(borders, clusters.Start())
	}
	borders = append(borders, len(text))
	for i := range spans {
		if at, exact := slices.BinarySearch(borders, spans[i].start); !exact {
			spans[i].start = borders[max(at-1, 0)]
		}
		at, _ := slices.BinarySearch(borders, spans[i].end)
		spans[i].end = borders[min(at, len(borders)-1)]
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// escape writes text as HTML. Bytes that are no UTF-8 become the replacement character, so that the result is valid.
func escape(b *strings.Builder, text string) {
	from := 0
	for i := 0; i < len(text); {
		r, size := decode(text, i)
		var entity string
		switch {
		case r == '&':
			entity = "&amp;"
		case r == '<':
			entity = "&lt;"
		case r == '>':
			entity = "&gt;"
		case r == '"':
			entity = "&#34;"
		case r == '\'':
			entity = "&#39;"
		case r == 0 || r == 0xFFFD && size == 1:
			entity = "\uFFFD"
		}
		if entity != "" {
			b.WriteString(text[from:i])
			b.WriteString(entity)
			from = i + size
		}
		i += size
	}
	b.WriteString(text[from:])
}
