package ooxml

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// flow is where the paragraphs of a story, a cell or a text box go. The zero value is empty.
type flow struct {
	blocks []document.Block
	para   paragraph
	// carried tells that the text of the last paragraph begins the next one.
	carried bool
	// after comes after the paragraph that is open: text boxes, charts.
	after []document.Block
	// quotes come after the list that is collected.
	quotes []document.Block

	// What neighbours are joined in, a list, code or a quotation, and the page where it began.
	pending document.BlockKind
	joining bool
	page    int
	list    listText
	text    strings.Builder
}

// paragraph is a paragraph that is being read.
type paragraph struct {
	open     bool
	style    *style
	number   string // id of its numbering
	numbered bool   // whether it names one
	level    int    // of its numbering, -1 where it does not say
	outline  int    // -1 where it does not say
	joined   bool   // the end of the paragraph is deleted, or no end at all: the next one goes on with it
	fields   int    // how many fields were open when it began
	page     int    // where its text begins
	line     line
}

// blockCost and cellCost are what a block and a cell count for beside their text, less than the memory they take: a file of
// millions of short ones must not take gigabytes.
const (
	blockCost = 64
	cellCost  = 32
)

// flush ends what neighbours are joined in.
func (f *flow) flush() {
	if f.joining {
		f.joining = false
		block := document.Block{Kind: f.pending, Page: f.page}
		if f.pending == document.List {
			block.Text = f.list.text.String()
			f.list.reset()
		} else {
			block.Text = f.text.String()
			f.text.Reset()
		}
		if f.pending == document.Code {
			block.Text = strings.Trim(block.Text, "\n")
		}
		f.blocks = append(f.blocks, block)
	}
	f.blocks = append(f.blocks, f.quotes...)
	f.quotes = nil
}

// add appends a block of its own.
func (f *flow) add(blocks ...document.Block) {
	f.flush()
	f.blocks = append(f.blocks, blocks...)
}

// item appends an item to the list before it, or begins one.
func (f *flow) item(level int, m marker, text string, page int) {
	if f.joining && (f.pending != document.List || f.list.begins(level, m)) {
		f.flush()
	}
	if !f.joining {
		f.joining, f.pending, f.page = true, document.List, page
	}
	f.list.item(level, m, text)
}

// join appends a paragraph of code or of a quotation to the one before it.
func (f *flow) join(kind document.BlockKind, between, text string, page int) {
	if f.joining && f.pending != kind {
		f.flush()
	}
	if f.joining {
		f.text.WriteString(between)
	} else {
		f.flush()
		f.joining, f.pending, f.page = true, kind, page
	}
	f.text.WriteString(text)
}

// gap is an empty paragraph: a list goes on after it, code and quotations end.
func (f *flow) gap() {
	if f.joining && f.pending != document.List {
		f.flush()
	}
}

// finish ends everything and returns the blocks.
func (f *flow) finish() []document.Block {
	f.flush()
	f.blocks = append(f.blocks, f.after...)
	f.after = nil
	return f.blocks
}
