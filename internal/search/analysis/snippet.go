package analysis

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ellipsis stands where a snippet leaves text out.
const ellipsis = "…"

// Snippet returns the part of text, at most maxRunes runes, that shows most of the query's terms: the window with the
// most different terms, then the most matches, then the earliest. It is cut between words (inside one only when a single
// word is longer than the window), with an ellipsis at each cut. It is plain source text: pass it to Highlight. A text
// that fits is returned as it is; one without a match is cut at its end.
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
	return window(text, matches, phrases, maxRunes).text(text)
}

// Excerpt is HighlightMarks of SnippetMarks of a text, which it reads once: HTML with the words in before and after that
// are wanted. Without marks to write, before and after empty, it is the escaped snippet.
func (a *Analyzer) Excerpt(text string, m Marks, language string, maxRunes int, before, after string) string {
	if snippet, ok := uncut(text, maxRunes); ok && (snippet != text || text == "") {
		return snippet // there is no room for any of it
	}
	matches, phrases := a.matches(text, m, language)
	w := window(text, matches, phrases, maxRunes)
	for _, found := range phrases {
		matches = append(matches, found.words...)
	}
	if before == "" && after == "" {
		matches = nil
	}
	var b strings.Builder
	b.Grow(w.to - w.from + len(matches)*(len(before)+len(after)) + 16)
	if w.cutBefore {
		b.WriteString(ellipsis)
	}
	writeMarked(&b, text[w.from:w.to], within(matches, w.from, w.to), before, after)
	if w.cutAfter {
		b.WriteString(ellipsis)
	}
	return b.String()
}

// within are the matches that stand in text[from:to], as offsets from its start; those that are cut end where it does.
func within(matches []match, from, to int) []match {
	kept := matches[:0:0]
	for _, m := range matches {
		m.start, m.end = max(m.start, from)-from, min(m.end, to)-from
		if m.start < m.end {
			kept = append(kept, m)
		}
	}
	return kept
}

func fits(text string, maxRunes int) bool {
	return len(text) <= maxRunes || utf8.RuneCountInString(text) <= maxRunes
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

// part is text[from:to] and whether anything is left out before and after it.
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

// window finds the part of a text that shows most of what is wanted.
func window(text string, matches []match, phrases []occurrence, maxRunes int) part {
	if fits(text, maxRunes) {
		return part{to: len(text)}
	}
	starts := runeStarts(text)
	room := maxRunes - 2 // for an ellipsis at each end
	wanted := slices.Clone(matches)
	for _, found := range phrases {
		// Its ends count like terms; no term begins with a zero byte.
		name, last := strconv.Itoa(found.phrase), len(found.words)-1
		wanted = append(wanted, match{found.words[0].span, "\x00<" + name}, match{found.words[last].span, "\x00>" + name})
	}
	slices.SortStableFunc(wanted, func(x, y match) int { return x.start - y.start })
	first, last := bestWindow(runeMatches(starts, wanted), room)
	spare := room - (last - first)
	from := max(first-spare/3, 0) // what follows a match explains more than what precedes it
	to := min(from+room, len(starts)-1)
	from = max(to-room, 0)
	return clip(text, starts[from], starts[to], starts[min(first, len(starts)-1)], starts[min(last, len(starts)-1)])
}

// runeStarts returns the byte offset of each rune, and the length of the text at the end.
func runeStarts(text string) []int {
	starts := make([]int, 0, len(text)+1)
	for i := range text {
		starts = append(starts, i)
	}
	return append(starts, len(text))
}

// runeMatches turns byte offsets into rune indexes. Starts of matches never decrease.
func runeMatches(starts []int, matches []match) []match {
	at := 0
	for i := range matches {
		for starts[at] < matches[i].start {
			at++
		}
		end := at
		for starts[end] < matches[i].end {
			end++
		}
		matches[i].span = span{at, end}
	}
	return matches
}

// bestWindow returns the ends of the best window of matches that is at most room runes long.
func bestWindow(matches []match, room int) (first, last int) {
	counts := make(map[string]int)
	bestTerms, bestCount := 0, 0
	from := 0
	for to, m := range matches {
		counts[m.term]++
		for from < to && m.end-matches[from].start > room {
			if counts[matches[from].term]--; counts[matches[from].term] == 0 {
				delete(counts, matches[from].term)
			}
			from++
		}
		terms, count := len(counts), to-from+1
		if terms > bestTerms || terms == bestTerms && count > bestCount {
			bestTerms, bestCount = terms, count
			first, last = matches[from].start, max(m.end, matches[from].end)
		}
	}
	return first, min(last, first+room)
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
