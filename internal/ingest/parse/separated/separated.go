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
	// maxQuotedBytes is the longest quoted cell. Without it, a quote that is never closed would make the rest of the
	// file one cell.
	maxQuotedBytes = 256 << 10
)

// Read reads a table of separated values (RFC 4180 and its variants). The separator is detected, or named by a first
// line "sep=;". Lines above the header become paragraphs. If the first row is data, the columns get generated names.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	text, comma := detectSeparator(in.Name, in.Text)
	reader := reader{ctx: ctx, text: text, comma: comma, hasEscapes: usesBackslashes(text, comma)}
	rows, err := reader.read()
	if err != nil {
		return nil, err
	}
	var blocks []document.Block
	for title := range titleRows(rows) {
		blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: joinNonEmpty(rows[title], " ")})
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

// reader cuts a text into rows of cells, which are substrings of the text unless they are quoted.
type reader struct {
	ctx   context.Context
	text  string
	comma byte
	at    int
	cells []string // memory for further rows
	count int
	// hasEscapes is set if quotes in a quoted cell are escaped by backslashes.
	hasEscapes bool
	// failedSearchBytes counts the bytes that were searched without finding the end of a quoted cell.
	failedSearchBytes int
}

// maxFailedSearchBytes is the bound from which on quotes are taken for text.
const maxFailedSearchBytes = 4 << 20

func (r *reader) read() ([][]string, error) {
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
func (r *reader) row() []string {
	if cap(r.cells)-len(r.cells) < 64 {
		r.cells = make([]string, 0, 4096)
	}
	start := len(r.cells)
	for {
		cell, ends := r.cell()
		r.cells = append(r.cells, cell)
		if ends || len(r.cells)-start > compose.MaxTableCells-r.count {
			break // or the file has too many cells, which read reports
		}
	}
	row := r.cells[start:len(r.cells):len(r.cells)]
	return row
}

// cell reads one cell and reports whether it ends its row.
func (r *reader) cell() (string, bool) {
	if r.at < len(r.text) && r.failedSearchBytes < maxFailedSearchBytes {
		begin := r.at
		for begin < len(r.text) && r.text[begin] == ' ' {
			begin++
		}
		if begin < len(r.text) && r.text[begin] == '"' {
			cell, end, closed := r.quotedCell(r.text[begin:min(len(r.text), begin+maxQuotedBytes)])
			if closed {
				return cell, r.skipSeparator(begin + end)
			}
			r.failedSearchBytes += end
		}
	}
	rest := r.text[r.at:]
	for i := range len(rest) {
		if rest[i] == r.comma || rest[i] == '\n' {
			cell := rest[:i]
			return cell, r.skipSeparator(r.at + i)
		}
	}
	r.at = len(r.text)
	return rest, true
}

// skipSeparator skips the separator or line end at an offset, and reports whether it was a line end.
func (r *reader) skipSeparator(at int) bool {
	if at >= len(r.text) {
		r.at = len(r.text)
		return true
	}
	r.at = at + 1
	return r.text[at] == '\n'
}

// usesBackslashes reports whether quotes in quoted cells are escaped by backslashes.
func usesBackslashes(text string, comma byte) bool {
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

// quotedCell reads a quoted cell, and returns the offset of the separator or line end behind it. Quotes inside are
// doubled. A stray single quote is text, but then the cell must end on its line. If the cell is not closed, end is how
// far the text was searched.
func (r *reader) quotedCell(text string) (cell string, end int, closed bool) {
	var b strings.Builder
	from, hasStrayQuote := 1, false
	for i := 1; i < len(text); i++ {
		switch {
		case hasStrayQuote && text[i] == '\n':
			return "", i, false
		case text[i] != '"':
			continue
		case r.hasEscapes && text[i-1] == '\\':
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
			hasStrayQuote = true
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

// titleRows returns the number of rows above the header: those with a single cell, at the start of a table where nearly
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

func joinNonEmpty(cells []string, glue string) string {
	var filled []string
	for _, cell := range cells {
		if cell = strings.TrimSpace(cell); cell != "" {
			filled = append(filled, cell)
		}
	}
	return strings.Join(filled, glue)
}

// hasHeader reports whether the first row names the columns: it has no numbers above columns of numbers, and none of
// its cells occurs again below.
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
			if isNumeric(cell) {
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
		case figures*10 >= cells*9 && isNumeric(name):
			votes--
		case figures*10 >= cells*9:
			votes += 2
		case same > 0:
			votes--
		}
	}
	if years == 1 {
		votes-- // several years side by side are column names
	}
	return votes >= 0
}

// isNumeric reports whether a cell is a number, an amount, a percentage, a date or a time.
func isNumeric(cell string) bool {
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
	return len(cell) == 4 && (cell[:2] == "19" || cell[:2] == "20") && isNumeric(cell)
}
