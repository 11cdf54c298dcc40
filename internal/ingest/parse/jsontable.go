package parse

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxRecordColumns is how many columns the table of an array of objects may have.
	maxRecordColumns = 30
	// maxRecordRow is the mean length, in bytes, up to which objects make good rows.
	maxRecordRow = 700
)

// table makes a table of an array of similar flat objects, or of an object whose members are such objects.
func (w *jsonWriter) table(at int32) (document.Block, bool) {
	node := &w.tree[at]
	rows := recordRows{tree: w.tree}
	if node.kind == jsonObject {
		rows.add("Name", "")
		rows.rows = rows.rows[:0]
	}
	good, count := true, 0
	w.tree.each(at, func(child int32) bool {
		count++
		good = w.tree[child].kind == jsonObject && rows.record(child) && (count%1024 != 0 || w.ctx.Err() == nil)
		if good && node.kind == jsonObject {
			rows.rows[len(rows.rows)-1][0] = w.tree[child].key
		}
		return good
	})
	least := 2
	if node.kind == jsonObject {
		least = 3
	}
	if !good || count < least || !rows.worthwhile() {
		return document.Block{}, false
	}
	w.written += rows.size
	return document.NewTable(rows.header, rows.rows), true
}

// recordRows makes rows of objects.
type recordRows struct {
	tree    jsonTree
	header  []string
	columns map[string]int
	rows    [][]string
	size    int // of all cells, in bytes
	filled  int // cells that are not empty
}

// add puts a cell into the last row.
func (r *recordRows) add(column, cell string) {
	if r.columns == nil {
		r.columns = make(map[string]int)
	}
	at, found := r.columns[column]
	if !found {
		at = len(r.header)
		r.columns[column] = at
		r.header = append(r.header, column)
	}
	if len(r.rows) == 0 {
		r.rows = append(r.rows, nil)
	}
	row := &r.rows[len(r.rows)-1]
	for len(*row) <= at {
		*row = append(*row, "")
	}
	(*row)[at] = cell
	r.size += len(cell)
	if cell != "" {
		r.filled++
	}
}

// record adds an object as a row. It reports false, and adds nothing, for one that is not flat or has too many other
// columns than those before.
func (r *recordRows) record(at int32) bool {
	header, size, filled := len(r.header), r.size, r.filled
	r.rows = append(r.rows, make([]string, 0, len(r.header)))
	if r.members(at, "", 0) && len(r.header) <= maxRecordColumns && (len(r.rows) < 100 || r.filled*4 > len(r.rows)*len(r.header)) {
		return true
	}
	for _, column := range r.header[header:] {
		delete(r.columns, column)
	}
	r.header, r.rows, r.size, r.filled = r.header[:header], r.rows[:len(r.rows)-1], size, filled
	return false
}

// members adds the members of an object as cells; those of an object in it get its name before theirs.
func (r *recordRows) members(at int32, prefix string, depth int) bool {
	good := true
	r.tree.each(at, func(child int32) bool {
		node := &r.tree[child]
		column := clean(prefix + node.key)
		switch {
		case node.kind == jsonNull:
			r.add(column, "")
		case node.scalar():
			r.add(column, (&jsonWriter{tree: r.tree}).scalarText(child))
			good = len(node.text) <= 4*maxRecordRow
		case node.kind == jsonObject && node.first == 0 || node.kind == jsonArray && node.first == 0:
			r.add(column, "")
		case node.kind == jsonObject && depth < 2:
			good = r.members(child, column+".", depth+1)
		default:
			text, short := r.tree.compact(child, 300)
			r.add(column, text)
			good = short
		}
		return good && len(r.header) <= maxRecordColumns
	})
	return good && len(r.header) <= maxRecordColumns
}

// worthwhile reports rows that are better read as a table than as lines: several columns or rows, most cells not empty, none
// too long.
func (r *recordRows) worthwhile() bool {
	rows := len(r.rows)
	switch {
	case rows < 2, rows < 3 && len(r.header) < 2, rows*len(r.header) > maxTableCells:
		return false
	}
	return r.filled*5 >= rows*len(r.header)*2 && r.size <= rows*maxRecordRow
}

// compact writes a value on one line of at most so many bytes, and reports whether it fits.
func (t jsonTree) compact(at int32, limit int) (string, bool) {
	var b strings.Builder
	fits := t.writeCompact(&b, at, limit, 0)
	return b.String(), fits
}

func (t jsonTree) writeCompact(b *strings.Builder, at int32, limit, depth int) bool {
	node := &t[at]
	if node.scalar() {
		b.WriteString(strings.Join(strings.Fields((&jsonWriter{tree: t}).scalarText(at)), " "))
		return b.Len() <= limit
	}
	if depth > 8 {
		return false
	}
	bracket := node.kind == jsonObject && depth > 0
	if bracket {
		b.WriteByte('{')
	}
	fits, first := true, true
	t.each(at, func(child int32) bool {
		if !first {
			b.WriteString(", ")
		}
		first = false
		if node.kind == jsonObject {
			b.WriteString(t[child].key)
			b.WriteString(": ")
		}
		fits = t.writeCompact(b, child, limit, depth+1) && b.Len() <= limit
		return fits
	})
	if bracket {
		b.WriteByte('}')
	}
	return fits
}
