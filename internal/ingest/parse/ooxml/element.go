package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// pageMark stands for a page number in the lines of headers and footers.
const pageMark = "\x01"

// element handles the start of an element of WordprocessingML.
func (st *story) element() error {
	s := st.s
	switch s.Name() {
	case "p":
		st.beginParagraph()
	case "pPr":
		return st.paragraphProperties()
	case "r":
		st.run = run{hidden: st.flow.para.open && st.flow.para.style.hidden}
	case "rPr":
		return st.runProperties()
	case "t":
		return st.readText()
	case "tab", "ptab":
		st.put("\t")
	case "br":
		if s.Attr("type") == "page" {
			st.pageBreak(true)
		}
		st.put("\n")
	case "cr":
		st.put("\n")
	case "noBreakHyphen":
		st.put("-")
	case "sym":
		st.put(symbolCode(s.Attr("font"), s.Attr("char")))
	case "lastRenderedPageBreak":
		st.pageBreak(false)
	case "pgNum":
		if st.header {
			st.put(pageMark)
		}
	case "hyperlink":
		st.links = append(st.links, st.hyperlink())
		st.push(frame{kind: frameLink})
	case "fldSimple":
		st.fields.begin("")
		st.code([]byte(s.Attr("instr")))
		st.fields.separate(st.written)
		st.push(frame{kind: frameField})
	case "fldChar":
		return st.fieldMark()
	case "instrText":
		return st.readCode()
	case "footnoteReference":
		st.reference(&st.word.footnotes)
	case "endnoteReference":
		st.reference(&st.word.endnotes)
	case "commentReference":
		st.comment(s.Attr("id"))
	case "del", "moveFrom", "delText", "delInstrText", "rt", "sdtEndPr", "tblPr", "tblGrid":
		return s.Skip()
	default:
		return st.container()
	}
	return nil
}

// container handles the elements that hold paragraphs.
func (st *story) container() error {
	s := st.s
	switch s.Name() {
	case "tbl":
		st.beginTable()
	case "tr":
		if table := st.table(); table != nil && !table.inRow {
			table.grid.row()
			table.inRow = true
			st.push(frame{kind: frameRow})
		}
	case "trPr":
		return st.rowProperties()
	case "tc":
		if table := st.table(); table != nil && table.inRow && !table.inCell {
			table.inCell = true
			table.cell = gridCell{span: 1}
			st.push(frame{kind: frameCell, flow: st.flow})
			st.flow = &flow{}
		}
	case "tcPr":
		return st.cellProperties()
	case "txbxContent":
		if st.boxes < maxNesting && !st.header {
			st.boxes++
			st.push(frame{kind: frameBox, flow: st.flow, run: st.run})
			st.flow, st.run = &flow{}, run{}
		}
	case "sdt":
		st.push(frame{kind: frameControl})
	case "sdtPr":
		return st.controlProperties()
	case "sectPr":
		return st.section()
	case "altChunk":
		return st.chunk(relationID(s, "id"))
	case "footnote", "endnote", "comment":
		if st.entries == nil {
			return nil
		}
		if kind := s.Attr("type"); kind != "" && kind != "normal" || len(st.entries) >= maxEntries {
			return s.Skip() // lines that part notes from the text
		}
		st.push(frame{kind: frameEntry, flow: st.flow, id: s.Attr("id"), author: s.Attr("author")})
		st.flow = &flow{}
	}
	return nil
}

// table returns the table whose rows are to come, nil where there is none.
func (st *story) table() *openTable {
	if st.ignored > 0 || len(st.tables) == 0 {
		return nil
	}
	return st.tables[len(st.tables)-1]
}

func (st *story) beginTable() {
	if st.header || len(st.tables) >= maxNesting {
		st.ignored++
		st.push(frame{kind: frameIgnored})
		return
	}
	st.tables = append(st.tables, &openTable{})
	st.push(frame{kind: frameTable})
}

func (st *story) endRow() {
	table := st.tables[len(st.tables)-1]
	table.inRow = false
	if row := table.grid.rows[len(table.grid.rows)-1]; table.dropped || len(row.cells) == 0 {
		table.grid.drop()
	}
	table.dropped = false
	st.word.cost += blockCost
}

func (st *story) endCell(f frame) {
	table := st.tables[len(st.tables)-1]
	table.inCell = false
	table.cell.blocks = st.endFlow()
	st.flow = f.flow
	before := table.grid.rows[len(table.grid.rows)-1].next
	st.word.cost += cellCost * (table.grid.cell(table.cell) - before + 1)
}

func (st *story) endTable() {
	table := st.tables[len(st.tables)-1]
	st.tables = st.tables[:len(st.tables)-1]
	if blocks := table.grid.blocks(); len(blocks) > 0 {
		st.flow.add(blocks...)
	}
	st.settle()
}

// rowProperties reads the properties of a row.
func (st *story) rowProperties() error {
	table := st.table()
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord || table == nil || !table.inRow {
			continue
		}
		switch st.s.Name() {
		case "tblHeader":
			table.grid.rows[len(table.grid.rows)-1].header = toggled(st.s)
		case "gridBefore":
			if columns, err := strconv.Atoi(st.s.Attr("val")); err == nil {
				columns = min(max(columns, 0), maxSpan)
				table.grid.skip(columns)
				st.word.cost += cellCost * columns
			}
		case "del":
			table.dropped = true
		}
	}
	return nil
}

// cellProperties reads the properties of a cell.
func (st *story) cellProperties() error {
	table := st.table()
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord || table == nil || !table.inCell {
			continue
		}
		switch st.s.Name() {
		case "gridSpan":
			if span, err := strconv.Atoi(st.s.Attr("val")); err == nil {
				table.cell.span = span
			}
		case "vMerge":
			table.cell.below = st.s.Attr("val") != "restart"
		case "tcPrChange":
			if err := st.s.Skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// runProperties reads how the text of a run looks.
func (st *story) runProperties() error {
	r := &st.run
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "rStyle":
			if style := st.word.styles.character(st.s.Attr("val")); style != nil {
				r.look.bold, r.look.italic = style.bold, style.italic
				r.look.code = style.role == roleCode
				r.hidden = r.hidden || style.hidden
			}
		case "b":
			r.look.bold = toggled(st.s)
		case "i":
			r.look.italic = toggled(st.s)
		case "vanish":
			r.hidden = toggled(st.s)
		case "rFonts":
			r.font = st.s.Attr("ascii")
		case "rPrChange":
			if err := st.s.Skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// controlProperties reads what kind of content control has begun: the text of a table of contents repeats headings.
func (st *story) controlProperties() error {
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.s.Name() != "docPartGallery" || st.s.Attr("val") != "Table of Contents" {
			continue
		}
		if n := len(st.frames); n > 0 && st.frames[n-1].kind == frameControl && !st.frames[n-1].contents {
			st.frames[n-1].contents = true
			st.contents++
		}
	}
	return nil
}

// fieldMark handles the beginning, the middle and the end of a field, and what a form field in it shows.
func (st *story) fieldMark() error {
	switch st.s.Attr("fldCharType") {
	case "begin":
		form, err := st.form()
		st.fields.begin(form)
		return err
	case "separate":
		st.fields.separate(st.written)
	case "end":
		st.put(oneLine(st.fields.end(st.written)))
	}
	return nil
}

// hyperlink returns the address of the link that has begun, "" for one inside of the document.
func (st *story) hyperlink() string {
	target := st.relations[relationID(st.s, "id")].Target
	if anchor := st.s.Attr("anchor"); anchor != "" && target != "" && !strings.Contains(target, "#") {
		target += "#" + anchor
	}
	return webLink(target)
}

// form returns what a form field shows that has no text: a box that is or is not checked, the entry that was chosen.
func (st *story) form() (text string, err error) {
	var entries []string
	chosen := 0
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return text, err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord {
			continue
		}
		switch name := st.s.Name(); {
		case name == "checkBox":
			text = "☐"
		case text != "" && (name == "checked" || name == "default"):
			text = "☐"
			if toggled(st.s) {
				text = "☒"
			}
		case name == "listEntry" && len(entries) < 100:
			entries = append(entries, st.s.Attr("val"))
		case name == "result":
			chosen, _ = strconv.Atoi(st.s.Attr("val")) // without a number, the first
		}
	}
	if chosen >= 0 && chosen < len(entries) {
		return entries[chosen], nil
	}
	return text, nil
}

// readCode reads a part of the code of a field.
func (st *story) readCode() error {
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind == xmlscan.Text {
			st.code(st.s.Bytes())
		}
	}
	return nil
}

func (st *story) code(text []byte) {
	if last := st.fields.last(); last != nil && !last.result && len(last.code)+len(text) <= maxCode {
		last.code = append(last.code, text...)
	}
}

// reference puts the number of a note into the text.
func (st *story) reference(notes *notes) {
	label, text := notes.number(st.s.Attr("id"))
	to := st.target()
	if to == nil || label == "" {
		return
	}
	as := st.look()
	as.aside, as.link, as.bold, as.italic = true, "", false, false
	before := len(to.text)
	to.put("["+label+"]", as)
	st.count(to, before)
	if text != "" {
		st.notes = append(st.notes, "["+label+"] "+text)
		st.word.cost += len(text)
	}
}

// comment keeps a comment to come after the paragraph.
func (st *story) comment(id string) {
	found, known := st.word.comments[id]
	if !known || strings.TrimSpace(found.text) == "" {
		return
	}
	delete(st.word.comments, id)
	text := found.text
	if author := oneLine(found.author); author != "" {
		text = author + ": " + text
	}
	st.word.cost += len(text) + blockCost
	st.held = append(st.held, document.Block{Kind: document.Quote, Text: text, Page: st.word.page})
}
