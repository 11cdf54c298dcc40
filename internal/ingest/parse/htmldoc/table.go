package htmldoc

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// table gives a Table block, or what stands in the cells where the table only arranges the page.
func (w *htmlWalker) table(node *html.Node, depth int) {
	w.flush()
	if code := codeTable(node); code != nil {
		w.emit(document.Block{Kind: document.Code, Language: codeLanguageOf(innerCode(code)), Text: codeText(code)})
		return
	}
	t := w.survey(node)
	if t.isLayout(node) {
		w.unwrap(node, depth)
		return
	}
	if t.caption != nil {
		w.emit(document.Block{Kind: document.Paragraph, Text: inline.FoldBreaks(w.inline(t.caption))})
	}
	grid := compose.NewGrid()
	for _, row := range t.rows {
		grid.StartRow()
		for _, cell := range row {
			grid.Put(w.cell(cell, depth), spanOf(cell, "colspan"), spanOf(cell, "rowspan"))
		}
	}
	header, rows := grid.Table(t.heads)
	if len(header) > 0 {
		w.emit(document.NewTable(header, rows))
	}
}

// unwrap reads the cells of a table that arranges the page, one after the other.
func (w *htmlWalker) unwrap(node *html.Node, depth int) {
	for child := node.FirstChild; child != nil && w.alive(); child = child.NextSibling {
		switch child.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
			if !w.leftOut(child) && !w.dropped[child] {
				w.unwrap(child, depth)
			}
		case atom.Colgroup, atom.Col:
		default:
			if child.Type == html.ElementNode && !w.dropped[child] && !w.leftOut(child) {
				w.flush()
				w.children(child, depth+1)
				w.flush()
			}
		}
	}
}

// cell returns what stands in a cell on one line.
func (w *htmlWalker) cell(cell *html.Node, depth int) string {
	if isSimple(cell) {
		return strings.ReplaceAll(inline.FoldBreaks(w.inline(cell)), "\n", " ")
	}
	return compose.Cell(w.read(cell, depth))
}

func spanOf(cell *html.Node, name string) int {
	span, err := strconv.Atoi(attributeOf(cell, name))
	if err != nil {
		return 1
	}
	return min(max(span, 1), compose.MaxSpan)
}

// tableSurvey is what one look at a table finds.
type tableSurvey struct {
	rows    [][]*html.Node // without those of tables inside it
	heads   int            // how many rows at the top name the columns
	caption *html.Node
	named   bool // a cell names a row or a column
	thead   bool
	nested  bool // a cell holds a table
	blocks  bool // a cell holds headings or code
	longest int  // words of the longest cell
}

func (w *htmlWalker) survey(table *html.Node) *tableSurvey {
	t := &tableSurvey{}
	w.section(t, table, false)
	return t
}

func (w *htmlWalker) section(t *tableSurvey, node *html.Node, inHead bool) {
	for child := node.FirstChild; child != nil && w.alive(); child = child.NextSibling {
		if child.Type != html.ElementNode || w.dropped[child] || w.leftOut(child) {
			continue
		}
		switch child.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot:
			w.section(t, child, child.DataAtom == atom.Thead)
		case atom.Caption:
			t.caption = child
		case atom.Tr:
			w.row(t, child, inHead)
		}
	}
}

func (w *htmlWalker) row(t *tableSurvey, tr *html.Node, inHead bool) {
	var row []*html.Node
	names := 0
	for cell := tr.FirstChild; cell != nil; cell = cell.NextSibling {
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th || w.leftOut(cell) || isLineNumber(cell) {
			continue
		}
		row = append(row, cell)
		if cell.DataAtom == atom.Th {
			names++
		}
		t.look(cell)
	}
	if len(row) == 0 {
		return
	}
	t.named = t.named || names > 0
	t.thead = t.thead || inHead
	if (inHead || names == len(row)) && t.heads == len(t.rows) && t.heads < compose.MaxHeaderRows {
		t.heads++
	}
	t.rows = append(t.rows, row)
}

func (t *tableSurvey) look(cell *html.Node) {
	words := 0
	for n := range cell.Descendants() {
		switch n.DataAtom {
		case atom.Table:
			t.nested = true
		case atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4:
			t.blocks = true
		}
		if n.Type == html.TextNode {
			words += inline.CountWords(n.Data)
		}
	}
	t.longest = max(t.longest, words)
}

// isLayout recognises tables that arrange a page: those that say so, a single cell, a single column without names, and cells
// that hold tables, headings, code or the text of a page where no cell names a row or a column.
func (t *tableSurvey) isLayout(table *html.Node) bool {
	if role := attributeOf(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	if width <= 1 {
		return len(t.rows) <= 1 || !t.named
	}
	if t.thead || t.heads > 0 || t.named && !t.nested {
		return t.longest > 2*maxCellWords && t.blocks
	}
	return t.nested || t.blocks || t.longest > maxCellWords || len(t.rows) == 1 && t.caption == nil
}

// maxCellWords is from how many words on a cell without a name holds the text of a page.
const maxCellWords = 150
