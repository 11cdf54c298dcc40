package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// flowKind says what the paragraphs of a flow are.
type flowKind uint8

const (
	flowBody flowKind = iota
	flowNote
	flowComment
	flowHeader
	flowBox
)

// flow is where paragraphs go: the body, a note, a header, a text box. The zero value is an empty body.
type flow struct {
	kind   flowKind
	framed bool // it is a header or footer, or a text box in one
	main   wordmodel.Flow
	table  table
	nested table // of all depths below the first

	line    line
	started bool // the paragraph has text
	page    int  // where it began
	marker  string
	marked  bool // it has a text for those that know no lists
	counted int  // items of a list that has nothing but numbers
	number  int  // of the note
	paged   bool // it has the number of a page
	// held comes after the paragraph, or after the table that it stands in.
	held []document.Block

	// The definition of rows.
	definitions []cellDefinition
	definition  cellDefinition
	left        int
	header      bool
}

// startParagraph notes on which page a paragraph begins.
func (r *reader) startParagraph(f *flow) {
	f.started = true
	if f == r.root {
		if r.state.paragraph.breaks && !f.main.IsEmpty() || r.section {
			r.breaks++
		}
		r.section = false
		r.settled = len(r.notes)
	}
	f.page = r.breaks + 1
}

// endParagraph ends the paragraph of a flow, in a cell where it stands in one.
func (r *reader) endParagraph(f *flow) {
	depth := r.state.paragraph.depth
	if r.state.paragraph.inTable {
		depth = max(depth, 1)
	}
	r.endParagraphAt(f, depth)
}

// endParagraphAt ends the paragraph of a flow that stands in so many tables.
func (r *reader) endParagraphAt(f *flow, depth int) {
	r.flush()
	if depth < 2 && f.nested.begun() {
		f.table.cell.Add(f.nested.finish()...)
	}
	if depth == 0 && f.table.begun() {
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
	if f.paged && wordmodel.CountLetters(string(f.line.Text)) <= wordmodel.MaxPageLabelLetters {
		f.line.Reset()
	}
	r.emit(f, s)
	f.line.Reset()
	f.started, f.marked, f.marker, f.paged = false, false, "", false
	if s == &f.main {
		r.release(f)
	}
}

// release puts what belongs after a paragraph there. A list is not parted by it.
func (r *reader) release(f *flow) {
	if len(f.held) == 0 {
		return
	}
	f.main.AddLater(f.held...)
	f.held = nil
}

// emit makes a block of the paragraph of a flow.
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
	r.cost += blockCost
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
	if label := strings.TrimSpace(strings.TrimPrefix(m.String(), "- ")); f.marked && m.Ordered && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if s == &r.root.main {
		r.placeNotes(r.settled)
	}
	s.Add(document.Block{Kind: document.Heading, Level: level, Text: text, Page: f.page})
	return true
}

// marker tells whether a paragraph is an item of a list, and what stands before it.
func (r *reader) marker(f *flow) (m wordmodel.Marker, item bool) {
	p := &r.state.paragraph
	defined := r.overrides[p.list]
	text := oneLine(f.marker)
	switch {
	case f.marked && text == "" && defined != nil && defined.levels[min(max(p.level, 0), wordmodel.MaxListLevels-1)].format == wordmodel.NoNumber:
		return wordmodel.Marker{}, false
	case f.marked:
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

// endCell ends a cell of the table, or of the tables in it.
func (r *reader) endCell(f *flow, nested bool) {
	r.cost += blockCost
	if nested {
		r.endParagraphAt(f, 2)
		f.nested.endCell()
		return
	}
	r.endParagraphAt(f, 1)
	f.table.endCell()
}

// endRow ends a row of the table, or of the tables in it.
func (r *reader) endRow(f *flow, nested bool) {
	r.flush()
	switch {
	case nested && !f.line.IsBlank():
		r.endParagraphAt(f, 2)
	case !nested && (!f.line.IsBlank() || f.nested.begun()):
		r.endParagraphAt(f, 1)
	}
	if nested {
		f.nested.endRow(nil, 0, false)
		return
	}
	f.table.endRow(f.definitions, f.left, f.header)
}

// endTable ends the table of a flow. What belongs after a paragraph in it comes after it.
func (r *reader) endTable(f *flow) {
	if f.nested.begun() {
		f.table.cell.Add(f.nested.finish()...)
	}
	if f.table.begun() {
		f.main.Add(f.table.finish()...)
	}
	r.release(f)
}

// enter makes the group that is open a flow of its own.
func (r *reader) enter(kind flowKind) {
	r.flush()
	s := &r.state
	s.flow = &flow{kind: kind, framed: kind == flowHeader || s.flow.framed}
	s.dest, s.own = destText, true
	s.paragraph = plainParagraph()
	s.bold, s.italic, s.hidden, s.link, s.reference = false, false, false, "", false
}

// leave takes in what a flow of its own held, when its group has ended.
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
			outer.held = append(outer.held, document.Block{Kind: document.Quote, Text: text, Page: r.breaks + 1})
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

// placeNotes adds the first n notes of a section to the body.
func (r *reader) placeNotes(n int) {
	if n = min(n, len(r.notes)); n == 0 {
		return
	}
	r.root.main.Add(document.Block{Kind: document.List, Text: "- " + strings.Join(r.notes[:n], "\n- "), Page: r.breaks + 1})
	r.notes = r.notes[n:]
	r.settled = 0
}
