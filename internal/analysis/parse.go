package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a parsed query. What is beyond them is left out, which can only widen a search.
const (
	// MaxQueryWords is the most words that a query has.
	MaxQueryWords = 512
	// MaxPhrases is the most phrases that a query requires, and the most that it excludes.
	MaxPhrases = 16
	// MaxPhraseWords is the most places of a phrase; a longer one is cut there.
	MaxPhraseWords = 32
)

// Query is what a search box's text asks for.
type Query struct {
	// Words are all words but the excluded ones, stop words and the words of phrases included, in the order of the text.
	// They are empty only for a text without a word.
	Words []QueryWord
	// Phrases must stand in an answer, Excluded ones must not.
	Phrases, Excluded []Phrase
	// Prefix is what a word begins with that is still being typed: the last word of the text, normalised and not stemmed,
	// the whole of a compound; "" where the text does not end in a word that it asks for. Terms that begin with it, and
	// those of Analyzer.Completions, are what it may become.
	Prefix string
}

// Marks returns what to mark in answers to the query: its words, without stop words unless there are no others, and its
// phrases.
func (q *Query) Marks() Marks {
	m := Marks{Phrases: q.Phrases}
	onlyStops := !slices.ContainsFunc(q.Words, func(w QueryWord) bool { return !w.Stop })
	for _, w := range q.Words {
		if !w.Stop || onlyStops {
			m.Terms = append(m.Terms, w.Terms...)
		}
	}
	return m
}

// QueryWord is one word of a query.
type QueryWord struct {
	// Terms are those under which a matching document may have stored the word: at least one, without repetition, the
	// likeliest first. A scorer should treat them as one word.
	Terms []string
	// Surface is the word normalised and not stemmed.
	Surface string
	// Position counts words from 0 as Token.Position does, excluded words left out.
	Position int
	// Start and End are the byte offsets of the word in the query.
	Start, End int
	// Stop tells that the word says little about what is asked.
	Stop bool
	// Exact tells that the word is an identifier, a number or a version, which has no inflections.
	Exact bool
	// Part tells that the word was taken out of an earlier one that holds it: of a compound or a word in camel case.
	Part bool
	// Lone tells that the word is one character of a script that is indexed in pairs. Where documents have it inside a
	// longer run they have no such term, but terms that begin with it.
	Lone bool
	// Quoted tells that the word stands in a phrase.
	Quoted bool
}

// Phrase is words in a row: for each place the terms of which any may stand there, at positions of tokens that follow
// one another.
type Phrase [][]string

// Parse reads the text of a search box. The languages are those of the documents that are looked for, "" among others
// being that of documents whose language is unknown; none, or "" alone, means that nothing is known, and a word then stands
// for its stems in every language. The fewer are named, the fewer words are taken for forms of one.
//
//   - "two words" in quotes is a phrase that must stand in an answer; “ ”, „ “, « », ‹ ›, 「 」, 『 』 and full-width quotes do
//     too. A quote without its partner is an ordinary character, and so is a straight one right after a letter or digit (24").
//     A phrase may be one word, which is then required. Quotes around nothing mean nothing. Inflections match.
//   - -word and -"two words" exclude; the minus stands at the start or after white space, and its word right after it.
//     Everything else with a minus is an ordinary word: hyphens within words, a minus with space behind it, flags (--dry-run,
//     the one-letter -n, -Dname=value) and numbers, also with a unit of up to three letters (-5, -0.5, -48V). To exclude one write -"5".
//   - A text of nothing but exclusions asks for their words, so that a query is never empty.
//   - Compounds and words in camel case are words as a whole and in parts, see Tokens. In a phrase a compound stands for its
//     parts in a row, so that "open-source" and "open source" are the same phrase; a word in camel case stands for itself.
//
// It reads a text of n bytes in O(n), whatever is in it.
func (a *Analyzer) Parse(text string, languages ...string) Query {
	text = withoutFrame(text)
	p := parser{analyzer: a, languages: audienceOf(languages...), text: text}
	p.scanner.text = text
	p.scanner.emit = func(x piece) { p.pieces = append(p.pieces, x) }
	p.read()
	if len(p.query.Words) == 0 {
		p.includeExcluded()
	}
	for i, stop := range stopWords(p.spellings, p.languages) {
		p.query.Words[i].Stop = stop
	}
	return p.query
}

// parser reads one query.
type parser struct {
	analyzer  *Analyzer
	languages audience
	text      string
	scanner   scanner
	pieces    []piece   // of the stretch that was read last
	excluded  [][]piece // of each exclusion
	closing   []closing // where closing quotes were found last
	query     Query
	spellings []spelling // of the words
}

func (p *parser) read() {
	fresh, touching := true, false // after white space or nothing; right after a letter or digit
	for i := 0; i < len(p.text) && len(p.query.Words) < MaxQueryWords; {
		r, size := decode(p.text, i)
		c := classify(r)
		switch {
		case c == classWord || c == classPair:
			end := p.stretch(i, c)
			p.addWords(false)
			p.setPrefix(end)
			i, fresh, touching = end, false, c == classWord
			continue
		case unicode.IsSpace(r):
			fresh, touching = true, false
		case c == classMark:
		case fresh && isMinus(r):
			if end := p.exclusion(i + size); end > 0 {
				i, fresh, touching = end, false, false
				continue
			}
			fresh, touching = false, false
		default:
			if end := p.quoted(i, r, size, touching); end > 0 {
				p.addPhrase()
				i, fresh, touching = end, false, false
				continue
			}
			fresh, touching = false, false
		}
		i += size
	}
}

// stretch reads the compound or the run of pairs at i and returns its end.
func (p *parser) stretch(i int, c class) int {
	p.pieces = p.pieces[:0]
	if c == classPair {
		return p.scanner.pairs(i)
	}
	return p.scanner.compound(i)
}

func isMinus(r rune) bool { return r == '-' || r == 0x2212 || r == 0xFE63 || r == 0xFF0D }

// exclusion reads what a minus before i excludes and returns its end, or 0 where it excludes nothing.
func (p *parser) exclusion(i int) int {
	if i >= len(p.text) {
		return 0
	}
	position := p.scanner.position
	r, size := decode(p.text, i)
	c := classify(r)
	end := 0
	if c == classWord || c == classPair {
		if end = p.stretch(i, c); p.isFlag(i, end) {
			end = 0
		}
	} else {
		end = p.quoted(i, r, size, false)
	}
	p.scanner.position = position // what is excluded parts no words from each other
	if end == 0 || len(p.pieces) == 0 || len(p.excluded) == MaxPhrases {
		return end
	}
	if phrase := p.phrase(p.pieces); len(phrase) > 0 {
		p.query.Excluded = append(p.query.Excluded, phrase)
		p.excluded = append(p.excluded, slices.Clone(p.pieces))
	}
	return end
}

// isFlag reports whether text[start:end], which follows a minus, is a number or an option of a command. Where an exclusion
// may have been meant all the same, not to exclude does the lesser harm.
func (p *parser) isFlag(start, end int) bool {
	word := p.text[start:end]
	if len(word) == 1 && word[0] < utf8.RuneSelf {
		return true
	}
	if end < len(p.text) && p.text[end] == '=' {
		return true
	}
	digits, points, unit := 0, 0, 0
	for _, r := range word {
		switch {
		case unicode.IsDigit(r) && unit == 0:
			digits++
		case r == '.':
			points++
		case digits > 0 && unicode.IsLetter(r):
			unit++
		default:
			return false
		}
	}
	return digits > 0 && points <= 1 && unit <= 3
}

// closers returns the quotes that end what the quote r begins, none where r is no quote. Some are only taken for a
// beginning where no letter or digit stands right before them, since they also end.
func closers(r rune) (ends []rune, ambiguous bool) {
	switch r {
	case '"', '＂':
		return []rune{r}, true
	case '„':
		return []rune{'“', '”'}, false
	case '“':
		return []rune{'”'}, false
	case '”':
		return []rune{'”'}, true
	case '«':
		return []rune{'»'}, false
	case '»':
		return []rune{'«', '»'}, true
	case '‹':
		return []rune{'›'}, false
	case '›':
		return []rune{'‹', '›'}, true
	case '「':
		return []rune{'」'}, false
	case '『':
		return []rune{'』'}, false
	}
	return nil, false
}

// quoted reads a phrase whose opening quote r is at i and returns the end of the closing one, or 0 where none begins.
func (p *parser) quoted(i int, r rune, size int, touching bool) int {
	ends, ambiguous := closers(r)
	if ends == nil || ambiguous && touching {
		return 0
	}
	inner := i + size
	end, after := len(p.text), 0
	for _, closer := range ends {
		if at := p.next(closer, inner); at < end {
			end, after = at, at+utf8.RuneLen(closer)
		}
	}
	if after == 0 {
		return 0
	}
	p.pieces = p.pieces[:0]
	p.scanner.stretch(inner, end)
	return after
}

// closing is where a closing quote comes next, the length of the text when it does not.
type closing struct {
	quote rune
	at    int
}

// next returns where a closing quote comes at or after i. Each part of the text is looked through once for each quote.
func (p *parser) next(quote rune, i int) int {
	n := slices.IndexFunc(p.closing, func(c closing) bool { return c.quote == quote })
	if n < 0 {
		n = len(p.closing)
		p.closing = append(p.closing, closing{quote, -1})
	}
	if p.closing[n].at < i {
		at := strings.IndexRune(p.text[i:], quote)
		if at < 0 {
			at = len(p.text) - i
		}
		p.closing[n].at = i + at
	}
	return p.closing[n].at
}

// addWords makes words of the pieces.
func (p *parser) addWords(quoted bool) {
	held := 0 // the end of the last piece that may hold others
	for _, x := range p.pieces {
		if len(p.query.Words) == MaxQueryWords {
			return
		}
		raw := p.text[x.start:x.end]
		terms := p.terms(x)
		if len(terms) == 0 {
			continue
		}
		surface := p.analyzer.term(x, raw, stemNone)
		p.query.Words = append(p.query.Words, QueryWord{
			Terms: terms, Surface: surface, Position: x.position, Start: x.start, End: x.end,
			Exact: isExact(x, raw), Part: x.kind != kindPair && x.kind != kindSign && x.end <= held, Lone: isLone(x, raw), Quoted: quoted,
		})
		p.spellings = append(p.spellings, p.analyzer.spelling(x, raw, surface))
		if x.kind == kindWhole || x.kind == kindWord {
			held = max(held, x.end)
		}
	}
}

// terms returns every term of a piece, the likeliest first.
func (p *parser) terms(x piece) []string { return p.analyzer.queryTerms(x, p.text, p.languages) }

// addPhrase makes words and a phrase of the pieces.
func (p *parser) addPhrase() {
	p.addWords(true)
	if len(p.query.Phrases) == MaxPhrases {
		return
	}
	if phrase := p.phrase(p.inner(p.pieces)); len(phrase) > 0 {
		p.query.Phrases = append(p.query.Phrases, phrase)
	}
}

// inner leaves out lone characters at both ends of a phrase: in documents they may be part of a run, whose pairs there is
// no telling.
func (p *parser) inner(pieces []piece) []piece {
	for len(pieces) > 0 && isLone(pieces[0], p.text[pieces[0].start:pieces[0].end]) {
		pieces = pieces[1:]
	}
	for n := len(pieces) - 1; n >= 0 && isLone(pieces[n], p.text[pieces[n].start:pieces[n].end]); n-- {
		pieces = pieces[:n]
	}
	return pieces
}

// phrase makes a phrase of pieces: one place a position.
func (p *parser) phrase(pieces []piece) Phrase {
	var phrase Phrase
	at := 0 // the position of the last place
	for _, x := range pieces {
		if x.kind == kindWhole || x.kind == kindCamel {
			continue
		}
		terms := p.terms(x)
		switch {
		case len(terms) == 0:
			continue
		case len(phrase) > 0 && x.position == at:
			phrase[len(phrase)-1] = terms // the word with its sign says more than the word
			continue
		case len(phrase) == MaxPhraseWords || len(phrase) > 0 && x.position != at+1:
			return phrase
		}
		phrase, at = append(phrase, terms), x.position
	}
	return phrase
}

// includeExcluded asks for the words that the query would exclude.
func (p *parser) includeExcluded() {
	p.query.Excluded = nil
	next := 0
	for _, pieces := range p.excluded {
		first, last := pieces[0].position, next
		for i := range pieces {
			pieces[i].position += next - first
			last = max(last, pieces[i].position)
		}
		p.pieces, next = pieces, last+1
		p.addWords(false)
	}
}

// setPrefix notes the last word when the text ends with it. The pieces are those of the stretch that ends at end.
func (p *parser) setPrefix(end int) {
	if end < len(p.text) {
		return
	}
	for _, x := range p.pieces {
		if x.end == end && x.kind != kindCamel {
			p.query.Prefix = p.analyzer.term(x, p.text[x.start:x.end], stemNone)
			return
		}
	}
}

// isExact reports whether a piece is an identifier, a number or a version.
func isExact(x piece, raw string) bool {
	switch x.kind {
	case kindWhole:
		return strings.ContainsAny(raw, "._:@0123456789") || strings.Count(raw, "/") > 1 || strings.ContainsFunc(raw, unicode.IsNumber)
	case kindWord, kindCamel:
		return x.exact
	case kindSign, kindPair:
	}
	return false
}

// isLone reports whether a piece is one character of a script that is indexed in pairs.
func isLone(x piece, raw string) bool {
	if x.kind != kindPair {
		return false
	}
	count := 0
	for _, r := range raw {
		if isSegmented(r) || isKatakana(r) {
			return false
		}
		if classify(r) == classPair {
			count++
		}
	}
	return count == 1
}
