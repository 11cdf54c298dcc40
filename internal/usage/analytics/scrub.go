package analytics

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Lengths of what is kept, in characters.
const (
	maxText    = 200 // of a query
	maxComment = 500
)

const (
	// longest is how much of a text is looked at, in bytes: a query may be as
	// long as a request's body.
	longest = 4096
	// margin is left out at the end of a text that was cut there: what stands
	// there may be a part of something that can only be told whole. No pattern
	// is longer.
	margin = 128
	// passes is how often a text is scrubbed at most until nothing changes.
	passes = 6
)

// removed stands for a text that could not be made clean.
const removed = "[removed]"

// Scrub replaces what may tell who somebody is, or let somebody in, by
// placeholders such as [email], and cuts the rest at most characters. Control
// and invisible characters go, white space becomes single spaces, digits of
// other scripts become 0 to 9. Scrub of its own result changes nothing. It is a
// net, not a proof: names of people, for one, pass through.
func Scrub(text string, most int) string {
	text, cut := head(text, longest)
	text = plain(text)
	for range passes {
		next := text
		for _, replace := range rules() {
			next = replace(next)
		}
		if cut {
			next = strings.TrimSpace(dropped(next, margin))
			cut = false
		}
		next = strings.TrimSpace(firstRunes(next, most))
		if next == text {
			return text
		}
		text = next
	}
	return removed
}

// Fold is the form of a scrubbed text by which equal questions are told.
func Fold(text string) string {
	return strings.Join(strings.Fields(strings.ToLower(text)), " ")
}

// head is the first bytes of a text, whole characters, and whether there were more.
func head(text string, most int) (string, bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}

// firstRunes is the first characters of a text.
func firstRunes(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// dropped is a text without its last characters.
func dropped(text string, last int) string {
	return firstRunes(text, max(utf8.RuneCountInString(text)-last, 0))
}

// plain writes a text in the forms that the rules know.
func plain(text string) string {
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
		case 0xff01 <= r && r <= 0xff5e: // full width forms of ASCII
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

// digitValue is the value of a decimal digit of any script: they stand in
// Unicode in runs of ten that begin with zero.
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
