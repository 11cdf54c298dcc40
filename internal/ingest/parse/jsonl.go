package parse

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// maxWrongLines is how many more lines may be wrong than right before it is no file of JSON lines.
const maxWrongLines = 1000

// readJSONLines reads a JSON value a line: similar flat objects that follow each other are the rows of a table, others are
// lines "path: value". Lines that are no JSON are left as they are and named.
func readJSONLines(ctx context.Context, r request) (*document.Draft, error) {
	w := newRecordWriter(ctx, r.limits)
	p := &jsonParser{ctx: ctx, maxDepth: r.limits.MaxDepth}
	var wrong []int
	number, good := 0, 0
	for line := range strings.Lines(r.text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line == "\x1e" {
			continue
		}
		*p = jsonParser{ctx: ctx, maxDepth: r.limits.MaxDepth, text: line, tree: p.tree[:0]}
		root, err := p.value("", 0)
		if err == nil {
			if err = p.space(); err == nil && p.at < len(line) {
				err = p.unexpected("the line should end here")
			}
		}
		if broken := (*errJSON)(nil); errors.As(err, &broken) {
			if wrong = append(wrong, number); len(wrong) > good+maxWrongLines {
				return readJSON(ctx, r)
			}
			w.text(line)
			continue
		}
		if err == nil {
			good++
			err = w.add(p.tree, root)
		}
		if err != nil {
			return nil, err
		}
	}
	if good == 0 || len(wrong) > good {
		// Values that are spread over several lines.
		return readJSON(ctx, r)
	}
	if len(wrong) == 0 {
		return w.draft(nil)
	}
	return w.draft([]string{brokenLines(wrong) + " no JSON and left as in the file"})
}

// brokenLines names lines: "line 3 is", "lines 3, 7 and 12 more are".
func brokenLines(numbers []int) string {
	const most = 10
	if len(numbers) == 1 {
		return "line " + strconv.Itoa(numbers[0]) + " is"
	}
	var b strings.Builder
	b.WriteString("lines ")
	for i, number := range numbers[:min(len(numbers), most)] {
		switch {
		case i > 0 && i == len(numbers)-1:
			b.WriteString(" and ")
		case i > 0:
			b.WriteString(", ")
		}
		b.WriteString(strconv.Itoa(number))
	}
	if len(numbers) > most {
		fmt.Fprintf(&b, " and %d more", len(numbers)-most)
	}
	b.WriteString(" are")
	return b.String()
}

// recordWriter writes records as they come.
type recordWriter struct {
	writer  *jsonWriter
	pending recordRows
	// lines are those of the first records of pending, in case there are no more.
	lines []string
	count int
	cells int
}

func newRecordWriter(ctx context.Context, limits document.Limits) *recordWriter {
	return &recordWriter{writer: newJSONWriter(ctx, nil, limits)}
}

// fewRecords is how many similar records it takes for a table.
const fewRecords = 3

// add writes a record.
func (w *recordWriter) add(tree jsonTree, root int32) error {
	w.count++
	w.writer.tree, w.pending.tree = tree, tree
	if err := w.writer.alive(); err != nil {
		return err
	}
	if tree[root].kind == jsonObject && w.alike(tree, root) {
		before := w.pending.size
		if w.pending.record(root) {
			if w.pending.size-before <= declarationRunes {
				return w.keep(tree, root)
			}
			w.pending.rows = w.pending.rows[:len(w.pending.rows)-1]
		}
	}
	w.flush()
	if tree[root].kind == jsonObject && w.writer.size(root, 0) > declarationRunes {
		w.title(tree, root)
	}
	if err := w.writer.value(root, ""); err != nil {
		return err
	}
	w.writer.flush()
	return nil
}

// title gives a long record a heading where it says what it is called.
func (w *recordWriter) title(tree jsonTree, root int32) {
	for _, key := range []string{"title", "name", "id", "key", "label"} {
		if text := oneLine(tree.textOf(root, key)); text != "" && len(text) <= 120 {
			w.writer.heading(2, text)
			return
		}
	}
	w.writer.heading(2, "["+strconv.Itoa(w.count-1)+"]")
}

// alike reports whether a record has most of its members in common with the pending ones.
func (w *recordWriter) alike(tree jsonTree, root int32) bool {
	if len(w.pending.rows) == 0 {
		return true
	}
	members, common := 0, 0
	tree.each(root, func(child int32) bool {
		members++
		if _, found := w.pending.columns[tree[child].key]; found || !tree[child].scalar() {
			common++
		}
		return true
	})
	return common*2 >= members
}

// keep takes note of a row that was added.
func (w *recordWriter) keep(tree jsonTree, root int32) error {
	w.cells += len(w.pending.header) + 1
	if w.cells > maxTableCells {
		return &document.LimitError{Detail: fmt.Sprintf("table has more than %d cells", maxTableCells)}
	}
	if len(w.pending.rows) < fewRecords {
		inner := newJSONWriter(w.writer.ctx, tree, w.writer.limits)
		if err := inner.value(root, ""); err != nil {
			return err
		}
		inner.flush()
		for i := range inner.blocks {
			w.lines = append(w.lines, inner.blocks[i].Text)
		}
	}
	return nil
}

// flush writes the pending rows, as lines where they are too few for a table.
func (w *recordWriter) flush() {
	switch {
	case len(w.pending.rows) >= fewRecords:
		w.writer.blocks = append(w.writer.blocks, document.NewTable(w.pending.header, w.pending.rows))
		w.writer.written += w.pending.size
	default:
		for _, line := range w.lines {
			w.writer.blocks = append(w.writer.blocks, document.Block{Kind: document.Paragraph, Text: line})
			w.writer.written += len(line)
		}
	}
	w.pending, w.lines = recordRows{}, nil
}

// text writes a line that is no record.
func (w *recordWriter) text(line string) {
	w.flush()
	w.writer.blocks = append(w.writer.blocks, document.Block{Kind: document.Code, Text: line})
	w.writer.written += len(line)
}

// draft ends the work. The problems are what is damaged.
func (w *recordWriter) draft(problems []string) (*document.Draft, error) {
	w.flush()
	found := &document.Draft{Blocks: w.writer.blocks, Extra: map[string]any{"records": w.count}}
	if len(problems) > 0 {
		found.Extra["damaged"] = strings.Join(problems, "; ")
	}
	return found, w.writer.alive()
}
