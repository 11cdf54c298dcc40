package asciidoc

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// cell is a cell with its specification.
type cell struct {
	text          string
	columns, rows int
	repeat        int
	style         byte
	line          int // the line of its beginning
}

// table reads a table whose cells are separated by bars, by commas (CSV) or by colons (DSV).
func (b *body) table(kind byte, lines []string, a attributeList) {
	separator := kind
	format := a.named["format"]
	switch {
	case kind == ',' && format == "":
		format = "csv"
	case kind == ':' && format == "":
		format = "dsv"
	case format == "csv" || format == "tsv":
		separator = ','
	case format == "dsv":
		separator = ':'
	}
	if format == "tsv" || a.named["separator"] == `\t` {
		separator = '\t'
	} else if own := a.named["separator"]; len(own) == 1 {
		separator = own[0]
	}
	var cells []cell
	if format == "csv" || format == "tsv" {
		cells = csvCells(lines, separator)
	} else {
		cells = b.p.separatedCells(strings.Join(lines, "\n"), separator, format == "dsv")
	}
	if len(cells) == 0 {
		return
	}
	styles := columnStyles(a.named["cols"])
	width := len(styles)
	if width == 0 {
		for _, cell := range cells {
			if cell.line != cells[0].line {
				break
			}
			width += cell.columns * cell.repeat
		}
		width = max(width, 1)
	}
	headerRows := 0
	if a.has("header") || !a.has("noheader") && impliesHeader(lines, cells, width) {
		headerRows = 1
	}
	grid := compose.NewGrid()
	for _, cell := range cells {
		if grid.Full() {
			cell.repeat = 1
		}
		for range cell.repeat {
			for grid.Height() == 0 || grid.Column() >= width {
				grid.StartRow()
				if grid.Full() {
					break
				}
			}
			style := cell.style
			if style == 0 && grid.Column() < len(styles) && grid.Height() > headerRows {
				style = styles[grid.Column()]
			}
			grid.Put(b.cellText(cell.text, style), min(cell.columns, width), cell.rows)
		}
	}
	b.caption(a)
	if header, rows := grid.Table(headerRows); len(header) > 0 {
		b.emit(document.NewTable(header, rows))
	}
}

// impliesHeader reports whether the first row is on one line and followed by an empty line.
func impliesHeader(lines []string, cells []cell, width int) bool {
	if len(lines) < 3 || strings.TrimSpace(lines[0]) == "" || strings.TrimSpace(lines[1]) != "" {
		return false
	}
	columns := 0
	for _, cell := range cells {
		if cell.line == 0 {
			columns += cell.columns * cell.repeat
		}
	}
	return columns == width
}

// cellText returns the text of a cell on one line.
func (b *body) cellText(text string, style byte) string {
	text = strings.Trim(text, "\n ")
	switch style {
	case 'a':
		return compose.Cell(b.nested(strings.Split(text, "\n")))
	case 'l', 'm':
		return inline.CodeSpan(strings.Join(strings.Fields(b.p.plain(text)), " "))
	}
	return strings.Join(strings.Fields(b.p.inline(text)), " ")
}

// separatedCells splits a table at its separators. In front of a separator may be the specification of the next cell.
// With byLine, line ends separate cells too.
func (p *parser) separatedCells(text string, separator byte, byLine bool) []cell {
	var cells []cell
	isOpen := false
	current := cell{columns: 1, rows: 1, repeat: 1}
	begin, line := 0, 0
	add := func(content string) {
		current.text = strings.ReplaceAll(content, `\`+string(rune(separator)), string(rune(separator)))
		cells = append(cells, current)
		current = cell{columns: 1, rows: 1, repeat: 1}
	}
	for i := 0; i < len(text) && p.ok(); i++ {
		switch c := text[i]; {
		case c == separator && i > 0 && text[i-1] == '\\':
		case c == separator && byLine:
			add(text[begin:i])
			current.line, begin, isOpen = line, i+1, true
		case c == separator:
			content, spec := cutSpec(text[begin:i])
			if isOpen {
				add(content)
			}
			applySpec(&current, spec)
			current.line, begin, isOpen = line, i+1, true
		case c == '\n':
			if byLine && strings.TrimSpace(text[begin:i]) != "" {
				add(text[begin:i])
				begin, isOpen = i+1, false
			}
			line++
			if byLine {
				current.line, begin = line, i+1
			}
		}
	}
	if isOpen || byLine && strings.TrimSpace(text[begin:]) != "" {
		add(text[begin:])
	}
	return cells
}

// cutSpec cuts the specification of the next cell off the end of a text.
func cutSpec(text string) (content, spec string) {
	at := strings.LastIndexAny(text, " \n\t")
	spec = text[at+1:]
	if spec == "" || !isCellSpec(spec) {
		return text, ""
	}
	return text[:at+1], spec
}

// isCellSpec reports whether a text is a cell specification such as 2+, .3+, 3*, ^.>s or a.
func isCellSpec(spec string) bool {
	if len(spec) > 16 {
		return false
	}
	rest := strings.TrimLeft(spec, "0123456789.")
	if numbers := spec[:len(spec)-len(rest)]; numbers != "" {
		if rest == "" || rest[0] != '+' && rest[0] != '*' || strings.Count(numbers, ".") > 1 {
			return false
		}
		rest = rest[1:]
	}
	rest = strings.TrimLeft(rest, "<^>.")
	return rest == "" || len(rest) == 1 && strings.Contains("adehlmsv", rest)
}

func applySpec(cell *cell, spec string) {
	if spec == "" {
		return
	}
	rest := strings.TrimLeft(spec, "0123456789.")
	numbers := spec[:len(spec)-len(rest)]
	if numbers != "" {
		columns, rows, _ := strings.Cut(numbers, ".")
		number := func(text string) int {
			n, err := strconv.Atoi(text)
			if err != nil {
				return 1
			}
			return min(max(n, 1), compose.MaxSpan)
		}
		if rest[0] == '*' {
			cell.repeat = number(columns)
		} else {
			cell.columns, cell.rows = number(columns), number(rows)
		}
	}
	if last := spec[len(spec)-1]; 'a' <= last && last <= 'z' {
		cell.style = last
	}
}

// columnStyles returns the styles of the columns in a cols attribute: "1,2a,3*" has five columns.
func columnStyles(cols string) []byte {
	if strings.TrimSpace(cols) == "" {
		return nil
	}
	var styles []byte
	for spec := range strings.FieldsFuncSeq(cols, func(r rune) bool { return r == ',' || r == ';' }) {
		spec = strings.TrimSpace(spec)
		repeat := 1
		if number, rest, found := strings.Cut(spec, "*"); found {
			if n, err := strconv.Atoi(strings.TrimSpace(number)); err == nil {
				repeat = min(max(n, 1), document.MaxColumns)
			}
			spec = rest
		}
		var style byte
		if spec != "" {
			if last := spec[len(spec)-1]; 'a' <= last && last <= 'z' {
				style = last
			}
		}
		for range repeat {
			if len(styles) < document.MaxColumns {
				styles = append(styles, style)
			}
		}
	}
	return styles
}

func csvCells(lines []string, separator byte) []cell {
	reader := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord, reader.TrimLeadingSpace = rune(separator), true, -1, separator != '\t'
	records, _ := reader.ReadAll() // records before an error are kept
	var cells []cell
	for line, record := range records {
		for _, text := range record {
			cells = append(cells, cell{text: text, columns: 1, rows: 1, repeat: 1, line: line})
		}
	}
	return cells
}
