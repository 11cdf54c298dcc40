package ole

import (
	"sort"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// pageSize is how long a page of properties is (MS-DOC 2.9.33).
const pageSize = 512

// binTable finds the properties of characters or paragraphs by their place in the main stream (MS-DOC 2.8.5, 2.8.6).
type binTable struct {
	main       view
	list       view
	count      int  // of pages
	paragraphs bool // pages of paragraphs, no characters
	old        bool

	// What was found last, and for which places it is good.
	from, to   int
	properties view
	found      bool
}

func newBinTable(f *fib, place int) *binTable {
	b := &binTable{main: f.main, list: f.place(place), paragraphs: place == placeParagraphs, old: f.old}
	b.count = max(len(b.list)-4, 0) / (4 + b.entry())
	return b
}

// entry is how long the number of a page is.
func (b *binTable) entry() int {
	if b.old {
		return 2
	}
	return 4
}

func (b *binTable) page(i int) view {
	at := 4*(b.count+1) + i*b.entry()
	if b.old {
		return b.main.part(b.list.u16(at)*pageSize, pageSize)
	}
	return b.main.part(b.list.u32(at)&0x3FFFFF*pageSize, pageSize)
}

// at returns the properties of the place in the main stream; false when the table does not know it. They begin with the
// style for paragraphs.
func (b *binTable) at(offset int) (view, bool) {
	if offset >= b.from && offset < b.to {
		return b.properties, b.found
	}
	b.from, b.to, b.properties, b.found = offset, offset+1, nil, false
	i := sort.Search(b.count, func(i int) bool { return b.list.u32(4*(i+1)) > offset })
	page := b.page(i)
	if i >= b.count || len(page) < pageSize {
		return nil, false
	}
	runs, width := page.u8(pageSize-1), b.width()
	if 4*(runs+1)+width*runs > pageSize-1 {
		return nil, false
	}
	run := sort.Search(runs, func(i int) bool { return page.u32(4*(i+1)) > offset })
	if run >= runs || page.u32(4*run) > offset {
		return nil, false
	}
	b.from, b.to, b.found = page.u32(4*run), page.u32(4*run+4), true
	if at := 2 * page.u8(4*(runs+1)+width*run); at > 0 {
		b.properties = b.propertiesAt(page[:pageSize-1], at)
	}
	return b.properties, true
}

// width is how much a page tells of each run: where its properties are, and for paragraphs how high they were.
func (b *binTable) width() int {
	switch {
	case !b.paragraphs:
		return 1
	case b.old:
		return 7
	}
	return 13
}

// propertiesAt returns the properties that begin at a place of a page with their length.
func (b *binTable) propertiesAt(page view, at int) view {
	length := page.u8(at)
	switch {
	case !b.paragraphs:
		return page.part(at+1, length)
	case b.old:
		return page.part(at+1, 2*length)
	case length == 0:
		return page.part(at+2, 2*page.u8(at+1))
	}
	return page.part(at+1, 2*length-1)
}

// charFormat is how characters look.
type charFormat struct {
	hidden, special    bool
	bold, italic, mono bool
	// font and symbol are those of a character that stands for one of another font; symbol is 0 without.
	font   int
	symbol rune
}

// apply changes a format by properties. Those that can be switched may refer to what the style says.
func (c *charFormat) apply(list view, old bool, style charFormat, styles *styles) {
	toggle := func(value view, styled bool) bool {
		switch value.u8(0) {
		case 0:
			return false
		case 0x80:
			return styled
		case 0x81:
			return !styled
		}
		return true
	}
	eachProperty(list, old, func(property int, value view) {
		switch property {
		case charDeleted:
			c.hidden = c.hidden || value.u8(0) == 1
		case charVanish:
			c.hidden = toggle(value, style.hidden)
		case charBold:
			c.bold = toggle(value, style.bold)
		case charItalic:
			c.italic = toggle(value, style.italic)
		case charSpecial:
			c.special = value.u8(0) != 0
		case charFont:
			c.mono = wordmodel.IsMonospaced(styles.fonts.name(value.u16(0)))
		case charSymbol:
			c.font, c.symbol = value.u16(0), rune(value.u16(2)) //nolint:gosec // 16 bits
		case charStyle:
			if s := styles.at(value.u16(0)); s.characters {
				c.hidden = c.hidden || s.look.hidden
				c.bold, c.italic = c.bold || s.look.bold, c.italic || s.look.italic
				c.mono = c.mono || s.look.mono
			}
		}
	})
}

// paraFormat is what matters of a paragraph.
type paraFormat struct {
	style       *style
	outline     int // level of a heading from 0, wordmodel.BodyLevel for text, -1 when it does not say
	list, level int // number of its list from 1, -1 when it does not say
	depth       int // of the table it stands in, 0 outside of tables
	rowEnd      bool
	innerCell   bool // ends a cell of a table in a table
	numbered    bool // counted in the way of Word 6
	row         rowFormat
}

// rowFormat is what the end of a row says of it.
type rowFormat struct {
	header bool
	// definition tells where cells begin (MS-DOC 2.9.325), count how many there are, size how much it tells of each.
	definition  view
	count, size int
}

// maxCells is how many cells a row may have.
const maxCells = 64

// edge returns where a cell begins, in twentieths of a point.
func (r *rowFormat) edge(cell int) int { return r.definition.i16(3 + 2*cell) }

// below tells a cell that goes on from the one above (MS-DOC 2.9.317).
func (r *rowFormat) below(cell int) bool {
	return cell < r.count && r.definition.u16(3+2*(r.count+1)+r.size*cell)>>5&3 == 1
}

// read reads properties of a paragraph, style in front.
func (p *paraFormat) read(list view, f *fib, styles *styles) {
	*p = paraFormat{style: styles.at(list.u16(0)), outline: -1, list: -1, level: -1}
	p.apply(list.from(2), f, styles, maxHuge)
}

func (p *paraFormat) apply(list view, f *fib, styles *styles, huge int) {
	inTable, depth := false, -1
	eachProperty(list, f.old, func(property int, value view) {
		switch property {
		case paraStyle:
			p.style = styles.at(value.u16(0))
		case paraLevel:
			p.level = min(value.u8(0), wordmodel.MaxListLevels-1)
		case paraList:
			p.list = value.u16(0)
		case paraNumbered:
			p.numbered = value.u8(0) != 0 && value.u8(0) != 12
		case paraOutline:
			p.outline = min(value.u8(0), wordmodel.BodyLevel)
		case paraInTable:
			inTable = value.u8(0) != 0
		case paraRowEnd, paraInnerRowEnd:
			p.rowEnd = value.u8(0) != 0
		case paraInnerCell:
			p.innerCell = value.u8(0) != 0
		case paraDepth:
			depth = value.u32(0)
		case paraDeeper:
			depth = max(depth, 0) + value.u32(0)
		case paraHuge, paraHugeTable:
			if at := value.u32(0); huge > 0 {
				p.apply(f.data.part(at+2, f.data.u16(at)), f, styles, huge-1)
			}
		case tableHeader:
			p.row.header = value.u8(0) != 0
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
