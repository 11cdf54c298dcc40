package ole

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxLists is how many lists a document may have.
const maxLists = 1 << 16

// levelFormat is how a level of a list is counted (MS-DOC 2.9.150).
type levelFormat struct {
	format   wordmodel.NumberFormat
	start    int
	legal    bool // all numbers are decimal
	restart  int  // level whose items start this one again, wordmodel.MaxListLevels for all above
	template []uint16
}

// listFormat is a list: its levels, and what its last items were.
type listFormat struct {
	levels   [wordmodel.MaxListLevels]levelFormat
	counters [wordmodel.MaxListLevels]int
	counted  [wordmodel.MaxListLevels]bool
}

// override is a use of a list, in which levels may be counted in another way (MS-DOC 2.9.131).
type override struct {
	list   *listFormat
	levels map[int]levelOverride
	used   bool
}

type levelOverride struct {
	start  int
	starts bool
	format *levelFormat
}

// numbering is all lists of a document.
type numbering struct {
	overrides []override
}

// readNumbering reads the lists (MS-DOC 2.9.149 to 2.9.151) and their uses.
func readNumbering(f *fib) *numbering {
	n := &numbering{}
	lists := make(map[int]*listFormat)
	source := f.place(placeListFormats)
	const entry = 28
	rest := levelReader{content: f.after(placeListFormats)}
	for i := range min(source.u16(0), maxLists) {
		at := 2 + i*entry
		if at+entry > len(source) {
			break
		}
		levels := wordmodel.MaxListLevels
		if source.u8(at+26)&1 != 0 {
			levels = 1
		}
		list := &listFormat{}
		for level := range levels {
			list.levels[level] = rest.next(level)
		}
		for level := levels; level < wordmodel.MaxListLevels; level++ {
			list.levels[level] = list.levels[0]
		}
		lists[source.u32(at)] = list
		if rest.ended() {
			break
		}
	}
	n.readOverrides(f.place(placeListOverrides), lists)
	return n
}

func (n *numbering) readOverrides(source view, lists map[int]*listFormat) {
	const entry = 16
	count := min(source.u32(0), maxLists, len(source)/entry)
	rest := levelReader{content: source.from(4 + count*entry)}
	for i := range count {
		at := 4 + i*entry
		use := override{list: lists[source.u32(at)]}
		rest.at += 4
		for range min(source.u8(at+12), wordmodel.MaxListLevels) {
			start, flags := rest.content.u32(rest.at), rest.content.u32(rest.at+4)
			rest.at += 8
			level := levelOverride{start: start, starts: flags&0x10 != 0}
			if flags&0x20 != 0 {
				format := rest.next(flags & 0xF)
				level.format, level.start = &format, format.start
			}
			if use.levels == nil {
				use.levels = make(map[int]levelOverride)
			}
			use.levels[flags&0xF] = level
		}
		n.overrides = append(n.overrides, use)
	}
}

// levelReader reads levels that follow each other.
type levelReader struct {
	content view
	at      int
}

func (r *levelReader) ended() bool { return r.at >= len(r.content) }

func (r *levelReader) next(level int) levelFormat {
	c, at := r.content, r.at
	l := levelFormat{format: wordmodel.NumberFormat(c.u8(at + 4)), start: c.u32(at), legal: c.u8(at+5)&4 != 0, restart: wordmodel.MaxListLevels}
	if c.u8(at+5)&8 != 0 {
		l.restart = min(c.u8(at+26), level)
	}
	at += 28 + c.u8(at+24) + c.u8(at+25)
	length := c.u16(at)
	for i := range min(length, maxTemplate) {
		l.template = append(l.template, uint16(c.u16(at+2+2*i))) //nolint:gosec // 16 bits
	}
	r.at = at + 2 + 2*length
	if r.at > len(c) {
		return levelFormat{format: wordmodel.NoNumber, restart: wordmodel.MaxListLevels}
	}
	return l
}

// maxTemplate is how long the text around a number may be.
const maxTemplate = 64

// known tells whether there is such a list.
func (n *numbering) known(use int) bool {
	return use >= 1 && use <= len(n.overrides) && n.overrides[use-1].list != nil
}

// next counts an item of a use of a list, from 1, and returns its marker and its number as text, which is empty for bullets.
func (n *numbering) next(use, level int) (m wordmodel.Marker, label string) {
	o := &n.overrides[use-1]
	list := o.list
	if !o.used {
		o.used = true
		for at, change := range o.levels {
			if change.starts && at < wordmodel.MaxListLevels {
				list.counted[at] = false
			}
		}
	}
	format := o.format(level)
	if list.counted[level] {
		list.counters[level]++
	} else {
		list.counters[level], list.counted[level] = o.start(level), true
	}
	for below := level + 1; below < wordmodel.MaxListLevels; below++ {
		if o.format(below).restart > level {
			list.counted[below] = false
		}
	}
	switch format.format {
	case wordmodel.Bullet, wordmodel.NoNumber:
		if format.format == wordmodel.NoNumber {
			label = o.label(level)
		}
		if strings.ContainsFunc(label, wordmodel.IsWordRune) {
			return wordmodel.Marker{Label: label}, label
		}
		return wordmodel.Marker{}, ""
	}
	label = o.label(level)
	number := list.counters[level]
	m = wordmodel.Marker{Ordered: true, Number: number, Label: label}
	if plain := strconv.Itoa(number); label == plain+"." || label == plain+")" || label == plain {
		m.Label = ""
	}
	return m, label
}

func (o *override) format(level int) *levelFormat {
	if change, found := o.levels[level]; found && change.format != nil {
		return change.format
	}
	return &o.list.levels[level]
}

func (o *override) start(level int) int {
	if change, found := o.levels[level]; found && (change.starts || change.format != nil) {
		return change.start
	}
	return o.list.levels[level].start
}

// label writes the number of the last item of a level, with what stands around it and the numbers of the levels above.
func (o *override) label(level int) string {
	format := o.format(level)
	var b strings.Builder
	for _, unit := range format.template {
		if unit >= wordmodel.MaxListLevels {
			if unit >= ' ' && (unit < 0xD800 || unit > 0xF8FF) {
				b.WriteRune(rune(unit))
			}
			continue
		}
		above := int(unit)
		number := o.list.counters[above]
		if !o.list.counted[above] {
			number = o.start(above)
		}
		kind := o.format(above).format
		if format.legal {
			kind = wordmodel.Decimal
		}
		b.WriteString(kind.Text(number))
	}
	return strings.TrimSpace(b.String())
}

// silent tells whether the items of a level have neither a number nor a bullet.
func (n *numbering) silent(use, level int) bool {
	return n.overrides[use-1].format(level).format == wordmodel.NoNumber
}
