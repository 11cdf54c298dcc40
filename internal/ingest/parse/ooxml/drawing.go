package ooxml

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// drawing reads the shapes and texts of DrawingML (ECMA-376 part 1, 21.1) in one part.
type drawing struct {
	effort     *effort
	s          *xmlscan.Scanner
	names      names
	relations  map[string]Relationship
	alternates alternates
	written    int
	dated      bool // a text had a date that the program puts in
}

// bulletKind is what stands before a paragraph of a shape.
type bulletKind uint8

const (
	bulletUnset bulletKind = iota
	bulletNone
	bulletSign
	bulletNumber
)

type bullet struct {
	kind   bulletKind
	format string
	start  int
}

// bullets are the bullets of the levels of a text.
type bullets [maxLevels]bullet

// drawnParagraph is a paragraph of a shape.
type drawnParagraph struct {
	line   line
	level  int
	bullet bullet
}

// next is the scanner's Next for the elements inside the one that was at a depth: open is false at its end, and skipped
// what belongs to a branch that is not read.
func (d *drawing) next(depth int) (kind xmlscan.Kind, in space, open bool, err error) {
	for d.s.Depth() >= depth {
		kind, err = d.s.Next()
		if err == nil {
			err = d.effort.step()
		}
		if err != nil {
			return kind, spaceOther, false, err
		}
		switch kind {
		case xmlscan.End:
			d.alternates.end(d.s, d.written)
		case xmlscan.Start:
			in = d.names.of(d.s)
			if in != spaceCompatibility {
				return kind, in, true, nil
			}
			if d.alternates.start(d.s, d.written) {
				if err := d.s.Skip(); err != nil {
					return kind, in, false, err
				}
			}
		case xmlscan.Text:
			return kind, spaceOther, true, nil
		}
	}
	return 0, spaceOther, false, nil
}

// textBody reads the paragraphs in the element of the last Start, and the bullets that it sets itself.
func (d *drawing) textBody() (paragraphs []drawnParagraph, own bullets, err error) {
	var as look
	var p *drawnParagraph
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return paragraphs, own, err
		}
		if kind != xmlscan.Start {
			continue
		}
		if in == spaceMath && d.s.Name() == "oMath" && p != nil {
			text, err := mathText(d.s)
			d.put(p, " "+text+" ", look{})
			if err != nil {
				return paragraphs, own, err
			}
		}
		if in != spaceDrawing {
			continue
		}
		switch name := d.s.Name(); {
		case name == "lstStyle":
			own, err = d.levels()
		case name == "p":
			d.effort.cost += blockCost
			paragraphs = append(paragraphs, drawnParagraph{})
			p, as = &paragraphs[len(paragraphs)-1], look{}
		case name == "bodyPr" || name == "endParaRPr":
			err = d.s.Skip()
		case p == nil:
		case name == "pPr":
			err = d.paragraphProperties(p)
		case name == "r":
			as = look{}
		case name == "fld":
			as = look{}
			if field := d.s.Attr("type"); field == "slidenum" {
				err = d.s.Skip()
			} else if strings.HasPrefix(field, "datetime") {
				d.dated = true
			}
		case name == "rPr":
			as, err = d.runProperties()
		case name == "br":
			d.put(p, "\n", look{})
		case name == "t":
			err = d.text(p, as)
		}
		if err != nil {
			return paragraphs, own, err
		}
	}
}

func (d *drawing) put(p *drawnParagraph, text string, as look) {
	p.line.put(text, as)
	d.count(text)
}

func (d *drawing) count(text string) {
	d.effort.cost += len(text)
	if strings.TrimSpace(text) != "" {
		d.written += len(text)
	}
}

// text reads the characters of a run. PowerPoint writes line breaks in titles as _x000B_.
func (d *drawing) text(p *drawnParagraph, as look) error {
	for depth := d.s.Depth(); ; {
		kind, _, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Text {
			continue
		}
		text := d.s.Bytes()
		d.count(string(text))
		for {
			before, after, found := bytes.Cut(text, []byte("_x000B_"))
			p.line.add(before, as, "")
			if !found {
				break
			}
			p.line.put("\n", as)
			text = after
		}
	}
}

func (d *drawing) runProperties() (look, error) {
	as := look{bold: isOn(d.s.Attr("b")), italic: isOn(d.s.Attr("i"))}
	for depth := d.s.Depth(); ; {
		kind, _, open, err := d.next(depth)
		if err != nil || !open {
			return as, err
		}
		if kind == xmlscan.Start && d.s.Name() == "hlinkClick" {
			if relation := d.relations[relationID(d.s, "id")]; relation.External {
				as.link = webLink(relation.Target)
			}
		}
	}
}

func (d *drawing) paragraphProperties(p *drawnParagraph) error {
	if level, err := strconv.Atoi(d.s.Attr("lvl")); err == nil {
		p.level = min(max(level, 0), maxLevels-1)
	}
	return d.bullet(&p.bullet)
}

// bullet reads the bullet among the properties of a paragraph or a level.
func (d *drawing) bullet(b *bullet) error {
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return err
		}
		if kind != xmlscan.Start || in != spaceDrawing {
			continue
		}
		switch d.s.Name() {
		case "buNone":
			b.kind = bulletNone
		case "buChar", "buBlip":
			b.kind = bulletSign
		case "buAutoNum":
			b.kind, b.format, b.start = bulletNumber, d.s.Attr("type"), 1
			if start, err := strconv.Atoi(d.s.Attr("startAt")); err == nil && start > 0 && start < 1<<20 {
				b.start = start
			}
		}
	}
}

// levels reads the bullets of a style of lists.
func (d *drawing) levels() (found bullets, err error) {
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return found, err
		}
		if kind != xmlscan.Start || in != spaceDrawing {
			continue
		}
		name := d.s.Name() // lvl1pPr
		if len(name) != 7 || !strings.HasPrefix(name, "lvl") || name[3] < '1' || name[3] > '9' {
			continue
		}
		if err := d.bullet(&found[name[3]-'1']); err != nil {
			return found, err
		}
	}
}

// table reads the table in the element of the last Start.
func (d *drawing) table(page int) ([]document.Block, error) {
	var g grid
	var err error
	for depth := d.s.Depth(); ; {
		kind, in, open, nextErr := d.next(depth)
		if nextErr != nil || !open {
			err = nextErr
			break
		}
		if kind != xmlscan.Start || in != spaceDrawing {
			continue
		}
		switch d.s.Name() {
		case "tr":
			g.row()
			d.effort.cost += blockCost
		case "tc":
			if len(g.rows) == 0 {
				continue
			}
			// A cell that reaches over others is followed by those, empty: each cell is one column.
			c := gridCell{span: 1, below: isOn(d.s.Attr("vMerge")), beside: isOn(d.s.Attr("hMerge"))}
			c.blocks, err = d.cell(page)
			g.cell(c)
			d.effort.cost += cellCost
		}
		if err != nil {
			break
		}
	}
	return g.blocks(), err
}

func (d *drawing) cell(page int) ([]document.Block, error) {
	for depth := d.s.Depth(); ; {
		kind, in, open, err := d.next(depth)
		if err != nil || !open {
			return nil, err
		}
		if kind == xmlscan.Start && in == spaceDrawing && d.s.Name() == "txBody" {
			paragraphs, own, err := d.textBody()
			blocks := drawnBlocks(paragraphs, func(level int) bullet { return own[level] }, page)
			if err == nil {
				err = d.leave(depth)
			}
			return blocks, err
		}
	}
}

// leave passes over the rest of the element that was at a depth.
func (d *drawing) leave(depth int) error {
	for {
		if _, _, open, err := d.next(depth); err != nil || !open {
			return err
		}
	}
}

// drawnBlocks makes paragraphs and lists of the text of a shape; of gives the bullet of a level where a paragraph says
// nothing itself.
func drawnBlocks(paragraphs []drawnParagraph, of func(level int) bullet, page int) []document.Block {
	var f flow
	var counts [maxLevels]int
	for i := range paragraphs {
		p := &paragraphs[i]
		text := p.line.markdown()
		if text == "" {
			f.gap()
			continue
		}
		b := p.bullet
		if b.kind == bulletUnset {
			b = of(p.level)
		}
		if b.kind != bulletNumber {
			clear(counts[p.level:])
		}
		switch b.kind {
		case bulletNumber:
			clear(counts[p.level+1:])
			counts[p.level] = max(counts[p.level]+1, b.start)
			f.item(p.level, drawnMarker(b.format, counts[p.level]), text, page)
		case bulletSign:
			f.item(p.level, marker{}, text, page)
		case bulletUnset, bulletNone:
			f.add(document.Block{Kind: document.Paragraph, Text: text, Page: page})
		}
	}
	return f.finish()
}

// drawnMarker returns the marker of a number in one of the formats of DrawingML (ST_TextAutonumberScheme): "alphaLcParenR".
func drawnMarker(format string, n int) marker {
	m := marker{ordered: true, number: n}
	kind := ""
	switch {
	case strings.HasPrefix(format, "alphaLc"):
		kind = "lowerLetter"
	case strings.HasPrefix(format, "alphaUc"):
		kind = "upperLetter"
	case strings.HasPrefix(format, "romanLc"):
		kind = "lowerRoman"
	case strings.HasPrefix(format, "romanUc"):
		kind = "upperRoman"
	case strings.HasSuffix(format, "ParenBoth"):
	default:
		return m
	}
	m.label = numberText(kind, n)
	switch {
	case strings.HasSuffix(format, "ParenBoth"):
		m.label = "(" + m.label + ")"
	case strings.HasSuffix(format, "ParenR"):
		m.label += ")"
	case strings.HasSuffix(format, "Period"):
		m.label += "."
	}
	return m
}
