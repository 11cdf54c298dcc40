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

const fenceMark = "```" // of a block of code

var (
	linkMark = regexp.MustCompile(`\[([^\[\]]*)\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+"[^"]*")?\)`)
	itemMark = regexp.MustCompile(`^\s*(?:[-*+]|\d+[.)]) `)
	address  = regexp.MustCompile(`<?(?:https?://|www\.)[^\s<>]+>?`)
)

// isStub reports whether a text leads elsewhere and says little by itself: a list of links, a table of contents. A text that
// is the whole of its document is also a stub if it is short and has a link: "This page has moved to …".
func isStub(text string, isWhole bool) bool {
	if !strings.Contains(text, "](") && !strings.Contains(text, "://") {
		return false
	}
	prose, own := withoutCode(text)
	plain := len(prose) == len(text) // without code and lists
	rest, linked := withoutLinks(prose)
	if strings.Contains(rest, "://") || strings.Contains(rest, "www.") {
		rest = address.ReplaceAllStringFunc(rest, func(string) string {
			linked += addressLetters
			return " "
		})
	}
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

// withoutCode returns a text without blocks of code, and the number of their letters.
func withoutCode(text string) (prose string, inCode int) {
	before, rest, found := strings.Cut(text, fenceMark)
	if !found {
		return text, 0
	}
	var b strings.Builder
	b.WriteString(before)
	for found {
		var block, after string
		block, rest, _ = strings.Cut(rest, fenceMark)
		after, rest, found = strings.Cut(rest, fenceMark)
		b.WriteByte(' ')
		b.WriteString(after)
		inCode += letters(block)
	}
	return b.String(), inCode
}

// withoutLinks returns a text without links and images, and the number of letters of the links' labels.
func withoutLinks(text string) (rest string, linked int) {
	links := linkMark.FindAllStringSubmatchIndex(text, -1)
	if len(links) == 0 {
		return text, 0
	}
	var b strings.Builder
	b.Grow(len(text))
	from := 0
	for _, m := range links {
		start, end := m[0], m[1]
		if start > from && text[start-1] == '!' {
			start--
		} else {
			linked += letters(text[m[2]:m[3]])
		}
		b.WriteString(text[from:start])
		b.WriteByte(' ')
		from = end
	}
	b.WriteString(text[from:])
	return b.String(), linked
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
