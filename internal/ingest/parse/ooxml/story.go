package ooxml

import (
	"bytes"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxNesting is how deep tables and text boxes are nested. Deeper ones lose their structure but not their text.
const maxNesting = 8

// A story is a part of a Word document that contains paragraphs: the body, notes, a header. It reads the stream of
// elements without recursion and keeps the open elements as frames.
type story struct {
	word      *word
	s         *xmlscan.Scanner
	names     names
	relations map[string]Relationship

	root, flow   *flow
	frames       []frame
	tables       []*openTable
	openIgnored  int // open tables that are nested too deep
	openBoxes    int
	alternates   alternates
	fields       wordmodel.Fields
	links        []string
	run          run
	openContents int // open tables of contents
	written      int // how much text has been written, to see whether a branch or field produced any

	// entries holds the notes or comments of a part, by id. It is nil for other parts.
	entries map[string]entry
	// header is set for a header or footer. Its text goes to lines.
	header bool
	lines  []string
	// comments and notes are those to which the open paragraph or table refers.
	comments []document.Block
	notes    []string
}

// An entry is a note or a comment.
type entry struct{ author, text string }

// run holds the properties of a run of text.
type run struct {
	look     wordmodel.Look
	isHidden bool
	font     string
}

type frameKind uint8

const (
	frameParagraph frameKind = iota
	frameTable
	frameIgnored // a table that is nested too deep
	frameRow
	frameCell
	frameBox
	frameLink
	frameField
	frameEntry
	frameControl // a content control
)

// A frame is an open element, and what must be restored at its end.
type frame struct {
	kind       frameKind
	depth      int
	flow       *flow
	run        run
	id         string
	author     string
	isContents bool
}

type openTable struct {
	grid          grid
	inRow, inCell bool
	isRowDeleted  bool // the open row is deleted
	cell          gridCell
}

func (w *word) newStory(relations map[string]Relationship) *story {
	root := &flow{}
	return &story{word: w, names: newNames(), relations: relations, root: root, flow: root}
}

// read reads a part. With an error it has read the part before the error.
func (st *story) read(part string) error {
	err := st.word.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		st.s = s
		for {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if err := st.word.step(); err != nil {
				return err
			}
			switch kind {
			case xmlscan.Start:
				if err := st.start(); err != nil {
					return err
				}
			case xmlscan.End:
				st.end()
			case xmlscan.Text:
			}
		}
	})
	for len(st.frames) > 0 {
		st.closeFrame()
	}
	if st.root.continues {
		st.root.continues = false
		st.emit(st.root)
	}
	st.addReferenced()
	st.root.finish()
	return err
}

func (st *story) push(f frame) {
	f.depth = st.s.Depth()
	st.frames = append(st.frames, f)
}

func (st *story) end() {
	st.alternates.end(st.s, st.written)
	if n := len(st.frames); n > 0 && st.frames[n-1].depth == st.s.Depth()+1 {
		st.closeFrame()
	}
}

// closeFrame ends the innermost frame.
func (st *story) closeFrame() {
	f := st.frames[len(st.frames)-1]
	st.frames = st.frames[:len(st.frames)-1]
	switch f.kind {
	case frameParagraph:
		st.endParagraph()
	case frameTable:
		st.endTable()
	case frameIgnored:
		st.openIgnored--
	case frameRow:
		st.endRow()
	case frameCell:
		st.endCell(f)
	case frameBox:
		blocks := st.endFlow()
		st.openBoxes--
		st.flow, st.run = f.flow, f.run
		st.flow.attached = append(st.flow.attached, blocks...)
		if !st.flow.para.open {
			st.flow.addAttached()
		}
	case frameLink:
		st.links = st.links[:len(st.links)-1]
	case frameField:
		st.put(oneLine(st.fields.End(st.written)))
	case frameEntry:
		st.entries[f.id] = entry{author: f.author, text: wordmodel.Flatten(st.endFlow())}
		st.flow = f.flow
	case frameControl:
		if f.isContents {
			st.openContents--
		}
	}
}

// endFlow returns the blocks of a cell, a text box or an entry.
func (st *story) endFlow() []document.Block {
	if f := st.flow; f.continues {
		f.continues = false
		st.emit(f)
	}
	return st.flow.finish()
}

// start handles the start of an element.
func (st *story) start() error {
	switch st.names.space(st.s) {
	case spaceWord:
		return st.startElement()
	case spaceMath:
		if st.s.Name() == "oMath" {
			text, err := mathText(st.s)
			if text != "" {
				st.put(" " + text + " ")
			}
			return err
		}
	case spaceCompatibility:
		if st.alternates.start(st.s, st.written) {
			return st.s.Skip()
		}
	case spaceDrawing:
		switch st.s.Name() {
		case "t":
			return st.readText()
		case "p":
			st.put("\n")
		}
	case spaceChart:
		if st.s.Name() == "chart" {
			return st.linked(relationshipID(st.s, "id"), (*word).chart)
		}
	case spaceDiagram:
		if st.s.Name() == "relIds" {
			return st.linked(relationshipID(st.s, "dm"), (*word).diagram)
		}
	case spaceVector:
		st.vector()
	case spaceOther, spaceSlide:
		if st.s.Name() == "docPr" && !isOn(st.s.Attr("hidden")) {
			st.picture(st.s.Attr("descr"))
		}
	}
	return nil
}

// vector handles a shape of VML: text along a path, and descriptions.
func (st *story) vector() {
	switch st.s.Name() {
	case "textpath":
		st.picture(st.s.Attr("string"))
	case "shape", "rect", "group":
		st.picture(st.s.Attr("alt"))
	}
}

func (st *story) picture(description string) {
	if st.header {
		return // a logo
	}
	text := pictureText(description)
	to := st.target()
	if to == nil || text == "" {
		return
	}
	before := len(to.Text)
	to.Append(" "+text+" ", wordmodel.Look{Aside: true})
	st.count(to, before)
}

// linked reads a part that a drawing shows. It comes after the paragraph.
func (st *story) linked(id string, read func(*word, string) ([]document.Block, error)) error {
	relation, found := st.relations[id]
	if !found || relation.External || st.run.isHidden || st.header {
		return nil
	}
	if st.word.parts++; st.word.parts > maxParts {
		return nil
	}
	blocks, err := read(st.word, relation.Target)
	for i := range blocks {
		blocks[i].Page = st.word.page
		st.written += blocks[i].Size()
		st.word.Cost += blocks[i].Size()
	}
	st.flow.attached = append(st.flow.attached, blocks...)
	return err
}

// readText reads the text of the open element.
func (st *story) readText() error {
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind == xmlscan.Text {
			st.addText(st.s.Bytes())
			if err := st.word.step(); err != nil {
				return err
			}
		}
	}
	return nil
}

// target returns the line to which text is added. It is nil if the text is not visible.
func (st *story) target() *wordmodel.Line {
	p := &st.flow.para
	if !p.open || st.run.isHidden || st.fields.InCode() {
		return nil
	}
	return &p.line
}

// look returns the look of text.
func (st *story) look() wordmodel.Look {
	look := st.run.look
	switch {
	case len(st.links) > 0:
		look.Link = st.links[len(st.links)-1]
	case st.fields.Depth() > 0:
		look.Link = st.fields.Link()
	}
	return look
}

// addText adds text of the file.
func (st *story) addText(text []byte) {
	to := st.target()
	switch {
	case to == nil:
		return
	case st.header && st.fields.InPageNumber():
		to.AppendRune(wordmodel.PageNumberMark, wordmodel.Look{})
		return
	}
	before := len(to.Text)
	addText(to, text, st.look(), st.run.font)
	st.count(to, before)
}

// put adds text that the reader generates.
func (st *story) put(text string) {
	to := st.target()
	if to == nil || text == "" {
		return
	}
	before := len(to.Text)
	to.Append(text, st.look())
	st.count(to, before)
}

func (st *story) count(to *wordmodel.Line, before int) {
	n := len(to.Text) - before
	st.word.Cost += n
	if len(bytes.TrimSpace(to.Text[before:])) == 0 {
		return
	}
	st.written += n
	if st.word.body == st {
		st.word.isPageEmpty = false
	}
	if p := &st.flow.para; p.page == 0 {
		p.page = st.word.page
	}
}
