package rtf

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// A line is the text of one paragraph. The zero value is empty.
type line struct {
	wordmodel.Line
	// mono and other count the characters in monospaced and in other fonts.
	mono, other int
}

func (l *line) Reset() {
	l.Line.Reset()
	l.mono, l.other = 0, 0
}

// add appends text without control characters.
func (l *line) add(text string, look wordmodel.Look) {
	for _, r := range text {
		switch {
		case r >= ' ' && r < 0x7F:
			l.Text = append(l.Text, byte(r))
		case r == '\u2028' || r == '\u2029':
			l.Text = append(l.Text, '\n')
		case !isControl(r):
			l.Text = utf8.AppendRune(l.Text, r)
		}
	}
	l.Mark(look)
}

// isControl reports whether a character only controls the layout, or is private to the program that wrote it.
func isControl(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u00AD', '\u200B', '\u200E', '\u200F', '\uFEFF':
		return true
	}
	return r < ' ' || r >= 0x7F && r < 0xA0 || r >= '\uE000' && r <= '\uF8FF'
}

// oneLine returns a text on one line, without control characters.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
