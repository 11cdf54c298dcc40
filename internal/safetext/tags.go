package safetext

import (
	"slices"
	"strings"
	"unicode"
)

// EscapeTags returns text in which no tag of the given names opens or closes: the
// "<" of such a tag becomes "‹". Case, and white space and invisible characters
// after the "<", make no difference. Prompts mark quoted material by tags; text
// that has passed EscapeTags cannot end its mark.
func EscapeTags(text string, names ...string) string {
	var escaped strings.Builder
	start := 0
	for i := strings.IndexByte(text, '<'); i >= 0; {
		tag := strings.TrimLeftFunc(text[i+1:], func(r rune) bool { return r == '/' || unicode.IsSpace(r) || !unicode.IsGraphic(r) })
		if slices.ContainsFunc(names, func(name string) bool { return len(tag) >= len(name) && strings.EqualFold(tag[:len(name)], name) }) {
			escaped.WriteString(text[start:i] + "‹")
			start = i + 1
		}
		next := strings.IndexByte(text[i+1:], '<')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	escaped.WriteString(text[start:])
	return escaped.String()
}
