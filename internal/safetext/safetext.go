package safetext

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Truncate returns text if it has at most limit characters (code points). A longer
// text is cut to limit characters, of which the last one is an ellipsis. A limit
// below 1 gives "".
func Truncate(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if limit < 1 {
		return ""
	}
	n, end := 0, 0
	for i := range text {
		if n == limit-1 {
			end = i
		}
		if n++; n > limit {
			return text[:end] + "…"
		}
	}
	return text
}

// TruncateBytes returns the longest prefix of text that has at most limit bytes
// and does not end within a character.
func TruncateBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	if limit < 0 {
		return ""
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Storable returns text as PostgreSQL accepts it: invalid UTF-8 and NUL bytes are
// replaced by U+FFFD.
func Storable(text string) string {
	if utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 {
		return text
	}
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// Line returns text on one line, fit for a message, a log or a terminal: runs of
// white space become one space, white space at both ends goes, and so do invalid
// bytes and characters that are not printable.
func Line(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return -1
		default:
			return r
		}
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
