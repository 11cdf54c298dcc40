package datatext

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
)

// minTableRows is how many similar records in a row become a table.
const minTableRows = 3

// Records writes a stream of records: similar flat objects that follow each other become the rows of a table, others lines
// "path: value". It is for one goroutine.
type Records struct {
	writer *Writer
	// pending holds the similar records since the last block. texts holds the first of them as paragraphs, in case they stay too
	// few for a table.
	pending recordTable
	texts   []string
	count   int
	cells   int
}

// NewRecords returns a writer of records.
func NewRecords(ctx context.Context, limits document.Limits) *Records {
	return &Records{writer: NewWriter(ctx, nil, limits)}
}

// Add writes the record at the root of a tree. The tree may be reused afterwards.
func (r *Records) Add(tree datatree.Tree, root int32) error {
	r.count++
	r.writer.Tree, r.pending.tree = tree, tree
	if err := r.writer.Err(); err != nil {
		return err
	}
	isObject := tree[root].Kind == datatree.Object
	if isObject && r.pending.shares(root) {
		before := r.pending.size
		if r.pending.add(root) {
			if r.pending.size-before <= compose.BlockRunes {
				return r.keep(tree, root)
			}
			r.pending.rows = r.pending.rows[:len(r.pending.rows)-1]
		}
	}
	r.flush()
	if isObject && r.writer.size(root, 0) > compose.BlockRunes {
		r.heading(tree, root)
	}
	if err := r.writer.Value(root, ""); err != nil {
		return err
	}
	r.writer.Flush()
	return nil
}

// heading writes the heading of a long record: its own name, or its number.
func (r *Records) heading(tree datatree.Tree, root int32) {
	for _, key := range []string{"title", "name", "id", "key", "label"} {
		if text := ownName(tree, root, key); text != "" {
			r.writer.Heading(2, text)
			return
		}
	}
	r.writer.Heading(2, "["+strconv.Itoa(r.count-1)+"]")
}

// keep accounts for a pending row.
func (r *Records) keep(tree datatree.Tree, root int32) error {
	r.cells += len(r.pending.header) + 1
	if r.cells > compose.MaxTableCells {
		return &document.LimitError{Detail: fmt.Sprintf("table has more than %d cells", compose.MaxTableCells)}
	}
	if len(r.pending.rows) < minTableRows {
		inner := NewWriter(r.writer.ctx, tree, r.writer.limits)
		if err := inner.Value(root, ""); err != nil {
			return err
		}
		inner.Flush()
		for i := range inner.Blocks {
			r.texts = append(r.texts, inner.Blocks[i].Text)
		}
	}
	return nil
}

// flush writes the pending rows as a table, or as paragraphs if they are too few.
func (r *Records) flush() {
	if len(r.pending.rows) >= minTableRows {
		r.writer.Append(document.NewTable(r.pending.header, r.pending.rows), r.pending.size)
	} else {
		for _, text := range r.texts {
			r.writer.Append(document.Block{Kind: document.Paragraph, Text: text}, len(text))
		}
	}
	r.pending, r.texts = recordTable{}, nil
}

// Text writes a line that is no record.
func (r *Records) Text(line string) {
	r.flush()
	r.writer.Append(document.Block{Kind: document.Code, Text: line}, len(line))
}

// Draft returns all records. The problems say what is damaged.
func (r *Records) Draft(problems ...string) (*document.Draft, error) {
	r.flush()
	draft := &document.Draft{Blocks: r.writer.Blocks, Extra: map[string]any{"records": r.count}}
	if len(problems) > 0 {
		draft.Extra["damaged"] = strings.Join(problems, "; ")
	}
	return draft, r.writer.Err()
}
