package datatext

import (
	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/datatree"
)

const (
	// maxColumns is how many columns a table of records may have.
	maxColumns = 30
	// maxRowBytes is the mean length up to which records are readable as rows.
	maxRowBytes = 700
	// maxCellBytes is the longest array that stands in a cell.
	maxCellBytes = 300
)

// table returns an array of similar flat objects as a table, or an object whose members are such objects.
func (w *Writer) table(at int32) (document.Block, bool) {
	node := &w.Tree[at]
	rows := recordTable{tree: w.Tree}
	if node.Kind == datatree.Object {
		rows.setCell("Name", "")
		rows.rows = rows.rows[:0]
	}
	similar, count := true, 0
	w.Tree.Each(at, func(child int32) bool {
		count++
		similar = w.Tree[child].Kind == datatree.Object && rows.add(child) && (count%1024 != 0 || w.ctx.Err() == nil)
		if similar && node.Kind == datatree.Object {
			rows.rows[len(rows.rows)-1][0] = w.Tree[child].Key
		}
		return similar
	})
	least := 2
	if node.Kind == datatree.Object {
		least = 3
	}
	if !similar || count < least || !rows.isReadable() {
		return document.Block{}, false
	}
	w.written += rows.size
	return document.NewTable(rows.header, rows.rows), true
}

// recordTable collects objects as rows. A column is a member, or a path to a member of an inner object.
type recordTable struct {
	tree    datatree.Tree
	header  []string
	columns map[string]int
	rows    [][]string
	size    int // bytes of all cells
	filled  int // cells that are not empty
}

// setCell sets a cell of the last row.
func (r *recordTable) setCell(column, text string) {
	if r.columns == nil {
		r.columns = make(map[string]int)
	}
	at, known := r.columns[column]
	if !known {
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
	(*row)[at] = text
	r.size += len(text)
	if text != "" {
		r.filled++
	}
}

// add adds an object as a row. It reports false, and changes nothing, if the object is not flat or has too many columns of
// its own.
func (r *recordTable) add(at int32) bool {
	header, size, filled := len(r.header), r.size, r.filled
	r.rows = append(r.rows, make([]string, 0, len(r.header)))
	// Similar records fill at least a quarter of the cells.
	if r.setMembers(at, "", 0) && (len(r.rows) < 100 || r.filled*4 > len(r.rows)*len(r.header)) {
		return true
	}
	for _, column := range r.header[header:] {
		delete(r.columns, column)
	}
	r.header, r.rows, r.size, r.filled = r.header[:header], r.rows[:len(r.rows)-1], size, filled
	return false
}

// setMembers sets a cell for each member of an object. The columns of inner objects are prefixed with their names.
func (r *recordTable) setMembers(at int32, prefix string, depth int) bool {
	const maxDepth = 2
	flat := true
	r.tree.Each(at, func(child int32) bool {
		node := &r.tree[child]
		column := charset.Clean(prefix + node.Key)
		switch {
		case node.Kind == datatree.Null:
			r.setCell(column, "")
		case node.Scalar():
			r.setCell(column, r.tree.ScalarText(child))
			flat = len(node.Text) <= 4*maxRowBytes
		case node.First == 0:
			r.setCell(column, "")
		case node.Kind == datatree.Object && depth < maxDepth:
			flat = r.setMembers(child, column+".", depth+1)
		default:
			var text string
			text, flat = r.tree.Compact(child, maxCellBytes)
			r.setCell(column, text)
		}
		return flat && len(r.header) <= maxColumns
	})
	return flat && len(r.header) <= maxColumns
}

// isReadable reports whether the rows are better read as a table than as lines: there are several of them, most cells are not
// empty, and none is too long.
func (r *recordTable) isReadable() bool {
	rows := len(r.rows)
	switch {
	case rows < 2, rows < 3 && len(r.header) < 2, rows*len(r.header) > compose.MaxTableCells:
		return false
	}
	return r.filled*5 >= rows*len(r.header)*2 && r.size <= rows*maxRowBytes
}

// shares reports whether an object has at least half of its members in common with the rows so far.
func (r *recordTable) shares(at int32) bool {
	if len(r.rows) == 0 {
		return true
	}
	members, common := 0, 0
	r.tree.Each(at, func(child int32) bool {
		members++
		if _, known := r.columns[r.tree[child].Key]; known || !r.tree[child].Scalar() {
			common++
		}
		return true
	})
	return common*2 >= members
}
