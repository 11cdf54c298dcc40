package ole

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxLists is how many lists a document may have.
const maxLists = 1 << 16

// levelFormat is the format of a list level (MS-DOC 2.9.150).
type levelFormat struct {
	format       wordmodel.NumberFormat
	start        int
	isLegal      bool // show all numbers as decimal
	restartAfter int  // the level after which the numbers restart, wordmodel.MaxListLevels for any level above
	template     []uint16
}

// listFormat is a list with its levels and counters.
type listFormat struct {
	levels    [wordmodel.MaxListLevels]levelFormat
	counters  [wordmodel.MaxListLevels]int
	isCounted [wordmodel.MaxListLevels]bool
}

// listUse is a reference to a list that may override its levels (MS-DOC 2.9.131). Paragraphs refer to it.
type listUse struct {
	list   *listFormat
	levels map[int]levelOverride
	isUsed bool
}

type levelOverride struct {
	start    int
	hasStart bool
	format   *levelFormat
}

// numbering holds the lists of a document.
type numbering struct {
	uses []listUse
}

// readNumbering reads the lists and their uses (MS-DOC 2.9.149 to 2.9.151).
func readNumbering(f *fib) *numbering {
	n := &numbering{}
	byID := make(map[int]*listFormat)
	lists := f.structure(atListFormats)
	const entry = 28
	levels := levelReader{content: f.after(atListFormats)}
	for i := range min(lists.u16(0), maxLists) {
		at := 2 + i*entry
		if at+entry > len(lists) {
			break
		}
		count := wordmodel.MaxListLevels
		if lists.u8(at+26)&1 != 0 {
			count = 1
		}
		list := &listFormat{}
		for level := range count {
			list.levels[level] = levels.next(level)
		}
		for level := count; level < wordmodel.MaxListLevels; level++ {
			list.levels[level] = list.levels[0]
		}
		byID[lists.u32(at)] = list
		if levels.atEnd() {
			break
		}
	}
	n.readUses(f.structure(atListUses), byID)
	return n
}

func (n *numbering) readUses(source view, lists map[int]*listFormat) {
	const entry = 16
	count := min(source.u32(0), maxLists, len(source)/entry)
	rest := levelReader{content: source.from(4 + count*entry)}
	for i := range count {
		at := 4 + i*entry
		use := listUse{list: lists[source.u32(at)]}
		rest.at += 4
		for range min(source.u8(at+12), wordmodel.MaxListLevels) {
			start, flags := rest.content.u32(rest.at), rest.content.u32(rest.at+4)
			rest.at += 8
			level := levelOverride{start: start, hasStart: flags&0x10 != 0}
			if flags&0x20 != 0 {
				format := rest.next(flags & 0xF)
				level.format, level.start = &format, format.start
			}
			if use.levels == nil {
				use.levels = make(map[int]levelOverride)
			}
			use.levels[flags&0xF] = level
		}
		n.uses = append(n.uses, use)
	}
}

// A levelReader reads consecutive levels.
type levelReader struct {
	content view
	at      int
}

func (r *levelReader) atEnd() bool { return r.at >= len(r.content) }

func (r *levelReader) next(level int) levelFormat {
	c, at := r.content, r.at
	l := levelFormat{format: wordmodel.NumberFormat(c.u8(at + 4)), start: c.u32(at), isLegal: c.u8(at+5)&4 != 0, restartAfter: wordmodel.MaxListLevels}
	if c.u8(at+5)&8 != 0 {
		l.restartAfter = min(c.u8(at+26), level)
	}
	at += 28 + c.u8(at+24) + c.u8(at+25)
	length := c.u16(at)
	for i := range min(length, maxTemplate) {
		l.template = append(l.template, uint16(c.u16(at+2+2*i))) //nolint:gosec // 16 bits
	}
	r.at = at + 2 + 2*length
	if r.at > len(c) {
		return levelFormat{format: wordmodel.NoNumber, restartAfter: wordmodel.MaxListLevels}
	}
	return l
}

// maxTemplate is the longest text of a level, in characters.
const maxTemplate = 64

// isKnown reports whether a use of a list exists.
func (n *numbering) isKnown(use int) bool {
	return use >= 1 && use <= len(n.uses) && n.uses[use-1].list != nil
}

// next counts an item of a list use, from 1. It returns the marker and the number as text, "" for bullets.
func (n *numbering) next(use, level int) (m wordmodel.Marker, label string) {
	o := &n.uses[use-1]
	list := o.list
	if !o.isUsed {
		o.isUsed = true
		for at, change := range o.levels {
			if change.hasStart && at < wordmodel.MaxListLevels {
				list.isCounted[at] = false
			}
		}
	}
	format := o.format(level)
	if list.isCounted[level] {
		list.counters[level]++
	} else {
		list.counters[level], list.isCounted[level] = o.start(level), true
	}
	for below := level + 1; below < wordmodel.MaxListLevels; below++ {
		if o.format(below).restartAfter > level {
			list.isCounted[below] = false
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

func (o *listUse) format(level int) *levelFormat {
	if change, found := o.levels[level]; found && change.format != nil {
		return change.format
	}
	return &o.list.levels[level]
}

func (o *listUse) start(level int) int {
	if change, found := o.levels[level]; found && (change.hasStart || change.format != nil) {
		return change.start
	}
	return o.list.levels[level].start
}

// label returns the text of a level with the current numbers.
func (o *listUse) label(level int) string {
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
		if !o.list.isCounted[above] {
			number = o.start(above)
		}
		kind := o.format(above).format
		if format.isLegal {
			kind = wordmodel.Decimal
		}
		b.WriteString(kind.Text(number))
	}
	return strings.TrimSpace(b.String())
}

// isUnmarked reports whether the items of a level have neither a number nor a bullet.
func (n *numbering) isUnmarked(use, level int) bool {
	return n.uses[use-1].format(level).format == wordmodel.NoNumber
}
