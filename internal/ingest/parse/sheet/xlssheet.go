package sheet

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// xlsRows collects the cells of a sheet, which are usually ordered by row.
type xlsRows struct {
	t       *Tables
	row     int
	columns []uint16
	cells   []string
	late    []lateCell // cells of rows that were complete
}

type lateCell struct {
	row    int
	column uint16
	text   string
}

func (c *xlsRows) put(row, column int, text string) {
	if text == "" || column > maxSheetColumn {
		return
	}
	at := uint16(column) //nolint:gosec // just checked
	switch n := len(c.columns); {
	case row != c.row && row < c.t.next || row == c.row && n > 0 && c.columns[n-1] >= at:
		if len(c.late) < maxCells {
			c.late = append(c.late, lateCell{row, at, text})
		}
		return
	case row != c.row:
		c.end()
		c.row = row
	}
	c.columns, c.cells = append(c.columns, at), append(c.cells, text)
}

func (c *xlsRows) end() {
	if len(c.cells) > 0 {
		c.t.add(c.row, c.columns, c.cells)
		c.t.next = c.row + 1
	}
	c.columns, c.cells = c.columns[:0], c.cells[:0]
}

// finish adds the late cells to their rows.
func (c *xlsRows) finish() {
	c.end()
	if len(c.late) > 0 {
		c.t.insert(c.late)
	}
}

// insert adds cells to the rows of a sheet. Existing cells are kept.
func (t *Tables) insert(late []lateCell) {
	all := make([]lateCell, 0, len(late)+4*len(t.rows.list))
	for n := range t.rows.list {
		line := &t.rows.list[n]
		for i, cell := range line.cells {
			if cell != "" {
				all = append(all, lateCell{int(line.number), uint16(t.rows.columnOf(line, i)), cell}) //nolint:gosec // at most maxSheetColumn
				t.textLeft += len(cell) + len(" | ")
				t.cellsLeft++
			}
		}
	}
	all = append(all, late...)
	slices.SortStableFunc(all, func(a, b lateCell) int {
		if a.row != b.row {
			return a.row - b.row
		}
		return int(a.column) - int(b.column)
	})
	t.rows = rows{store: t.rows.store}
	var columns []uint16
	var cells []string
	for i, cell := range all {
		if len(columns) == 0 || columns[len(columns)-1] != cell.column {
			columns, cells = append(columns, cell.column), append(cells, cell.text)
		}
		if i+1 == len(all) || all[i+1].row != cell.row {
			t.add(cell.row, columns, cells)
			columns, cells = columns[:0], cells[:0]
		}
	}
}

// xlsObjects are the objects of a sheet.
type xlsObjects struct {
	links  []xlsLink
	notes  []xlsNote
	texts  map[int]string // of comments, by object
	boxes  []string
	object int  // the last object
	isNote bool // it is a comment
}

// readSheet reads a worksheet from its BOF record.
func (x *xls) readSheet(r *records) error {
	x.tables.next = 0
	c := &xlsRows{t: x.tables, row: -1}
	objects := &xlsObjects{texts: make(map[int]string)}
	depth, formulaRow, formulaColumn := 0, -1, 0
	isComplete := false
	for n := 0; !isComplete && r.next(); n++ {
		if n%1024 == 0 {
			if err := x.ok(); err != nil {
				return err
			}
		}
		// In a hostile file, sheets may overlap.
		if x.scanned += len(r.data) + 4; x.scanned > 8*len(r.stream)+1<<20 {
			break
		}
		switch {
		case r.kind == recordBOF:
			depth++
		case r.kind == recordEOF:
			depth--
			isComplete = depth <= 0
		case depth > 1: // a chart
		case r.kind == recordFormula:
			formulaRow, formulaColumn = r.u16(0), r.u16(2)
			c.put(formulaRow, formulaColumn, x.formula(r))
		case r.kind == recordString:
			if formulaRow >= 0 {
				c.put(formulaRow, formulaColumn, x.longText(r, 0))
				formulaRow = -1
			}
		default:
			x.readCells(r, c)
			x.readObject(r, objects)
		}
	}
	if !isComplete {
		x.missing("a part of sheet %d is missing", x.tables.Sheets())
	}
	c.finish()
	x.addObjects(objects)
	return x.ok()
}

// readCells reads a record with cells.
func (x *xls) readCells(r *records, c *xlsRows) {
	row, column, style := r.u16(0), r.u16(2), r.u16(4)
	switch r.kind {
	case recordLabelSST:
		at := int(r.u32(6))
		if len(r.data) < 10 || at >= len(x.strings) {
			if len(x.damage) == 0 {
				x.missing("a part of its texts is missing")
			}
			return
		}
		c.put(row, column, x.strings[at])
	case recordLabel, recordRString:
		c.put(row, column, x.longText(r, 6))
	case recordNumber:
		if len(r.data) >= 14 {
			c.put(row, column, x.number(math.Float64frombits(binary.LittleEndian.Uint64(r.data[6:])), style))
		}
	case recordRK:
		if len(r.data) >= 10 {
			c.put(row, column, x.number(rk(r.u32(6)), style))
		}
	case recordMulRK:
		for at := 4; at+6 <= len(r.data)-2; at += 6 {
			c.put(row, column, x.number(rk(r.u32(at+2)), r.u16(at)))
			column++
		}
	case recordBoolErr:
		if len(r.data) >= 8 {
			c.put(row, column, boolOrError(r.data[6], r.data[7] != 0))
		}
	case recordMergedCells:
		for at := 2; at+8 <= len(r.data); at += 8 {
			// The record comes after the cells.
			if top := r.u16(at); c.t.has(top) || top == c.row {
				c.t.merge(top, r.u16(at+4), r.u16(at+6))
			}
		}
	}
}

// longText returns the text of a cell, which may continue in the next records.
func (x *xls) longText(r *records, at int) string {
	if at+2 > len(r.data) {
		return ""
	}
	length := r.u16(at)
	if x.version != biff8 {
		return x.tables.texts.keepString(clean(x.bytes(r.data[at+2:], length)))
	}
	p := r.continued()
	p.list[0] = p.list[0][at+2:]
	x.buffer = p.appendString(x.buffer[:0], length)
	return x.tables.texts.keepString(clean(string(x.buffer)))
}

// formula returns the last value of a formula. It is "" for a text, which has a record of its own.
func (x *xls) formula(r *records) string {
	if len(r.data) < 14 {
		return ""
	}
	if r.data[12] != 0xFF || r.data[13] != 0xFF {
		return x.number(math.Float64frombits(binary.LittleEndian.Uint64(r.data[6:])), r.u16(4))
	}
	switch r.data[6] {
	case 1, 2:
		return boolOrError(r.data[8], r.data[6] == 2)
	}
	return ""
}

func (x *xls) number(value float64, style int) string {
	if format := x.styles.of(style); format != nil {
		x.buffer = format.append(x.buffer[:0], value, x.from1904)
	} else {
		x.buffer = (&numberFormat{}).append(x.buffer[:0], value, false)
	}
	return x.tables.texts.keepFormatted(x.buffer)
}

// rk decodes a number of 30 bits (MS-XLS 2.5.217).
func rk(bits uint32) float64 {
	var value float64
	if bits&2 != 0 {
		value = float64(int32(bits) >> 2) //nolint:gosec // the bits of a signed number
	} else {
		value = math.Float64frombits(uint64(bits&^3) << 32)
	}
	if bits&1 != 0 {
		value /= 100
	}
	return value
}

func boolOrError(value byte, isError bool) string {
	if !isError {
		if value != 0 {
			return "TRUE"
		}
		return "FALSE"
	}
	switch value {
	case 0x00:
		return "#NULL!"
	case 0x07:
		return "#DIV/0!"
	case 0x0F:
		return "#VALUE!"
	case 0x17:
		return "#REF!"
	case 0x1D:
		return "#NAME?"
	case 0x24:
		return "#NUM!"
	}
	return "#N/A"
}

// decodeWide decodes UTF-16 up to its first NUL.
func decodeWide(text []byte) string {
	for i := 0; i+1 < len(text); i += 2 {
		if text[i] == 0 && text[i+1] == 0 {
			text = text[:i]
			break
		}
	}
	return cfb.DecodeUTF16(text)
}
