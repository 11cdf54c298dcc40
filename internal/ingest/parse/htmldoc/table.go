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

// table emits a table, or the content of its cells if it only arranges the page.
func (w *walker) table(node *html.Node, depth int) {
	w.flush()
	if code := codeTable(node); code != nil {
		w.emit(document.Block{Kind: document.Code, Language: codeLanguage(innerCode(code)), Text: codeText(code)})
		return
	}
	t := w.surveyTable(node)
	if t.isLayout(node) {
		w.layoutCells(node, depth)
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
	header, rows := grid.Table(t.headerRows)
	if len(header) > 0 {
		w.emit(document.NewTable(header, rows))
	}
}

// layoutCells reads the cells of a table that arranges the page.
func (w *walker) layoutCells(node *html.Node, depth int) {
	for child := node.FirstChild; child != nil && w.ok(); child = child.NextSibling {
		switch child.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot, atom.Tr:
			if !w.isLeftOut(child) && !w.dropped[child] {
				w.layoutCells(child, depth)
			}
		case atom.Colgroup, atom.Col:
		default:
			if child.Type == html.ElementNode && !w.dropped[child] && !w.isLeftOut(child) {
				w.flush()
				w.children(child, depth+1)
				w.flush()
			}
		}
	}
}

// cell returns the content of a cell on one line.
func (w *walker) cell(cell *html.Node, depth int) string {
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

// tableSurvey holds the facts about a table that one walk over it collects.
type tableSurvey struct {
	rows       [][]*html.Node // without those of nested tables
	headerRows int            // number of header rows
	caption    *html.Node
	hasNames   bool // a cell names a row or a column
	thead      bool
	hasTable   bool // a cell contains a table
	hasBlocks  bool // a cell contains headings or code
	maxWords   int  // of the longest cell
}

func (w *walker) surveyTable(table *html.Node) *tableSurvey {
	t := &tableSurvey{}
	w.tableSection(t, table, false)
	return t
}

func (w *walker) tableSection(t *tableSurvey, node *html.Node, inHead bool) {
	for child := node.FirstChild; child != nil && w.ok(); child = child.NextSibling {
		if child.Type != html.ElementNode || w.dropped[child] || w.isLeftOut(child) {
			continue
		}
		switch child.DataAtom {
		case atom.Thead, atom.Tbody, atom.Tfoot:
			w.tableSection(t, child, child.DataAtom == atom.Thead)
		case atom.Caption:
			t.caption = child
		case atom.Tr:
			w.tableRow(t, child, inHead)
		}
	}
}

func (w *walker) tableRow(t *tableSurvey, tr *html.Node, inHead bool) {
	var row []*html.Node
	names := 0
	for cell := tr.FirstChild; cell != nil; cell = cell.NextSibling {
		if cell.DataAtom != atom.Td && cell.DataAtom != atom.Th || w.isLeftOut(cell) || isLineNumber(cell) {
			continue
		}
		row = append(row, cell)
		if cell.DataAtom == atom.Th {
			names++
		}
		t.addCell(cell)
	}
	if len(row) == 0 {
		return
	}
	t.hasNames = t.hasNames || names > 0
	t.thead = t.thead || inHead
	if (inHead || names == len(row)) && t.headerRows == len(t.rows) && t.headerRows < compose.MaxHeaderRows {
		t.headerRows++
	}
	t.rows = append(t.rows, row)
}

func (t *tableSurvey) addCell(cell *html.Node) {
	words := 0
	for n := range cell.Descendants() {
		switch n.DataAtom {
		case atom.Table:
			t.hasTable = true
		case atom.Pre, atom.H1, atom.H2, atom.H3, atom.H4:
			t.hasBlocks = true
		}
		if n.Type == html.TextNode {
			words += inline.CountWords(n.Data)
		}
	}
	t.maxWords = max(t.maxWords, words)
}

// isLayout reports whether a table only arranges the page: its role says so, it has a single cell or a single column
// without header, or, without header cells, its cells contain tables, headings, code or long text.
func (t *tableSurvey) isLayout(table *html.Node) bool {
	if role := attributeOf(table, "role"); role == "presentation" || role == "none" {
		return true
	}
	width := 0
	for _, row := range t.rows {
		width = max(width, len(row))
	}
	if width <= 1 {
		return len(t.rows) <= 1 || !t.hasNames
	}
	if t.thead || t.headerRows > 0 || t.hasNames && !t.hasTable {
		return t.maxWords > 2*maxCellWords && t.hasBlocks
	}
	return t.hasTable || t.hasBlocks || t.maxWords > maxCellWords || len(t.rows) == 1 && t.caption == nil
}

// maxCellWords is how long a cell may be in a table without header cells.
const maxCellWords = 150
