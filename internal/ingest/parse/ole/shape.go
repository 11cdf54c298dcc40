package ole

import (
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Kinds of placeholders (MS-PPT 2.13.21).
const (
	placeholderDate          = 7
	placeholderNumber        = 8
	placeholderFooter        = 9
	placeholderHeader        = 10
	placeholderNotesImage    = 11
	placeholderTitle         = 13
	placeholderCenterTitle   = 15
	placeholderVerticalTitle = 17
)

// Properties of shapes (MS-ODRAW 2.3).
const (
	propertyWordArt     = 0x00C0
	propertyDescription = 0x0381
	propertyTable       = 0x039F
)

// maxGroups is how deep groups of shapes are read.
const maxGroups = 32

// A shape is a shape of a slide with text.
type shape struct {
	placeholder int
	texts       []*slideText
	description string // of a picture, or the text of WordArt
	bounds      [4]int // left, top, right, bottom within its group
	isTable     bool
	cells       []*shape // of a table
}

// drawing reads the shapes of a slide in drawing order. The outline is the texts of the slide in the list of slides, to
// which shapes refer.
func (r *slides) drawing(content view, outline []*slideText) ([]*shape, error) {
	var found []*shape
	err := r.each(content, func(rec record) error {
		if rec.kind != recordDrawing {
			return nil
		}
		return r.each(rec.content, func(rec record) error {
			if rec.kind != recordDrawingGroup {
				return nil
			}
			shapes, err := r.shapes(rec.content, outline, 0)
			found = append(found, shapes...)
			return err
		})
	})
	return found, err
}

// shapes reads the shapes of a group.
func (r *slides) shapes(content view, outline []*slideText, depth int) ([]*shape, error) {
	var found []*shape
	err := r.each(content, func(rec record) error {
		switch rec.kind {
		case recordGroup:
			if depth >= maxGroups {
				return nil
			}
			inner, err := r.shapes(rec.content, outline, depth+1)
			if len(inner) > 1 && inner[0].isTable {
				table := inner[0]
				table.cells = inner[1:]
				inner = []*shape{table}
			}
			found = append(found, inner...)
			return err
		case recordShape:
			s, err := r.shape(rec.content, outline)
			if len(s.texts) > 0 || s.description != "" || s.isTable {
				found = append(found, s)
				r.Cost += blockCost
			}
			return err
		}
		return nil
	})
	return found, err
}

func (r *slides) shape(content view, outline []*slideText) (*shape, error) {
	s := &shape{}
	err := r.each(content, func(rec record) error {
		switch rec.kind {
		case recordOptions, recordMoreOptions:
			s.options(rec)
		case recordChildAnchor:
			for i := range s.bounds {
				s.bounds[i] = rec.content.i32(4 * i)
			}
		case recordClientData:
			holder, ok, err := r.child(rec.content, recordPlaceholder)
			if ok {
				s.placeholder = holder.content.u8(4)
			}
			return err
		case recordTextBox:
			texts, err := r.texts(rec.content, func(inner record) error {
				if inner.kind == recordOutlineRef {
					if at := inner.content.u32(0); at < len(outline) && !outline[at].isUsed {
						outline[at].isUsed = true
						s.texts = append(s.texts, outline[at])
					}
				}
				return nil
			})
			s.texts = append(s.texts, texts...)
			return err
		}
		return nil
	})
	return s, err
}

// options reads the properties of a shape (MS-ODRAW 2.2.9). The values of long properties follow the list.
func (s *shape) options(rec record) {
	const entry = 6
	at := rec.instance * entry
	for i := range rec.instance {
		id, value := rec.content.u16(i*entry), rec.content.u32(i*entry+2)
		long := id&0x8000 != 0
		switch id & 0x3FFF {
		case propertyWordArt, propertyDescription:
			if long && s.description == "" {
				text, _, _ := strings.Cut(cfb.DecodeUTF16(rec.content.part(at, min(value, maxString))), "\x00")
				s.description = pictureText(text)
			}
		case propertyTable:
			s.isTable = s.isTable || value&1 != 0
		}
		if long {
			at += value
		}
		if at > len(rec.content) {
			return
		}
	}
}

// pictureText returns the description of a picture. It is "" if that is only the name of a file.
func pictureText(description string) string {
	text := oneLine(description)
	lower := strings.ToLower(text)
	for _, extension := range []string{".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".bmp", ".tif", ".tiff"} {
		if strings.HasSuffix(lower, extension) {
			return ""
		}
	}
	return text
}

func (s *shape) isTitle() bool {
	switch s.placeholder {
	case placeholderTitle, placeholderCenterTitle, placeholderVerticalTitle:
		return true
	}
	return len(s.texts) == 1 && s.texts[0].isTitle()
}

func (s *shape) plain() string {
	var parts []string
	for _, t := range s.texts {
		if text := t.plain(); text != "" {
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, " ")
}

// blocks returns the text of the shape.
func (s *shape) blocks() []document.Block {
	var f wordmodel.Flow
	if len(s.cells) > 0 {
		return s.grid()
	}
	for _, t := range s.texts {
		t.write(&f)
	}
	blocks := f.Finish()
	if len(blocks) == 0 && s.description != "" {
		return []document.Block{{Kind: document.Paragraph, Text: s.description}}
	}
	return blocks
}

// grid returns the cells of a table by their positions.
func (s *shape) grid() []document.Block {
	var cells []*shape
	var tops, lefts []int
	for _, c := range s.cells {
		if len(c.texts) > 0 || c.description != "" {
			cells = append(cells, c)
			lefts, tops = append(lefts, c.bounds[0]), append(tops, c.bounds[1])
		}
	}
	lefts, tops = distinct(lefts), distinct(tops)
	if len(lefts) > document.MaxColumns || len(lefts)*len(tops) > 4*len(cells)+16 {
		var blocks []document.Block
		for _, c := range cells {
			blocks = append(blocks, c.blocks()...)
		}
		return blocks
	}
	rows := make([][]string, len(tops))
	for i := range rows {
		rows[i] = make([]string, len(lefts))
	}
	for _, c := range cells {
		at := &rows[position(tops, c.bounds[1])][position(lefts, c.bounds[0])]
		*at = strings.TrimSpace(*at + " " + wordmodel.Flatten(c.blocks()))
	}
	rows = slices.DeleteFunc(rows, func(row []string) bool { return strings.Join(row, "") == "" })
	if len(rows) == 0 {
		return nil
	}
	return []document.Block{document.NewTable(rows[0], rows[1:])}
}

// distinct sorts positions and removes duplicates.
func distinct(places []int) []int {
	slices.Sort(places)
	return slices.Compact(places)
}

func position(places []int, at int) int {
	i, _ := slices.BinarySearch(places, at)
	return i
}
