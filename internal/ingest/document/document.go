package document

import (
	"strings"
	"time"
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

// String returns the kind's name: "heading", "paragraph", "list", "table", "code", "quote".
func (k BlockKind) String() string {
	names := [...]string{"heading", "paragraph", "list", "table", "code", "quote"}
	if int(k) >= len(names) {
		return "block"
	}
	return names[k]
}

// MarshalText returns the kind's name.
func (k BlockKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// Block is one piece of a document.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Level of a heading, 1 to 6.
	Level int `json:"level,omitempty"`
	// Text is the text in Markdown; plain text for a heading, the code itself for code (no fence), without the marks for
	// a quote, empty for a table.
	Text string `json:"text,omitempty"`
	// Language of code, as the file names it; "" when unknown.
	Language string `json:"language,omitempty"`
	// Header and Rows are the cells of a table, in Markdown on one line. Every row is as long as Header.
	Header []string   `json:"header,omitempty"`
	Rows   [][]string `json:"rows,omitempty"`
	// Page counts from 1 where the format has pages, else 0.
	Page int `json:"page,omitempty"`
	// Anchor is the fragment by which a heading is reached on the page, unique within the document.
	Anchor string `json:"anchor,omitempty"`
}

// Document is what a file says and what is known about it.
type Document struct {
	// Title is never empty.
	Title string `json:"title"`
	// Format is what the file was read as, a short name: "markdown", "pdf", "docx".
	Format string `json:"format"`
	// Language is an ISO 639-1 code in lower case, "" when unknown. Author, Section, Version may be empty. DocType is a
	// short lower-case name.
	Language string `json:"language,omitempty"`
	Author   string `json:"author,omitempty"`
	Section  string `json:"section,omitempty"`
	Version  string `json:"version,omitempty"`
	DocType  string `json:"doc_type"`
	// Tags are trimmed, without repetition.
	Tags []string `json:"tags,omitempty"`
	// CreatedAt and UpdatedAt are zero when the file does not say.
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Pages is how many pages, slides or sheets the file has, 0 where the format has none.
	Pages int `json:"pages,omitempty"`
	// Metadata holds further facts: strings, numbers, booleans and lists of strings.
	Metadata map[string]any `json:"metadata,omitempty"`
	Blocks   []Block        `json:"blocks"`
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
