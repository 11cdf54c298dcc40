package analytics

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/safetext"
)

// Maximum lengths of stored texts, in characters.
const (
	MaxText    = 200 // of a query
	maxComment = 500
)

const (
	// maxScrubbed is the largest number of bytes of a text that is scrubbed. A query may be
	// as long as a request body.
	maxScrubbed = 4096
	// margin is how many characters are removed from the end of a text that was cut. They
	// may be a part of something that a pattern matches only as a whole. No match is longer.
	margin = 128
	// maxPasses is how often a text is scrubbed until nothing changes.
	maxPasses = 6
)

// removed replaces a text that still changes after maxPasses.
const removed = "[removed]"

// Scrub replaces personal data and credentials by placeholders such as [email] and cuts
// the result to limit characters. It removes control and invisible characters, collapses
// white space and turns digits of other scripts into 0 to 9. Scrub is idempotent. It does
// not find everything; for example, it keeps the names of people.
func Scrub(text string, limit int) string {
	cut := len(text) > maxScrubbed
	text = normalize(safetext.TruncateBytes(text, maxScrubbed))
	for range maxPasses {
		next := text
		for _, replace := range rules() {
			next = replace(next)
		}
		if cut {
			next = strings.TrimSpace(withoutLast(next, margin))
			cut = false
		}
		next = strings.TrimSpace(firstRunes(next, limit))
		if next == text {
			return text
		}
		text = next
	}
	return removed
}

// Fold returns a scrubbed text in lower case with single spaces. Texts with the same form
// count as the same query.
func Fold(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// firstRunes returns the first n characters of a text.
func firstRunes(text string, n int) string {
	count := 0
	for i := range text {
		if count == n {
			return text[:i]
		}
		count++
	}
	return text
}

// withoutLast returns a text without its last n characters.
func withoutLast(text string, n int) string {
	return firstRunes(text, max(utf8.RuneCountInString(text)-n, 0))
}

// normalize returns a text with the characters and spaces that the rules expect.
func normalize(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	space := false
	for _, r := range text {
		switch {
		case r == utf8.RuneError, unicode.Is(unicode.Cf, r):
			continue
		case unicode.IsSpace(r), unicode.IsControl(r):
			space = true
			continue
		case 0xff01 <= r && r <= 0xff5e: // fullwidth forms of ASCII
			r -= 0xff01 - '!'
		case r > unicode.MaxASCII && unicode.Is(unicode.Nd, r):
			r = '0' + digitValue(r)
		}
		if space && out.Len() > 0 {
			out.WriteByte(' ')
		}
		space = false
		out.WriteRune(r)
	}
	return out.String()
}

// digitValue returns the value of a decimal digit of any script. In Unicode, the digits of
// a script are contiguous and begin with zero.
func digitValue(r rune) rune {
	for _, run := range unicode.Nd.R16 {
		if rune(run.Lo) <= r && r <= rune(run.Hi) {
			return (r - rune(run.Lo)) % 10
		}
	}
	for _, run := range unicode.Nd.R32 {
		low, high := rune(run.Lo), rune(run.Hi) //nolint:gosec // code points have 21 bits
		if low <= r && r <= high {
			return (r - low) % 10
		}
	}
	return 0
}
