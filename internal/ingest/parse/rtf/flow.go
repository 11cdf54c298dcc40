package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// flowKind is the kind of text that a flow contains.
type flowKind uint8

const (
	flowBody flowKind = iota
	flowNote
	flowComment
	flowHeader
	flowBox
)

// A flow contains paragraphs: the body, a note, a header, a text box. The zero value is an empty body.
type flow struct {
	kind     flowKind
	isFramed bool // it is a header or footer, or a text box in one
	main     wordmodel.Flow
	table    table
	nested   table // of all deeper levels

	line          line
	hasText       bool // the paragraph has text
	page          int  // on which it began
	marker        string
	hasMarker     bool // it has a marker, which the file repeats for simple readers
	counted       int  // items of the open list of Word 6
	number        int  // of the note
	hasPageNumber bool // the paragraph has a page number
	// held comes after the paragraph or its table.
	held []document.Block

	// The definition of the next row.
	definitions []cellDefinition
	definition  cellDefinition
	left        int
	isHeader    bool
}

// startParagraph sets the page of a paragraph.
func (r *reader) startParagraph(f *flow) {
	f.hasText = true
	if f == r.root {
		if r.state.paragraph.breaksPage && !f.main.IsEmpty() || r.startsSection {
			r.pageBreaks++
		}
		r.startsSection = false
		r.notesBefore = len(r.notes)
	}
	f.page = r.pageBreaks + 1
}

// endParagraph ends the paragraph of a flow. In a table it belongs to a cell.
func (r *reader) endParagraph(f *flow) {
	depth := r.state.paragraph.depth
	if r.state.paragraph.inTable {
		depth = max(depth, 1)
	}
	r.endParagraphAt(f, depth)
}

// endParagraphAt ends the paragraph of a flow that is nested in a number of tables.
func (r *reader) endParagraphAt(f *flow, depth int) {
	r.flush()
	if depth < 2 && f.nested.hasContent() {
		f.table.cell.Add(f.nested.finish()...)
	}
	if depth == 0 && f.table.hasContent() {
		r.endTable(f)
	}
	s := &f.main
	switch depth {
	case 0:
	case 1:
		s = &f.table.cell
	default:
		s = &f.nested.cell
	}
	if f.hasPageNumber && wordmodel.CountLetters(string(f.line.Text)) <= wordmodel.MaxPageLabelLetters {
		f.line.Reset()
	}
	r.emit(f, s)
	f.line.Reset()
	f.hasText, f.hasMarker, f.marker, f.hasPageNumber = false, false, "", false
	if s == &f.main {
		r.addHeld(f)
	}
}

// addHeld adds the blocks that come after a paragraph. They do not interrupt a list.
func (r *reader) addHeld(f *flow) {
	if len(f.held) == 0 {
		return
	}
	f.main.AddLater(f.held...)
	f.held = nil
}

// emit adds the paragraph of a flow as a block.
func (r *reader) emit(f *flow, s *wordmodel.Flow) {
	p := &r.state.paragraph
	style := r.meaning(p.style)
	level := style.HeadingLevel
	if p.outline >= 0 {
		level, _ = wordmodel.HeadingLevel(p.outline, false)
	}
	if f.line.IsBlank() {
		s.Gap(true)
		return
	}
	r.Cost += blockCost
	r.allText += len(f.line.Text)
	isMono := level == 0 && s == &f.main && f.line.mono > 0 && f.line.other == 0
	m, item := r.marker(f)
	nesting := max(p.level, 0)
	if !item && level == 0 && p.first < 0 {
		if typed, size, found := typedMarker(f.line.Text); found {
			m, item, nesting = typed, true, max(p.indent, 0)
			f.line.Cut(size)
		}
	}
	switch {
	case style.Role == wordmodel.RoleCode && level == 0:
		s.Join(document.Block{Kind: document.Code, Text: f.line.Verbatim(), Page: f.page}, "\n")
		return
	case isMono && !item:
		r.monoText += len(f.line.Text)
		s.Join(document.Block{Kind: document.Code, Text: f.line.Verbatim(), Language: byFont, Page: f.page}, "\n")
		return
	case style.IsTitle && level == 0:
		level = 1
	}
	if level > 0 && (f.kind == flowBody || f.kind == flowBox) && r.heading(f, s, level, style.IsTitle, m) {
		return
	}
	text := f.line.Markdown()
	switch {
	case text == "":
		s.Gap(true)
	case item && level == 0:
		s.Item(nesting, m, text, f.page)
	case style.Role == wordmodel.RoleQuote:
		s.Join(document.Block{Kind: document.Quote, Text: text, Page: f.page}, "\n\n")
	default:
		f.counted = 0
		s.Add(document.Block{Kind: document.Paragraph, Text: text, Page: f.page})
		if (style.Role == wordmodel.RoleContents || style.Role == wordmodel.RoleContentsTitle) && s == &r.root.main {
			r.contents = append(r.contents, len(s.Blocks)-1)
		}
	}
}

// blockCost is what a block, a cell or a change of the look adds to the cost of a file.
const blockCost = 48

// byFont marks code that is recognized by its font only, until all of the text is read.
const byFont = "\x00"

func (r *reader) heading(f *flow, s *wordmodel.Flow, level int, isTitle bool, m wordmodel.Marker) bool {
	text := f.line.Plain()
	if text == "" || len(text) > wordmodel.MaxHeading {
		return false
	}
	if isTitle && r.title == "" {
		r.title = text
	}
	if label := strings.TrimSpace(strings.TrimPrefix(m.String(), "- ")); f.hasMarker && m.Ordered && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if s == &r.root.main {
		r.addNotes(r.notesBefore)
	}
	s.Add(document.Block{Kind: document.Heading, Level: level, Text: text, Page: f.page})
	return true
}

// marker returns the marker of the paragraph. It is false if the paragraph is not a list item.
func (r *reader) marker(f *flow) (m wordmodel.Marker, item bool) {
	p := &r.state.paragraph
	defined := r.overrides[p.list]
	text := oneLine(f.marker)
	switch {
	case f.hasMarker && text == "" && defined != nil && defined.levels[min(max(p.level, 0), wordmodel.MaxListLevels-1)].format == wordmodel.NoNumber:
		return wordmodel.Marker{}, false
	case f.hasMarker:
		return markerOf(text), true
	case p.list > 0 && defined != nil:
		return defined.next(p.level)
	case p.list > 0, p.numbering == 'b':
		return wordmodel.Marker{}, true
	case p.numbering == 'n':
		f.counted++
		return wordmodel.Marker{Ordered: true, Number: f.counted}, true
	}
	return wordmodel.Marker{}, false
}

// endCell ends a cell of the table or of a nested table.
func (r *reader) endCell(f *flow, nested bool) {
	r.Cost += blockCost
	if nested {
		r.endParagraphAt(f, 2)
		f.nested.endCell()
		return
	}
	r.endParagraphAt(f, 1)
	f.table.endCell()
}

// endRow ends a row of the table or of a nested table.
func (r *reader) endRow(f *flow, nested bool) {
	r.flush()
	switch {
	case nested && !f.line.IsBlank():
		r.endParagraphAt(f, 2)
	case !nested && (!f.line.IsBlank() || f.nested.hasContent()):
		r.endParagraphAt(f, 1)
	}
	if nested {
		f.nested.endRow(nil, 0, false)
		return
	}
	f.table.endRow(f.definitions, f.left, f.isHeader)
}

// endTable ends the table of a flow.
func (r *reader) endTable(f *flow) {
	if f.nested.hasContent() {
		f.table.cell.Add(f.nested.finish()...)
	}
	if f.table.hasContent() {
		f.main.Add(f.table.finish()...)
	}
	r.addHeld(f)
}

// enter gives the open group a flow of its own.
func (r *reader) enter(kind flowKind) {
	r.flush()
	s := &r.state
	s.flow = &flow{kind: kind, isFramed: kind == flowHeader || s.flow.isFramed}
	s.dest, s.hasOwn = destText, true
	s.paragraph = plainParagraph()
	s.bold, s.italic, s.isHidden, s.link, s.isNoteNumber = false, false, false, "", false
}

// leave handles the text of a flow at the end of its group.
func (r *reader) leave(f *flow) {
	outer := r.state.flow
	switch blocks := f.main.Blocks; f.kind {
	case flowNote:
		if text := wordmodel.Flatten(blocks); text != "" {
			r.notes = append(r.notes, noteNumber(f.number)+" "+strings.ReplaceAll(text, "\n", "\n  "))
		}
	case flowComment:
		text := wordmodel.Flatten(blocks)
		if author := oneLine(r.author); author != "" && text != "" {
			text = author + ": " + text
		}
		r.author = ""
		if text != "" {
			outer.held = append(outer.held, document.Block{Kind: document.Quote, Text: text, Page: r.pageBreaks + 1})
		}
	case flowHeader:
		for line := range strings.SplitSeq(wordmodel.Flatten(blocks), "\n") {
			r.addHeader(strings.TrimSpace(line))
		}
	case flowBox:
		outer.held = append(outer.held, blocks...)
	case flowBody:
	}
}

// maxHeaders is how many different lines headers and footers may have.
const maxHeaders = 100

func (r *reader) addHeader(line string) {
	if line == "" || len(r.headers) >= maxHeaders {
		return
	}
	for _, known := range r.headers {
		if strings.EqualFold(known, line) {
			return
		}
	}
	r.headers = append(r.headers, line)
}

// addNotes adds the first n notes of a section to the body.
func (r *reader) addNotes(n int) {
	if n = min(n, len(r.notes)); n == 0 {
		return
	}
	r.root.main.Add(document.Block{Kind: document.List, Text: "- " + strings.Join(r.notes[:n], "\n- "), Page: r.pageBreaks + 1})
	r.notes = r.notes[n:]
	r.notesBefore = 0
}
