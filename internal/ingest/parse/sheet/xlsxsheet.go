package sheet

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// xlsxCell is the open cell.
type xlsxCell struct {
	column  int
	kind    byte // first letter of its type, 'i' for inlineStr, 'S' for str, 0 for a number
	style   int
	value   []byte
	formula []byte
}

// xlsxLink is a link of a sheet.
type xlsxLink struct {
	area
	relation, location string
}

// maxLinks is how many links of a sheet are read.
const maxLinks = 200_000

// readSheet reads the cells of a sheet and its related parts.
func (w *xlsx) readSheet(part string) error {
	var links []xlsxLink
	err := w.p.Scan(part, func(s *xmlscan.Scanner) error {
		next := 0 // number of the next row
		for n := 0; ; n++ {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if n%256 == 0 {
				if err := w.ok(); err != nil {
					return err
				}
			}
			if kind != xmlscan.Start {
				continue
			}
			switch s.Name() {
			case "row":
				if next, err = w.readRow(s, next); err != nil {
					return err
				}
			case "mergeCell":
				if a, ok := parseArea(s.Attr("ref")); ok && w.tables.has(a.top) {
					w.tables.merge(a.top, a.left, a.right)
				}
			case "hyperlink":
				if a, ok := parseArea(s.Attr("ref")); ok && len(links) < maxLinks {
					links = append(links, xlsxLink{a, s.Attr("id"), s.Attr("location")})
				}
			case "extLst", "conditionalFormatting", "cols", "sheetViews":
				if err := s.Skip(); err != nil {
					return err
				}
			}
		}
	})
	number := w.tables.Sheets()
	if err := w.tolerate(err, fmt.Sprintf("a part of sheet %d is missing", number)); err != nil {
		return err
	}
	if err := w.ok(); err != nil {
		return err
	}
	relations, err := w.p.Relationships(part)
	if err := w.tolerate(err, fmt.Sprintf("the links of sheet %d cannot be read", number)); err != nil {
		return err
	}
	for _, link := range links {
		target := relations[link.relation].Target
		if link.location != "" && target != "" && !strings.Contains(target, "#") {
			target += "#" + link.location
		}
		w.tables.link(link.area, target)
	}
	return w.tolerate(w.readRelated(relations), fmt.Sprintf("a comment or a drawing of sheet %d cannot be read", number))
}

// readRow reads a row and returns the number of the next.
func (w *xlsx) readRow(s *xmlscan.Scanner, next int) (int, error) {
	number := next
	if ref, found := s.AttrBytes("r"); found {
		if n, err := strconv.Atoi(string(ref)); err == nil && n > next && n <= maxRefRow {
			number = n - 1
		}
	}
	t := w.tables
	t.columns, t.cells = t.columns[:0], t.cells[:0]
	column := 0
	err := w.cells(s, func() error {
		if w.cell.column < 0 {
			w.cell.column = column
		}
		if column = w.cell.column + 1; column > maxSheetColumn {
			return &document.LimitError{Detail: fmt.Sprintf("a row has more than %d columns", maxSheetColumn)}
		}
		if text := w.text(); text != "" {
			w.place(text)
		}
		return nil
	})
	t.add(number, t.columns, t.cells)
	return number + 1, err
}

// place adds a text to the row. Cells are usually ordered by column.
func (w *xlsx) place(text string) {
	t := w.tables
	column := uint16(w.cell.column) //nolint:gosec // bounded by the caller
	if n := len(t.columns); n == 0 || t.columns[n-1] < column {
		t.columns, t.cells = append(t.columns, column), append(t.cells, text)
		return
	}
	at, found := slices.BinarySearch(t.columns, column)
	if found {
		t.cells[at] = text
		return
	}
	t.columns, t.cells = slices.Insert(t.columns, at, column), slices.Insert(t.cells, at, text)
}

// cells calls a function at the end of each cell of the row of the last Start, and skips its End.
func (w *xlsx) cells(s *xmlscan.Scanner, each func() error) error {
	c := &w.cell
	var into *[]byte
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := s.Next()
		if err != nil {
			return err
		}
		switch kind {
		case xmlscan.Start:
			switch s.Name() {
			case "c":
				c.begin(s)
			case "v":
				into = &c.value
			case "f":
				into = &c.formula
			case "is":
				if c.value, err = appendRichText(c.value[:0], s); err != nil {
					return err
				}
				if c.kind == 0 {
					c.kind = 'i'
				}
			case "extLst":
				if err := s.Skip(); err != nil {
					return err
				}
			}
		case xmlscan.Text:
			if into != nil {
				*into = append(*into, s.Bytes()...)
			}
		case xmlscan.End:
			into = nil
			if s.Name() == "c" && s.Depth() == depth {
				if err := each(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *xlsxCell) begin(s *xmlscan.Scanner) {
	c.column, c.kind, c.style = -1, 0, 0
	c.value, c.formula = c.value[:0], c.formula[:0]
	if ref, found := s.AttrBytes("r"); found {
		if _, column, ok := parseCell(ref); ok {
			c.column = column
		}
	}
	if style, found := s.AttrBytes("s"); found {
		c.style = smallNumber(style)
	}
	if kind, found := s.AttrBytes("t"); found && len(kind) > 0 {
		switch c.kind = kind[0]; string(kind) {
		case "n":
			c.kind = 0
		case "str":
			c.kind = 'S'
		}
	}
}

// smallNumber parses an index. It returns -1 for an invalid one.
func smallNumber(text []byte) int {
	value := 0
	for _, c := range text {
		if c < '0' || c > '9' || value > 1<<27 {
			return -1
		}
		value = 10*value + int(c-'0')
	}
	return value
}

// text returns the displayed text of the cell, clean.
func (w *xlsx) text() string {
	c := &w.cell
	if c.kind != 'i' && c.kind != 'S' {
		c.value = bytes.TrimSpace(c.value)
	}
	if len(c.value) == 0 {
		return ""
	}
	texts := w.tables.texts
	switch c.kind {
	case 's':
		at := smallNumber(c.value)
		if at < 0 || at >= len(w.strings) {
			if len(w.damage) == 0 {
				w.note("a part of its texts is missing", nil)
			}
			return ""
		}
		return w.withLink(w.strings[at])
	case 'b':
		if c.value[0] == '1' || c.value[0] == 't' {
			return "TRUE"
		}
		return "FALSE"
	case 'd':
		w.buffer = appendISO(w.buffer[:0], c.value)
		return texts.keepFormatted(w.buffer)
	case 0:
		return w.number()
	case 'S':
		c.value = unescapeCodes(c.value)
	}
	return w.withLink(texts.keepString(clean(string(c.value))))
}

func (w *xlsx) number() string {
	c := &w.cell
	format := w.styles.of(c.style)
	if format == nil && isShortest(c.value) {
		return w.tables.texts.keep(c.value)
	}
	value, err := strconv.ParseFloat(string(c.value), 64)
	if err != nil {
		return w.tables.texts.keepString(clean(string(c.value)))
	}
	if format == nil {
		w.buffer = appendGeneral(w.buffer[:0], value)
	} else {
		w.buffer = format.append(w.buffer[:0], value, w.from1904)
	}
	return w.tables.texts.keepFormatted(w.buffer)
}

// isShortest reports whether a number is in its shortest form: without exponent and superfluous zeros, with at most 15
// digits.
func isShortest(text []byte) bool {
	text, negative := bytes.CutPrefix(text, []byte("-"))
	if negative && string(text) == "0" {
		return false
	}
	if len(text) == 0 || len(text) > significant || text[0] == '0' && len(text) > 1 && text[1] != '.' {
		return false
	}
	point := -1
	for i, c := range text {
		if c == '.' && point < 0 && i > 0 {
			point = i
		} else if c < '0' || c > '9' {
			return false
		}
	}
	if point < 0 {
		return true
	}
	last := text[len(text)-1]
	return last != '0' && last != '.' && !bytes.HasPrefix(text, []byte("0.0000"))
}

// withLink returns the text as a link if the formula of the cell is HYPERLINK("address","text").
func (w *xlsx) withLink(text string) string {
	rest, found := bytes.CutPrefix(w.cell.formula, []byte(`HYPERLINK("`))
	if !found || text == "" {
		return text
	}
	address, rest, found := bytes.Cut(rest, []byte(`"`))
	if !found || len(rest) == 0 || rest[0] != ',' && rest[0] != ')' {
		return text
	}
	target, ok := linkTarget(string(address))
	if !ok {
		return text
	}
	return linked(text, target)
}
