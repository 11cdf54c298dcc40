package ole

import (
	"sort"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// pageSize is the size of a formatted disk page (MS-DOC 2.9.33).
const pageSize = 512

// A binTable finds the properties of characters or paragraphs by their offset in the main stream (MS-DOC 2.8.5, 2.8.6).
type binTable struct {
	main         view
	list         view
	count        int  // of pages
	isParagraphs bool // the pages are those of paragraphs, not characters
	isOld        bool

	// The result of the last call of at, which is valid for the offsets from … to.
	from, to   int
	properties view
	isFound    bool
}

func newBinTable(f *fib, index int) *binTable {
	b := &binTable{main: f.main, list: f.structure(index), isParagraphs: index == atParagraphs, isOld: f.isOld}
	b.count = max(len(b.list)-4, 0) / (4 + b.entrySize())
	return b
}

// entrySize returns the size of a page number.
func (b *binTable) entrySize() int {
	if b.isOld {
		return 2
	}
	return 4
}

func (b *binTable) page(i int) view {
	at := 4*(b.count+1) + i*b.entrySize()
	if b.isOld {
		return b.main.part(b.list.u16(at)*pageSize, pageSize)
	}
	return b.main.part(b.list.u32(at)&0x3FFFFF*pageSize, pageSize)
}

// at returns the properties at an offset in the main stream. Those of paragraphs begin with the number of the style. It
// is false if the table has no entry for the offset.
func (b *binTable) at(offset int) (view, bool) {
	if offset >= b.from && offset < b.to {
		return b.properties, b.isFound
	}
	b.from, b.to, b.properties, b.isFound = offset, offset+1, nil, false
	i := sort.Search(b.count, func(i int) bool { return b.list.u32(4*(i+1)) > offset })
	page := b.page(i)
	if i >= b.count || len(page) < pageSize {
		return nil, false
	}
	runs, width := page.u8(pageSize-1), b.runSize()
	if 4*(runs+1)+width*runs > pageSize-1 {
		return nil, false
	}
	run := sort.Search(runs, func(i int) bool { return page.u32(4*(i+1)) > offset })
	if run >= runs || page.u32(4*run) > offset {
		return nil, false
	}
	b.from, b.to, b.isFound = page.u32(4*run), page.u32(4*run+4), true
	if at := 2 * page.u8(4*(runs+1)+width*run); at > 0 {
		b.properties = b.propertiesAt(page[:pageSize-1], at)
	}
	return b.properties, true
}

// runSize returns the size of the entry of a run in a page.
func (b *binTable) runSize() int {
	switch {
	case !b.isParagraphs:
		return 1
	case b.isOld:
		return 7
	}
	return 13
}

// propertiesAt returns the properties at an offset of a page. They begin with their length.
func (b *binTable) propertiesAt(page view, at int) view {
	length := page.u8(at)
	switch {
	case !b.isParagraphs:
		return page.part(at+1, length)
	case b.isOld:
		return page.part(at+1, 2*length)
	case length == 0:
		return page.part(at+2, 2*page.u8(at+1))
	}
	return page.part(at+1, 2*length-1)
}

// charFormat is the formatting of characters.
type charFormat struct {
	isHidden, isSpecial  bool
	bold, italic, isMono bool
	// symbol is the code of a character of another font, or 0.
	font   int
	symbol rune
}

// apply changes the formatting by a list of properties. Toggle properties may refer to the style.
func (c *charFormat) apply(list view, old bool, style charFormat, styles *styles) {
	toggle := func(value view, inStyle bool) bool {
		switch value.u8(0) {
		case 0:
			return false
		case 0x80:
			return inStyle
		case 0x81:
			return !inStyle
		}
		return true
	}
	eachProperty(list, old, func(property int, value view) {
		switch property {
		case charDeleted:
			c.isHidden = c.isHidden || value.u8(0) == 1
		case charVanish:
			c.isHidden = toggle(value, style.isHidden)
		case charBold:
			c.bold = toggle(value, style.bold)
		case charItalic:
			c.italic = toggle(value, style.italic)
		case charSpecial:
			c.isSpecial = value.u8(0) != 0
		case charFont:
			c.isMono = wordmodel.IsMonospaced(styles.fonts.name(value.u16(0)))
		case charSymbol:
			c.font, c.symbol = value.u16(0), rune(value.u16(2)) //nolint:gosec // 16 bits
		case charStyle:
			if s := styles.at(value.u16(0)); s.isCharacter {
				c.isHidden = c.isHidden || s.look.isHidden
				c.bold, c.italic = c.bold || s.look.bold, c.italic || s.look.italic
				c.isMono = c.isMono || s.look.isMono
			}
		}
	})
}

// paraFormat is the formatting of a paragraph.
type paraFormat struct {
	style         *style
	outline       int // outline level, -1 if not given
	list, level   int // number of its list from 1, and its level in it, -1 if not given
	depth         int // how many tables it is nested in
	endsRow       bool
	endsInnerCell bool // it ends a cell of a nested table
	hasOldNumber  bool // it has a number of Word 6
	row           rowFormat
}

// rowFormat is the formatting of a row, given at its end.
type rowFormat struct {
	isHeader bool
	// definition holds the edges of the cells (MS-DOC 2.9.325). count is the number of cells, size the size of a cell's
	// entry.
	definition  view
	count, size int
}

// maxCells is how many cells a row may have.
const maxCells = 64

// edge returns the left edge of a cell, in twentieths of a point.
func (r *rowFormat) edge(cell int) int { return r.definition.i16(3 + 2*cell) }

// continuesAbove reports whether a cell is merged with the one above (MS-DOC 2.9.317).
func (r *rowFormat) continuesAbove(cell int) bool {
	return cell < r.count && r.definition.u16(3+2*(r.count+1)+r.size*cell)>>5&3 == 1
}

// read reads the properties of a paragraph, which begin with the number of its style.
func (p *paraFormat) read(list view, f *fib, styles *styles) {
	*p = paraFormat{style: styles.at(list.u16(0)), outline: -1, list: -1, level: -1}
	p.apply(list.from(2), f, styles, maxHuge)
}

func (p *paraFormat) apply(list view, f *fib, styles *styles, huge int) {
	inTable, depth := false, -1
	eachProperty(list, f.isOld, func(property int, value view) {
		switch property {
		case paraStyle:
			p.style = styles.at(value.u16(0))
		case paraLevel:
			p.level = min(value.u8(0), wordmodel.MaxListLevels-1)
		case paraList:
			p.list = value.u16(0)
		case paraNumbered:
			p.hasOldNumber = value.u8(0) != 0 && value.u8(0) != 12
		case paraOutline:
			p.outline = min(value.u8(0), wordmodel.BodyLevel)
		case paraInTable:
			inTable = value.u8(0) != 0
		case paraRowEnd, paraInnerRowEnd:
			p.endsRow = value.u8(0) != 0
		case paraInnerCell:
			p.endsInnerCell = value.u8(0) != 0
		case paraDepth:
			depth = value.u32(0)
		case paraDeeper:
			depth = max(depth, 0) + value.u32(0)
		case paraHuge, paraHugeTable:
			if at := value.u32(0); huge > 0 {
				p.apply(f.data.part(at+2, f.data.u16(at)), f, styles, huge-1)
			}
		case tableHeader:
			p.row.isHeader = value.u8(0) != 0
		case tableDefinition, tableDefinition6:
			p.row.define(value, property == tableDefinition6)
		}
	})
	switch {
	case depth >= 0:
		p.depth = depth
	case inTable:
		p.depth = max(p.depth, 1)
	}
}

func (r *rowFormat) define(value view, old bool) {
	count := min(value.u8(2), maxCells)
	if len(value) < 3+2*(count+1) {
		return
	}
	r.definition, r.count, r.size = value, count, 20
	if old {
		r.size = 10
	}
}
