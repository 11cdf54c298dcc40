package ooxml

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// addText appends text of an XML file, in which line ends are blanks, to a line. Characters that only control the layout are left
// out. Characters of symbol fonts become the symbols that they show.
func addText(l *wordmodel.Line, text []byte, look wordmodel.Look, font string) {
	for len(text) > 0 {
		n := 0
		for n < len(text) && text[n] >= ' ' && text[n] < 0x7F {
			n++
		}
		l.Text = append(l.Text, text[:n]...)
		if text = text[n:]; len(text) == 0 {
			break
		}
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\n' || r == '\r':
			l.Text = append(l.Text, ' ')
		case r == '\t':
			l.Text = append(l.Text, '\t')
		case r == utf8.RuneError && size <= 1:
			l.Text = append(l.Text, "\uFFFD"...)
		case r < ' ' || r == 0x7F || r == '\u00AD' || r == '\u200B' || r == '\uFEFF':
		case isPrivateSymbol(r):
			l.Text = append(l.Text, wordmodel.SymbolText(font, r)...)
		default:
			l.Text = append(l.Text, text[:size]...)
		}
		text = text[size:]
	}
	l.Mark(look)
}

// isPrivateSymbol reports whether a character is in the private range in which Word stores the characters of symbol fonts.
func isPrivateSymbol(r rune) bool { return r >= '\uF020' && r <= '\uF0FF' }

// symbolOf returns the text of a w:sym element, which has a font and a hexadecimal code.
func symbolOf(font, code string) string {
	r := rune(0)
	for _, digit := range strings.ToLower(code) {
		switch {
		case digit >= '0' && digit <= '9':
			r = r<<4 | (digit - '0')
		case digit >= 'a' && digit <= 'f':
			r = r<<4 | (digit - 'a' + 10)
		default:
			return ""
		}
		if r > utf8.MaxRune {
			return ""
		}
	}
	switch {
	case isPrivateSymbol(r), r >= 0x20 && r <= 0xFF && wordmodel.IsSymbolFont(font):
		return wordmodel.SymbolText(font, r)
	case r < ' ' || r >= 0xD800 && r <= 0xF8FF:
		return ""
	}
	return string(r)
}

// oneLine returns a text of the file on one line, without characters that only control the layout.
func oneLine(text string) string {
	var l wordmodel.Line
	addText(&l, []byte(text), wordmodel.Look{}, "")
	return l.Plain()
}

// maxDescription is the longest description of a picture, in bytes, that is kept.
const maxDescription = 4000

// pictureText returns the description of a picture. It is "" if that is only the name of a file.
func pictureText(description string) string {
	text := oneLine(description)
	if at := strings.Index(text, "Description automatically generated"); at >= 0 {
		text = strings.TrimSpace(text[:at])
	}
	if len(text) > maxDescription {
		return ""
	}
	lower := strings.ToLower(text)
	for _, extension := range []string{".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".bmp", ".tif", ".tiff", ".svg", ".webp"} {
		if strings.HasSuffix(lower, extension) {
			return ""
		}
	}
	return text
}
