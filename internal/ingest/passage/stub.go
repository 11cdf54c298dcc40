package passage

import (
	"regexp"
	"strings"
	"unicode"
)

// Shares and lengths, in letters and digits, by which stubs are known.
const (
	// minLinked is the share of a list that is in links, minLinkedProse that of a paragraph.
	minLinked, minLinkedProse = 0.7, 0.85
	// maxPointer is the longest text beside the links of a document that only points elsewhere, minPointer the least share
	// of links.
	maxPointer, minPointer = 80, 0.15
	// addressLetters is what an address without a label counts as.
	addressLetters = 20
)

var (
	linkMark = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)`)
	code     = regexp.MustCompile("(?s)```.*?(?:```|$)")
	itemMark = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)]) `)
	address  = regexp.MustCompile(`<?(?:https?://|www\.)[^\s<>]+>?`)
)

// isStub reports whether a text leads elsewhere and says little by itself: a list of links, a table of contents. A text that
// is the whole of its document is also a stub if it is short and has a link: "This page has moved to …".
func isStub(text string, isWhole bool) bool {
	if !strings.Contains(text, "](") && !strings.Contains(text, "://") {
		return false
	}
	linked, own := 0, 0
	plain := true // without code and lists
	text = code.ReplaceAllStringFunc(text, func(block string) string {
		own += letters(block)
		plain = false
		return " "
	})
	rest := linkMark.ReplaceAllStringFunc(text, func(link string) string {
		if link[0] == '!' {
			return " "
		}
		linked += letters(linkMark.FindStringSubmatch(link)[1])
		return " "
	})
	rest = address.ReplaceAllStringFunc(rest, func(string) string {
		linked += addressLetters
		return " "
	})
	least := minLinkedProse
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "#") {
			own += letters(line)
		}
		if itemMark.MatchString(line) {
			least, plain = minLinked, false
		}
	}
	share := float64(linked) / float64(max(linked+own, 1))
	return share >= least || isWhole && plain && own <= maxPointer && share >= minPointer
}

// letters returns the number of letters and digits. A character of a script without spaces counts as two.
func letters(text string) int {
	n := 0
	for _, r := range text {
		switch {
		case r >= 0x2E80 && unicode.IsLetter(r):
			n += 2
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			n++
		}
	}
	return n
}
