package analysis

import (
	"slices"
	"strings"
	"unicode/utf8"

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
	marked := spansOf(a.matches(text, m, language))
	var b strings.Builder
	b.Grow(len(text) + len(marked)*(len(before)+len(after)) + 16)
	writeMarked(&b, text, marked, before, after)
	return b.String()
}

// writeMarked writes text as HTML with the spans between before and after.
func writeMarked(b *strings.Builder, text string, spans []span, before, after string) {
	at := 0
	for _, s := range joinSpans(text, spans) {
		escape(b, text[at:s.start])
		b.WriteString(before)
		escape(b, text[s.start:s.end])
		b.WriteString(after)
		at = s.end
	}
	escape(b, text[at:])
}

// match is a token of the text that the query asks for.
type match struct {
	span
	term int // those of the same term have the same number, from 0
}

// occurrence is a phrase that stands in the text.
type occurrence struct {
	phrase int // which one of the Marks
	words  []span
}

// matches finds what is wanted. The starts of the matches never decrease, and neither do those of one phrase's words.
func (a *Analyzer) matches(text string, m Marks, language string) ([]match, []occurrence) {
	if len(m.Terms) == 0 && len(m.Phrases) == 0 {
		return nil, nil
	}
	lang := languageOf(language)
	w := newWanted(m.Terms, lang.stemmer(scriptLatin))
	if len(m.Phrases) == 0 {
		return a.termMatches(make([]match, 0, 32), text, w, lang), nil
	}
	tokens := a.Tokens(text, language)
	var found []match
	for _, token := range tokens {
		if term := w.find(token.Term); term >= 0 {
			found = append(found, match{span{token.Start, token.End}, term})
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

// termMatches appends the tokens with wanted terms to found. It stems only the words that may have one.
func (a *Analyzer) termMatches(found []match, text string, w *wanted, lang language) []match {
	s := scanner{text: text}
	s.emit = func(p piece) {
		raw := text[p.start:p.end]
		if !w.may(raw) {
			return
		}
		if term := w.find(a.term(p, raw, lang.stemmer(p.script))); term >= 0 {
			found = append(found, match{span{p.start, p.end}, term})
		}
	}
	for from, to := w.next(text, 0); from < to; from, to = w.next(text, to) {
		s.stretch(from, to)
	}
	return found
}

// at returns the words of the phrase when it stands where the tokens begin, nil when it does not.
func (p Phrase) at(tokens []Token) []span {
	var words []span
	for i, place := range p {
		if len(tokens) == 0 {
			return nil
		}
		position, before := tokens[0].Position, len(words)
		for len(tokens) > 0 && tokens[0].Position == position {
			if slices.Contains(place, tokens[0].Term) {
				words = append(words, span{tokens[0].Start, tokens[0].End})
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

// spansOf are the places of all words to mark.
func spansOf(matches []match, phrases []occurrence) []span {
	spans := make([]span, len(matches))
	for i, m := range matches {
		spans[i] = m.span
	}
	for _, found := range phrases {
		spans = append(spans, found.words...)
	}
	return spans
}

// joinSpans sorts spans, widens them to the borders of characters and joins those that touch.
func joinSpans(text string, spans []span) []span {
	if len(spans) == 0 {
		return nil
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
	if endsHalfway(text) || slices.ContainsFunc(spans, func(s span) bool { return !isBorder(text, s.start) || !isBorder(text, s.end) }) {
		widenToClusters(text, spans)
	}
}

// widenToClusters is widen for any text.
func widenToClusters(text string, spans []span) {
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

// endsHalfway reports whether one of the last bytes of a text begins a longer rune than there is room for. The splitter
// takes such a rest for one cluster, whatever is in it.
func endsHalfway(text string) bool {
	for i := max(len(text)-3, 0); i < len(text); i++ {
		b, left := text[i], len(text)-i
		if b >= 0xF0 || b >= 0xE0 && left < 3 || b >= 0xC0 && left < 2 {
			return true
		}
	}
	return false
}

// isBorder reports whether there surely is a border of grapheme clusters at i, from the two runes that meet there.
func isBorder(text string, i int) bool {
	if i == 0 || i == len(text) {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := decode(text, i)
	return standsAlone(before) && standsAlone(after) && (before != '\r' || after != '\n')
}

// standsAlone reports some runes that neither belong to what stands before nor hold what stands after them: all of the
// first blocks, Greek and Cyrillic letters, punctuation, signs, most Han and kana.
func standsAlone(r rune) bool {
	return r < 0x0300 || 0x0370 <= r && r <= 0x0481 || 0x048A <= r && r <= 0x052F || 0x2010 <= r && r <= 0x2027 ||
		0x2030 <= r && r <= 0x205E || 0x20A0 <= r && r <= 0x20C0 || 0x2100 <= r && r <= 0x2BFF || 0x3001 <= r && r <= 0x3020 ||
		0x3041 <= r && r <= 0x3096 || 0x30A1 <= r && r <= 0x30FF || 0x4E00 <= r && r <= 0x9FFF
}

// isASCII8 reports whether the first eight bytes are ASCII. The compiler reads them as one.
func isASCII8(s string) bool {
	_ = s[7]
	bytes := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	return bytes&0x8080808080808080 == 0
}

// escape writes text as HTML. Bytes that are no UTF-8 become the replacement character, so that the result is valid.
func escape(b *strings.Builder, text string) {
	from := 0
	for i := 0; i < len(text); {
		var entity string
		size := 1
		switch c := text[i]; {
		case c > '>' && c < utf8.RuneSelf, c == ' ':
		case c >= utf8.RuneSelf:
			var r rune
			if r, size = utf8.DecodeRuneInString(text[i:]); r == utf8.RuneError && size == 1 {
				entity = "\uFFFD"
			}
		case c == '&':
			entity = "&amp;"
		case c == '<':
			entity = "&lt;"
		case c == '>':
			entity = "&gt;"
		case c == '"':
			entity = "&#34;"
		case c == '\'':
			entity = "&#39;"
		case c == 0:
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
