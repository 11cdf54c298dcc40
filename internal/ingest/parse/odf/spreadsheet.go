package odf

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/sheet"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// workbook collects the sheets of a spreadsheet.
type workbook struct {
	w      *walker
	tables *sheet.Tables
	row    []string
	line   int              // of the row at hand, from 1
	column int              // of the cell at hand, from 1
	empty  int              // cells without text since the last one with text
	around []document.Block // comments and drawings, which follow their sheet
}

// spreadsheet reads the body of a spreadsheet.
func (r *reader) spreadsheet(s *xmlscan.Scanner) error {
	r.walk.sheets = true
	r.margins.texts = nil // of sheets they are samples: the name of the sheet, the number of the page
	b := &workbook{w: r.walk, tables: sheet.NewTables()}
	b.tables.Bound(r.in.Limits)
	err := r.walk.each(s, func() error {
		if s.Name() == "table" && !isCache(s.Attr("name")) {
			return b.sheet(s)
		}
		return r.walk.skip(s)
	})
	r.walk.blocks = merge(b.tables.Blocks(), b.around)
	r.draft.Pages = b.tables.Sheets()
	if err == nil {
		err = b.tables.Err()
	}
	return err
}

// isCache recognises copies of sheets of other files that formulas refer to.
func isCache(name string) bool { return strings.HasPrefix(name, "'file:") }

// merge puts what stands around sheets behind the blocks of each, both in the order of their pages.
func merge(blocks, around []document.Block) []document.Block {
	if len(around) == 0 {
		return blocks
	}
	merged := make([]document.Block, 0, len(blocks)+len(around))
	for i := range blocks {
		for len(around) > 0 && around[0].Page < blocks[i].Page {
			merged, around = append(merged, around[0]), around[1:]
		}
		merged = append(merged, blocks[i])
	}
	return append(merged, around...)
}

func (b *workbook) sheet(s *xmlscan.Scanner) error {
	if limit := b.w.r.in.Limits.WithDefaults().MaxPages; b.tables.Sheets() >= limit {
		return &document.LimitError{Detail: fmt.Sprintf("the file has more than %d sheets", limit)}
	}
	b.tables.Begin(s.Attr("name"))
	b.w.page, b.line = b.tables.Sheets(), 0
	err := b.rows(s)
	b.w.flush()
	b.around = append(b.around, b.w.blocks...)
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
		// Beyond the widest table nothing is gained by cells that are empty or say the same again.
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

// cell reads a cell: its text as it is shown, else its value.
func (b *workbook) cell(s *xmlscan.Scanner) (string, error) {
	w := b.w
	value := cellValue(s)
	ln := w.openLine(false, false)
	ln.sober = true
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
