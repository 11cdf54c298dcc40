package ooxml

import (
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// A flow collects the paragraphs of a story, a cell or a text box. The zero value is empty.
type flow struct {
	wordmodel.Flow
	para paragraph
	// continues is set if the next paragraph continues the text of the last one.
	continues bool
	// attached are the text boxes and charts of the open paragraph. They come after it.
	attached []document.Block
}

// paragraph is a paragraph that is being read.
type paragraph struct {
	open      bool
	style     *style
	list      string // id of the list that the paragraph names, if hasList is set
	hasList   bool
	level     int  // in its list, -1 if not given
	outline   int  // outline level, -1 if not given
	isPartial bool // its end is deleted: the next paragraph continues it
	fields    int  // how many fields were open at its beginning
	page      int  // where its text begins
	line      wordmodel.Line
}

// blockCost and cellCost are what a block and a cell add to the cost of a file: less than the memory that they need, but enough
// to bound files of millions of empty ones.
const (
	blockCost = 64
	cellCost  = 32
)

// addAttached adds the text boxes and charts of the last paragraph.
func (f *flow) addAttached() {
	f.Add(f.attached...)
	f.attached = nil
}

// finish returns the blocks.
func (f *flow) finish() []document.Block {
	f.addAttached()
	return f.Blocks
}
