package compose

import (
	"iter"
	"strings"
	"unicode/utf8"
)

// BlockRunes is about how much code or data a block holds. Shorter units share a block.
const BlockRunes = 1000

// LongLine is the length, in bytes, from which on a line was probably written by a program.
const LongLine = 4 * BlockRunes

// HasLongLine reports whether a text has a line longer than LongLine.
func HasLongLine(text string) bool {
	if len(text) <= LongLine {
		return false
	}
	for line := range strings.Lines(text) {
		if len(line) > LongLine {
			return true
		}
	}
	return false
}

// CutLine cuts a line of code into pieces of about the length of a block, preferably after a semicolon, a brace or a
// comma. The pieces together are the line.
func CutLine(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for len(line) > BlockRunes {
			end := BlockRunes
			for end > 0 && !utf8.RuneStart(line[end]) {
				end--
			}
			for _, marks := range []string{";}", ",>", " "} {
				if at := strings.LastIndexAny(line[:end], marks); at > BlockRunes/2 {
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
