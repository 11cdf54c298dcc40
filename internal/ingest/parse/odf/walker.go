package odf

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// Limits of a document.
const (
	// maxNested is how deep tables, frames and notes are nested. Deeper ones lose their structure.
	maxNested = 8
	// maxBlocks is how many blocks are made, including those in cells.
	maxBlocks = 500_000
	// maxHeading is the longest heading, in bytes.
	maxHeading = 1000
)

// A walker turns content into blocks.
type walker struct {
	sink

	ctx        context.Context
	r          *reader
	anchors    document.Anchors
	numbers    map[string]*numbering
	outline    numbering // of the headings so far
	notes      []note
	lines      []*line // buffers of paragraphs, of which the first are open
	open       int
	nested     int
	blockCount int // number of blocks
	spent      int // bytes of text
	limitError error
	steps      int

	isSpreadsheet bool // the document is a spreadsheet
	inChart       bool // inside of a chart
	page          int  // 0 in formats without pages
	hasPageBreaks bool // the file contains page breaks
	hasEndnotes   bool // there are endnotes, which have pages of their own
	inMargin      bool // inside of a header or footer
	hasPageNumber bool // the header or footer has a page number
}

func newWalker(ctx context.Context, r *reader) *walker {
	return &walker{ctx: ctx, r: r, anchors: make(document.Anchors), numbers: make(map[string]*numbering)}
}

// sink collects blocks. The pending block may be continued.
type sink struct {
	blocks      []document.Block
	items       []item // open list items
	list        listing
	pending     []byte
	kind        document.BlockKind // of pending: List, Code or Quote
	pendingPage int
}

// next reads the next token, unless the context has ended or a limit is exceeded.
func (w *walker) next(s *xmlscan.Scanner) (xmlscan.Kind, error) {
	if w.limitError != nil {
		return 0, w.limitError
	}
	w.steps++
	if w.steps%1024 == 0 && w.ctx.Err() != nil {
		return 0, fmt.Errorf("read %s: %w", w.r.format, w.ctx.Err())
	}
	return s.Next()
}

// each calls visit for every element inside the open one. Visit must read its element to the end.
func (w *walker) each(s *xmlscan.Scanner, visit func() error) error {
	for depth := s.Depth(); ; {
		kind, err := w.next(s)
		switch {
		case err != nil:
			return err
		case kind == xmlscan.Start:
			if err := visit(); err != nil {
				return err
			}
		case kind == xmlscan.End && s.Depth() < depth:
			return nil
		}
	}
}

// skip skips the rest of the open element.
func (w *walker) skip(s *xmlscan.Scanner) error {
	for depth := s.Depth(); s.Depth() >= depth; {
		if _, err := w.next(s); err != nil {
			return err
		}
	}
	return nil
}

// flat reads the text of the open element without its structure.
func (w *walker) flat(s *xmlscan.Scanner) (string, error) {
	ln := w.openLine(false, true)
	defer w.closeLine()
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := w.next(s)
		if err != nil {
			return ln.text(), err
		}
		switch {
		case kind == xmlscan.Text:
			ln.write(s.Bytes())
		case s.Name() != "span" && s.Name() != "a":
			ln.space()
		}
	}
	return ln.text(), nil
}

// collect returns the blocks that read adds, separately from those around them. With an error it returns the blocks
// before it.
func (w *walker) collect(read func() error) ([]document.Block, error) {
	outer := w.sink
	w.sink = sink{}
	w.nested++
	err := read()
	w.flush()
	blocks := w.blocks
	w.sink = outer
	w.nested--
	return blocks, err
}

// collectText is collect for text.
func (w *walker) collectText(s *xmlscan.Scanner, read func() error) (string, error) {
	if w.nested >= maxNested {
		return w.flat(s)
	}
	blocks, err := w.collect(read)
	return textOf(blocks), err
}

// textOf returns the text of blocks.
func textOf(blocks []document.Block) string {
	if len(blocks) == 1 && blocks[0].Kind != document.Table {
		return blocks[0].Text
	}
	var b strings.Builder
	line := func(text string) {
		if text = strings.TrimSpace(text); text == "" {
			return
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text)
	}
	for i := range blocks {
		if blocks[i].Kind != document.Table {
			line(blocks[i].Text)
			continue
		}
		line(strings.Join(blocks[i].Header, " "))
		for _, row := range blocks[i].Rows {
			line(strings.Join(row, " "))
		}
	}
	return b.String()
}

// spend counts text. Once there is too much of it, reading ends.
func (w *walker) spend(n int) {
	w.spent += n
	if limit := w.r.in.Limits.WithDefaults().MaxText; w.spent > limit && w.limitError == nil {
		w.limitError = &document.LimitError{Detail: fmt.Sprintf("text has more than %d bytes", limit)}
	}
}

// emit adds a block. In a list item it adds the lines of its text to the list.
func (w *walker) emit(block document.Block) {
	if block.Blank() {
		return
	}
	if block.Page == 0 {
		block.Page = w.page
	}
	if len(w.items) > 0 {
		switch block.Kind {
		case document.Paragraph, document.Quote, document.List:
			w.itemLines(block.Text, block.Page)
			return
		case document.Heading, document.Code, document.Table:
		}
	}
	switch block.Kind {
	case document.Code:
		w.extend(document.Code, "\n", block.Text, block.Page)
	case document.Quote:
		w.extend(document.Quote, "\n\n", block.Text, block.Page)
	case document.Paragraph, document.Heading, document.List, document.Table:
		w.flush()
		w.add(block)
	}
}

// extend adds text to the pending block, or starts one.
func (w *walker) extend(kind document.BlockKind, between, text string, page int) {
	if len(w.pending) > 0 && w.kind != kind {
		w.flush()
	}
	if len(w.pending) == 0 {
		w.kind, w.pendingPage = kind, page
	} else {
		w.pending = append(w.pending, between...)
	}
	w.spend(len(text))
	w.pending = append(w.pending, text...)
}

// flush ends the pending block.
func (w *walker) flush() {
	if len(w.pending) == 0 {
		return
	}
	text := string(w.pending)
	w.pending = w.pending[:0]
	w.list.inner = [maxIndented]int{}
	if w.kind == document.List {
		text = dedent(text)
	}
	if w.kind == document.Code {
		text = strings.Trim(text, "\n")
	}
	w.spent -= len(text) // counted by extend
	w.add(document.Block{Kind: w.kind, Text: text, Page: w.pendingPage})
}

func (w *walker) add(block document.Block) {
	w.blockCount++
	if w.blockCount > maxBlocks && w.limitError == nil {
		w.limitError = &document.LimitError{Detail: fmt.Sprintf("the document has more than %d paragraphs", maxBlocks)}
	}
	if block.Kind != document.Table { // whose cells were counted
		w.spend(len(block.Text))
	}
	w.blocks = append(w.blocks, block)
}

// flow reads the blocks inside the open element.
func (w *walker) flow(s *xmlscan.Scanner) error {
	return w.each(s, func() error { return w.element(s) })
}

// element reads an element among blocks.
func (w *walker) element(s *xmlscan.Scanner) error {
	switch s.Prefix() {
	case "text":
		return w.textElement(s)
	case "table":
		switch s.Name() {
		case "table":
			if w.inChart && w.isSpreadsheet {
				return w.skip(s) // its data are in a sheet
			}
			return w.table(s)
		case "tracked-changes", "title", "desc":
			return w.skip(s)
		}
	case "office":
		switch s.Name() {
		case "annotation":
			quote, err := w.annotation(s)
			w.emit(quote)
			return err
		case "forms", "event-listeners", "scripts", "binary-data", "settings", "meta", "styles", "automatic-styles", "master-styles",
			"font-face-decls":
			return w.skip(s)
		}
	case "draw":
		if w.inChart {
			return w.skip(s) // the cells of its data
		}
		switch s.Name() {
		case "page-thumbnail", "layer-set", "glue-point", "enhanced-geometry", "param", "object-ole", "plugin", "applet", "floating-frame":
			return w.skip(s)
		}
		text, blocks, err := w.drawing(s)
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		for _, block := range blocks {
			w.emit(block)
		}
		return err
	case "svg", "dc", "meta", "anim", "smil", "form", "script", "presentation", "xforms", "number", "style", "config":
		return w.skip(s)
	}
	if s.Name() == "math" {
		text, err := w.formula(s)
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return err
	}
	return w.flow(s)
}

func (w *walker) textElement(s *xmlscan.Scanner) error {
	switch s.Name() {
	case "p":
		return w.paragraph(s, 0)
	case "h":
		return w.paragraph(s, outlineLevel(s))
	case "list":
		return w.readList(s)
	case "numbered-paragraph":
		return w.numberedParagraph(s)
	case "section":
		if isHiddenSection(s) {
			return w.skip(s)
		}
	case "soft-page-break":
		w.hasPageBreaks = true
		w.turnPage()
	case "table-of-content", "illustration-index", "table-index", "object-index", "user-index", "alphabetical-index",
		"bibliography-source", "section-source", "tracked-changes", "sequence-decls", "variable-decls", "user-field-decls",
		"dde-connection-decls", "alphabetical-index-auto-mark-file", "page-sequence", "number":
		return w.skip(s)
	}
	return w.flow(s)
}

// isHiddenSection reports whether a section is hidden.
func isHiddenSection(s *xmlscan.Scanner) bool {
	switch s.Attr("display") {
	case "none":
		return true
	case "condition":
		return s.Attr("is-hidden") == "true"
	}
	return false
}

// turnPage starts the next page, if pages are counted.
func (w *walker) turnPage() {
	if w.page > 0 {
		w.page++
	}
}
