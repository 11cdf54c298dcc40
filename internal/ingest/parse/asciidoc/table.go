package asciidoc

import (
	"encoding/csv"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// asciidocCell is a cell with what its specification says.
type asciidocCell struct {
	text          string
	columns, rows int
	repeat        int
	style         byte
	line          int // on which it begins
}

// table reads a table: cells parted by bars, by commas (CSV) or by colons (DSV).
func (b *asciidocBody) table(kind byte, lines []string, a asciidocAttributes) {
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
	var cells []asciidocCell
	if format == "csv" || format == "tsv" {
		cells = separatedCells(lines, separator)
	} else {
		cells = b.p.barredCells(strings.Join(lines, "\n"), separator, format == "dsv")
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
	heads := 0
	if a.has("header") || !a.has("noheader") && impliesHeader(lines, cells, width) {
		heads = 1
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
			if style == 0 && grid.Column() < len(styles) && grid.Height() > heads {
				style = styles[grid.Column()]
			}
			grid.Put(b.cell(cell.text, style), min(cell.columns, width), cell.rows)
		}
	}
	b.caption(a)
	if header, rows := grid.Table(heads); len(header) > 0 {
		b.emit(document.NewTable(header, rows))
	}
}

// impliesHeader reports a first row on one line of its own, with an empty line after it.
func impliesHeader(lines []string, cells []asciidocCell, width int) bool {
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

// cell returns the text of a cell on one line.
func (b *asciidocBody) cell(text string, style byte) string {
	text = strings.Trim(text, "\n ")
	switch style {
	case 'a':
		return compose.Cell(b.nested(strings.Split(text, "\n")))
	case 'l', 'm':
		return inline.CodeSpan(strings.Join(strings.Fields(b.p.plain(text)), " "))
	}
	return strings.Join(strings.Fields(b.p.inline(text)), " ")
}

// barredCells parts a table at its bars. Before a bar may stand what the cell spans and in which style it is.
func (p *asciidoc) barredCells(text string, separator byte, byLine bool) []asciidocCell {
	var cells []asciidocCell
	open := false
	current := asciidocCell{columns: 1, rows: 1, repeat: 1}
	begin, line := 0, 0
	add := func(content string) {
		current.text = strings.ReplaceAll(content, `\`+string(rune(separator)), string(rune(separator)))
		cells = append(cells, current)
		current = asciidocCell{columns: 1, rows: 1, repeat: 1}
	}
	for i := 0; i < len(text) && p.alive(); i++ {
		switch c := text[i]; {
		case c == separator && i > 0 && text[i-1] == '\\':
		case c == separator && byLine:
			add(text[begin:i])
			current.line, begin, open = line, i+1, true
		case c == separator:
			content, spec := cutSpec(text[begin:i])
			if open {
				add(content)
			}
			applySpec(&current, spec)
			current.line, begin, open = line, i+1, true
		case c == '\n':
			if byLine && strings.TrimSpace(text[begin:i]) != "" {
				add(text[begin:i])
				begin, open = i+1, false
			}
			line++
			if byLine {
				current.line, begin = line, i+1
			}
		}
	}
	if open || byLine && strings.TrimSpace(text[begin:]) != "" {
		add(text[begin:])
	}
	return cells
}

// cutSpec takes the specification of the next cell off the end of a text.
func cutSpec(text string) (content, spec string) {
	at := strings.LastIndexAny(text, " \n\t")
	spec = text[at+1:]
	if spec == "" || !isCellSpec(spec) {
		return text, ""
	}
	return text[:at+1], spec
}

// isCellSpec reports a specification such as 2+, .3+, 3*, ^.>s or a.
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

func applySpec(cell *asciidocCell, spec string) {
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

// columnStyles returns the styles of the columns that a cols attribute lists: "1,2a,3*" has five.
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

func separatedCells(lines []string, separator byte) []asciidocCell {
	reader := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	reader.Comma, reader.LazyQuotes, reader.FieldsPerRecord, reader.TrimLeadingSpace = rune(separator), true, -1, separator != '\t'
	records, _ := reader.ReadAll() // what was read before an error is kept
	var cells []asciidocCell
	for line, record := range records {
		for _, text := range record {
			cells = append(cells, asciidocCell{text: text, columns: 1, rows: 1, repeat: 1, line: line})
		}
	}
	return cells
}
