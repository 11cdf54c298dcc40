package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// startElement handles the start of an element of WordprocessingML.
func (st *story) startElement() error {
	s := st.s
	switch s.Name() {
	case "p":
		st.beginParagraph()
	case "pPr":
		return st.paragraphProperties()
	case "r":
		st.run = run{isHidden: st.flow.para.open && st.flow.para.style.isHidden}
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
		st.put(symbolOf(s.Attr("font"), s.Attr("char")))
	case "lastRenderedPageBreak":
		st.pageBreak(false)
	case "pgNum":
		if st.header {
			st.put(string(wordmodel.PageNumberMark))
		}
	case "hyperlink":
		st.links = append(st.links, st.hyperlink())
		st.push(frame{kind: frameLink})
	case "fldSimple":
		st.fields.Begin("")
		st.fields.AppendCode([]byte(s.Attr("instr")))
		st.fields.Separate(st.written)
		st.push(frame{kind: frameField})
	case "fldChar":
		return st.fieldChar()
	case "instrText":
		return st.fieldCode()
	case "footnoteReference":
		st.noteReference(&st.word.footnotes)
	case "endnoteReference":
		st.noteReference(&st.word.endnotes)
	case "commentReference":
		st.commentReference(s.Attr("id"))
	case "del", "moveFrom", "delText", "delInstrText", "rt", "sdtEndPr", "tblPr", "tblGrid":
		return s.Skip()
	default:
		return st.startContainer()
	}
	return nil
}

// startContainer handles the start of an element that contains paragraphs, rows or cells.
func (st *story) startContainer() error {
	s := st.s
	switch s.Name() {
	case "tbl":
		st.beginTable()
	case "tr":
		if table := st.table(); table != nil && !table.inRow {
			table.grid.addRow()
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
		if st.openBoxes < maxNesting && !st.header {
			st.openBoxes++
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
		return st.insertedFile(relationshipID(s, "id"))
	case "footnote", "endnote", "comment":
		if st.entries == nil {
			return nil
		}
		if kind := s.Attr("type"); kind != "" && kind != "normal" || len(st.entries) >= maxEntries {
			return s.Skip() // a separator between text and notes
		}
		st.push(frame{kind: frameEntry, flow: st.flow, id: s.Attr("id"), author: s.Attr("author")})
		st.flow = &flow{}
	}
	return nil
}

// table returns the innermost open table. It is nil outside of tables, and in tables that are nested too deep.
func (st *story) table() *openTable {
	if st.openIgnored > 0 || len(st.tables) == 0 {
		return nil
	}
	return st.tables[len(st.tables)-1]
}

func (st *story) beginTable() {
	if st.header || len(st.tables) >= maxNesting {
		st.openIgnored++
		st.push(frame{kind: frameIgnored})
		return
	}
	st.tables = append(st.tables, &openTable{})
	st.push(frame{kind: frameTable})
}

func (st *story) endRow() {
	table := st.tables[len(st.tables)-1]
	table.inRow = false
	if row := table.grid.rows[len(table.grid.rows)-1]; table.isRowDeleted || len(row.cells) == 0 {
		table.grid.dropRow()
	}
	table.isRowDeleted = false
	st.word.Cost += blockCost
}

func (st *story) endCell(f frame) {
	table := st.tables[len(st.tables)-1]
	table.inCell = false
	table.cell.blocks = st.endFlow()
	st.flow = f.flow
	before := table.grid.rows[len(table.grid.rows)-1].next
	st.word.Cost += cellCost * (table.grid.addCell(table.cell) - before + 1)
}

func (st *story) endTable() {
	table := st.tables[len(st.tables)-1]
	st.tables = st.tables[:len(st.tables)-1]
	if blocks := table.grid.blocks(); len(blocks) > 0 {
		st.flow.Add(blocks...)
	}
	st.addReferenced()
}

// rowProperties reads the properties of a row.
func (st *story) rowProperties() error {
	table := st.table()
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord || table == nil || !table.inRow {
			continue
		}
		switch st.s.Name() {
		case "tblHeader":
			table.grid.rows[len(table.grid.rows)-1].isHeader = isToggled(st.s)
		case "gridBefore":
			if columns, err := strconv.Atoi(st.s.Attr("val")); err == nil {
				columns = min(max(columns, 0), maxSpan)
				table.grid.skipColumns(columns)
				st.word.Cost += cellCost * columns
			}
		case "del":
			table.isRowDeleted = true
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
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord || table == nil || !table.inCell {
			continue
		}
		switch st.s.Name() {
		case "gridSpan":
			if span, err := strconv.Atoi(st.s.Attr("val")); err == nil {
				table.cell.span = span
			}
		case "vMerge":
			table.cell.continuesAbove = st.s.Attr("val") != "restart"
		case "tcPrChange":
			if err := st.s.Skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// runProperties reads the properties of a run.
func (st *story) runProperties() error {
	r := &st.run
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "rStyle":
			if style := st.word.styles.character(st.s.Attr("val")); style != nil {
				r.look.Bold, r.look.Italic = style.bold, style.italic
				r.look.Code = style.role == wordmodel.RoleCode
				r.isHidden = r.isHidden || style.isHidden
			}
		case "b":
			r.look.Bold = isToggled(st.s)
		case "i":
			r.look.Italic = isToggled(st.s)
		case "vanish":
			r.isHidden = isToggled(st.s)
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

// controlProperties reads whether a content control is a table of contents.
func (st *story) controlProperties() error {
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.s.Name() != "docPartGallery" || st.s.Attr("val") != "Table of Contents" {
			continue
		}
		if n := len(st.frames); n > 0 && st.frames[n-1].kind == frameControl && !st.frames[n-1].isContents {
			st.frames[n-1].isContents = true
			st.openContents++
		}
	}
	return nil
}

// fieldChar handles the begin, separate and end marks of a field, and the value of a form field.
func (st *story) fieldChar() error {
	switch st.s.Attr("fldCharType") {
	case "begin":
		form, err := st.formValue()
		st.fields.Begin(form)
		return err
	case "separate":
		st.fields.Separate(st.written)
	case "end":
		st.put(oneLine(st.fields.End(st.written)))
	}
	return nil
}

// hyperlink returns the address of the hyperlink element, "" for a link inside the document.
func (st *story) hyperlink() string {
	target := st.relations[relationshipID(st.s, "id")].Target
	if anchor := st.s.Attr("anchor"); anchor != "" && target != "" && !strings.Contains(target, "#") {
		target += "#" + anchor
	}
	return wordmodel.WebLink(target)
}

// formValue returns the value of a form field that has no text: a check box, or the selected entry of a list.
func (st *story) formValue() (text string, err error) {
	var entries []string
	selected := 0
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return text, err
		}
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord {
			continue
		}
		switch name := st.s.Name(); {
		case name == "checkBox":
			text = "☐"
		case text != "" && (name == "checked" || name == "default"):
			text = "☐"
			if isToggled(st.s) {
				text = "☒"
			}
		case name == "listEntry" && len(entries) < 100:
			entries = append(entries, st.s.Attr("val"))
		case name == "result":
			selected, _ = strconv.Atoi(st.s.Attr("val")) // 0, the first entry, if it is not a number
		}
	}
	if selected >= 0 && selected < len(entries) {
		return entries[selected], nil
	}
	return text, nil
}

// fieldCode reads a part of a field code.
func (st *story) fieldCode() error {
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind == xmlscan.Text {
			st.fields.AppendCode(st.s.Bytes())
		}
	}
	return nil
}

// noteReference adds the number of a note to the text.
func (st *story) noteReference(notes *notes) {
	label, text := notes.reference(st.s.Attr("id"))
	to := st.target()
	if to == nil || label == "" {
		return
	}
	look := st.look()
	look.Aside, look.Link, look.Bold, look.Italic = true, "", false, false
	before := len(to.Text)
	to.Append("["+label+"]", look)
	st.count(to, before)
	if text != "" {
		st.notes = append(st.notes, "["+label+"] "+text)
		st.word.Cost += len(text)
	}
}

// commentReference keeps a comment until the end of the paragraph.
func (st *story) commentReference(id string) {
	found, known := st.word.comments[id]
	if !known || strings.TrimSpace(found.text) == "" {
		return
	}
	delete(st.word.comments, id)
	text := found.text
	if author := oneLine(found.author); author != "" {
		text = author + ": " + text
	}
	st.word.Cost += len(text) + blockCost
	st.comments = append(st.comments, document.Block{Kind: document.Quote, Text: text, Page: st.word.page})
}
