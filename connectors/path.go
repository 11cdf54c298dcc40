package connectors

import (
	"strings"
	"unicode"
)

// PathSegment returns a title as one segment of an [Item].Path: a slash becomes
// the division slash "∕", a control character a space.
func PathSegment(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '/':
			return '∕'
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, title)
}
