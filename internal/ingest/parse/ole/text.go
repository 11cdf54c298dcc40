package ole

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// addRune appends a character of a file to a line. Characters that only control the layout are left out.
func addRune(l *wordmodel.Line, r rune, look wordmodel.Look) {
	switch {
	case r >= ' ' && r < 0x7F, r == '\t':
		l.AppendRune(r, look)
	case r == markLine:
		l.AppendRune('\n', look)
	case r == markColumn:
		l.AppendRune(' ', look)
	case r == hyphenHard:
		l.AppendRune('-', look)
	case r < ' ' || unicode.IsControl(r) || r == '\u00AD' || r == '\u200B' || r == '\uFEFF' || r == utf8.RuneError:
	case r >= 0xF020 && r <= 0xF0FF:
		l.Append(wordmodel.SymbolText("", r), look)
	case r >= 0xE000 && r <= 0xF8FF:
	default:
		l.AppendRune(r, look)
	}
}

// clean returns a text without characters that only control the layout.
func clean(text string) string {
	var l wordmodel.Line
	for _, r := range text {
		addRune(&l, r, wordmodel.Look{})
	}
	return string(l.Text)
}

// oneLine returns the words of a text on one line, without characters that only control the layout.
func oneLine(text string) string { return strings.Join(strings.Fields(clean(text)), " ") }
