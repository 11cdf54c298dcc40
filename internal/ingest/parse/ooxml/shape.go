package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxGroups is how deep shapes are grouped; deeper groups are read as if their shapes stood in the group around.
const maxGroups = 32

// shape is a shape of a slide, or a group of them.
type shape struct {
	box    box
	placed bool
	// kind is that of a placeholder: "title", "body", "ftr"; holder tells that the shape is one.
	kind, index string
	holder      bool
	hidden      bool
	picture     string // its description
	paragraphs  []drawnParagraph
	own         bullets
	dated       bool
	blocks      []document.Block
	children    []*shape
}

// shapes reads the shapes in the element of the last Start, a tree or a group, as the children of a shape.
func (r *slides) shapes(d *drawing, parent *shape, groups int) error {
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Start || in != spaceSlide {
			continue
		}
		switch d.s.Name() {
		case "sp", "cxnSp", "pic", "graphicFrame":
			child := &shape{}
			parent.children = append(parent.children, child)
			r.cost += blockCost
			err = r.shape(d, child)
		case "grpSp":
			if groups == 0 {
				continue
			}
			group := &shape{}
			parent.children = append(parent.children, group)
			err = r.shapes(d, group, groups-1)
		case "grpSpPr":
			err = d.place(parent)
		case "nvGrpSpPr":
			err = d.facts(parent)
		case "extLst":
			err = d.s.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// shape reads the shape of the last Start.
func (r *slides) shape(d *drawing, into *shape) error {
	d.dated = false
	defer func() { into.dated = d.dated }()
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch name := d.s.Name(); {
		case in == spaceSlide && strings.HasPrefix(name, "nv"):
			err = d.facts(into)
		case in == spaceSlide && name == "spPr", in == spaceSlide && name == "xfrm":
			err = d.place(into)
		case in == spaceSlide && name == "txBody":
			into.paragraphs, into.own, err = d.textBody()
		case in == spaceDrawing && name == "tbl":
			into.blocks, err = d.table(r.page)
		case in == spaceChart && name == "chart":
			err = r.drawn(d, into, relationID(d.s, "id"), "a chart", r.pkg.chart)
		case in == spaceDiagram && name == "relIds":
			err = r.drawn(d, into, relationID(d.s, "dm"), "a diagram", r.pkg.diagram)
		case name == "oleObj" || name == "extLst":
			err = d.s.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// facts reads the properties of the last Start: what a shape is called and which placeholder it fills.
func (d *drawing) facts(into *shape) error {
	for depth := d.s.Depth(); ; {
		kind, _, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch d.s.Name() {
		case "cNvPr":
			into.hidden = isOn(d.s.Attr("hidden"))
			if into.picture = pictureText(d.s.Attr("descr")); into.picture != "" {
				d.count(into.picture)
			}
		case "ph":
			into.holder, into.kind, into.index = true, d.s.Attr("type"), d.s.Attr("idx")
		}
	}
}

// place reads where a shape stands from the element of the last Start, a:xfrm or one that holds it.
func (d *drawing) place(into *shape) error {
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Start || in != spaceDrawing {
			continue
		}
		switch d.s.Name() {
		case "off":
			into.box.x, into.box.y, into.placed = length(d.s.Attr("x")), length(d.s.Attr("y")), true
		case "ext":
			if d.s.Attr("uri") == "" {
				into.box.w, into.box.h = max(length(d.s.Attr("cx")), 0), max(length(d.s.Attr("cy")), 0)
			}
		}
	}
}

// length reads a length; what is beyond any slide counts as that.
func length(text string) int64 {
	const most = 1 << 40
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return min(max(value, -most), most)
}

// drawn reads a part that a shape shows.
func (r *slides) drawn(d *drawing, into *shape, id, what string, read func(string, func() error) ([]document.Block, error)) error {
	relation, found := d.relations[id]
	if r.parts++; !found || relation.External || r.parts > maxParts {
		return nil
	}
	blocks, err := read(relation.Target, r.step)
	for i := range blocks {
		blocks[i].Page = r.page
		r.cost += blocks[i].Size()
		d.written += blocks[i].Size()
	}
	into.blocks = append(into.blocks, blocks...)
	return r.tolerate(what+" of slide "+strconv.Itoa(r.page), absent(err))
}

// leaves appends the shapes that are no groups, without those that are hidden.
func (s *shape) leaves(to []*shape) []*shape {
	if s.hidden {
		return to
	}
	if s.children == nil {
		return append(to, s)
	}
	for _, child := range s.children {
		to = child.leaves(to)
	}
	return to
}

// arrange puts the shapes of a tree and of its groups into reading order.
func (s *shape) arrange() {
	for _, child := range s.children {
		child.arrange()
	}
	inReadingOrder(s.children, maxCuts)
}

// surround gives groups without a place that of what is in them.
func (s *shape) surround() {
	for i, child := range s.children {
		child.surround()
		if s.placed && (s.box.w > 0 || s.box.h > 0) {
			continue
		}
		b := child.box
		if i == 0 {
			s.box = b
			continue
		}
		right, bottom := max(s.box.x+s.box.w, b.x+b.w), max(s.box.y+s.box.h, b.y+b.h)
		s.box.x, s.box.y = min(s.box.x, b.x), min(s.box.y, b.y)
		s.box.w, s.box.h = right-s.box.x, bottom-s.box.y
	}
}

// text returns the text of a shape on one line.
func (s *shape) text() string {
	parts := make([]string, 0, len(s.paragraphs))
	for i := range s.paragraphs {
		if text := s.paragraphs[i].line.plain(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
