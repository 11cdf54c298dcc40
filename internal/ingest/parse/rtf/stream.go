package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// blockCost is what a block, a cell or a change of the look counts for beside its text, so that a file of nothing but
// marks has its limit too.
const blockCost = 48

// stream collects the blocks of the text, of a cell or of a note, and joins the neighbours that are one list, one piece of
// code or one quotation. The zero value is empty.
type stream struct {
	blocks []document.Block

	pending document.BlockKind
	joining bool
	mono    bool // the code is code by its font alone
	page    int
	list    list
	text    strings.Builder
	// after comes after what is joined: comments, text boxes.
	after []document.Block
}

// flush ends what neighbours are joined in.
func (s *stream) flush() {
	s.endJoined()
	s.blocks = append(s.blocks, s.after...)
	s.after = nil
}

func (s *stream) endJoined() {
	if !s.joining {
		return
	}
	s.joining = false
	block := document.Block{Kind: s.pending, Page: s.page}
	if s.pending == document.List {
		block.Text = s.list.text.String()
		s.list = list{}
	} else {
		block.Text = strings.Trim(s.text.String(), "\n")
		s.text.Reset()
	}
	if s.mono && s.pending == document.Code {
		block.Language = byFont
	}
	s.blocks = append(s.blocks, block)
}

// byFont marks code that is known by its font only, until all of the text is read.
const byFont = "\x00"

// add appends blocks of their own.
func (s *stream) add(blocks ...document.Block) {
	s.flush()
	s.blocks = append(s.blocks, blocks...)
}

// item appends an item to the list before it, or begins one.
func (s *stream) item(level int, m marker, text string, page int) {
	if !s.joining || s.pending != document.List || s.list.begins(level, m) {
		s.flush()
	}
	if !s.joining {
		s.joining, s.pending, s.page = true, document.List, page
	}
	s.list.item(level, m, text)
}

// join appends a paragraph of code or of a quotation to the one before it.
func (s *stream) join(kind document.BlockKind, between, text string, page int, mono bool) {
	if !s.joining || s.pending != kind || s.mono != mono {
		s.flush()
	}
	if s.joining {
		s.text.WriteString(between)
	} else {
		s.joining, s.pending, s.page, s.mono = true, kind, page, mono
	}
	s.text.WriteString(text)
}

// gap is an empty paragraph: a list goes on after it, code gets an empty line, a quotation ends.
func (s *stream) gap() {
	switch {
	case !s.joining:
	case s.pending == document.Code:
		s.text.WriteByte('\n')
	case s.pending == document.Quote:
		s.flush()
	}
}

// flat puts blocks on few lines: those of a cell, a note or a comment.
func flat(blocks []document.Block) string {
	if len(blocks) == 1 && blocks[0].Kind != document.Table {
		return strings.TrimSpace(blocks[0].Text)
	}
	var parts []string
	for i := range blocks {
		if blocks[i].Kind != document.Table {
			if text := strings.TrimSpace(blocks[i].Text); text != "" {
				parts = append(parts, text)
			}
			continue
		}
		rows := append([][]string{blocks[i].Header}, blocks[i].Rows...)
		var lines []string
		for _, row := range rows {
			var cells []string
			for _, cell := range row {
				if cell != "" {
					cells = append(cells, cell)
				}
			}
			if len(cells) > 0 {
				lines = append(lines, strings.Join(cells, ", "))
			}
		}
		parts = append(parts, strings.Join(lines, "; "))
	}
	return strings.Join(parts, "\n")
}
