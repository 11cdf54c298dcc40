package xmldoc

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
)

// list emits a list, after the elements before its items, such as a title.
func (w *writer) list(node *element) {
	w.flush()
	items := compose.List{Emit: w.emit}
	ordered := isOrdered(node)
	number := 0
	label := ""
	for _, child := range node.children {
		if !w.ok() {
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
				blocks = compose.Labelled(label+": ", blocks)
				label = ""
			}
			items.Item(marker, 0, blocks)
		case "label":
			label = child.line()
		case "title", "head", "caption":
			items.Flush()
			w.caption(child)
		default:
			items.Flush()
			w.readElement(child)
		}
	}
	items.Flush()
}

// itemBlocks returns the blocks of an item without the number that some formats write into it.
func (w *writer) itemBlocks(item *element) []document.Block {
	if item.name == "step" || item.name == "substep" {
		for _, child := range item.children {
			if child.name == "info" {
				child.name = "stepresult" // a result in a DITA step; elsewhere "info" is metadata
			}
		}
	}
	if label := item.child("label"); label != nil && item.name == "list-item" {
		inner := element{name: item.name, attrs: item.attrs}
		for _, child := range item.children {
			if child != label {
				inner.children = append(inner.children, child)
			}
		}
		item = &inner
	}
	return w.read(item)
}

func isOrdered(node *element) bool {
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
func (w *writer) terms(node *element) {
	w.flush()
	items := compose.List{Emit: w.emit}
	var terms []string
	var visit func(node *element)
	visit = func(node *element) {
		for _, child := range node.children {
			if !w.ok() {
				return
			}
			switch child.name {
			case "":
			case "term", "dt", "glossterm", "pt", "glossdt", "label":
				terms = append(terms, strings.Join(strings.Fields(w.inline(child)), " "))
			case "listitem", "dd", "def", "glossdef", "pd", "item":
				items.Item("- ", 0, compose.Labelled(strings.Join(terms, ", ")+": ", w.read(child)))
				terms = nil
			case "varlistentry", "dlentry", "def-item", "glossentry", "plentry", "dlhead", "glossdiv":
				visit(child)
			case "title", "head", "caption":
				items.Flush()
				w.caption(child)
			default:
				items.Flush()
				w.readElement(child)
			}
		}
	}
	visit(node)
	if len(terms) > 0 {
		items.Lines("- ", 2, strings.Join(terms, ", "))
	}
	items.Flush()
}

// table emits a table of the CALS, HTML, DITA or TEI model.
func (w *writer) table(node *element) {
	w.flush()
	var caption []string
	for _, name := range []string{"label", "title", "head", "caption"} {
		if part := node.child(name); part != nil {
			caption = append(caption, compose.Cell(w.read(part)))
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
				w.readElement(child)
			}
		}
		if found {
			return
		}
	}
	w.rows(node)
}

// rows emits the rows of a table or of a part of it.
func (w *writer) rows(node *element) {
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
	table := tableRows{w: w, grid: compose.NewGrid(), columns: columns}
	table.section(node, false)
	if header, rows := table.grid.Table(table.heads); len(header) > 0 {
		w.emit(document.NewTable(header, rows))
	}
}

type tableRows struct {
	w       *writer
	grid    *compose.Grid
	columns map[string]int
	heads   int
}

func (t *tableRows) section(node *element, inHead bool) {
	for _, child := range node.children {
		if !t.w.ok() {
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

func (t *tableRows) row(node *element, inHead bool) {
	named := true
	var cells []*element
	for _, child := range node.children {
		if child.name != "" {
			cells = append(cells, child)
			named = named && child.name == "th"
		}
	}
	if len(cells) == 0 {
		return
	}
	if (inHead || named) && t.heads == t.grid.Height() && t.heads < compose.MaxHeaderRows {
		t.heads++
	}
	t.grid.StartRow()
	for _, cell := range cells {
		columns, rows := 1, 1
		number := func(name string) int {
			n, err := strconv.Atoi(cell.attr(name))
			if err != nil {
				return 0
			}
			return min(max(n, 0), compose.MaxSpan)
		}
		first, last := t.columns[cell.attr("namest")], t.columns[cell.attr("nameend")]
		switch {
		case last > first && first > 0:
			columns = min(last-first+1, compose.MaxSpan)
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
		t.grid.Put(compose.Cell(t.w.read(cell)), columns, rows)
	}
}
