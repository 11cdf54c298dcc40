package parse

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// longLine is the length, in bytes, from which on a line is taken for one that a program wrote.
const longLine = 4 * declarationRunes

func hasLongLine(text string) bool {
	if len(text) <= longLine {
		return false
	}
	for line := range strings.Lines(text) {
		if len(line) > longLine {
			return true
		}
	}
	return false
}

// isMinified reports code that a program has put on few lines.
func isMinified(text string) bool {
	lines := strings.Count(text, "\n") + 1
	return len(text) > 5*longLine && len(text)/lines > 500
}

// cutLine cuts a line of code into pieces of about a block's length, after a semicolon, a brace or a comma where there is
// one, and nowhere within a character. The pieces together are the line.
func cutLine(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(line) > declarationRunes {
			end := declarationRunes
			for end > 0 && !utf8.RuneStart(line[end]) {
				end--
			}
			for _, marks := range []string{";}", ",>", " "} {
				if at := strings.LastIndexAny(line[:end], marks); at > declarationRunes/2 {
					end = at + 1
					break
				}
			}
			if !yield(line[:end]) {
				return
			}
			line = line[end:]
		}
		if line != "" {
			yield(line)
		}
	}
}
