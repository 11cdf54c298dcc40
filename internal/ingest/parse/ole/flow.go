package ole

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// flow is where the paragraphs of a story or a cell go. The zero value is empty.
type flow struct {
	blocks []document.Block
	// after comes after what is collected: comments, text boxes.
	after []document.Block
	// What neighbours are joined in: a list, code or a quotation.
	pending document.BlockKind
	joining bool
	list    listText
	text    strings.Builder
}

// flush ends what neighbours are joined in.
func (f *flow) flush() {
	if f.joining {
		f.joining = false
		block := document.Block{Kind: f.pending}
		if f.pending == document.List {
			block.Text = f.list.text.String()
			f.list.reset()
		} else {
			block.Text = strings.Trim(f.text.String(), "\n")
			f.text.Reset()
		}
		f.blocks = append(f.blocks, block)
	}
	f.blocks = append(f.blocks, f.after...)
	f.after = nil
}

// add appends blocks of their own.
func (f *flow) add(blocks ...document.Block) {
	f.flush()
	f.blocks = append(f.blocks, blocks...)
}

// later appends blocks after what is collected.
func (f *flow) later(blocks ...document.Block) {
	f.after = append(f.after, blocks...)
	if !f.joining || f.pending != document.List {
		f.flush()
	}
}

// item appends an item to the list before it, or begins one.
func (f *flow) item(level int, m marker, text string) {
	if f.joining && (f.pending != document.List || f.list.begins(level, m)) {
		f.flush()
	}
	f.joining, f.pending = true, document.List
	f.list.item(level, m, text)
}

// join appends a paragraph of code or of a quotation to the one before it.
func (f *flow) join(kind document.BlockKind, between, text string) {
	if f.joining && f.pending != kind {
		f.flush()
	}
	if f.joining {
		f.text.WriteString(between)
	}
	f.joining, f.pending = true, kind
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
	return f.blocks
}

// flatText puts blocks on one line each: those of a cell, a note, a comment.
func flatText(blocks []document.Block) string {
	var parts []string
	for i := range blocks {
		block := &blocks[i]
		if block.Kind != document.Table {
			if text := strings.TrimSpace(block.Text); text != "" {
				parts = append(parts, text)
			}
			continue
		}
		var rows []string
		for at := -1; at < len(block.Rows); at++ {
			cells := block.Header
			if at >= 0 {
				cells = block.Rows[at]
			}
			var kept []string
			for _, cell := range cells {
				if cell != "" {
					kept = append(kept, cell)
				}
			}
			if len(kept) > 0 {
				rows = append(rows, strings.Join(kept, ", "))
			}
		}
		parts = append(parts, strings.Join(rows, "; "))
	}
	return strings.Join(parts, "\n")
}
