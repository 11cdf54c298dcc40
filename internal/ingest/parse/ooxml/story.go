package ooxml

import (
	"bytes"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxNesting is how deep tables stand in tables and text boxes in text boxes; what is deeper loses its structure but not
// its text.
const maxNesting = 8

// story is one part of a Word document that is being read: its body, its notes, a header. It follows the stream of
// elements without recursion; frames tell what the open elements are.
type story struct {
	word      *word
	s         *xmlscan.Scanner
	names     names
	relations map[string]Relationship

	root, flow *flow
	frames     []frame
	tables     []*openTable
	ignored    int // tables that are nested too deep
	boxes      int
	alternates alternates
	fields     fields
	links      []string
	run        run
	contents   int // how many tables of contents are open
	written    int // bytes of text and blocks, to see whether something gave any

	// entries collects the texts of a part that is made of notes or comments, by id.
	entries map[string]entry
	// header makes the story one of lines; lines are those found.
	header bool
	lines  []string
	// held are comments, notes those to which the paragraph or table that is read refers.
	held  []document.Block
	notes []string
}

// entry is a note or a comment.
type entry struct{ author, text string }

// run is a stretch of text with its properties.
type run struct {
	look   look
	hidden bool
	font   string
}

type frameKind uint8

const (
	frameParagraph frameKind = iota
	frameTable
	frameIgnored // a table nested too deep
	frameRow
	frameCell
	frameBox
	frameLink
	frameField
	frameEntry
	frameControl // a content control
)

// frame is an open element, and what stands again when it is closed.
type frame struct {
	kind     frameKind
	depth    int
	flow     *flow
	run      run
	id       string
	author   string
	contents bool
}

type openTable struct {
	grid          grid
	inRow, inCell bool
	dropped       bool // the row that is open is deleted
	cell          gridCell
}

func (w *word) newStory(relations map[string]Relationship) *story {
	root := &flow{}
	return &story{word: w, names: newNames(), relations: relations, root: root, flow: root}
}

// read reads a part to its end, or as far as it can be read. What was read is there even with an error.
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
		st.close()
	}
	if st.root.carried {
		st.root.carried = false
		st.emit(st.root)
	}
	st.settle()
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
		st.close()
	}
}

// close ends the innermost frame.
func (st *story) close() {
	f := st.frames[len(st.frames)-1]
	st.frames = st.frames[:len(st.frames)-1]
	switch f.kind {
	case frameParagraph:
		st.endParagraph()
	case frameTable:
		st.endTable()
	case frameIgnored:
		st.ignored--
	case frameRow:
		st.endRow()
	case frameCell:
		st.endCell(f)
	case frameBox:
		blocks := st.endFlow()
		st.boxes--
		st.flow, st.run = f.flow, f.run
		st.flow.after = append(st.flow.after, blocks...)
		if !st.flow.para.open {
			st.flow.add(st.flow.after...)
			st.flow.after = nil
		}
	case frameLink:
		st.links = st.links[:len(st.links)-1]
	case frameField:
		st.put(oneLine(st.fields.end(st.written)))
	case frameEntry:
		st.entries[f.id] = entry{author: f.author, text: flatText(st.endFlow())}
		st.flow = f.flow
	case frameControl:
		if f.contents {
			st.contents--
		}
	}
}

// endFlow ends the flow of a cell, a text box or an entry.
func (st *story) endFlow() []document.Block {
	if f := st.flow; f.carried {
		f.carried = false
		st.emit(f)
	}
	return st.flow.finish()
}

// start handles the start of an element.
func (st *story) start() error {
	switch st.names.of(st.s) {
	case spaceWord:
		return st.element()
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
			return st.drawn(relationID(st.s, "id"), (*word).chart)
		}
	case spaceDiagram:
		if st.s.Name() == "relIds" {
			return st.drawn(relationID(st.s, "dm"), (*word).diagram)
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

// vector reads what the shapes of old documents say: text along a path, and descriptions.
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
		return // logos
	}
	text := pictureText(description)
	to := st.target()
	if to == nil || text == "" {
		return
	}
	before := len(to.text)
	to.put(" "+text+" ", look{aside: true})
	st.count(to, before)
}

// drawn reads a part that a drawing shows. It comes after the paragraph.
func (st *story) drawn(id string, read func(*word, string) ([]document.Block, error)) error {
	relation, found := st.relations[id]
	if !found || relation.External || st.run.hidden || st.header {
		return nil
	}
	if st.word.parts++; st.word.parts > maxParts {
		return nil
	}
	blocks, err := read(st.word, relation.Target)
	for i := range blocks {
		blocks[i].Page = st.word.page
		st.written += blocks[i].Size()
		st.word.cost += blocks[i].Size()
	}
	st.flow.after = append(st.flow.after, blocks...)
	return err
}

// readText reads the characters of the element that has begun.
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

// target returns the line that text goes to, nil where it is not seen.
func (st *story) target() *line {
	p := &st.flow.para
	if !p.open || st.run.hidden || st.fields.codes > 0 {
		return nil
	}
	return &p.line
}

// look returns how text looks here.
func (st *story) look() look {
	as := st.run.look
	switch {
	case len(st.links) > 0:
		as.link = st.links[len(st.links)-1]
	case len(st.fields.open) > 0:
		as.link = st.fields.link()
	}
	return as
}

// addText appends text as it stands in the file.
func (st *story) addText(text []byte) {
	to := st.target()
	switch {
	case to == nil:
		return
	case st.header && st.fields.page():
		to.put(pageMark, look{})
		return
	}
	before := len(to.text)
	to.add(text, st.look(), st.run.font)
	st.count(to, before)
}

// put appends text of the reader's.
func (st *story) put(text string) {
	to := st.target()
	if to == nil || text == "" {
		return
	}
	before := len(to.text)
	to.put(text, st.look())
	st.count(to, before)
}

func (st *story) count(to *line, before int) {
	n := len(to.text) - before
	st.word.cost += n
	if len(bytes.TrimSpace(to.text[before:])) == 0 {
		return
	}
	st.written += n
	if st.word.body == st {
		st.word.fresh = false
	}
	if p := &st.flow.para; p.page == 0 {
		p.page = st.word.page
	}
}
