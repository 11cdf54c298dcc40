package document

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// BlockKind says what a block is.
type BlockKind uint8

// The kinds of blocks.
const (
	Heading BlockKind = iota
	Paragraph
	List
	Table
	Code
	Quote
)

// Block is one piece of a document.
type Block struct {
	Kind BlockKind
	// Level of a heading, 1 to 6.
	Level int
	// Text is the text in Markdown; plain text for a heading, the code itself for code (no fence), without the marks for
	// a quote, empty for a table.
	Text string
	// Language of code, as the file names it; "" when unknown.
	Language string
	// Header and Rows are the cells of a table, in Markdown on one line. Every row is as long as Header.
	Header []string
	Rows   [][]string
	// Page counts from 1 where the format has pages, else 0.
	Page int
	// Anchor is the fragment by which a heading is reached on the page, unique within the document.
	Anchor string
}

// Document is what a file says and what is known about it.
type Document struct {
	// Title is never empty.
	Title string
	// Language is an ISO 639-1 code in lower case, "" when unknown. Author, Section, Version may be empty. DocType is a
	// short lower-case name.
	Language, Author, Section, Version, DocType string
	// Tags are trimmed, without repetition.
	Tags []string
	// CreatedAt and UpdatedAt are zero when the file does not say.
	CreatedAt, UpdatedAt time.Time
	// Pages is how many pages, slides or sheets the file has, 0 where the format has none.
	Pages int
	// Metadata holds further facts: strings, numbers, booleans and lists of strings.
	Metadata map[string]any
	Blocks   []Block
}

// Markdown returns the whole text.
func (d *Document) Markdown() string {
	text, _ := d.Render()
	return text
}

// Span is a byte range.
type Span struct{ Start, End int }

// Render returns the whole text as Markdown and the range of each block in it. Blocks are parted by an empty line.
func (d *Document) Render() (string, []Span) {
	size := 0
	for i := range d.Blocks {
		size += d.Blocks[i].Size()
	}
	var b strings.Builder
	b.Grow(size)
	spans := make([]Span, len(d.Blocks))
	for i := range d.Blocks {
		if i > 0 {
			b.WriteString("\n\n")
		}
		spans[i].Start = b.Len()
		d.Blocks[i].write(&b)
		spans[i].End = b.Len()
	}
	return b.String(), spans
}

// Markdown returns the block as Markdown.
func (k *Block) Markdown() string {
	var b strings.Builder
	k.write(&b)
	return b.String()
}

// Size estimates the length of the block as Markdown.
func (k *Block) Size() int {
	size := len(k.Text) + 16
	for _, cell := range k.Header {
		size += 2*len(cell) + 8
	}
	for _, row := range k.Rows {
		for _, cell := range row {
			size += len(cell) + 3
		}
	}
	return size
}

// Blank reports a block without text.
func (k *Block) Blank() bool {
	if k.Kind != Table {
		return strings.TrimSpace(k.Text) == ""
	}
	for _, cell := range k.Header {
		if cell != "" {
			return false
		}
	}
	for _, row := range k.Rows {
		for _, cell := range row {
			if cell != "" {
				return false
			}
		}
	}
	return true
}

func (k *Block) write(b *strings.Builder) {
	switch k.Kind {
	case Heading:
		b.WriteString("######"[:min(max(k.Level, 1), 6)])
		b.WriteByte(' ')
		b.WriteString(k.Text)
	case Code:
		fence := Fence(k.Text)
		b.WriteString(fence)
		b.WriteString(k.Language)
		b.WriteByte('\n')
		b.WriteString(k.Text)
		b.WriteByte('\n')
		b.WriteString(fence)
	case Quote:
		for line := range strings.Lines(k.Text) {
			b.WriteString("> ")
			b.WriteString(line)
		}
	case Table:
		b.WriteString(TableHead(k.Header))
		for _, row := range k.Rows {
			b.WriteByte('\n')
			b.WriteString(TableRow(row))
		}
	case Paragraph, List:
		b.WriteString(k.Text)
	}
}

// Fence returns a fence that no line of the code can close.
func Fence(code string) string {
	longest, run := 2, 0
	for i := range len(code) {
		if code[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	return strings.Repeat("`", longest+1)
}

// TableHead returns the first two lines of a table.
func TableHead(header []string) string {
	var b strings.Builder
	b.WriteString(TableRow(header))
	b.WriteString("\n|")
	for range header {
		b.WriteString(" --- |")
	}
	return b.String()
}

// TableRow returns one line of a table.
func TableRow(cells []string) string {
	var b strings.Builder
	b.WriteByte('|')
	for _, cell := range cells {
		b.WriteByte(' ')
		b.WriteString(cell)
		b.WriteString(" |")
	}
	return b.String()
}

// MaxColumns is how wide a table may be: what it has beyond that goes into its last column.
const (
	MaxColumns = 256
	maxCells   = 2 << 20
)

// NewTable makes a table whose rows are all as long as its header, and whose cells are on one line.
func NewTable(header []string, rows [][]string) Block {
	width := len(header)
	for _, row := range rows {
		width = max(width, len(row))
	}
	width = min(width, MaxColumns, max(maxCells/(len(rows)+1), 1))
	table := Block{Kind: Table, Header: fitRow(header, width), Rows: make([][]string, 0, len(rows))}
	for i := len(header); i < width; i++ {
		table.Header[i] = "Column " + strconv.Itoa(i+1)
	}
	for _, row := range rows {
		table.Rows = append(table.Rows, fitRow(row, width))
	}
	return table
}

func fitRow(cells []string, width int) []string {
	fitted := make([]string, width)
	for i := range min(len(cells), width) {
		fitted[i] = cellText(cells[i])
	}
	if len(cells) > width && width > 0 {
		fitted[width-1] = cellText(strings.Join(cells[width-1:], ", "))
	}
	return fitted
}

// cellText puts a cell on one line and escapes the bars in it.
func cellText(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsAny(text, "\n\r\t") {
		text = strings.Join(strings.Fields(text), " ")
	}
	if !strings.Contains(text, "|") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if text[i] == '|' && (i == 0 || text[i-1] != '\\') {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// Truncate cuts text to at most n bytes on a rune border.
func Truncate(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
