package rtf

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

const formatName = "RTF document"

// maxGroups is how deep groups are nested. Deeper groups are read as part of the group around them.
const maxGroups = 10_000

// Read reads an RTF document: headings by style or outline level, lists, tables, code and quotations by style or font,
// links, footnotes at the end of their section, comments after their paragraph, and headers and footers once at the
// end. Deleted and hidden text is left out. Blocks have pages only if the file has as many page breaks as it declares.
// Extra["damaged"] names the damage of a broken file.
//
// The error is a *document.DamagedError if there is no text, a *document.LimitError, or that of the context.
func Read(ctx context.Context, in document.Source) (*document.Draft, error) {
	content, found := trimStart(in.Content)
	if !found {
		return nil, &document.DamagedError{Format: formatName, Detail: "it does not begin as RTF does"}
	}
	r := newReader(ctx, content, in.Limits.WithDefaults().MaxText)
	if err := r.read(); err != nil {
		return nil, err
	}
	return r.draft()
}

// trimStart removes a byte order mark and white space before the file. It is false if the file is not RTF.
func trimStart(content []byte) ([]byte, bool) {
	content = bytes.TrimLeft(bytes.TrimPrefix(content, []byte("\xEF\xBB\xBF")), " \t\r\n\x00")
	return content, bytes.HasPrefix(content, []byte(`{\rtf`))
}

// destination is what the text of a group is.
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
	destNumbering // numbering properties of Word 6
	destAuthor
	destPicture
	destShapeName
	destShapeValue
	destHTMLTag
)

// state is the state that a group inherits, and that its end restores.
type state struct {
	dest   destination
	hasOwn bool // the group has its own destination or flow
	flow   *flow
	// field is the innermost field, instruction the one to whose instruction the text belongs.
	field, instruction *field

	font, otherFont     int // otherFont is that of text from right to left
	rightToLeft         bool
	bold, italic        bool
	isHidden, isDeleted bool
	fallback            int // how many characters follow \u for readers without Unicode
	link                string
	isHTMLHidden        bool
	paragraph           paragraph
	isNoteNumber        bool // the number of a note
	isNestedRow         bool // the definition of a row of a nested table
}

// paragraph holds the properties of a paragraph.
type paragraph struct {
	style, outline int // outline is -1 if not given
	list, level    int
	indent, first  int // in twips; first is the indent of the first line, negative for a hanging one
	inTable        bool
	depth          int // of nested tables
	breaksPage     bool
	numbering      byte // 0, b for bullets or n for numbers of Word 6
}

func plainParagraph() paragraph { return paragraph{outline: -1} }

// A reader reads a file.
type reader struct {
	wordmodel.Work
	scanner     scanner
	state       state
	stack       []state
	openDeeper  int           // open groups beyond maxGroups
	isIgnorable bool          // the last token was \*
	skip        int           // characters to skip after \u
	surrogate   rune          // high surrogate
	html        *bytes.Buffer // the output of Encapsulated

	// pending is text of one place that is not yet decoded.
	pending     []byte
	pendingHigh byte // how its bytes above 0x7F are written: 0 for none, r for raw, e for escaped
	place       place

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
	// described is the description of the last picture.
	described     string
	title         string
	root          *flow
	notes         []string // of the section
	notesBefore   int      // how many notes there were at the start of the paragraph
	noteCount     int
	headers       []string
	contents      []int // indexes of blocks of the body that belong to a table of contents
	pageBreaks    int
	startsSection bool // a section has ended: the next one starts on a new page
	monoText      int
	allText       int
}

// place is the destination, code page and look of text.
type place struct {
	dest        destination
	flow        *flow
	instruction *field
	page        int
	isMono      bool
	look        wordmodel.Look
	isDropped   bool
}

func newReader(ctx context.Context, content []byte, maxText int) *reader {
	root := &flow{}
	return &reader{
		Work: wordmodel.NewWork(ctx, maxText), scanner: scanner{content: content}, page: pageWestern, root: root,
		state: state{flow: root, fallback: 1, paragraph: plainParagraph()},
		fonts: make(map[int]*font), styles: make(map[int]*style), lists: make(map[int]*listDefinition),
		overrides: make(map[int]*listDefinition), info: newInfo(),
	}
}

// read reads the file. At its end, all groups are closed.
func (r *reader) read() error {
	for {
		if err := r.Step(); err != nil {
			return err
		}
		t := r.scanner.next()
		if t.kind == tokenEnd {
			break
		}
		r.token(&t)
	}
	r.endParagraph(r.state.flow)
	if len(r.stack) > 0 {
		r.Missing("the file ends before its last group does")
	}
	for len(r.stack) > 0 {
		r.openDeeper = 0
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
	r.addNotes(len(r.notes))
	return nil
}

func (r *reader) token(t *token) {
	ignorable := r.isIgnorable
	r.isIgnorable = false
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
		r.openDeeper++
		r.Missing("groups are nested too deep")
		return
	}
	r.stack = append(r.stack, r.state)
	r.state.hasOwn = false
	if r.state.dest == destStyles {
		r.become(destStyle)
		r.style = style{basedOn: -1, outline: -1}
	}
}

// become sets the destination of the open group.
func (r *reader) become(dest destination) {
	r.flush()
	r.state.dest, r.state.hasOwn = dest, true
}

func (r *reader) closeGroup() {
	if r.openDeeper > 0 {
		r.openDeeper--
		return
	}
	if len(r.stack) == 0 {
		r.Missing("braces do not match")
		return
	}
	if len(r.stack) == 1 && r.state.flow == r.root {
		r.endParagraph(r.root)
	}
	if r.state.hasOwn {
		r.flush()
		if r.state.flow != r.stack[len(r.stack)-1].flow {
			r.endParagraph(r.state.flow)
			r.endTable(r.state.flow)
		}
	}
	closed := r.state
	r.state = r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if closed.hasOwn {
		r.endDestination(&closed)
	}
	if len(r.stack) > 0 {
		return
	}
	if len(bytes.Trim(r.scanner.content[r.scanner.at:], "\x00\x1A \t\r\n}")) == 0 {
		r.scanner.at = len(r.scanner.content) // the end, except for padding
	} else {
		r.Missing("braces do not match")
	}
}

// symbol handles a control symbol: a backslash and a character that is no letter.
func (r *reader) symbol(c byte) {
	if c == '*' {
		r.isIgnorable = true
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

// put adds bytes of text. Raw bytes are not escaped.
func (r *reader) put(text []byte, raw bool) {
	if len(text) == 0 || r.state.dest == destPicture || r.state.dest == destNumbering {
		return
	}
	high := byte(0)
	switch {
	case isASCII(text):
	case raw:
		high = 'r'
	default:
		high = 'e'
	}
	if here := r.here(); here != r.place || high != 0 && r.pendingHigh != 0 && high != r.pendingHigh {
		r.flush()
		r.place = here
	}
	r.pending = append(r.pending, text...)
	r.pendingHigh = max(r.pendingHigh, high)
}

// rune adds a character.
func (r *reader) rune(c rune) {
	r.flush()
	if r.state.dest == destPicture || r.state.dest == destNumbering {
		return
	}
	r.place = r.here()
	r.write(string(c))
}

// unicode adds the character of a \u word, which may be half of a surrogate pair.
func (r *reader) unicode(value int) {
	c := rune(value) //nolint:gosec // bounded by the scanner
	if value < 0 {
		c += 0x10000
	}
	r.skip = r.state.fallback
	switch {
	case c >= 0xD800 && c < 0xDC00:
		r.surrogate = c
		return
	case c >= 0xDC00 && c < 0xE000:
		c = utf16.DecodeRune(r.surrogate, c)
	case c >= 0xF020 && c <= 0xF0FF:
		// Symbol fonts have their characters in a private range.
		if page := r.codePage(r.openFont()); page < 0 {
			r.text(decode(page, []byte{byte(c)}, false)) //nolint:gosec // the low byte is meant
			return
		}
	}
	r.surrogate = 0
	if c <= 0 || c == 0xFFFF || c == 0xFFFE || !utf8.ValidRune(c) || c == utf8.RuneError {
		return
	}
	r.rune(c)
}

// text adds decoded text.
func (r *reader) text(text string) {
	r.flush()
	r.place = r.here()
	r.write(text)
}

// openFont returns the font of the text that is read. It is nil if the font is not defined.
func (r *reader) openFont() *font {
	if r.state.rightToLeft && r.state.otherFont >= 0 {
		return r.fonts[r.state.otherFont]
	}
	return r.fonts[r.state.font]
}

// here returns the current place.
func (r *reader) here() place {
	s := &r.state
	p := place{dest: s.dest, flow: s.flow, instruction: s.instruction, page: r.page}
	switch s.dest {
	case destText, destMarker, destHTMLTag:
		f := r.openFont()
		p.page = r.codePage(f)
		p.isMono = f != nil && f.isMono
	}
	if s.dest == destText {
		p.look = wordmodel.Look{Bold: s.bold, Italic: s.italic, Link: s.link, Aside: s.isNoteNumber}
		p.isDropped = s.isHidden || s.isDeleted || r.html != nil && s.isHTMLHidden
	}
	return p
}

// flush decodes the pending text.
func (r *reader) flush() {
	if len(r.pending) == 0 {
		return
	}
	text := decode(r.place.page, r.pending, r.pendingHigh == 'r')
	r.pending, r.pendingHigh = r.pending[:0], 0
	r.write(text)
}

// write adds text to its place.
func (r *reader) write(text string) {
	r.Cost += len(text)
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

// maxMarker is the longest marker or name that is kept.
const maxMarker = 200

func (r *reader) writeText(text string) {
	switch {
	case r.place.isDropped:
	case r.html != nil:
		r.html.WriteString(text)
	default:
		f := r.place.flow
		if !f.hasText {
			r.startParagraph(f)
		}
		runs := f.line.Runs()
		f.line.add(text, r.place.look)
		r.Cost += (f.line.Runs() - runs) * blockCost
		if n := len(text) - strings.Count(text, " "); r.place.isMono {
			f.line.mono += n
		} else {
			f.line.other += n
		}
	}
}

// draft returns the document.
func (r *reader) draft() (*document.Draft, error) {
	blocks := r.assemble()
	if len(blocks) == 0 && len(r.Damage) > 0 {
		return nil, &document.DamagedError{Format: formatName, Detail: strings.Join(r.Damage, "; "), Cause: errors.New("no text was found")}
	}
	found := &document.Draft{Blocks: blocks, Meta: r.info.meta, Title: r.title, Prose: true, Extra: make(map[string]any)}
	if r.hasPages() {
		found.Pages = r.pageBreaks + 1
	}
	r.Report(found)
	return found, nil
}

// hasPages reports whether the page breaks of the file are complete.
func (r *reader) hasPages() bool { return r.info.pages > 0 && r.info.pages == r.pageBreaks+1 }
