package document

import (
	"strings"
	"time"
)

// BlockKind is the kind of a block.
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

// String returns the name: "heading", "paragraph", "list", "table", "code", "quote".
func (k BlockKind) String() string {
	names := [...]string{"heading", "paragraph", "list", "table", "code", "quote"}
	if int(k) >= len(names) {
		return "block"
	}
	return names[k]
}

// MarshalText returns the name.
func (k BlockKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// A Block is a part of a document.
type Block struct {
	Kind BlockKind `json:"kind"`
	// Level is that of a heading, 1 to 6.
	Level int `json:"level,omitempty"`
	// Text is Markdown. For a heading it is plain text, for code the code without a fence, for a quote the text without
	// its marks. It is empty for a table.
	Text string `json:"text,omitempty"`
	// Language is that of code, as the file names it. It may be empty.
	Language string `json:"language,omitempty"`
	// Header and Rows are the cells of a table, in Markdown on one line. All rows are as long as Header.
	Header []string   `json:"header,omitempty"`
	Rows   [][]string `json:"rows,omitempty"`
	// Page counts from 1. It is 0 in formats without pages.
	Page int `json:"page,omitempty"`
	// Anchor is the fragment of a heading. It is unique within the document.
	Anchor string `json:"anchor,omitempty"`
}

// A Document is a parsed file.
type Document struct {
	// Title is never empty.
	Title string `json:"title"`
	// Format is the short name of the file's format: "markdown", "pdf", "docx".
	Format string `json:"format"`
	// Language is an ISO 639-1 code in lower case. Language, Author, Section and Version may be empty. DocType is a
	// short lower-case name.
	Language string `json:"language,omitempty"`
	Author   string `json:"author,omitempty"`
	Section  string `json:"section,omitempty"`
	Version  string `json:"version,omitempty"`
	DocType  string `json:"doc_type"`
	// Tags are trimmed and distinct.
	Tags []string `json:"tags,omitempty"`
	// CreatedAt and UpdatedAt may be zero.
	CreatedAt time.Time `json:"created_at,omitzero"`
	UpdatedAt time.Time `json:"updated_at,omitzero"`
	// Pages is the number of pages, slides or sheets, 0 in formats without them.
	Pages int `json:"pages,omitempty"`
	// Metadata holds further properties: strings, numbers, booleans and lists of strings.
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

// Render returns the whole text as Markdown, and the range of each block in it. Empty lines separate the blocks.
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

// Size returns about the length of the block as Markdown.
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

// Blank reports whether the block has no text.
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

// Fence returns a fence for code. No line of the code closes it.
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
