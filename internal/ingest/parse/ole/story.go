package ole

import (
	"bytes"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Characters that are no text (MS-DOC 2.4.1 and 2.9.229).
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
	pageMark      = '\uE000' // where a header has the number of a page
	maxHeading    = 1000     // bytes of the longest text that is taken for a heading
	unknownList   = 0x7FF    // a list of Word 6 or 95
)

// story is one part of a document that is being read: its body, its notes, a header.
type story struct {
	word   *word
	main   bool
	header bool // made of lines; lines are those found
	root   flow
	tables []*table
	line   line
	fields fields
	// link, page and contents are what the open fields make of the text: a link, the number of a page, a table of contents.
	link           string
	page, contents bool
	listed         bool // a part of the line is of a table of contents
	// anchors are what characters of the body refer to; those before next are done.
	anchors []anchor
	next    int

	lines []string
	// held are comments and text boxes to come after the paragraph or table, notes those it refers to.
	held  []document.Block
	notes []string
	err   error // of a text that the body refers to
	cells bool  // the line has cells of a table whose rows are not known
}

// read reads a stretch of characters to its end.
func (st *story) read(from, to int) error {
	w := st.word
	c := newCursor(&w.pieces, w.fib, w.chars, from, to)
	var format charFormat
	piece, fresh := -1, true
	style := &w.styles.plain
	formatFrom, formatTo := 0, 0
	for c.step() {
		if err := w.step(); err != nil {
			return err
		}
		if fresh {
			fresh = false
			list, _ := w.paragraphs.at(c.offset)
			if s := w.styles.at(list.u16(0)); s != style {
				style, formatTo = s, 0
			}
		}
		if c.offset < formatFrom || c.offset >= formatTo || c.index != piece {
			list, _ := w.characters.at(c.offset)
			format = style.look
			format.apply(list, w.fib.old, style.look, w.styles)
			format.apply(c.piece().changes, w.fib.old, style.look, w.styles)
			formatFrom, formatTo, piece = w.characters.from, w.characters.to, c.index
		}
		before := len(st.line.text)
		ends := st.char(c, &format)
		w.cost += len(st.line.text) - before
		if ends {
			st.endParagraph(c, &format)
			fresh = true
		}
		if st.err != nil {
			return st.err
		}
	}
	return nil
}

// finish ends the story and returns its blocks.
func (st *story) finish() []document.Block {
	if !st.line.blank() {
		st.emit(st.flow(len(st.tables)), &paraFormat{style: &st.word.styles.plain, outline: -1, list: -1, level: -1})
	}
	st.closeTables(0)
	st.settle()
	return st.root.finish()
}

// char adds a character to the line. It tells whether it ends a paragraph.
func (st *story) char(c *cursor, format *charFormat) (ends bool) {
	r := c.rune
	for st.next < len(st.anchors) && st.anchors[st.next].char <= c.char {
		a := &st.anchors[st.next]
		st.next++
		if a.char == c.char && !format.hidden && st.anchored(a) {
			return false
		}
	}
	switch r {
	case markParagraph, markPage, markCell:
		return true
	case fieldBegin:
		st.fields.begin()
		st.inFields()
		return false
	case fieldSeparate:
		st.fields.separate()
		st.inFields()
		return false
	case fieldEnd:
		shown := st.fields.end()
		st.inFields()
		if !format.hidden {
			st.line.puts(shown, st.look(format))
		}
		return false
	}
	switch {
	case st.fields.inCode(r) || format.hidden:
	case st.header && st.page:
		st.line.put(pageMark, look{})
	case format.symbol != 0 && (format.special || r == '('):
		st.line.puts(symbolText(st.word.styles.fonts.name(format.font), format.symbol), st.look(format))
	default:
		st.line.add(r, st.look(format))
	}
	return false
}

// inFields keeps what the open fields make of the text.
func (st *story) inFields() {
	st.link, st.page, st.contents = "", false, false
	for i := range st.fields.open {
		f := &st.fields.open[i]
		if f.link != "" {
			st.link = f.link
		}
		st.page, st.contents = st.page || f.page, st.contents || f.toc
	}
	st.listed = st.listed || st.contents
}

func (st *story) look(format *charFormat) look {
	return look{bold: format.bold, italic: format.italic, link: st.link}
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
	st.fields.settle()
	switch {
	case c.rune == markCell && p.depth == 0:
		st.looseCell()
		return
	case c.rune == markParagraph && format.hidden && p.depth == 0:
		return // the next paragraph goes on with this one
	case st.header && p.depth == 0:
		st.headerLines()
		return
	}
	st.cells = false
	st.closeTables(p.depth)
	for len(st.tables) < p.depth {
		st.tables = append(st.tables, &table{})
	}
	if p.depth == 0 {
		st.emit(&st.root, &p)
		st.settle()
		return
	}
	t := st.tables[p.depth-1]
	if p.rowEnd {
		st.line.reset()
		t.endRow(p.row)
		w.cost += blockCost
		return
	}
	st.emit(&t.cell, &p)
	if c.rune == markCell || p.innerCell {
		t.endCell()
		w.cost += cellCost
	}
}

// looseCell ends a cell of a table about which the file says nothing: cells are parted by tabs, and an empty one ends the
// row.
func (st *story) looseCell() {
	if st.cells && bytes.HasSuffix(st.line.text, []byte{'\t'}) {
		st.cells = false
		st.closeTables(0)
		text := strings.Join(strings.Fields(strings.ReplaceAll(strings.TrimRight(string(st.line.text), "\t"), "\t", " | ")), " ")
		if text != "" {
			st.root.add(document.Block{Kind: document.Paragraph, Text: text})
		}
		st.line.reset()
		return
	}
	st.cells = true
	st.line.put('\t', look{})
}

// flow returns where paragraphs of a depth go.
func (st *story) flow(depth int) *flow {
	if depth == 0 {
		return &st.root
	}
	return &st.tables[depth-1].cell
}

// closeTables ends the tables that are deeper.
func (st *story) closeTables(depth int) {
	for len(st.tables) > depth {
		last := st.tables[len(st.tables)-1]
		st.tables = st.tables[:len(st.tables)-1]
		if blocks := last.blocks(); len(blocks) > 0 {
			st.flow(len(st.tables)).add(blocks...)
		}
		if len(st.tables) == 0 {
			st.settle()
		}
	}
}

// settle puts comments and text boxes after the paragraph or table that held them, and keeps its notes for the end of the
// section.
func (st *story) settle() {
	if len(st.tables) > 0 {
		return
	}
	if len(st.held) > 0 {
		st.root.later(st.held...)
		st.held = nil
	}
	st.word.pending = append(st.word.pending, st.notes...)
	st.notes = nil
}

// emit makes a block of the line.
func (st *story) emit(f *flow, p *paraFormat) {
	defer func() {
		st.line.reset()
		st.listed = st.contents
	}()
	w, style := st.word, p.style
	w.cost += blockCost
	m, label, item := st.marker(p)
	if style.role == roleCode && p.outline < 0 && !item {
		f.join(document.Code, "\n", st.line.verbatim())
		return
	}
	if level, is := headingLevel(p); is && st.heading(f, p, level, label) {
		return
	}
	text := st.line.markdown()
	switch {
	case text == "":
		f.gap()
	case item:
		level := p.level
		if level < 0 {
			level = style.level
		}
		if p.list < 0 || p.list == style.list {
			level = max(level, style.nesting)
		}
		f.item(level, m, text)
	case style.role == roleQuote:
		f.join(document.Quote, "\n\n", text)
	default:
		f.flush()
		if f == &st.root && st.main && (style.role == roleContents || style.role == roleContentsTitle || st.listed) {
			text = st.line.plain()
			w.contents = append(w.contents, len(f.blocks))
		}
		f.blocks = append(f.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

// headingLevel returns the level of a heading, counted from 1.
func headingLevel(p *paraFormat) (level int, is bool) {
	outline := p.style.outline
	if p.outline >= 0 {
		outline = p.outline
	}
	switch {
	case outline < bodyLevel:
		return min(outline+1, 6), true
	case p.style.title:
		return 1, true
	}
	return 0, false
}

// heading adds a heading, where the text is one: not empty, and no longer than headings are.
func (st *story) heading(f *flow, p *paraFormat, level int, label string) bool {
	text := st.line.plain()
	if text == "" || len(text) > maxHeading {
		return false
	}
	w := st.word
	if p.style.title && w.title == "" && st.main {
		w.title = text
	}
	if label != "" && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if f == &st.root && st.main {
		f.flush()
		w.placeNotes(f)
	}
	f.add(document.Block{Kind: document.Heading, Level: level, Text: text})
	return true
}

// marker counts the paragraph in its list. It returns what stands before it as an item, and its number as text.
func (st *story) marker(p *paraFormat) (m marker, label string, item bool) {
	number, level := p.style.list, p.style.level
	if p.list >= 0 {
		number = p.list
	}
	if p.level >= 0 {
		level = p.level
	}
	lists := st.word.lists
	switch {
	case lists.known(number):
		m, label = lists.next(number, level)
		return m, label, !lists.silent(number, level) || label != ""
	case p.numbered && (st.word.fib.old || number == unknownList):
		return marker{}, "", true
	case p.style.bullet && p.list != 0:
		return marker{}, "", true
	}
	return marker{}, "", false
}

// maxPageWords is how many letters the words around a page number have: "Page of".
const maxPageWords = 14

// headerLines keeps the lines of a header or footer: what stands between its tabs, without page numbers and the words
// around them.
func (st *story) headerLines() {
	for text := range strings.SplitSeq(string(st.line.text), "\n") {
		var kept []string
		for part := range strings.SplitSeq(text, "\t") {
			if strings.ContainsRune(part, pageMark) {
				part = strings.ReplaceAll(part, string(pageMark), " ")
				if countLetters(part) <= maxPageWords {
					continue
				}
			}
			if part = strings.Join(strings.Fields(part), " "); part != "" {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			st.lines = append(st.lines, strings.Join(kept, " "))
		}
	}
	st.line.reset()
}

func countLetters(text string) int {
	n := 0
	for _, r := range text {
		if isWordRune(r) {
			n++
		}
	}
	return n
}
