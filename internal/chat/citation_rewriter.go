package chat

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search"
)

// citationRewriter replaces the passage numbers in a streamed answer by source
// numbers. A piece may end anywhere; undecided text is held back. The zero
// value has no passages.
//
// Citations occur in prose only. These brackets are not citations: brackets in
// code, after a word, a call or another bracket as in an index, escaped
// brackets, link texts, and brackets without the number of a passage.
type citationRewriter struct {
	hits          []search.Hit // passage n is hits[n-1]
	sources       []Source     // in the order of their first citation
	citedHits     map[int]bool // indices of cited passages in hits
	sourceNumbers map[uuid.UUID]int
	strip         bool // remove all citations
	escape        bool // escape citations: the text is a quote, and they are those of its author

	pending      string
	previous     rune   // the character before the position; 0 after a citation
	removedSpace string // blanks before a removed citation, for a citation that may follow it
	adjacent     []int  // sources cited directly before the position; a source is cited once in a row
	midLine      bool   // the line has characters other than blanks
	backticks    int    // length of the mark that opened inline code
	fence        byte   // character of the open code fence
	fenceLen     int
	line         lineState
}

func newCitationRewriter(hits []search.Hit) *citationRewriter {
	return &citationRewriter{hits: hits, citedHits: make(map[int]bool), sourceNumbers: make(map[uuid.UUID]int)}
}

// sourceNumber returns the number of the document of hits[passage] among the
// sources. It adds the document if it is new.
func (c *citationRewriter) sourceNumber(passage int) int {
	hit := c.hits[passage]
	c.citedHits[passage] = true
	n, known := c.sourceNumbers[hit.Document]
	if !known {
		c.sources = append(c.sources, Source{ID: hit.Document, Title: hit.Title, URL: hit.URL})
		n = len(c.sources)
		c.sourceNumbers[hit.Document] = n
	}
	c.sources[n-1].Passages = withPassage(c.sources[n-1].Passages, hit)
	return n
}

// isCited reports whether a passage was cited.
func (c *citationRewriter) isCited(hit search.Hit) bool {
	for i := range c.citedHits {
		if c.hits[i].Passage == hit.Passage {
			return true
		}
	}
	return false
}

// write takes the next piece of the answer and returns the text that can be
// shown already.
func (c *citationRewriter) write(text string) string {
	shown, rest := c.advance(c.pending+text, false)
	c.pending = rest
	return shown
}

// flush returns the text that was held back, at the end of the answer.
func (c *citationRewriter) flush() string {
	shown, _ := c.advance(c.pending, true)
	c.pending = ""
	return shown
}

// advance rewrites s and returns the decided text and, unless final, the
// undecided rest.
func (c *citationRewriter) advance(s string, final bool) (shown, rest string) {
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		n, decided := c.step(&out, s[i:], final)
		if !decided {
			return out.String(), s[i:]
		}
		c.line.advance(s[i : i+n])
		i += n
	}
	return out.String(), ""
}

// step rewrites the beginning of s and returns how many bytes it consumed. It
// reports false if it needs a longer s.
func (c *citationRewriter) step(out *strings.Builder, s string, final bool) (int, bool) {
	if c.fence != 0 && c.line.fenceInQuote && !c.midLine && !strings.ContainsRune(" \t>", rune(s[0])) {
		c.fence = 0 // the end of a block quote ends its fence
	}
	switch b := s[0]; {
	case b == '\n':
		if !c.midLine {
			c.backticks = 0 // a blank line ends inline code
		}
		c.midLine = false
		c.copyText(out, s[:1])
		return 1, true
	case b == '`' || b == '~':
		n := len(s) - len(strings.TrimLeft(s, s[:1]))
		if n == len(s) && !final {
			return 0, false
		}
		c.codeMark(b, n)
		c.midLine = true
		c.copyText(out, s[:n])
		return n, true
	case (b == ' ' || b == '\t') && !c.inCode():
		n := len(s) - len(strings.TrimLeft(s, " \t"))
		if n == len(s) && !final {
			return 0, false
		}
		if n < len(s) && s[n] != '\n' && c.line.noteIndent(s[:n]) || n == len(s) || s[n] != '[' {
			c.removedSpace, c.previous = "", ' '
			out.WriteString(s[:n])
			return n, true
		}
		return c.bracket(out, s, n, final)
	case b == '[' && !c.inCode():
		return c.bracket(out, s, 0, final)
	default:
		n := strings.IndexAny(s[1:], "\n`~ \t[") + 1
		if n == 0 {
			n = len(s)
		}
		c.midLine = c.midLine || strings.Trim(s[:n], " \t") != ""
		c.copyText(out, s[:n])
		return n, true
	}
}

func (c *citationRewriter) inCode() bool {
	return c.fence != 0 || c.backticks > 0 || c.line.indentedCode
}

func (c *citationRewriter) copyText(out *strings.Builder, s string) {
	c.adjacent, c.removedSpace = c.adjacent[:0], ""
	c.previous, _ = utf8.DecodeLastRuneInString(s)
	out.WriteString(s)
}

// codeMark handles a run of n backticks or tildes.
func (c *citationRewriter) codeMark(b byte, n int) {
	switch {
	case c.line.indentedCode:
	case c.fence != 0:
		if b == c.fence && n >= c.fenceLen && (!c.midLine || c.line.fenceInQuote && c.line.hasOnlyQuoteMarkers()) {
			c.fence = 0
		}
	case n >= 3 && (!c.midLine || c.line.hasOnlyMarkers()):
		c.fence, c.fenceLen = b, n
		c.line.fenceInQuote = c.line.inBlockquote()
	case b == '~':
	case c.backticks == 0:
		c.backticks = n
	case c.backticks == n:
		c.backticks = 0
	}
}

// bracket handles the bracket at s[at], which only blanks precede.
func (c *citationRewriter) bracket(out *strings.Builder, s string, at int, final bool) (int, bool) {
	numbers, n, status := parseCitation(s[at:])
	if status == complete && at+n == len(s) {
		status = incomplete // the address of a link may follow
		if final {
			status = complete
		}
	}
	isLiteral := at == 0 && (bindsBracket(c.previous) || c.previous == ')' && c.line.afterCall) || status == noCitation || status == complete && strings.HasPrefix(s[at+n:], "(")
	switch {
	case !isLiteral && status == incomplete && !final:
		return 0, false
	case isLiteral || status == incomplete:
		c.midLine = true
		c.copyText(out, s[:at+1])
		return at + 1, true
	case c.escape:
		c.midLine = true
		c.copyText(out, s[:at]+`\[`+s[at+1:at+n-1]+`\]`)
		c.previous = 0 // a citation may follow directly
		return at + n, true
	}
	if !c.strip && !slices.ContainsFunc(numbers, func(number int) bool { return number <= len(c.hits) }) {
		c.midLine = true
		c.copyText(out, c.removedSpace+s[:at+n])
		c.previous = 0 // a citation may follow directly
		return at + n, true
	}
	c.previous = 0
	var cited []int
	for _, number := range numbers {
		if number > len(c.hits) {
			continue
		}
		source := c.sourceNumber(number - 1)
		if !slices.Contains(c.adjacent, source) {
			c.adjacent = append(c.adjacent, source)
			cited = append(cited, source)
		}
	}
	if len(cited) > 0 {
		c.midLine = true
		out.WriteString(c.removedSpace + s[:at])
		c.removedSpace = ""
	} else if len(c.adjacent) == 0 {
		c.removedSpace += s[:at]
	}
	for _, source := range cited {
		out.WriteString("[" + strconv.Itoa(source) + "]")
	}
	return at + n, true
}

// bindsBracket reports whether a bracket directly after r is no citation: an
// index after a name, a link address after its text, or an escaped bracket. In
// scripts without blanks between words, citations follow letters directly.
func bindsBracket(r rune) bool {
	return r == ']' || r == '\\' || isWordRune(r)
}

// status reports whether text begins with a citation.
type status uint8

const (
	noCitation status = iota
	complete
	incomplete // more text is needed
)

// maxCitation is the maximum length of a citation in bytes.
const maxCitation = 48

// parseCitation parses [1], [1, 2], [1-3] or [^1] at the beginning of s and
// returns its numbers and its length. Numbers are 1 to 99 without leading
// zeros. Longer numbers are years, indices and the like.
func parseCitation(s string) (numbers []int, length int, st status) {
	from, open := 0, false // the start of the open range, if any
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for {
		i += countSpaces(s[i:])
		digits := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i-digits > 2 || i > maxCitation || i > digits && s[digits] == '0' {
			return nil, 0, noCitation
		}
		number, _ := strconv.Atoi(s[digits:i])
		hasDigits := i > digits
		i += countSpaces(s[i:])
		if i >= len(s) {
			return nil, 0, incomplete
		}
		if !hasDigits {
			return nil, 0, noCitation
		}
		if open && number <= from {
			return nil, 0, noCitation
		}
		if !open {
			from = number
		}
		for n := from; n <= number; n++ {
			if !slices.Contains(numbers, n) {
				numbers = append(numbers, n)
			}
		}
		switch {
		case s[i] == ']':
			return numbers, i + 1, complete
		case s[i] == ',' || s[i] == ';':
			open = false
			i++
		case s[i] == '-' && !open:
			from, open = number, true
			i++
		case strings.HasPrefix(s[i:], "–") && !open:
			from, open = number, true
			i += len("–")
		case s[i] >= 0x80 && strings.HasPrefix("–", s[i:]):
			return nil, 0, incomplete
		default:
			return nil, 0, noCitation
		}
	}
}

// countSpaces counts the spaces at the beginning of s.
func countSpaces(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// stripCitations removes the citations of an earlier answer, because new
// passages have other numbers.
func stripCitations(text string) string {
	c := citationRewriter{strip: true}
	return c.write(text) + c.flush()
}

// escapeCitations escapes brackets such as [1] in a quote, so that they do not
// look like citations of the answer. Code stays unchanged.
func escapeCitations(quote string) string {
	c := citationRewriter{escape: true}
	return c.write(quote) + c.flush()
}
