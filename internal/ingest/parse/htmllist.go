package parse

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"magpie/internal/ingest/document"
)

// list gives List blocks for the text of a list, parted by the code, tables and headings inside it.
func (w *htmlWalker) list(node *html.Node, depth int) {
	w.flush()
	l := htmlList{walker: w}
	l.list(node, depth, 0)
	l.flush()
}

type htmlList struct {
	walker *htmlWalker
	text   strings.Builder
}

func (l *htmlList) flush() {
	if l.text.Len() > 0 {
		text := dedent(strings.TrimRight(l.text.String(), "\n"))
		l.text.Reset()
		l.walker.emit(document.Block{Kind: document.List, Text: text})
	}
}

func (l *htmlList) list(node *html.Node, depth, indent int) {
	number := 1
	if start, err := strconv.Atoi(attributeOf(node, "start")); err == nil {
		number = start
	}
	for child := node.FirstChild; child != nil && l.walker.alive(); child = child.NextSibling {
		marker := "- "
		if node.DataAtom == atom.Ol && child.DataAtom == atom.Li {
			marker = strconv.Itoa(number) + ". "
			number++
		}
		switch {
		case child.DataAtom == atom.Ul || child.DataAtom == atom.Ol:
			l.list(child, depth+1, min(indent+2, 2*maxNesting))
		case child.Type == html.ElementNode && !isHidden(child):
			l.item(child, marker, depth, indent)
		case child.Type == html.TextNode:
			l.lines(strings.Repeat(" ", indent)+marker, indent+len(marker), squeeze(child.Data))
		}
	}
}

// item writes one item. What it holds is read as a flow of its own; paragraphs and lists in it become its lines.
func (l *htmlList) item(item *html.Node, marker string, depth, indent int) {
	w := l.walker
	inner := htmlWalker{ctx: w.ctx, anchors: w.anchors, fragment: true, steps: w.steps, err: w.err}
	inner.children(item, depth+1)
	inner.flush()
	w.steps, w.err = inner.steps, inner.err
	lead := strings.Repeat(" ", indent) + marker
	for i := range inner.blocks {
		switch block := &inner.blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			l.lines(lead, indent+len(marker), block.Text)
		case document.Heading, document.Code, document.Table:
			l.flush()
			w.emit(*block)
		}
		lead = strings.Repeat(" ", indent+len(marker))
	}
}

func (l *htmlList) lines(lead string, inner int, text string) {
	if text == "" {
		return
	}
	for i, line := range strings.Split(text, "\n") {
		if i == 0 {
			l.text.WriteString(lead)
		} else {
			l.text.WriteString(strings.Repeat(" ", inner))
		}
		l.text.WriteString(line)
		l.text.WriteByte('\n')
	}
}

// table gives a Table block, or the text of the cells where the table only arranges the page.
func (w *htmlWalker) table(node *html.Node, depth int) {
	w.flush()
	rows, header := w.rows(node)
	if isLayout(node, rows) {
		for _, row := range rows {
			for _, cell := range row {
				w.children(cell, depth+1)
				w.flush()
			}
		}
		return
	}
	for n := range node.Descendants() {
		if n.DataAtom == atom.Caption {
			w.emit(document.Block{Kind: document.Paragraph, Text: squeeze(w.inline(n))})
			break
		}
	}
	texts := make([][]string, 0, len(rows))
	for _, row := range rows {
		cells := make([]string, 0, len(row))
		for _, cell := range row {
			cells = append(cells, strings.ReplaceAll(squeeze(w.inline(cell)), "\n", " "))
			for span := spanOf(cell); span > 1; span-- {
				cells = append(cells, "")
			}
		}
		texts = append(texts, cells)
	}
	if len(texts) == 0 {
		return
	}
	var head []string
	if header {
		head, texts = texts[0], texts[1:]
	}
	w.emit(document.NewTable(head, texts))
}

func spanOf(cell *html.Node) int {
	span, err := strconv.Atoi(attributeOf(cell, "colspan"))
	if err != nil {
		return 1
	}
	return min(span, 50)
}

// rows returns the cells of a table without those of tables inside it, and whether the first row is a header.
func (w *htmlWalker) rows(table *html.Node) (rows [][]*html.Node, header bool) {
	var visit func(node *html.Node, inHead bool)
	visit = func(node *html.Node, inHead bool) {
		for child := node.FirstChild; child != nil && w.alive(); child = child.NextSibling {
			switch child.DataAtom {
			case atom.Thead, atom.Tbody, atom.Tfoot:
				visit(child, child.DataAtom == atom.Thead)
			case atom.Tr:
				var row []*html.Node
				names := 0
				for cell := child.FirstChild; cell != nil; cell = cell.NextSibling {
					if cell.DataAtom == atom.Td || cell.DataAtom == atom.Th {
						row = append(row, cell)
						if cell.DataAtom == atom.Th {
							names++
						}
					}
				}
				if len(row) > 0 {
					if len(rows) == 0 {
						header = inHead || names == len(row)
					}
					rows = append(rows, row)
				}
			}
		}
	}
	visit(table, false)
	return rows, header
}

// isLayout recognises tables that arrange a page: a single cell, or cells that hold headings, lists, code or tables.
func isLayout(table *html.Node, rows [][]*html.Node) bool {
	if role := attributeOf(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	if len(rows) == 1 && len(rows[0]) == 1 {
		return true
	}
	for _, row := range rows {
		for _, cell := range row {
			for n := range cell.Descendants() {
				switch n.DataAtom {
				case atom.Table, atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4:
					return true
				}
			}
		}
	}
	return false
}
