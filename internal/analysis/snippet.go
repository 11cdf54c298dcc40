package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis stands where a snippet leaves text out.
const ellipsis = "…"

// Snippet returns the part of text, at most maxRunes runes, that shows most of the query's terms: the window with the
// most different terms, then the most matches, then the earliest. It begins and
// ends with sentences, list items, rows of tables or lines where their ends are near; else it is cut between words (inside
// one only when a single word is longer than the window), with an ellipsis at the cut. It is plain source text: pass it to
// Highlight. A text that fits is returned as it is; one without a match is cut at its end.
func Snippet(text string, queryTerms []string, language string, maxRunes int) string {
	return new(Analyzer).Snippet(text, queryTerms, language, maxRunes)
}

// Snippet is the function of the same name with the analyzer's cache.
func (a *Analyzer) Snippet(text string, queryTerms []string, language string, maxRunes int) string {
	return a.SnippetMarks(text, Marks{Terms: queryTerms}, language, maxRunes)
}

// SnippetMarks is Snippet for terms and phrases; the two ends of a phrase count like terms of their own.
func (a *Analyzer) SnippetMarks(text string, m Marks, language string, maxRunes int) string {
	if snippet, ok := uncut(text, maxRunes); ok {
		return snippet
	}
	matches, phrases := a.matches(text, m, language)
	return window(text, language, matches, phrases, maxRunes).text(text)
}

// Excerpter makes excerpts of texts, all with the same marks. It is used by one goroutine at a time.
type Excerpter struct {
	analyzer      *Analyzer
	marks         Marks
	maxRunes      int
	before, after string
	wanted        []wantedBy
	found         []match // memory
}

// wantedBy is what is wanted of texts with a stemmer.
type wantedBy struct {
	stem   stemmer
	wanted *wanted
}

// Excerpter returns what makes excerpts of at most maxRunes runes, with before and after around the words that are wanted.
// Without marks to write, before and after empty, an excerpt is the escaped snippet.
func (a *Analyzer) Excerpter(m Marks, maxRunes int, before, after string) *Excerpter {
	return &Excerpter{analyzer: a, marks: m, maxRunes: maxRunes, before: before, after: after}
}

// Excerpt is HighlightMarks of SnippetMarks of a text in a language, which it reads once: HTML.
func (e *Excerpter) Excerpt(text, language string) string {
	snippet, whole := uncut(text, e.maxRunes)
	if whole && (snippet != text || text == "") {
		return snippet // there is no room for any of it
	}
	matches, phrases := e.matches(text, language)
	w := part{to: len(text)}
	if !whole {
		w = window(text, language, matches, phrases, e.maxRunes)
	}
	var marked []span
	if e.before != "" || e.after != "" {
		marked = within(spansOf(matches, phrases), w.from, w.to)
	}
	var b strings.Builder
	b.Grow(w.to - w.from + len(marked)*(len(e.before)+len(e.after)) + 16)
	if w.cutBefore {
		b.WriteString(ellipsis)
	}
	writeMarked(&b, text[w.from:w.to], marked, e.before, e.after)
	if w.cutAfter {
		b.WriteString(ellipsis)
	}
	return b.String()
}

// Best returns the index of the text with the most different terms, then the most matches, then the first. The texts are
// in one language.
func (e *Excerpter) Best(texts []string, language string) int {
	best, bestTerms, bestMatches := 0, 0, 0
	for i, text := range texts {
		matches, _ := e.matches(text, language)
		seen := make(map[int]bool, len(matches))
		for _, m := range matches {
			seen[m.term] = true
		}
		if len(seen) > bestTerms || len(seen) == bestTerms && len(matches) > bestMatches {
			best, bestTerms, bestMatches = i, len(seen), len(matches)
		}
	}
	return best
}

// matches is Analyzer.matches, which prepares for each stemmer once.
func (e *Excerpter) matches(text, language string) ([]match, []occurrence) {
	if len(e.marks.Terms) == 0 || len(e.marks.Phrases) > 0 {
		return e.analyzer.matches(text, e.marks, language)
	}
	lang := languageOf(language)
	stem := lang.stemmer(scriptLatin)
	at := slices.IndexFunc(e.wanted, func(w wantedBy) bool { return w.stem == stem })
	if at < 0 {
		at = len(e.wanted)
		e.wanted = append(e.wanted, wantedBy{stem, newWanted(e.marks.Terms, stem)})
	}
	e.found = e.analyzer.termMatches(e.found[:0], text, e.wanted[at].wanted, lang)
	return e.found, nil
}

// within are the spans in text[from:to], as offsets from its start; those that are cut end where it does.
func within(spans []span, from, to int) []span {
	kept := spans[:0]
	for _, s := range spans {
		s.start, s.end = max(s.start, from)-from, min(s.end, to)-from
		if s.start < s.end {
			kept = append(kept, s)
		}
	}
	return kept
}

func fits(text string, maxRunes int) bool {
	return len(text) <= maxRunes || len(text) <= utf8.UTFMax*maxRunes && utf8.RuneCountInString(text) <= maxRunes
}

// uncut is the snippet of a text that needs no search for the best part of it.
func uncut(text string, maxRunes int) (snippet string, ok bool) {
	switch {
	case maxRunes <= 0:
		return "", true
	case fits(text, maxRunes):
		return text, true
	case maxRunes <= 2:
		return ellipsis, true
	default:
		return "", false
	}
}

// part is text[from:to] and whether it is cut there within a sentence.
type part struct {
	from, to            int
	cutBefore, cutAfter bool
}

func (p part) text(text string) string {
	out := text[p.from:p.to]
	if p.cutBefore {
		out = ellipsis + out
	}
	if p.cutAfter {
		out += ellipsis
	}
	return out
}

// window finds the part of a text, which does not fit as it is, that shows most of what is wanted.
func window(text, language string, matches []match, phrases []occurrence, maxRunes int) part {
	room := maxRunes - 2 // for an ellipsis at each end
	wanted, kinds := matches, 0
	for _, m := range matches {
		kinds = max(kinds, m.term+1)
	}
	if len(phrases) > 0 {
		wanted = slices.Clone(matches)
		terms := kinds
		for _, found := range phrases {
			// Its ends count like terms.
			first, last := terms+2*found.phrase, terms+2*found.phrase+1
			wanted = append(wanted, match{found.words[0], first}, match{found.words[len(found.words)-1], last})
			kinds = max(kinds, last+1)
		}
		slices.SortStableFunc(wanted, func(x, y match) int { return x.start - y.start })
	}
	first, runes := bestWindow(text, wanted, kinds, room)
	last, _ := forward(text, first, runes)
	cuts := cutter{text, language}
	spare := room - runes
	earliest, _ := backward(text, first, spare)
	from, wholeStart := cuts.start(earliest, first)
	if !wholeStart {
		// Earlier, if the text from there shows as many different terms: the last matches may be repetitions.
		low, _ := backward(text, first, room)
		if at, ok := cuts.start(low, first); ok {
			high, _ := forward(text, at, room)
			if end, all := covered(wanted, span{at, high}, span{first, last}); all {
				from, last, wholeStart = at, end, true
			}
		}
	}
	if !wholeStart {
		from, _ = backward(text, first, spare/3) // what follows a match explains more than what precedes it
	}
	to, short := forward(text, from, room)
	if short > 0 {
		earlier, _ := backward(text, from, short)
		if at, ok := cuts.firstStart(earlier, from); ok {
			from, wholeStart = at, true
		} else if !wholeStart {
			from = earlier
		}
	}
	wholeEnd := false
	if to < len(text) {
		var end int
		if end, wholeEnd = cuts.end(max(last, from+(to-from)*minFilled/100), to); wholeEnd {
			to = end
		}
	}
	keepFrom := first
	if wholeStart {
		keepFrom = from
	}
	p := clip(text, from, to, keepFrom, last)
	p.cutBefore, p.cutAfter = p.cutBefore && !wholeStart, p.cutAfter && !wholeEnd
	return p
}

// covered reports whether a window has all terms that another one has, and where the last of them ends that it has
// first.
func covered(matches []match, window, other span) (end int, all bool) {
	var wanted, found []int
	for _, m := range matches {
		if m.start >= other.start && m.end <= other.end && !slices.Contains(wanted, m.term) {
			wanted = append(wanted, m.term)
		}
	}
	for _, m := range matches {
		if m.start >= window.start && m.end <= window.end && slices.Contains(wanted, m.term) && !slices.Contains(found, m.term) {
			found, end = append(found, m.term), max(end, m.end)
		}
	}
	return end, len(found) == len(wanted)
}

// minFilled is the least share of its room, in percent, that a snippet fills to end with a sentence.
const minFilled = 60

// forward goes a number of runes on from at, and returns the number of those that the text is short of.
func forward(text string, at, runes int) (to, short int) {
	for runes > 0 && at < len(text) {
		if runes >= 8 && len(text)-at >= 8 && isASCII8(text[at:]) {
			at, runes = at+8, runes-8
			continue
		}
		_, size := decode(text, at)
		at, runes = at+size, runes-1
	}
	return at, runes
}

// backward is forward in the other direction.
func backward(text string, at, runes int) (to, short int) {
	for runes > 0 && at > 0 {
		if runes >= 8 && at >= 8 && isASCII8(text[at-8:]) {
			at, runes = at-8, runes-8
			continue
		}
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at, runes = at-size, runes-1
	}
	return at, runes
}

// bestWindow returns where the best window of matches begins that is at most room runes long, and its length in runes.
// The starts of matches never decrease, their terms are below kinds.
func bestWindow(text string, matches []match, kinds, room int) (start, runes int) {
	if len(matches) == 0 {
		return 0, 0
	}
	counts := make([]int, kinds) // of the matches of each term in the window
	terms := 0                   // that have any
	bestTerms, bestCount := 0, 0
	from := 0
	var places [64]span // on the stack
	inRunes := places[:0]
	at, passed := matches[0].start, 0
	for to, m := range matches {
		passed += runeCount(text[at:m.start])
		at = m.start
		place := span{passed, passed + runeCount(text[m.start:m.end])}
		inRunes = append(inRunes, place)
		if counts[m.term]++; counts[m.term] == 1 {
			terms++
		}
		for from < to && place.end-inRunes[from].start > room {
			if counts[matches[from].term]--; counts[matches[from].term] == 0 {
				terms--
			}
			from++
		}
		count := to - from + 1
		if terms > bestTerms || terms == bestTerms && count > bestCount {
			bestTerms, bestCount = terms, count
			start, runes = matches[from].start, max(place.end, inRunes[from].end)-inRunes[from].start
		}
	}
	return start, min(runes, room)
}

// runeCount is utf8.RuneCountInString, made for text that is ASCII for the most part.
func runeCount(text string) int {
	count := 0
	for len(text) >= 8 {
		if isASCII8(text) {
			count += 8
			text = text[8:]
			continue
		}
		for end := len(text) - 8; len(text) > end; count++ {
			_, size := decode(text, 0)
			text = text[size:]
		}
	}
	return count + utf8.RuneCountInString(text)
}

// clip cuts text[from:to] at word borders without losing text[keepFrom:keepTo].
func clip(text string, from, to, keepFrom, keepTo int) part {
	if from > 0 {
		for i := from; i < keepFrom; {
			r, size := decode(text, i)
			if isBreak(r) {
				from = i
				break
			}
			i += size
		}
	}
	if to < len(text) {
		if next, _ := decode(text, to); !isBreak(next) {
			for i := to; i > max(keepTo, from); {
				r, size := utf8.DecodeLastRuneInString(text[:i])
				if isBreak(r) {
					to = i - size
					break
				}
				i -= size
			}
		}
		to = wholeCharacter(text, from, to)
	}
	kept := strings.TrimLeftFunc(text[from:to], unicode.IsSpace)
	p := part{from: to - len(kept)}
	p.to = p.from + len(strings.TrimRightFunc(kept, unicode.IsSpace))
	p.cutBefore = strings.TrimFunc(text[:p.from], unicode.IsSpace) != ""
	p.cutAfter = strings.TrimFunc(text[p.to:], unicode.IsSpace) != ""
	return p
}

// wholeCharacter moves to back to where no mark is parted from its letter.
func wholeCharacter(text string, from, to int) int {
	for to > from {
		next, _ := decode(text, to)
		if !isMark(next) {
			return to
		}
		_, size := utf8.DecodeLastRuneInString(text[:to])
		to -= size
	}
	return to
}

// isBreak reports runes at which text may be cut: space, and characters of scripts that need none.
func isBreak(r rune) bool { return unicode.IsSpace(r) || r > utf8.RuneSelf && classify(r) == classPair }
