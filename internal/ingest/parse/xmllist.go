package parse

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// list emits a list; what stands before its items, such as a title, goes before it.
func (w *xmlProse) list(node *xmlNode) {
	w.flush()
	items := listText{emit: w.emit}
	ordered := isOrdered(node)
	number := 0
	label := ""
	for _, child := range node.children {
		if !w.alive() {
			return
		}
		switch child.name {
		case "":
		case "listitem", "li", "item", "list-item", "step", "substep", "member", "sli", "callout", "choice", "t", "stepsection", "stepalternatives":
			number++
			marker := "- "
			if ordered {
				marker = strconv.Itoa(number) + ". "
			}
			blocks := w.itemBlocks(child)
			if label != "" {
				blocks = labelled(label+": ", blocks)
				label = ""
			}
			items.item(marker, 0, blocks)
		case "label":
			label = child.line()
		case "title", "head", "caption":
			items.flush()
			w.caption(child)
		default:
			items.flush()
			w.element(child)
		}
	}
	items.flush()
}

// itemBlocks returns the blocks of an item without the number that some formats write into it.
func (w *xmlProse) itemBlocks(item *xmlNode) []document.Block {
	if item.name == "step" || item.name == "substep" {
		for _, child := range item.children {
			if child.name == "info" {
				child.name = "stepresult" // text in the steps of DITA; elsewhere "info" is what a document says of itself
			}
		}
	}
	if label := item.child("label"); label != nil && item.name == "list-item" {
		inner := xmlNode{name: item.name, attrs: item.attrs}
		for _, child := range item.children {
			if child != label {
				inner.children = append(inner.children, child)
			}
		}
		item = &inner
	}
	return w.read(item)
}

func isOrdered(node *xmlNode) bool {
	switch node.name {
	case "orderedlist", "ol", "procedure", "steps", "substeps", "calloutlist":
		return true
	}
	switch strings.ToLower(node.attr("list-type", "type", "rend", "style")) {
	case "order", "ordered", "numbered", "numbers", "1", "arabic":
		return true
	}
	return false
}

// terms emits a list of "term: meaning".
func (w *xmlProse) terms(node *xmlNode) {
	w.flush()
	items := listText{emit: w.emit}
	var terms []string
	var visit func(node *xmlNode)
	visit = func(node *xmlNode) {
		for _, child := range node.children {
			if !w.alive() {
				return
			}
			switch child.name {
			case "":
			case "term", "dt", "glossterm", "pt", "glossdt", "label":
				terms = append(terms, oneLine(w.inline(child)))
			case "listitem", "dd", "def", "glossdef", "pd", "item":
				items.item("- ", 0, labelled(strings.Join(terms, ", ")+": ", w.read(child)))
				terms = nil
			case "varlistentry", "dlentry", "def-item", "glossentry", "plentry", "dlhead", "glossdiv":
				visit(child)
			case "title", "head", "caption":
				items.flush()
				w.caption(child)
			default:
				items.flush()
				w.element(child)
			}
		}
	}
	visit(node)
	if len(terms) > 0 {
		items.lines("- ", 2, strings.Join(terms, ", "))
	}
	items.flush()
}

// table emits a table of the CALS, HTML, DITA or TEI model.
func (w *xmlProse) table(node *xmlNode) {
	w.flush()
	var caption []string
	for _, name := range []string{"label", "title", "head", "caption"} {
		if part := node.child(name); part != nil {
			caption = append(caption, cellOf(w.read(part)))
		}
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: strings.Join(caption, " ")})
	if node.find("tgroup") != nil || node.name == "table-wrap" {
		found := false
		for _, child := range node.children {
			switch child.name {
			case "tgroup":
				w.rows(child)
				found = true
			case "table":
				w.table(child)
				found = true
			case "table-wrap-foot":
				w.element(child)
			}
		}
		if found {
			return
		}
	}
	w.rows(node)
}

// rows emits the rows of a table or of a part of one.
func (w *xmlProse) rows(node *xmlNode) {
	columns := make(map[string]int)
	for _, child := range node.children {
		if child.name == "colspec" {
			name := child.attr("colname")
			if number, err := strconv.Atoi(child.attr("colnum")); err == nil {
				columns[name] = number
			} else {
				columns[name] = len(columns) + 1
			}
		}
	}
	table := xmlTableRows{w: w, grid: newGrid(), columns: columns}
	table.section(node, false)
	if header, rows := table.grid.table(table.heads); len(header) > 0 {
		w.emit(document.NewTable(header, rows))
	}
}

type xmlTableRows struct {
	w       *xmlProse
	grid    *grid
	columns map[string]int
	heads   int
}

func (t *xmlTableRows) section(node *xmlNode, inHead bool) {
	for _, child := range node.children {
		if !t.w.alive() {
			return
		}
		switch child.name {
		case "thead", "tbody", "tfoot":
			t.section(child, child.name == "thead")
		case "tr", "row", "strow", "sthead", "chrow", "chhead", "property", "prophead":
			t.row(child, inHead || strings.HasSuffix(child.name, "head") || child.attr("role") == "label")
		}
	}
}

func (t *xmlTableRows) row(node *xmlNode, inHead bool) {
	named := true
	var cells []*xmlNode
	for _, child := range node.children {
		if child.name != "" {
			cells = append(cells, child)
			named = named && child.name == "th"
		}
	}
	if len(cells) == 0 {
		return
	}
	if (inHead || named) && t.heads == len(t.grid.rows) && t.heads < maxHeads {
		t.heads++
	}
	t.grid.startRow()
	for _, cell := range cells {
		columns, rows := 1, 1
		number := func(name string) int {
			n, err := strconv.Atoi(cell.attr(name))
			if err != nil {
				return 0
			}
			return min(max(n, 0), maxSpan)
		}
		first, last := t.columns[cell.attr("namest")], t.columns[cell.attr("nameend")]
		switch {
		case last > first && first > 0:
			columns = min(last-first+1, maxSpan)
		case number("colspan") > 1:
			columns = number("colspan")
		case number("cols") > 1:
			columns = number("cols")
		}
		switch {
		case number("morerows") > 0:
			rows = number("morerows") + 1
		case number("rowspan") > 1:
			rows = number("rowspan")
		case number("rows") > 1:
			rows = number("rows")
		}
		t.grid.put(cellOf(t.w.read(cell)), columns, rows)
	}
}
