package wordmodel

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// MaxHeading is the longest text, in bytes, that becomes a heading.
const MaxHeading = 1000

// A Flow collects the blocks of a text, a cell or a text box. It joins neighbouring paragraphs that are one list, one block of
// code or one quotation. The zero value is empty.
type Flow struct {
	// Blocks are the finished blocks.
	Blocks []document.Block

	// joined is the block that neighbours are joined in, while isJoining is set. Its text is in list or text.
	joined    document.Block
	isJoining bool
	list      listText
	text      strings.Builder
	// later comes after the joined block: comments, text boxes.
	later []document.Block
}

// Flush finishes the joined block.
func (f *Flow) Flush() {
	if f.isJoining {
		f.isJoining = false
		block := f.joined
		if block.Kind == document.List {
			block.Text = f.list.text.String()
			f.list.reset()
		} else {
			block.Text = strings.Trim(f.text.String(), "\n")
			f.text.Reset()
		}
		f.Blocks = append(f.Blocks, block)
	}
	f.Blocks = append(f.Blocks, f.later...)
	f.later = nil
}

// Finish finishes the joined block and returns all blocks.
func (f *Flow) Finish() []document.Block {
	f.Flush()
	return f.Blocks
}

// IsEmpty reports whether the flow has no blocks.
func (f *Flow) IsEmpty() bool { return len(f.Blocks) == 0 && !f.isJoining }

// Add appends blocks that are not joined with others.
func (f *Flow) Add(blocks ...document.Block) {
	f.Flush()
	f.Blocks = append(f.Blocks, blocks...)
}

// AddLater appends blocks after the joined block. They do not interrupt a list.
func (f *Flow) AddLater(blocks ...document.Block) {
	f.later = append(f.later, blocks...)
	if !f.isJoining || f.joined.Kind != document.List {
		f.Flush()
	}
}

// Item appends a list item to the list before it, or starts a list. The page is that of a list that it starts.
func (f *Flow) Item(level int, m Marker, text string, page int) {
	if f.isJoining && (f.joined.Kind != document.List || f.list.startsNew(level, m)) {
		f.Flush()
	}
	if !f.isJoining {
		f.isJoining, f.joined = true, document.Block{Kind: document.List, Page: page}
	}
	f.list.item(level, m, text)
}

// Join appends a block of code or a quotation to the one before it, with a separator between. If that is of another kind or
// language, the block stays separate.
func (f *Flow) Join(block document.Block, separator string) {
	if f.isJoining && (f.joined.Kind != block.Kind || f.joined.Language != block.Language) {
		f.Flush()
	}
	if f.isJoining {
		f.text.WriteString(separator)
	} else {
		f.Flush()
		f.isJoining, f.joined = true, block
	}
	f.text.WriteString(block.Text)
}

// Gap appends an empty paragraph. A list continues after it, and a quotation ends. Code ends too, or gets an empty line if
// keepCode is set.
func (f *Flow) Gap(keepCode bool) {
	switch {
	case !f.isJoining || f.joined.Kind == document.List:
	case f.joined.Kind == document.Code && keepCode:
		f.text.WriteByte('\n')
	default:
		f.Flush()
	}
}

// Flatten returns the text of blocks on few lines, as cells, notes and comments hold it.
func Flatten(blocks []document.Block) string {
	var parts []string
	for i := range blocks {
		block := &blocks[i]
		if block.Kind == document.Table {
			parts = append(parts, flattenTable(block))
			continue
		}
		text := strings.TrimSpace(block.Text)
		if block.Kind == document.Code && text != "" {
			text = CodeSpan(text)
		}
		if text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, "\n")
}

func flattenTable(table *document.Block) string {
	rows := make([]string, 0, len(table.Rows)+1)
	add := func(cells []string) {
		kept := make([]string, 0, len(cells))
		for _, cell := range cells {
			if cell != "" {
				kept = append(kept, cell)
			}
		}
		if len(kept) > 0 {
			rows = append(rows, strings.Join(kept, ", "))
		}
	}
	add(table.Header)
	for _, row := range table.Rows {
		add(row)
	}
	return strings.Join(rows, "; ")
}
