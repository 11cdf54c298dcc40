package ole

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Control characters (MS-DOC 2.4.1 and 2.9.229).
const (
	markPicture   = 0x01
	markNote      = 0x02
	markComment   = 0x05
	markCell      = 0x07
	markShape     = 0x08
	markLine      = 0x0B
	markPage      = 0x0C
	markParagraph = 0x0D
	markColumn    = 0x0E
	fieldBegin    = 0x13
	fieldSeparate = 0x14
	fieldEnd      = 0x15
	hyphenHard    = 0x1E
	hyphenSoft    = 0x1F
	unknownList   = 0x7FF // a list of Word 6 or 95
)

// A story is a part of a document that contains paragraphs: the body, a note, a header.
type story struct {
	word       *word
	isBody     bool
	isHeader   bool // a header or footer, whose text goes to lines
	root       wordmodel.Flow
	tables     []*table
	line       wordmodel.Line
	fields     wordmodel.Fields
	inContents bool // a part of the line belongs to a table of contents
	// anchors are the anchors of the body. Those before next have been handled.
	anchors []anchor
	next    int

	lines []string
	// held are the comments and text boxes that come after the open paragraph or table, notes the notes to which it
	// refers.
	held     []document.Block
	notes    []string
	err      error // of a text to which the body refers
	hasCells bool  // the line contains cells of a table whose rows are unknown
}

// read reads a range of characters.
func (st *story) read(from, to int) error {
	w := st.word
	c := newCursor(&w.pieces, w.fib, w.chars, from, to)
	var format charFormat
	lastPiece, isNewParagraph := -1, true
	style := &w.styles.plain
	formatFrom, formatTo := 0, 0
	for c.step() {
		if err := w.Step(); err != nil {
			return err
		}
		if isNewParagraph {
			isNewParagraph = false
			list, _ := w.paragraphs.at(c.offset)
			if s := w.styles.at(list.u16(0)); s != style {
				style, formatTo = s, 0
			}
		}
		if c.offset < formatFrom || c.offset >= formatTo || c.index != lastPiece {
			list, _ := w.characters.at(c.offset)
			format = style.look
			format.apply(list, w.fib.isOld, style.look, w.styles)
			format.apply(c.piece().changes, w.fib.isOld, style.look, w.styles)
			formatFrom, formatTo, lastPiece = w.characters.from, w.characters.to, c.index
		}
		before := len(st.line.Text)
		ends := st.char(c, &format)
		w.Cost += len(st.line.Text) - before
		if ends {
			st.endParagraph(c, &format)
			isNewParagraph = true
		}
		if st.err != nil {
			return st.err
		}
	}
	return nil
}

// finish ends the story and returns its blocks.
func (st *story) finish() []document.Block {
	if !st.line.IsBlank() {
		st.emit(st.flow(len(st.tables)), &paraFormat{style: &st.word.styles.plain, outline: -1, list: -1, level: -1})
	}
	st.closeTables(0)
	st.addReferenced()
	return st.root.Finish()
}

// char adds a character to the line. It reports whether the character ends a paragraph.
func (st *story) char(c *cursor, format *charFormat) (ends bool) {
	r := c.rune
	for st.next < len(st.anchors) && st.anchors[st.next].char <= c.char {
		a := &st.anchors[st.next]
		st.next++
		if a.char == c.char && !format.isHidden && st.anchored(a) {
			return false
		}
	}
	switch r {
	case markParagraph, markPage, markCell:
		return true
	case fieldBegin:
		st.fields.Begin("")
		return false
	case fieldSeparate:
		st.fields.Separate(st.word.Cost)
		st.inContents = st.inContents || st.fields.InContents()
		return false
	case fieldEnd:
		text := clean(st.fields.End(st.word.Cost))
		if !format.isHidden {
			st.line.Append(text, st.look(format))
		}
		return false
	}
	switch {
	case st.fields.InCode():
		st.fields.AppendCode(utf8.AppendRune(nil, r))
	case format.isHidden:
	case st.isHeader && st.fields.InPageNumber():
		st.line.AppendRune(wordmodel.PageNumberMark, wordmodel.Look{})
	case format.symbol != 0 && (format.isSpecial || r == '('):
		st.line.Append(wordmodel.SymbolText(st.word.styles.fonts.name(format.font), format.symbol), st.look(format))
	default:
		addRune(&st.line, r, st.look(format))
	}
	return false
}

func (st *story) look(format *charFormat) wordmodel.Look {
	return wordmodel.Look{Bold: format.bold, Italic: format.italic, Link: st.fields.Link()}
}

// endParagraph ends the paragraph at its mark.
func (st *story) endParagraph(c *cursor, format *charFormat) {
	w := st.word
	list, known := w.paragraphs.at(c.offset)
	w.count(known)
	var p paraFormat
	p.read(list, w.fib, w.styles)
	p.apply(c.piece().changes, w.fib, w.styles, maxHuge)
	p.depth = min(p.depth, maxNesting)
	st.fields.DropCodes()
	switch {
	case c.rune == markCell && p.depth == 0:
		st.unknownCell()
		return
	case c.rune == markParagraph && format.isHidden && p.depth == 0:
		return // the next paragraph continues it
	case st.isHeader && p.depth == 0:
		st.addHeaderLines()
		return
	}
	st.hasCells = false
	st.closeTables(p.depth)
	for len(st.tables) < p.depth {
		st.tables = append(st.tables, &table{})
	}
	if p.depth == 0 {
		st.emit(&st.root, &p)
		st.addReferenced()
		return
	}
	t := st.tables[p.depth-1]
	if p.endsRow {
		st.line.Reset()
		t.endRow(p.row)
		w.Cost += blockCost
		return
	}
	st.emit(&t.cell, &p)
	if c.rune == markCell || p.endsInnerCell {
		t.endCell()
		w.Cost += cellCost
	}
}

// unknownCell ends a cell of a table without row properties. Cells are separated by tabs, and an empty cell ends the
// row.
func (st *story) unknownCell() {
	if st.hasCells && bytes.HasSuffix(st.line.Text, []byte{'\t'}) {
		st.hasCells = false
		st.closeTables(0)
		text := strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimRight(string(st.line.Text), "\t"), "\t", " | ")), " ")
		if text != "" {
			st.root.Add(document.Block{Kind: document.Paragraph, Text: text})
		}
		st.line.Reset()
		return
	}
	st.hasCells = true
	st.line.AppendRune('\t', wordmodel.Look{})
}

// flow returns the flow of paragraphs in a number of tables.
func (st *story) flow(depth int) *wordmodel.Flow {
	if depth == 0 {
		return &st.root
	}
	return &st.tables[depth-1].cell
}

// closeTables ends the tables deeper than a depth.
func (st *story) closeTables(depth int) {
	for len(st.tables) > depth {
		last := st.tables[len(st.tables)-1]
		st.tables = st.tables[:len(st.tables)-1]
		if blocks := last.blocks(); len(blocks) > 0 {
			st.flow(len(st.tables)).Add(blocks...)
		}
		if len(st.tables) == 0 {
			st.addReferenced()
		}
	}
}

// addReferenced adds comments and text boxes after the paragraph or table that refers to them, and keeps its notes
// until the end of the section.
func (st *story) addReferenced() {
	if len(st.tables) > 0 {
		return
	}
	if len(st.held) > 0 {
		st.root.AddLater(st.held...)
		st.held = nil
	}
	st.word.pendingNotes = append(st.word.pendingNotes, st.notes...)
	st.notes = nil
}

// emit adds the line as a block.
func (st *story) emit(f *wordmodel.Flow, p *paraFormat) {
	defer func() {
		st.line.Reset()
		st.inContents = st.fields.InContents()
	}()
	w, style := st.word, p.style
	w.Cost += blockCost
	m, label, item := st.marker(p)
	if style.role == wordmodel.RoleCode && p.outline < 0 && !item {
		f.Join(document.Block{Kind: document.Code, Text: st.line.Verbatim()}, "\n")
		return
	}
	if level, is := headingLevel(p); is && st.heading(f, p, level, label) {
		return
	}
	text := st.line.Markdown()
	switch {
	case text == "":
		f.Gap(false)
	case item:
		level := p.level
		if level < 0 {
			level = style.level
		}
		if p.list < 0 || p.list == style.list {
			level = max(level, style.nesting)
		}
		f.Item(level, m, text, 0)
	case style.role == wordmodel.RoleQuote:
		f.Join(document.Block{Kind: document.Quote, Text: text}, "\n\n")
	default:
		f.Flush()
		if f == &st.root && st.isBody && (style.role == wordmodel.RoleContents || style.role == wordmodel.RoleContentsTitle || st.inContents) {
			text = st.line.Plain()
			w.contents = append(w.contents, len(f.Blocks))
		}
		f.Blocks = append(f.Blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

// headingLevel returns the level of a heading, from 1.
func headingLevel(p *paraFormat) (level int, is bool) {
	outline := p.style.outline
	if p.outline >= 0 {
		outline = p.outline
	}
	return wordmodel.HeadingLevel(outline, p.style.isTitle)
}

// heading adds the line as a heading. It is false if the text is empty or too long for one.
func (st *story) heading(f *wordmodel.Flow, p *paraFormat, level int, label string) bool {
	text := st.line.Plain()
	if text == "" || len(text) > wordmodel.MaxHeading {
		return false
	}
	w := st.word
	if p.style.isTitle && w.title == "" && st.isBody {
		w.title = text
	}
	if label != "" && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if f == &st.root && st.isBody {
		f.Flush()
		w.addNotes(f)
	}
	f.Add(document.Block{Kind: document.Heading, Level: level, Text: text})
	return true
}

// marker counts the paragraph in its list. It returns the marker of the item and its number as text.
func (st *story) marker(p *paraFormat) (m wordmodel.Marker, label string, item bool) {
	number, level := p.style.list, p.style.level
	if p.list >= 0 {
		number = p.list
	}
	if p.level >= 0 {
		level = p.level
	}
	lists := st.word.lists
	switch {
	case lists.isKnown(number):
		m, label = lists.next(number, level)
		return m, label, !lists.isUnmarked(number, level) || label != ""
	case p.hasOldNumber && (st.word.fib.isOld || number == unknownList):
		return wordmodel.Marker{}, "", true
	case p.style.isItem && p.list != 0:
		return wordmodel.Marker{}, "", true
	}
	return wordmodel.Marker{}, "", false
}

// addHeaderLines keeps the lines of a paragraph of a header or footer.
func (st *story) addHeaderLines() {
	st.lines = append(st.lines, wordmodel.HeaderLines(string(st.line.Text))...)
	st.line.Reset()
}
