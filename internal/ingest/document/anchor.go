package document

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/safetext"
)

// Anchors makes the fragments of the headings of a document. It holds those in use.
type Anchors map[string]int

// Take returns an explicit anchor, or makes one from the text of a heading as GitHub does: lower case, with letters,
// digits, - and _, and with - for blanks. A repeated anchor gets a number.
func (a Anchors) Take(explicit, text string) string {
	anchor := explicit
	if anchor == "" {
		anchor = slug(text)
	}
	if anchor == "" {
		anchor = "section"
	}
	count, taken := a[anchor]
	if !taken {
		a[anchor] = 0
		return anchor
	}
	for {
		count++
		numbered := anchor + "-" + strconv.Itoa(count)
		if _, found := a[numbered]; !found {
			a[anchor], a[numbered] = count, 0
			return numbered
		}
	}
}

func slug(text string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(text)) {
		switch {
		case r == ' ' || r == '\t':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r):
			b.WriteRune(r)
		}
	}
	return safetext.TruncateBytes(b.String(), 200)
}
