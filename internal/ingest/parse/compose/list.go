package compose

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// A List collects the items of a list as Markdown. Code, tables and headings inside an item become blocks of their own,
// so that they are never cut; the list continues after them.
type List struct {
	// Emit receives the blocks.
	Emit func(document.Block)
	text strings.Builder
}

// Flush emits the items so far as a block.
func (l *List) Flush() {
	if l.text.Len() > 0 {
		text := Dedent(strings.TrimRight(l.text.String(), "\n"))
		l.text.Reset()
		l.Emit(document.Block{Kind: document.List, Text: text})
	}
}

// Item adds an item: its first text after the marker, further text indented below it.
func (l *List) Item(marker string, indent int, blocks []document.Block) {
	lead, inner := strings.Repeat(" ", indent)+marker, indent+len(marker)
	for i := range blocks {
		switch block := &blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			l.Lines(lead, inner, block.Text)
		case document.Heading, document.Code, document.Table:
			l.Flush()
			l.Emit(*block)
		}
		lead = strings.Repeat(" ", inner)
	}
}

// Lines adds a text after a lead. Its further lines are indented by inner blanks.
func (l *List) Lines(lead string, inner int, text string) {
	if text == "" {
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			l.text.WriteString(lead)
		} else if line != "" {
			l.text.WriteString(strings.Repeat(" ", inner))
		}
		l.text.WriteString(line)
		l.text.WriteByte('\n')
	}
}

// Dedent returns a text without the blanks that all its lines begin with. Text after code inside an item is indented
// without need.
func Dedent(text string) string {
	common := len(text)
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			common = min(common, len(line)-len(strings.TrimLeft(line, " ")))
		}
	}
	if common == 0 || common == len(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		b.WriteString(line[min(common, len(line)-len(strings.TrimLeft(line, " "))):])
	}
	return b.String()
}

// listOnOneLine joins the items of a list with semicolons. Bullets go, numbers stay.
func listOnOneLine(text string) string {
	items := make([]string, 0, 8)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		item, isNew := strings.CutPrefix(line, "- ")
		number := strings.IndexAny(line, ".)")
		isNew = isNew || number > 0 && strings.Trim(line[:number], "0123456789") == ""
		switch {
		case item == "":
		case isNew || len(items) == 0:
			items = append(items, item)
		default:
			items[len(items)-1] += " " + item
		}
	}
	return strings.Join(items, "; ")
}
