package pdf

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// tidy removes control characters, private characters and byte order marks.
func tidy(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\r':
			return '\n'
		case unicode.IsControl(r), r == utf8.RuneError, r == 0xFEFF, r == 0xAD, r == 0x200B, r == 0x2060:
			return -1
		case r == 0xA0 || r == 0x2007 || r == 0x202F:
			return ' '
		case unicode.Is(unicode.Co, r), r >= 0xFFF0 && r <= 0xFFFF:
			return -1
		}
		return r
	}, text)
}

// softHyphen marks a hyphen that may only be there because of a line break.
const softHyphen = '\u00ad'

// spell appends the text of a glyph. isPictorial is set for a font of symbols.
func spell(text []byte, r rune, isPictorial bool) []byte {
	switch {
	case r == 2, r == 0xFFFE:
		// pdfium's character for a hyphen at the end of a line.
		return utf8.AppendRune(text, softHyphen)
	case r >= 0x20 && r < 0x7f:
		return append(text, byte(r))
	case r < 0xa0:
		return text
	case r >= 0xFB00 && r <= 0xFB06:
		return append(text, ligatures[r-0xFB00]...)
	case r >= 0xF000 && r <= 0xF0FF:
		return private(text, r, isPictorial)
	case unicode.Is(unicode.Co, r), r == utf8.RuneError, r == 0xFEFF, r == 0x200B, r == 0x2060, r >= 0xFFF0 && r <= 0xFFFF:
		return text
	}
	return utf8.AppendRune(text, r)
}

var ligatures = [...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}

// private appends the text of a private character of a symbol font, which has the code of the font. Bullets are those
// of Symbol and Wingdings. In other fonts the code is that of a letter.
func private(text []byte, r rune, isPictorial bool) []byte {
	switch r {
	case 0xF0B7, 0xF0A7, 0xF0A8, 0xF076, 0xF0D8, 0xF0FC, 0xF06E, 0xF06C, 0xF071, 0xF0E0, 0xF0F0, 0xF02D, 0xF0BE, 0xF09F, 0xF09E, 0xF077:
		return append(text, "•"...)
	}
	if code := r - 0xF000; !isPictorial && code > 0x20 && code < 0x7f {
		return append(text, byte(code))
	}
	return text
}

// compose joins letters with combining marks after them.
func compose(text string) string {
	if norm.NFC.IsNormalString(text) {
		return text
	}
	return norm.NFC.String(text)
}

// isRightToLeft reports whether a letter belongs to a script that is written from right to left.
func isRightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC || r >= 0x10800 && r <= 0x10FFF ||
		r >= 0x1E800 && r <= 0x1EFFF
}

// isIdeographic reports whether a character belongs to a script without blanks between words.
func isIdeographic(r rune) bool {
	return r >= 0x2E80 && r <= 0x9FFF && r != 0x3000 || r >= 0xF900 && r <= 0xFAFF || r >= 0xFF00 && r <= 0xFF9F || r >= 0x20000 && r <= 0x3FFFF
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

func lastRune(text string) rune {
	r, _ := utf8.DecodeLastRuneInString(text)
	return r
}
