package odf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// A workbook collects the sheets of a spreadsheet.
type workbook struct {
	w      *walker
	tables *sheet.Tables
	row    []string
	line   int              // of the current row, from 1
	column int              // of the current cell, from 1
	empty  int              // empty cells since the last one with text
	others []document.Block // comments and drawings, which come after their sheet
}

// spreadsheet reads the body of a spreadsheet.
func (r *reader) spreadsheet(s *xmlscan.Scanner) error {
	r.walk.isSpreadsheet = true
	r.margins.texts = nil // headers of sheets are samples: the name of the sheet, the page number
	b := &workbook{w: r.walk, tables: sheet.NewTables()}
	b.tables.Bound(r.in.Limits)
	err := r.walk.each(s, func() error {
		if s.Name() == "table" && !isCache(s.Attr("name")) {
			return b.sheet(s)
		}
		return r.walk.skip(s)
	})
	r.walk.blocks = merge(b.tables.Blocks(), b.others)
	r.draft.Pages = b.tables.Sheets()
	if err == nil {
		err = b.tables.Err()
	}
	return err
}

// isCache reports whether a sheet is a copy of one in another file, to which formulas refer.
func isCache(name string) bool { return strings.HasPrefix(name, "'file:") }

// merge puts the other blocks of each sheet after its tables. Both are in the order of pages.
func merge(blocks, others []document.Block) []document.Block {
	if len(others) == 0 {
		return blocks
	}
	merged := make([]document.Block, 0, len(blocks)+len(others))
	for i := range blocks {
		for len(others) > 0 && others[0].Page < blocks[i].Page {
			merged, others = append(merged, others[0]), others[1:]
		}
		merged = append(merged, blocks[i])
	}
	return append(merged, others...)
}

func (b *workbook) sheet(s *xmlscan.Scanner) error {
	if limit := b.w.r.in.Limits.WithDefaults().MaxPages; b.tables.Sheets() >= limit {
		return &document.LimitError{Detail: fmt.Sprintf("the file has more than %d sheets", limit)}
	}
	b.tables.Begin(s.Attr("name"))
	b.w.page, b.line = b.tables.Sheets(), 0
	err := b.rows(s)
	b.w.flush()
	b.others = append(b.others, b.w.blocks...)
	b.w.blocks = nil
	return err
}

func (b *workbook) rows(s *xmlscan.Scanner) error {
	return b.w.each(s, func() error {
		switch s.Name() {
		case "table-row":
			return b.tableRow(s)
		case "table-header-rows", "table-rows", "table-row-group":
			return b.rows(s)
		case "shapes":
			return b.w.flow(s)
		}
		return b.w.skip(s)
	})
}

func (b *workbook) tableRow(s *xmlscan.Scanner) error {
	repeated := repetitions(s, "number-rows-repeated")
	b.line++
	b.row, b.empty, b.column = b.row[:0], 0, 1
	size := 0
	err := b.w.each(s, func() error {
		times := repetitions(s, "number-columns-repeated")
		text := ""
		var err error
		switch s.Name() {
		case "table-cell":
			text, err = b.cell(s)
		case "covered-table-cell":
			err = b.w.skip(s)
		default:
			return b.w.skip(s)
		}
		b.column = min(b.column+times, maxRepetition)
		if text == "" {
			b.empty = min(b.empty+times, maxRepetition)
			return err
		}
		// The row is not extended beyond the widest table by empty or repeated cells.
		for ; b.empty > 0 && len(b.row) < document.MaxColumns; b.empty-- {
			b.row = append(b.row, "")
		}
		b.empty = 0
		times = min(times, max(document.MaxColumns-len(b.row), 1))
		for range times {
			b.row = append(b.row, text)
		}
		size += (len(text) + cellSize) * times
		b.w.spend((len(text) + cellSize) * times)
		return err
	})
	b.line = min(b.line+repeated-1, maxRepetition)
	if len(b.row) == 0 {
		b.tables.Row(nil)
		return err
	}
	repeated = min(repeated, maxRepeated)
	b.w.spend(size * (repeated - 1))
	for range repeated {
		b.tables.Row(b.row)
	}
	return err
}

// columnName returns the letters of a column, from 1.
func columnName(column int) string {
	name := ""
	for ; column > 0; column = (column - 1) / 26 {
		name = string(rune('A'+(column-1)%26)) + name
	}
	return name
}

// cell reads a cell. It returns the displayed text, or the value.
func (b *workbook) cell(s *xmlscan.Scanner) (string, error) {
	w := b.w
	value := cellValue(s)
	ln := w.openLine(false, false)
	ln.noEmphasis = true
	err := w.each(s, func() error {
		switch {
		case s.Prefix() == "text" && s.Name() == "p":
			ln.blanks(1)
			return w.inline(s, ln)
		case s.Prefix() == "office" && s.Name() == "annotation":
			quote, err := w.annotation(s)
			if quote.Text != "" {
				quote.Text = columnName(b.column) + strconv.Itoa(b.line) + ": " + quote.Text
			}
			w.emit(quote)
			return err
		case s.Prefix() == "text", s.Prefix() == "draw":
			return w.element(s)
		}
		return w.skip(s)
	})
	for i := range ln.buf {
		if ln.buf[i] == '\n' {
			ln.buf[i] = ' '
		}
	}
	text, after := ln.text(), ln.after
	w.closeLine()
	for _, block := range after {
		w.emit(block)
	}
	if text == "" {
		text = value
	}
	return text, err
}
