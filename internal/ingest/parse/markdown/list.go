package markdown

import (
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// list emits the text of a list. Code, tables and headings inside become blocks of their own, so that they are never
// cut; the list continues after them.
func (w *walker) list(node *ast.List, depth int) {
	l := listWriter{walker: w}
	l.list(node, depth, 0)
	l.flush()
}

// listWriter collects the lines of a list.
type listWriter struct {
	walker *walker
	text   strings.Builder
}

func (l *listWriter) flush() {
	if l.text.Len() > 0 {
		l.walker.emit(document.Block{Kind: document.List, Text: compose.Dedent(strings.TrimRight(l.text.String(), "\n"))})
		l.text.Reset()
	}
}

func (l *listWriter) list(node *ast.List, depth, indent int) {
	number := node.Start
	for item := node.FirstChild(); item != nil && l.walker.ok(); item = item.NextSibling() {
		marker := "- "
		if node.IsOrdered() {
			marker = strconv.Itoa(number) + string(node.Marker) + " "
			number++
		}
		l.item(item, marker, depth, indent)
	}
}

// item adds an item: its first text after the marker, further text indented below it.
func (l *listWriter) item(item ast.Node, marker string, depth, indent int) {
	lead := strings.Repeat(" ", indent) + marker
	inner := indent + len(marker)
	for child := item.FirstChild(); child != nil && l.walker.ok(); child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Paragraph, *ast.TextBlock:
			text := l.walker.prose(child)
			if text == "" {
				continue
			}
			l.lines(lead, inner, text)
		case *ast.List:
			if depth >= compose.MaxNesting {
				l.lines(lead, inner, inline.FromHTML(l.walker.flatText(child)))
				break
			}
			l.list(child, depth+1, inner)
		default:
			before := len(l.walker.blocks)
			l.block(child, depth)
			if len(l.walker.blocks) == before {
				continue
			}
		}
		lead = strings.Repeat(" ", inner)
	}
}

func (l *listWriter) lines(lead string, inner int, text string) {
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			l.text.WriteString(lead)
		} else {
			l.text.WriteString(strings.Repeat(" ", inner))
		}
		l.text.WriteString(strings.TrimSpace(line))
		l.text.WriteByte('\n')
	}
}

// block emits a block that is not text of the list.
func (l *listWriter) block(node ast.Node, depth int) {
	w := l.walker
	before := w.blocks
	w.blocks = nil
	w.block(node, depth+1)
	inner := w.blocks
	w.blocks = before
	for i := range inner {
		if !inner[i].Blank() {
			l.flush()
			w.blocks = append(w.blocks, inner[i:]...)
			return
		}
	}
}
