package analysis

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/analysis/sentence"
)

// A cutter finds where snippets of a text without markup may begin and end: at sentences, list items and rows of tables,
// which are lines with middle dots between their cells, else at lines.
type cutter struct{ text, language string }

// start returns the last start of a sentence, else of a line, in text[low:high+1]. ok is false if there is none.
func (c *cutter) start(low, high int) (at int, ok bool) {
	for i := high; i >= low; i-- {
		if c.startsAt(i) {
			return i, true
		}
	}
	if at = strings.LastIndexByte(c.text[:high], '\n') + 1; at > 0 && at >= low {
		return at, true
	}
	return 0, false
}

// firstStart returns the first start of a sentence in text[low:high].
func (c *cutter) firstStart(low, high int) (at int, ok bool) {
	for i := low; i < high; i++ {
		if c.startsAt(i) {
			return i, true
		}
	}
	return 0, false
}

// end returns the last end of a sentence, else of a line, in text[low:high+1].
func (c *cutter) end(low, high int) (at int, ok bool) {
	for i := high; i >= low && i > 0; i-- {
		next := i + len(c.text[i:]) - len(strings.TrimLeft(c.text[i:], " \t\r\n"))
		if !isBlank(c.text[i-1]) && (next == len(c.text) || c.startsAt(next)) {
			return i, true
		}
	}
	if low < high {
		if at = strings.LastIndexByte(c.text[low:high], '\n'); at >= 0 {
			return low + at, true
		}
	}
	return 0, false
}

// startsAt reports whether a sentence, a list item or a row begins at a place.
func (c *cutter) startsAt(i int) bool {
	if i == 0 {
		return true
	}
	if i >= len(c.text) || isBlank(c.text[i]) || !utf8.RuneStart(c.text[i]) {
		return false
	}
	before := strings.TrimRight(c.text[:i], " \t\r\n")
	mark, _ := utf8.DecodeLastRuneInString(strings.TrimRight(before, closingMarks))
	if len(before) == i {
		return mark >= utf8.RuneSelf && strings.ContainsRune(wideMarks, mark) && !strings.HasPrefix(c.text[i:], "…") && !strings.ContainsRune(closingMarks+wideMarks, firstRune(c.text[i:]))
	}
	switch breaks := strings.Count(c.text[len(before):i], "\n"); {
	case before == "" || breaks > 1:
		return true
	case breaks == 1:
		line, _, _ := strings.Cut(c.text[i:], "\n")
		if isItem(line) || strings.Contains(line, cellMark) || strings.Contains(before[strings.LastIndexByte(before, '\n')+1:], cellMark) {
			return true
		}
	case unicode.In(mark, unicode.Thai, unicode.Lao) && unicode.In(firstRune(c.text[i:]), unicode.Thai, unicode.Lao):
		return true
	}
	return strings.ContainsRune(sentenceMarks+wideMarks, mark) && !unicode.IsLower(firstRune(c.text[i:])) && c.isBoundary(i)
}

const (
	sentenceMarks = ".!?…"
	wideMarks     = "。！？।॥؟۔"
	closingMarks  = "\"'”’»)]」』）"
	cellMark      = " · "
	// nearby is how many bytes before and after a boundary tell whether it is that of a sentence.
	nearby = 60
)

// isBoundary asks the sentence splitter about a place after the mark of a sentence.
func (c *cutter) isBoundary(i int) bool {
	from, to := max(i-nearby, 0), min(i+nearby, len(c.text))
	for from < i && from > 0 && !isBlank(c.text[from-1]) {
		from++ // to the start of a word
	}
	for to > i && to < len(c.text) && !utf8.RuneStart(c.text[to]) {
		to--
	}
	for _, s := range sentence.Spans(c.text[from:to], c.language) {
		if from+s.Start >= i {
			// The splitter leaves out the marks that a line begins with.
			return strings.IndexFunc(c.text[i:from+s.Start], func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) < 0
		}
	}
	return false
}

// isItem reports whether a line is the first of a list item.
func isItem(line string) bool {
	mark, _, ok := strings.Cut(line, " ")
	if !ok || mark == "" {
		return false
	}
	if strings.Trim(mark, "-*+•") == "" {
		return len(mark) <= 3
	}
	digits := strings.TrimRight(mark, ".)")
	return len(digits) < len(mark) && len(digits) > 0 && len(digits) <= 3 && strings.Trim(digits, "0123456789") == ""
}

func isBlank(b byte) bool { return b == ' ' || b == '\t' || b == '\n' || b == '\r' }

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}
