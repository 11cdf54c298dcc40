package chat

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search"
)

// citations turns the passage numbers in a streamed answer into source numbers, piece by piece. A piece may end anywhere;
// what cannot be decided yet is held back until it can. The zero value has no passages.
//
// A citation stands in prose: a bracket in code, one that follows a word, a call or another bracket at once, as an index
// does, an escaped one, and the text of a link are left as they are, and so is one that has no number of a passage.
type citations struct {
	hits    []search.Hit // passage n is hits[n-1]
	sources []Source     // in the order in which they were cited
	used    map[int]bool // passages that were cited, by index in hits
	number  map[uuid.UUID]int
	strip   bool // every citation is taken out, whatever its numbers
	escape  bool // citations become escaped brackets: the text is a quote, and they are those of its author

	held      string
	before    rune   // the character before this point; 0 behind a citation
	gap       string // blanks before a citation that was taken out, for one that may follow right behind it
	adjacent  []int  // sources cited right before this point, so that none stands twice in a row
	midLine   bool   // something other than blanks stands on this line
	backticks int    // how many opened the inline code we are in
	fence     byte   // the character of the code fence we are in
	fenceLen  int
	line      line
}

func newCitations(hits []search.Hit) *citations {
	return &citations{hits: hits, used: make(map[int]bool), number: make(map[uuid.UUID]int)}
}

// source returns the number of a passage's document among the sources, adding it when it is new. The passage is counted
// from 0.
func (c *citations) source(passage int) int {
	hit := c.hits[passage]
	c.used[passage] = true
	n, known := c.number[hit.Document]
	if !known {
		c.sources = append(c.sources, Source{ID: hit.Document, Title: hit.Title, URL: hit.URL})
		n = len(c.sources)
		c.number[hit.Document] = n
	}
	return n
}

// cited reports whether a passage was cited.
func (c *citations) cited(hit search.Hit) bool {
	for i := range c.used {
		if c.hits[i].Passage == hit.Passage {
			return true
		}
	}
	return false
}

// write takes the next piece of the answer and returns what can be shown by now.
func (c *citations) write(text string) string {
	shown, rest := c.advance(c.held+text, false)
	c.held = rest
	return shown
}

// flush returns what was held back, at the end of the answer.
func (c *citations) flush() string {
	shown, _ := c.advance(c.held, true)
	c.held = ""
	return shown
}

// advance goes through s and returns what is decided and, unless final, the rest that is not.
func (c *citations) advance(s string, final bool) (shown, rest string) {
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		n, decided := c.step(&out, s[i:], final)
		if !decided {
			return out.String(), s[i:]
		}
		c.line.read(s[i : i+n])
		i += n
	}
	return out.String(), ""
}

// step handles the beginning of s and returns how many bytes it took; false when s must be longer to decide.
func (c *citations) step(out *strings.Builder, s string, final bool) (int, bool) {
	if c.fence != 0 && c.line.fenceQuoted && !c.midLine && !strings.ContainsRune(" \t>", rune(s[0])) {
		c.fence = 0 // the quote ends, and its fence with it
	}
	switch b := s[0]; {
	case b == '\n':
		if !c.midLine {
			c.backticks = 0 // a blank line ends a paragraph, and inline code with it
		}
		c.midLine = false
		c.plain(out, s[:1])
		return 1, true
	case b == '`' || b == '~':
		n := len(s) - len(strings.TrimLeft(s, s[:1]))
		if n == len(s) && !final {
			return 0, false
		}
		c.ticks(b, n)
		c.midLine = true
		c.plain(out, s[:n])
		return n, true
	case (b == ' ' || b == '\t') && !c.inCode():
		n := len(s) - len(strings.TrimLeft(s, " \t"))
		if n == len(s) && !final {
			return 0, false
		}
		if n < len(s) && s[n] != '\n' && c.line.indents(s[:n]) || n == len(s) || s[n] != '[' {
			c.gap, c.before = "", ' '
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
		c.plain(out, s[:n])
		return n, true
	}
}

func (c *citations) inCode() bool { return c.fence != 0 || c.backticks > 0 || c.line.code }

func (c *citations) plain(out *strings.Builder, s string) {
	c.adjacent, c.gap = c.adjacent[:0], ""
	c.before, _ = utf8.DecodeLastRuneInString(s)
	out.WriteString(s)
}

// ticks notes a run of n backticks or tildes.
func (c *citations) ticks(b byte, n int) {
	switch {
	case c.line.code:
	case c.fence != 0:
		if b == c.fence && n >= c.fenceLen && (!c.midLine || c.line.fenceQuoted && c.line.quotes()) {
			c.fence = 0
		}
	case n >= 3 && (!c.midLine || c.line.marks()):
		c.fence, c.fenceLen = b, n
		c.line.fenceQuoted = c.line.quoted()
	case b == '~':
	case c.backticks == 0:
		c.backticks = n
	case c.backticks == n:
		c.backticks = 0
	}
}

// bracket handles the bracket at s[at], before which stand only blanks.
func (c *citations) bracket(out *strings.Builder, s string, at int, final bool) (int, bool) {
	numbers, n, status := citation(s[at:])
	if status == complete && at+n == len(s) {
		status = cutOff // a link may go on behind it
		if final {
			status = complete
		}
	}
	isText := at == 0 && (glues(c.before) || c.before == ')' && c.line.call) || status == noCitation || status == complete && strings.HasPrefix(s[at+n:], "(")
	switch {
	case !isText && status == cutOff && !final:
		return 0, false
	case isText || status == cutOff:
		c.midLine = true
		c.plain(out, s[:at+1])
		return at + 1, true
	case c.escape:
		c.midLine = true
		c.plain(out, s[:at]+`\[`+s[at+1:at+n-1]+`\]`)
		c.before = 0 // what follows at once may be a citation as well
		return at + n, true
	}
	if !c.strip && !slices.ContainsFunc(numbers, func(number int) bool { return number <= len(c.hits) }) {
		c.midLine = true
		c.plain(out, c.gap+s[:at+n])
		c.before = 0 // what follows at once may be a citation as well
		return at + n, true
	}
	c.before = 0
	var cited []int
	for _, number := range numbers {
		if number > len(c.hits) {
			continue
		}
		source := c.source(number - 1)
		if !slices.Contains(c.adjacent, source) {
			c.adjacent = append(c.adjacent, source)
			cited = append(cited, source)
		}
	}
	if len(cited) > 0 {
		c.midLine = true
		out.WriteString(c.gap + s[:at])
		c.gap = ""
	} else if len(c.adjacent) == 0 {
		c.gap += s[:at]
	}
	for _, source := range cited {
		out.WriteString("[" + strconv.Itoa(source) + "]")
	}
	return at + n, true
}

// glues reports whether a bracket right behind r is no citation: an index behind a name, the address of a link behind its
// text, or an escaped bracket. Scripts that are written without blanks have citations right behind their letters.
func glues(r rune) bool {
	return r == ']' || r == '\\' || wordly(r)
}

// status says whether a text begins with a citation.
type status uint8

const (
	noCitation status = iota
	complete
	cutOff // it may be one, if it went on
)

// maxCitation is the longest citation in bytes; longer brackets hold something else.
const maxCitation = 48

// citation reads [1], [1, 2], [1-3] or [^1] at the beginning of s and returns its numbers and its length. Numbers are
// from 1 to 99 without leading zeros: longer ones are years, indices and the like.
func citation(s string) (numbers []int, length int, st status) {
	from, open := 0, false // the start of a range, and whether one is open
	i := 1
	if strings.HasPrefix(s[i:], "^") {
		i++
	}
	for {
		i += blanks(s[i:])
		digits := i
		for i < len(s) && s[i] >= '0' && s[i] <= '9' {
			i++
		}
		if i-digits > 2 || i > maxCitation || i > digits && s[digits] == '0' {
			return nil, 0, noCitation
		}
		number, _ := strconv.Atoi(s[digits:i])
		hasDigits := i > digits
		i += blanks(s[i:])
		if i >= len(s) {
			return nil, 0, cutOff
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
			return nil, 0, cutOff
		default:
			return nil, 0, noCitation
		}
	}
}

// blanks counts the spaces at the beginning of s.
func blanks(s string) int { return len(s) - len(strings.TrimLeft(s, " ")) }

// withoutCitations takes the citations of an earlier answer out; their numbers mean nothing beside new passages.
func withoutCitations(text string) string {
	c := citations{strip: true}
	return c.write(text) + c.flush()
}

// withEscapedCitations is a quote in which the author's own [1] cannot be taken for one of the answer's. Code stays as it is.
func withEscapedCitations(quote string) string {
	c := citations{escape: true}
	return c.write(quote) + c.flush()
}
