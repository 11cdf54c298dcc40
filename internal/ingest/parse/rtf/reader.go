package rtf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

const formatName = "RTF document"

// maxGroups is how deep groups are told apart. What stands deeper is read as if it stood there.
const maxGroups = 10_000

// Read reads a document: headings by their styles or outline levels, lists, tables, code and quotations by their styles or
// fonts, links, footnotes at the end of their section, comments after their paragraph, headers and footers once at the end.
// Deleted and hidden text is left out. Blocks have pages only where the breaks in the file are as many as the file says
// that it has pages. Extra "damaged" says what is missing of a file that is broken; one without any text is a
// *document.DamagedError.
func Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	content, found := begin(in.Content)
	if !found {
		return nil, &document.DamagedError{Format: formatName, Detail: "it does not begin as RTF does"}
	}
	r := newReader(ctx, content, in.Limits.WithDefaults())
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.draft()
}

// begin finds where a file begins, after a mark of its encoding and blanks.
func begin(content []byte) ([]byte, bool) {
	content = bytes.TrimLeft(bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")), " \t\r\n\x00")
	return content, bytes.HasPrefix(content, []byte(`{\rtf`))
}

// destination is what the text of a group is for.
type destination uint8

const (
	destText destination = iota
	destFonts
	destStyles
	destStyle
	destLists
	destOverrides
	destInfo
	destInfoText
	destInfoTime
	destInstruction
	destMarker
	destNumbering // properties of numbers, as files of before 1997 have them
	destAuthor
	destPicture
	destShapeName
	destShapeValue
	destHTMLTag
)

// state is what a group sets and its end takes back.
type state struct {
	dest destination
	own  bool // the group itself set its destination or flow
	flow *flow
	// field is the innermost field, instruction the one whose instruction the text is.
	field, instruction *field

	font, otherFont int // otherFont is that of text from right to left
	rightToLeft     bool
	bold, italic    bool
	hidden, deleted bool
	fallback        int // how many characters follow \u for those who do not know it
	link            string
	htmlHidden      bool
	paragraph       paragraph
	reference       bool // a number that refers to a note
	nested          bool // the definition of a row of a table in a table
}

// paragraph is what is known of the paragraph that is read.
type paragraph struct {
	style, outline int // outline is -1 where it does not say
	list, level    int
	indent, first  int // in twips; first is that of the first line, below 0 where it hangs out
	inTable        bool
	depth          int // of tables in tables
	breaks         bool
	numbering      byte // 0, b for bullets or n for numbers, as files of before 1997 have them
}

func plainParagraph() paragraph { return paragraph{outline: -1} }

// reader reads one file.
type reader struct {
	ctx       context.Context
	limits    document.Limits
	scanner   scanner
	state     state
	stack     []state
	deeper    int // groups that are open beyond the greatest depth
	steps     int
	cost      int
	ignorable bool          // \* was read
	skip      int           // characters to leave out after \u
	high      rune          // first half of a pair
	html      *bytes.Buffer // where HTML goes, for Encapsulated

	// Text in the same place, code page and look is collected before it is decoded.
	pending []byte
	high8   byte // how bytes above 0x7F among it were written: 0 for none, r as they are, e escaped
	place   place

	page, defaultFont int // of the document
	fonts             map[int]*font
	declared          map[int]bool
	font              *font
	styles            map[int]*style
	style             style
	lists, overrides  map[int]*listDefinition
	list              *listDefinition
	listID            int

	info   info
	author string
	shape  shape
	// described is the description of the last picture that has one.
	described string
	title     string
	root      *flow
	notes     []string // of the section
	settled   int      // how many of them were there when the paragraph began
	noted     int
	headers   []string
	contents  []int // blocks of the body that are entries of a table of contents
	breaks    int
	section   bool // a section has ended, so that the next one begins on a new page
	broken    []string
	monoText  int
	allText   int
}

// place is where text goes, and what it looks like.
type place struct {
	dest        destination
	flow        *flow
	instruction *field
	page        int
	mono        bool
	look        wordmodel.Look
	dropped     bool
}

func newReader(ctx context.Context, content []byte, limits document.Limits) *reader {
	root := &flow{}
	return &reader{
		ctx: ctx, limits: limits, scanner: scanner{content: content}, page: pageWestern, root: root,
		state: state{flow: root, fallback: 1, paragraph: plainParagraph()},
		fonts: make(map[int]*font), styles: make(map[int]*style), lists: make(map[int]*listDefinition),
		overrides: make(map[int]*listDefinition), info: newInfo(),
	}
}

// read goes through the whole file. What is open at its end is closed.
func (r *reader) read() error {
	for {
		r.steps++
		if r.steps%1024 == 0 && r.ctx.Err() != nil {
			return fmt.Errorf("parse RTF: %w", r.ctx.Err())
		}
		if r.cost > r.limits.MaxText {
			return &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", r.limits.MaxText)}
		}
		t := r.scanner.next()
		if t.kind == tokenEnd {
			break
		}
		r.token(&t)
	}
	r.endParagraph(r.state.flow)
	if len(r.stack) > 0 {
		r.damage("the file ends before its last group does")
	}
	for len(r.stack) > 0 {
		r.deeper = 0
		r.closeGroup()
	}
	if f := r.state.flow; f != r.root {
		r.endParagraph(f)
		r.endTable(f)
		r.state.flow = r.root
		r.leave(f)
	}
	r.endParagraph(r.root)
	r.endTable(r.root)
	r.placeNotes(len(r.notes))
	return nil
}

func (r *reader) damage(what string) {
	for _, known := range r.broken {
		if known == what {
			return
		}
	}
	r.broken = append(r.broken, what)
}

func (r *reader) token(t *token) {
	ignorable := r.ignorable
	r.ignorable = false
	switch t.kind {
	case tokenOpen:
		r.skip = 0
		r.openGroup()
	case tokenClose:
		r.skip = 0
		r.closeGroup()
	case tokenText:
		text := t.text
		if r.skip > 0 {
			n := min(r.skip, len(text))
			r.skip -= n
			text = text[n:]
		}
		r.put(text, true)
	case tokenByte:
		if r.skip > 0 {
			r.skip--
			return
		}
		r.put([]byte{t.char}, false)
	case tokenBinary:
		r.skip = max(r.skip-1, 0)
	case tokenSymbol:
		r.symbol(t.char)
	case tokenWord:
		r.word(t, ignorable)
	case tokenEnd:
	}
}

func (r *reader) openGroup() {
	if len(r.stack) >= maxGroups {
		r.deeper++
		r.damage("groups are nested too deep")
		return
	}
	r.stack = append(r.stack, r.state)
	r.state.own = false
	if r.state.dest == destStyles {
		r.become(destStyle)
		r.style = style{based: -1, outline: -1}
	}
}

// become makes the group that is open one for another kind of text.
func (r *reader) become(dest destination) {
	r.flush()
	r.state.dest, r.state.own = dest, true
}

func (r *reader) closeGroup() {
	if r.deeper > 0 {
		r.deeper--
		return
	}
	if len(r.stack) == 0 {
		r.damage("braces do not match")
		return
	}
	if len(r.stack) == 1 && r.state.flow == r.root {
		r.endParagraph(r.root)
	}
	if r.state.own {
		r.flush()
		if r.state.flow != r.stack[len(r.stack)-1].flow {
			r.endParagraph(r.state.flow)
			r.endTable(r.state.flow)
		}
	}
	closed := r.state
	r.state = r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if closed.own {
		r.endDestination(&closed)
	}
	if len(r.stack) > 0 {
		return
	}
	if len(bytes.Trim(r.scanner.content[r.scanner.at:], "\x00\x1A \t\r\n}")) == 0 {
		r.scanner.at = len(r.scanner.content) // the end, and what programs leave behind it
	} else {
		r.damage("braces do not match")
	}
}

// symbol handles a backslash and a character that is no letter.
func (r *reader) symbol(c byte) {
	if c == '*' {
		r.ignorable = true
		return
	}
	if r.skip > 0 {
		r.skip--
		return
	}
	switch c {
	case '\\', '{', '}':
		r.put([]byte{c}, false)
	case '~':
		r.rune('\u00A0')
	case '_':
		r.rune('-')
	case '\t':
		r.rune('\t')
	case '\n', '\r':
		r.special("par")
	}
}

// put takes bytes of text. Raw ones stand in the file as they are.
func (r *reader) put(text []byte, raw bool) {
	if len(text) == 0 || r.state.dest == destPicture || r.state.dest == destNumbering {
		return
	}
	written := byte(0)
	switch {
	case isASCII(text):
	case raw:
		written = 'r'
	default:
		written = 'e'
	}
	if here := r.here(); here != r.place || written != 0 && r.high8 != 0 && written != r.high8 {
		r.flush()
		r.place = here
	}
	r.pending = append(r.pending, text...)
	r.high8 = max(r.high8, written)
}

// rune takes a character.
func (r *reader) rune(c rune) {
	r.flush()
	if r.state.dest == destPicture || r.state.dest == destNumbering {
		return
	}
	r.place = r.here()
	r.write(string(c))
}

// unicode takes the number after \u, half of a pair perhaps.
func (r *reader) unicode(value int) {
	c := rune(value) //nolint:gosec // bounded by the scanner
	if value < 0 {
		c += 0x10000
	}
	r.skip = r.state.fallback
	switch {
	case c >= 0xD800 && c < 0xDC00:
		r.high = c
		return
	case c >= 0xDC00 && c < 0xE000:
		c = utf16.DecodeRune(r.high, c)
	case c >= 0xF020 && c <= 0xF0FF:
		// Fonts of symbols have their characters in the range for private use.
		if page := r.codePage(r.fontNumber()); page < 0 {
			r.text(decode(page, []byte{byte(c)}, false)) //nolint:gosec // the low byte is meant
			return
		}
	}
	r.high = 0
	if c <= 0 || c == 0xFFFF || c == 0xFFFE || !utf8.ValidRune(c) || c == utf8.RuneError {
		return
	}
	r.rune(c)
}

// text takes text that is decoded.
func (r *reader) text(text string) {
	r.flush()
	r.place = r.here()
	r.write(text)
}

func (r *reader) fontNumber() int {
	if r.state.rightToLeft && r.state.otherFont >= 0 {
		return r.state.otherFont
	}
	return r.state.font
}

// here tells where text goes now.
func (r *reader) here() place {
	s := &r.state
	p := place{dest: s.dest, flow: s.flow, instruction: s.instruction, page: r.page}
	switch s.dest {
	case destText, destMarker, destHTMLTag:
		number := r.fontNumber()
		p.page = r.codePage(number)
		f := r.fonts[number]
		p.mono = f != nil && f.mono
	}
	if s.dest == destText {
		p.look = wordmodel.Look{Bold: s.bold, Italic: s.italic, Link: s.link, Aside: s.reference}
		p.dropped = s.hidden || s.deleted || r.html != nil && s.htmlHidden
	}
	return p
}

// flush decodes the text that was collected and hands it on.
func (r *reader) flush() {
	if len(r.pending) == 0 {
		return
	}
	text := decode(r.place.page, r.pending, r.high8 == 'r')
	r.pending, r.high8 = r.pending[:0], 0
	r.write(text)
}

// write hands text on to its place.
func (r *reader) write(text string) {
	r.cost += len(text)
	switch r.place.dest {
	case destText:
		r.writeText(text)
	case destHTMLTag:
		if r.html != nil {
			r.html.WriteString(text)
		}
	case destFonts:
		r.fontName(text)
	case destStyle:
		r.styleName(text)
	case destInfoText:
		r.info.add(text)
	case destInstruction:
		if field := r.place.instruction; field != nil && len(field.instruction) < maxInstruction {
			field.instruction = append(field.instruction, text...)
		}
	case destMarker:
		if flow := r.place.flow; len(flow.marker) < maxMarker {
			flow.marker += text
		}
	case destAuthor:
		if len(r.author) < maxMarker {
			r.author += text
		}
	case destShapeName, destShapeValue:
		r.shape.add(r.place.dest, text)
	case destStyles, destLists, destOverrides, destInfo, destInfoTime, destNumbering, destPicture:
	}
}

// maxMarker is how long the text before an item of a list, or a name, may be.
const maxMarker = 200

func (r *reader) writeText(text string) {
	switch {
	case r.place.dropped:
	case r.html != nil:
		r.html.WriteString(text)
	default:
		f := r.place.flow
		if !f.started {
			r.startParagraph(f)
		}
		runs := f.line.Runs()
		f.line.add(text, r.place.look)
		r.cost += (f.line.Runs() - runs) * blockCost
		if n := len(text) - strings.Count(text, " "); r.place.mono {
			f.line.mono += n
		} else {
			f.line.other += n
		}
	}
}

// draft makes the document of what was read.
func (r *reader) draft() (*document.Draft, error) {
	blocks := r.assemble()
	if len(blocks) == 0 && len(r.broken) > 0 {
		return nil, &document.DamagedError{Format: formatName, Detail: strings.Join(r.broken, "; "), Cause: errors.New("no text was found")}
	}
	found := &document.Draft{Blocks: blocks, Meta: r.info.meta, Title: r.title, Prose: true, Extra: make(map[string]any)}
	if r.paged() {
		found.Pages = r.breaks + 1
	}
	if len(r.broken) > 0 {
		found.Extra["damaged"] = strings.Join(r.broken, "; ")
	}
	return found, nil
}

// paged tells whether the breaks in the file are all that parts its pages.
func (r *reader) paged() bool { return r.info.pages > 0 && r.info.pages == r.breaks+1 }
