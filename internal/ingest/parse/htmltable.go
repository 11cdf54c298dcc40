package parse

import (
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
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
		w.emit(document.Block{Kind: document.Paragraph, Text: squeeze(w.inline(t.caption))})
	}
	grid := newGrid()
	for _, row := range t.rows {
		grid.startRow()
		for _, cell := range row {
			grid.put(w.cell(cell, depth), spanOf(cell, "colspan"), spanOf(cell, "rowspan"))
		}
	}
	header, rows := grid.table(t.heads)
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
		return strings.ReplaceAll(squeeze(w.inline(cell)), "\n", " ")
	}
	return cellOf(w.read(cell, depth))
}

func spanOf(cell *html.Node, name string) int {
	span, err := strconv.Atoi(attributeOf(cell, name))
	if err != nil {
		return 1
	}
	return min(max(span, 1), maxSpan)
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
	if (inHead || names == len(row)) && t.heads == len(t.rows) && t.heads < maxHeads {
		t.heads++
	}
	t.rows = append(t.rows, row)
}

// maxHeads is how many rows may name the columns.
const maxHeads = 4

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
			words += countWords(n.Data)
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

// maxSpan is the most rows or columns that a cell is taken to span.
const maxSpan = 256

// grid lays out the cells of a table. A cell that spans rows stands in each of them, so that each row can be understood by
// itself; one that spans columns stands in the first of them, and names all of them in a header.
type grid struct {
	rows  [][]string
	names [][]string // the same, with cells that span columns in all of them
	hold  []held     // by column, what still comes down from rows above
	at    int
	cells int
}

type held struct {
	text, name string
	rows       int
}

// maxGrid bounds the cells that spans may add.
const maxGrid = 1 << 20

func newGrid() *grid { return &grid{} }

func (g *grid) startRow() {
	g.fill()
	g.rows = append(g.rows, nil)
	g.names = append(g.names, nil)
	g.at = 0
	g.skip()
}

// skip takes the cells that come down from above.
func (g *grid) skip() {
	for g.at < len(g.hold) && g.hold[g.at].rows > 0 {
		g.hold[g.at].rows--
		g.add(g.hold[g.at].text, g.hold[g.at].name)
	}
}

// fill ends a row: cells that come down behind its last cell are taken too.
func (g *grid) fill() {
	if len(g.rows) == 0 {
		return
	}
	last := -1
	for i := g.at; i < len(g.hold); i++ {
		if g.hold[i].rows > 0 {
			last = i
		}
	}
	for g.at <= last {
		g.skip()
		if g.at <= last {
			g.add("", "")
		}
	}
}

func (g *grid) add(text, name string) {
	row := len(g.rows) - 1
	g.rows[row] = append(g.rows[row], text)
	g.names[row] = append(g.names[row], name)
	g.at++
	g.cells++
}

// put adds a cell to the row.
func (g *grid) put(text string, columns, rows int) {
	if g.cells > maxGrid {
		columns, rows = 1, 1
	}
	for i := range columns {
		if len(g.rows[len(g.rows)-1]) > 2*document.MaxColumns && i > 0 {
			break
		}
		shown := text
		if i > 0 {
			shown = ""
		}
		if rows > 1 {
			for len(g.hold) <= g.at {
				g.hold = append(g.hold, held{})
			}
			g.hold[g.at] = held{text: shown, name: text, rows: rows - 1}
		}
		g.add(shown, text)
	}
	g.skip()
}

// table returns the header, which is the first row where no row names the columns, and the rows.
func (g *grid) table(heads int) (header []string, rows [][]string) {
	g.fill()
	if len(g.rows) == 0 {
		return nil, nil
	}
	if heads >= len(g.rows) {
		heads = 1 // a table of names alone
	}
	if heads == 0 {
		return g.rows[0], g.rows[1:]
	}
	for _, row := range g.names[:heads] {
		for i, name := range row {
			switch {
			case i >= len(header):
				header = append(header, name)
			case name == "" || slices.Contains(strings.Split(header[i], " / "), name):
			case header[i] == "":
				header[i] = name
			default:
				header[i] += " / " + name
			}
		}
	}
	return header, g.rows[heads:]
}
