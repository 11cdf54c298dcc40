package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxGroups is how deep groups of shapes are read. The shapes of deeper groups belong to the group above.
const maxGroups = 32

// A shape is a shape of a slide, or a group of shapes.
type shape struct {
	box      box
	isPlaced bool
	// kind and index are those of a placeholder. A kind is "title", "body", "ftr".
	kind, index   string
	isPlaceholder bool
	isHidden      bool
	picture       string // its description
	paragraphs    []drawnParagraph
	bullets       bullets
	hasDate       bool
	blocks        []document.Block
	children      []*shape
}

// shapes reads the shapes in the element of the last Start, a tree or a group, as children of a shape.
func (r *slides) shapes(d *drawing, parent *shape, groups int) error {
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Start || ns != spaceSlide {
			continue
		}
		switch d.s.Name() {
		case "sp", "cxnSp", "pic", "graphicFrame":
			child := &shape{}
			parent.children = append(parent.children, child)
			r.Cost += blockCost
			err = r.shape(d, child)
		case "grpSp":
			if groups == 0 {
				continue
			}
			group := &shape{}
			parent.children = append(parent.children, group)
			err = r.shapes(d, group, groups-1)
		case "grpSpPr":
			err = d.position(parent)
		case "nvGrpSpPr":
			err = d.properties(parent)
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
	d.hasDate = false
	defer func() { into.hasDate = d.hasDate }()
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch name := d.s.Name(); {
		case ns == spaceSlide && strings.HasPrefix(name, "nv"):
			err = d.properties(into)
		case ns == spaceSlide && name == "spPr", ns == spaceSlide && name == "xfrm":
			err = d.position(into)
		case ns == spaceSlide && name == "txBody":
			into.paragraphs, into.bullets, err = d.textBody()
		case ns == spaceDrawing && name == "tbl":
			into.blocks, err = d.table(r.page)
		case ns == spaceChart && name == "chart":
			err = r.linked(d, into, relationshipID(d.s, "id"), "a chart", r.pkg.chart)
		case ns == spaceDiagram && name == "relIds":
			err = r.linked(d, into, relationshipID(d.s, "dm"), "a diagram", r.pkg.diagram)
		case name == "oleObj" || name == "extLst":
			err = d.s.Skip()
		}
		if err != nil {
			return err
		}
	}
}

// properties reads the non-visual properties of a shape: whether it is hidden, its description, its placeholder.
func (d *drawing) properties(s *shape) error {
	for depth := d.s.Depth(); ; {
		kind, _, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Start {
			continue
		}
		switch d.s.Name() {
		case "cNvPr":
			s.isHidden = isOn(d.s.Attr("hidden"))
			if s.picture = pictureText(d.s.Attr("descr")); s.picture != "" {
				d.count(s.picture)
			}
		case "ph":
			s.isPlaceholder, s.kind, s.index = true, d.s.Attr("type"), d.s.Attr("idx")
		}
	}
}

// position reads the position of a shape from the element of the last Start, an a:xfrm or its parent.
func (d *drawing) position(s *shape) error {
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Start || ns != spaceDrawing {
			continue
		}
		switch d.s.Name() {
		case "off":
			s.box.x, s.box.y, s.isPlaced = length(d.s.Attr("x")), length(d.s.Attr("y")), true
		case "ext":
			if d.s.Attr("uri") == "" {
				s.box.w, s.box.h = max(length(d.s.Attr("cx")), 0), max(length(d.s.Attr("cy")), 0)
			}
		}
	}
}

// length parses a length. It limits the value so that sums cannot overflow.
func length(text string) int64 {
	const most = 1 << 40
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return min(max(value, -most), most)
}

// linked reads a part that a shape shows.
func (r *slides) linked(d *drawing, into *shape, id, what string, read func(string, func() error) ([]document.Block, error)) error {
	relation, found := d.relations[id]
	if r.parts++; !found || relation.External || r.parts > maxParts {
		return nil
	}
	blocks, err := read(relation.Target, r.Step)
	for i := range blocks {
		blocks[i].Page = r.page
		r.Cost += blocks[i].Size()
		d.written += blocks[i].Size()
	}
	into.blocks = append(into.blocks, blocks...)
	return r.Tolerate(what+" of slide "+strconv.Itoa(r.page), ignoreMissing(err))
}

// leaves appends the visible shapes that are no groups.
func (s *shape) leaves(to []*shape) []*shape {
	if s.isHidden {
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

// fitGroups gives groups without a position that of their shapes.
func (s *shape) fitGroups() {
	for i, child := range s.children {
		child.fitGroups()
		if s.isPlaced && (s.box.w > 0 || s.box.h > 0) {
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
		if text := s.paragraphs[i].line.Plain(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}
