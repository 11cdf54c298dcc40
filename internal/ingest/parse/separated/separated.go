package separated

import (
	"context"
	"fmt"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/safetext"
)

const (
	// maxField is the longest quoted cell, in bytes, that is believed: a quote that is never closed makes the rest of the
	// file one cell.
	maxField = 256 << 10
)

// Read reads a table of separated values (RFC 4180, and what programs make of it): the separator is found out or
// named by a first line "sep=;", lines above the header become paragraphs, and a table whose first row is data like the
// others gets names for its columns.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	text, comma := separator(r.Name, r.Text)
	reader := separatedReader{ctx: ctx, text: text, comma: comma, escaped: hasEscapes(text, comma)}
	rows, err := reader.read()
	if err != nil {
		return nil, err
	}
	var blocks []document.Block
	for title := range titleRows(rows) {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: nonEmpty(rows[title], " ")})
	}
	rows = rows[len(blocks):]
	if len(rows) == 0 {
		return &document.Draft{Blocks: blocks}, nil
	}
	header, rows := rows[0], rows[1:]
	if !hasHeader(header, rows) {
		header, rows = nil, append([][]string{header}, rows...)
	}
	blocks = append(blocks, document.NewTable(header, rows))
	return &document.Draft{Blocks: blocks, Extra: map[string]any{"rows": len(rows)}}, nil
}

// separatedReader cuts a text into rows of cells, which are parts of the text wherever they are not quoted.
type separatedReader struct {
	ctx   context.Context
	text  string
	comma byte
	at    int
	cells []string // memory for the rows to come
	count int
	// escaped tells that quotes inside quotes stand behind a backslash.
	escaped bool
	// wasted is how many bytes were looked at in vain for the end of quotes.
	wasted int
}

// maxWasted is how much is looked at for quotes that do not end before they are all taken for text.
const maxWasted = 4 << 20

func (r *separatedReader) read() ([][]string, error) {
	var rows [][]string
	for r.at < len(r.text) {
		if len(rows)%1024 == 0 && r.ctx.Err() != nil {
			return nil, fmt.Errorf("parse separated values: %w", r.ctx.Err())
		}
		row := r.row()
		if r.count += len(row) + 1; r.count > compose.MaxTableCells {
			return nil, &document.LimitError{Detail: fmt.Sprintf("table has more than %d cells", compose.MaxTableCells)}
		}
		for _, cell := range row {
			if strings.TrimSpace(cell) != "" {
				rows = append(rows, row)
				break
			}
		}
	}
	return rows, nil
}

// row reads one row.
func (r *separatedReader) row() []string {
	if cap(r.cells)-len(r.cells) < 64 {
		r.cells = make([]string, 0, 4096)
	}
	start := len(r.cells)
	for {
		cell, ends := r.cell()
		r.cells = append(r.cells, cell)
		if ends || len(r.cells)-start > compose.MaxTableCells-r.count {
			break // or it is too much, which read says
		}
	}
	row := r.cells[start:len(r.cells):len(r.cells)]
	return row
}

// cell reads one cell and reports whether it is the last of its row.
func (r *separatedReader) cell() (string, bool) {
	if r.at < len(r.text) && r.wasted < maxWasted {
		begin := r.at
		for begin < len(r.text) && r.text[begin] == ' ' {
			begin++
		}
		if begin < len(r.text) && r.text[begin] == '"' {
			cell, end, closed := r.quoted(r.text[begin:min(len(r.text), begin+maxField)])
			if closed {
				return cell, r.next(begin + end)
			}
			r.wasted += end
		}
	}
	rest := r.text[r.at:]
	for i := range len(rest) {
		if rest[i] == r.comma || rest[i] == '\n' {
			cell := rest[:i]
			return cell, r.next(r.at + i)
		}
	}
	r.at = len(r.text)
	return rest, true
}

// next goes on behind the separator or line end at a place, and reports whether the row ends there.
func (r *separatedReader) next(at int) bool {
	if at >= len(r.text) {
		r.at = len(r.text)
		return true
	}
	r.at = at + 1
	return r.text[at] == '\n'
}

// hasEscapes reports tables that write a quote inside quotes as \".
func hasEscapes(text string, comma byte) bool {
	text = safetext.TruncateBytes(text, 64<<10)
	for at := 0; ; {
		found := strings.Index(text[at:], `\"`)
		if found < 0 || at+found+2 >= len(text) {
			return false
		}
		at += found + 2
		if text[at] != comma && text[at] != '\n' && text[at] != '"' {
			return true
		}
	}
}

// quoted reads a cell from its quote on, and returns where it ends, which is at a separator or line end. Quotes inside are
// doubled; one that stands alone, as careless programs write it, is text, but then the cell ends in its line. Where it is
// not closed, end is how far was looked.
func (r *separatedReader) quoted(text string) (cell string, end int, closed bool) {
	var b strings.Builder
	from, alone := 1, false
	for i := 1; i < len(text); i++ {
		switch {
		case alone && text[i] == '\n':
			return "", i, false
		case text[i] != '"':
			continue
		case r.escaped && text[i-1] == '\\':
			b.WriteString(text[from : i-1])
			from = i
			continue
		case i+1 < len(text) && text[i+1] == '"':
			b.WriteString(text[from : i+1])
			i++
			from = i + 1
			continue
		}
		end = i + 1
		for end < len(text) && text[end] == ' ' {
			end++
		}
		if end < len(text) && text[end] != r.comma && text[end] != '\n' {
			alone = true
			continue
		}
		if from == 1 {
			return text[1:i], end, true
		}
		b.WriteString(text[from:i])
		return b.String(), end, true
	}
	return "", len(text), false
}

// titleRows counts the rows above the header: those with one cell that is not empty, at the start of a table where nearly
// all others have several.
func titleRows(rows [][]string) int {
	const most = 12
	filled := func(row []string) int {
		count := 0
		for _, cell := range row {
			if strings.TrimSpace(cell) != "" {
				count++
			}
		}
		return count
	}
	titles := 0
	for titles < min(len(rows), most) && filled(rows[titles]) == 1 {
		titles++
	}
	if titles == 0 || titles == len(rows) {
		return 0
	}
	several := 0
	below := rows[titles:min(len(rows), titles+50)]
	for _, row := range below {
		if filled(row) > 1 {
			several++
		}
	}
	if several*10 < len(below)*9 {
		return 0
	}
	return titles
}

func nonEmpty(cells []string, glue string) string {
	var filled []string
	for _, cell := range cells {
		if cell = strings.TrimSpace(cell); cell != "" {
			filled = append(filled, cell)
		}
	}
	return strings.Join(filled, glue)
}

// hasHeader reports whether the first row names the columns: unlike the rows below it has no figures where they have, and
// none of its cells comes again below.
func hasHeader(first []string, rows [][]string) bool {
	if len(rows) == 0 {
		return true
	}
	rows = rows[:min(len(rows), 50)]
	votes, years := 0, 0
	for column, name := range first {
		name = strings.TrimSpace(name)
		figures, same, cells := 0, 0, 0
		for _, row := range rows {
			if column >= len(row) {
				continue
			}
			cell := strings.TrimSpace(row[column])
			if cell == "" {
				continue
			}
			cells++
			if isFigure(cell) {
				figures++
			}
			if cell == name {
				same++
			}
		}
		switch {
		case cells == 0 || name == "":
		case figures*10 >= cells*9 && isYear(name):
			years++
		case figures*10 >= cells*9 && isFigure(name):
			votes--
		case figures*10 >= cells*9:
			votes += 2
		case same > 0:
			votes--
		}
	}
	if years == 1 {
		votes-- // several years side by side are names of columns
	}
	return votes >= 0
}

// isFigure reports numbers, amounts, shares, dates and times.
func isFigure(cell string) bool {
	digits := 0
	for i := range len(cell) {
		switch c := cell[i]; {
		case '0' <= c && c <= '9':
			digits++
		case strings.IndexByte(".,:-+/ %eETZ$", c) >= 0, c >= 0x80:
		default:
			return false
		}
	}
	return digits*3 >= len(cell)
}

func isYear(cell string) bool {
	return len(cell) == 4 && (cell[:2] == "19" || cell[:2] == "20") && isFigure(cell)
}
