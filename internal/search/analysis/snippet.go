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
	if maxRunes <= 0 {
		return ""
	}
	if utf8.RuneCountInString(text) <= maxRunes {
		return text
	}
	if maxRunes <= 2 {
		return ellipsis
	}
	starts := runeStarts(text)
	room := maxRunes - 2 // for an ellipsis at each end
	matches, phrases := a.matches(text, m, language)
	for _, found := range phrases {
		// Its ends count like terms; no term begins with a zero byte.
		name, last := strconv.Itoa(found.phrase), len(found.words)-1
		matches = append(matches, match{found.words[0].span, "\x00<" + name}, match{found.words[last].span, "\x00>" + name})
	}
	slices.SortStableFunc(matches, func(x, y match) int { return x.start - y.start })
	first, last := bestWindow(runeMatches(starts, matches), room)
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
func clip(text string, from, to, keepFrom, keepTo int) string {
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
	window := strings.TrimFunc(text[from:to], unicode.IsSpace)
	if strings.TrimFunc(text[:from], unicode.IsSpace) != "" {
		window = ellipsis + window
	}
	if strings.TrimFunc(text[to:], unicode.IsSpace) != "" {
		window += ellipsis
	}
	return window
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
