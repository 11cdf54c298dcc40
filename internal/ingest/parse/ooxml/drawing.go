package ooxml

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// A drawing reads the shapes and texts of DrawingML (ECMA-376 part 1, 21.1) in one part.
type drawing struct {
	work       *wordmodel.Work
	s          *xmlscan.Scanner
	names      names
	relations  map[string]Relationship
	alternates alternates
	written    int
	hasDate    bool // a text contains the current date, which PowerPoint inserts
}

// bulletKind is the kind of marker before a paragraph of a shape.
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

// bullets are the bullets of each list level of a text.
type bullets [wordmodel.MaxListLevels]bullet

// A drawnParagraph is a paragraph of a shape.
type drawnParagraph struct {
	line   wordmodel.Line
	level  int
	bullet bullet
}

// next returns the next event inside the element at a depth, with the namespace of a Start. It skips the branches of
// alternate content that are not read. At the end of the element, isOpen is false.
func (d *drawing) next(depth int) (kind xmlscan.Kind, ns space, isOpen bool, err error) {
	for d.s.Depth() >= depth {
		kind, err = d.s.Next()
		if err == nil {
			err = d.work.Step()
		}
		if err != nil {
			return kind, spaceOther, false, err
		}
		switch kind {
		case xmlscan.End:
			d.alternates.end(d.s, d.written)
		case xmlscan.Start:
			ns = d.names.space(d.s)
			if ns != spaceCompatibility {
				return kind, ns, true, nil
			}
			if d.alternates.start(d.s, d.written) {
				if err := d.s.Skip(); err != nil {
					return kind, ns, false, err
				}
			}
		case xmlscan.Text:
			return kind, spaceOther, true, nil
		}
	}
	return 0, spaceOther, false, nil
}

// textBody reads the paragraphs in the element of the last Start, and the bullets that the element defines.
func (d *drawing) textBody() (paragraphs []drawnParagraph, ownBullets bullets, err error) {
	var look wordmodel.Look
	var p *drawnParagraph
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return paragraphs, ownBullets, err
		}
		if kind != xmlscan.Start {
			continue
		}
		if ns == spaceMath && d.s.Name() == "oMath" && p != nil {
			text, err := mathText(d.s)
			d.put(p, " "+text+" ", wordmodel.Look{})
			if err != nil {
				return paragraphs, ownBullets, err
			}
		}
		if ns != spaceDrawing {
			continue
		}
		switch name := d.s.Name(); {
		case name == "lstStyle":
			ownBullets, err = d.levels()
		case name == "p":
			d.work.Cost += blockCost
			paragraphs = append(paragraphs, drawnParagraph{})
			p, look = &paragraphs[len(paragraphs)-1], wordmodel.Look{}
		case name == "bodyPr" || name == "endParaRPr":
			err = d.s.Skip()
		case p == nil:
		case name == "pPr":
			err = d.paragraphProperties(p)
		case name == "r":
			look = wordmodel.Look{}
		case name == "fld":
			look = wordmodel.Look{}
			if field := d.s.Attr("type"); field == "slidenum" {
				err = d.s.Skip()
			} else if strings.HasPrefix(field, "datetime") {
				d.hasDate = true
			}
		case name == "rPr":
			look, err = d.runProperties()
		case name == "br":
			d.put(p, "\n", wordmodel.Look{})
		case name == "t":
			err = d.text(p, look)
		}
		if err != nil {
			return paragraphs, ownBullets, err
		}
	}
}

func (d *drawing) put(p *drawnParagraph, text string, look wordmodel.Look) {
	p.line.Append(text, look)
	d.count(text)
}

func (d *drawing) count(text string) {
	d.work.Cost += len(text)
	if strings.TrimSpace(text) != "" {
		d.written += len(text)
	}
}

// text reads the text of a run. PowerPoint writes line breaks in titles as _x000B_.
func (d *drawing) text(p *drawnParagraph, look wordmodel.Look) error {
	for depth := d.s.Depth(); ; {
		kind, _, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Text {
			continue
		}
		text := d.s.Bytes()
		d.count(string(text))
		for {
			before, after, found := bytes.Cut(text, []byte("_x000B_"))
			addText(&p.line, before, look, "")
			if !found {
				break
			}
			p.line.Append("\n", look)
			text = after
		}
	}
}

func (d *drawing) runProperties() (wordmodel.Look, error) {
	look := wordmodel.Look{Bold: isOn(d.s.Attr("b")), Italic: isOn(d.s.Attr("i"))}
	for depth := d.s.Depth(); ; {
		kind, _, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return look, err
		}
		if kind == xmlscan.Start && d.s.Name() == "hlinkClick" {
			if relation := d.relations[relationshipID(d.s, "id")]; relation.External {
				look.Link = wordmodel.WebLink(relation.Target)
			}
		}
	}
}

func (d *drawing) paragraphProperties(p *drawnParagraph) error {
	if level, err := strconv.Atoi(d.s.Attr("lvl")); err == nil {
		p.level = min(max(level, 0), wordmodel.MaxListLevels-1)
	}
	return d.bullet(&p.bullet)
}

// bullet reads the bullet from the properties of a paragraph or a level.
func (d *drawing) bullet(b *bullet) error {
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return err
		}
		if kind != xmlscan.Start || ns != spaceDrawing {
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

// levels reads the bullets of a list style.
func (d *drawing) levels() (found bullets, err error) {
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return found, err
		}
		if kind != xmlscan.Start || ns != spaceDrawing {
			continue
		}
		name := d.s.Name() // such as lvl1pPr
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
		kind, ns, isOpen, nextErr := d.next(depth)
		if nextErr != nil || !isOpen {
			err = nextErr
			break
		}
		if kind != xmlscan.Start || ns != spaceDrawing {
			continue
		}
		switch d.s.Name() {
		case "tr":
			g.addRow()
			d.work.Cost += blockCost
		case "tc":
			if len(g.rows) == 0 {
				continue
			}
			// A merged cell is followed by an empty cell for each further column, so each cell has one column.
			c := gridCell{span: 1, continuesAbove: isOn(d.s.Attr("vMerge")), continuesLeft: isOn(d.s.Attr("hMerge"))}
			c.blocks, err = d.cell(page)
			g.addCell(c)
			d.work.Cost += cellCost
		}
		if err != nil {
			break
		}
	}
	return g.blocks(), err
}

func (d *drawing) cell(page int) ([]document.Block, error) {
	for depth := d.s.Depth(); ; {
		kind, ns, isOpen, err := d.next(depth)
		if err != nil || !isOpen {
			return nil, err
		}
		if kind == xmlscan.Start && ns == spaceDrawing && d.s.Name() == "txBody" {
			paragraphs, own, err := d.textBody()
			blocks := drawnBlocks(paragraphs, func(level int) bullet { return own[level] }, page)
			if err == nil {
				err = d.finish(depth)
			}
			return blocks, err
		}
	}
}

// finish skips the rest of the element at a depth.
func (d *drawing) finish(depth int) error {
	for {
		if _, _, isOpen, err := d.next(depth); err != nil || !isOpen {
			return err
		}
	}
}

// drawnBlocks returns the text of a shape as paragraphs and lists. A paragraph without a bullet of its own has that of
// its level.
func drawnBlocks(paragraphs []drawnParagraph, bulletOf func(level int) bullet, page int) []document.Block {
	var f flow
	var counts [wordmodel.MaxListLevels]int
	for i := range paragraphs {
		p := &paragraphs[i]
		text := p.line.Markdown()
		if text == "" {
			f.Gap(false)
			continue
		}
		b := p.bullet
		if b.kind == bulletUnset {
			b = bulletOf(p.level)
		}
		if b.kind != bulletNumber {
			clear(counts[p.level:])
		}
		switch b.kind {
		case bulletNumber:
			clear(counts[p.level+1:])
			counts[p.level] = max(counts[p.level]+1, b.start)
			f.Item(p.level, drawnMarker(b.format, counts[p.level]), text, page)
		case bulletSign:
			f.Item(p.level, wordmodel.Marker{}, text, page)
		case bulletUnset, bulletNone:
			f.Add(document.Block{Kind: document.Paragraph, Text: text, Page: page})
		}
	}
	return f.finish()
}

// drawnMarker returns the marker of a number in a format of DrawingML (ST_TextAutonumberScheme): "alphaLcParenR".
func drawnMarker(format string, n int) wordmodel.Marker {
	m := wordmodel.Marker{Ordered: true, Number: n}
	kind := wordmodel.Decimal
	switch {
	case strings.HasPrefix(format, "alphaLc"):
		kind = wordmodel.LowerLetter
	case strings.HasPrefix(format, "alphaUc"):
		kind = wordmodel.UpperLetter
	case strings.HasPrefix(format, "romanLc"):
		kind = wordmodel.LowerRoman
	case strings.HasPrefix(format, "romanUc"):
		kind = wordmodel.UpperRoman
	case strings.HasSuffix(format, "ParenBoth"):
	default:
		return m
	}
	m.Label = kind.Text(n)
	switch {
	case strings.HasSuffix(format, "ParenBoth"):
		m.Label = "(" + m.Label + ")"
	case strings.HasSuffix(format, "ParenR"):
		m.Label += ")"
	case strings.HasSuffix(format, "Period"):
		m.Label += "."
	}
	return m
}
