package ole

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// A style is a style of paragraphs or characters (MS-DOC 2.9.259), including the properties of the style on which it is
// based.
type style struct {
	isCharacter bool // a style of characters, not paragraphs
	name        string
	role        wordmodel.Role
	isTitle     bool
	outline     int // outline level
	list        int // number of its list from 1, 0 for none
	level       int
	isItem      bool // the name is that of list items
	nesting     int
	look        charFormat

	ownPara    view // own properties of paragraphs, which begin with the number of the style, and of characters
	ownChars   view
	basedOn    int
	isResolved bool
}

// styles are the styles of a document.
type styles struct {
	list  []style
	plain style
	fonts fonts
}

// maxBased is how long a chain of styles may be that are based on each other.
const maxBased = 40

// at returns the style with a number, or a plain one.
func (s *styles) at(number int) *style {
	if number < 0 || number >= len(s.list) {
		return &s.plain
	}
	return &s.list[number]
}

func readStyles(f *fib) *styles {
	s := &styles{plain: style{outline: wordmodel.BodyLevel}, fonts: readFonts(f.structure(atFonts), f.isOld)}
	sheet := f.structure(atStyles)
	head := sheet.part(2, sheet.u16(0))
	base := head.u16(2)
	at := 2 + len(head)
	for range min(head.u16(0), 1<<12) {
		length := sheet.u16(at)
		s.list = append(s.list, readStyle(sheet.part(at+2, length), base, f.isOld))
		if at += 2 + length; at >= len(sheet) {
			break
		}
	}
	for i := range s.list {
		s.inherit(i, f)
	}
	s.markCode()
	return s
}

// readStyle reads the definition of a style.
func readStyle(content view, base int, old bool) style {
	s := style{outline: wordmodel.BodyLevel, basedOn: content.u16(2) >> 4, isCharacter: content.u16(2)&0xF == 2}
	if len(content) == 0 {
		return s
	}
	sets := content.u16(4) & 0xF
	if base < 8 || base > 64 {
		base = 10
	}
	at := base
	if old {
		length := content.u8(at)
		s.name = cfb.Decode(1252, content.part(at+1, length))
		at += 1 + length + 1
	} else {
		length := content.u16(at)
		s.name = cfb.DecodeUTF16(content.part(at+2, 2*length))
		at += 2 + 2*length + 2
	}
	// Aliases follow the name after a comma.
	s.name, _, _ = strings.Cut(s.name, ",")
	s.name = strings.ToLower(strings.TrimSpace(s.name))
	for i := range min(sets, 3) {
		at += at & 1
		length := content.u16(at)
		set := content.part(at+2, length)
		switch {
		case s.isCharacter && i == 0, !s.isCharacter && i == 1:
			s.ownChars = set
		case i == 0:
			s.ownPara = set
		}
		at += 2 + length
	}
	s.classify(content.u16(0) & 0xFFF)
	return s
}

// inherit gives a style the missing properties of the styles on which it is based. A cycle ends it.
func (s *styles) inherit(number int, f *fib) {
	var chain []int
	for next := number; next >= 0 && next < len(s.list) && !s.list[next].isResolved && len(chain) < maxBased; next = s.list[next].basedOn {
		s.list[next].isResolved = true
		chain = append(chain, next)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		st := &s.list[chain[i]]
		if st.basedOn != chain[i] {
			st.inheritFrom(s.at(st.basedOn))
		}
		if len(st.ownPara) > 2 {
			p := paraFormat{outline: -1, list: -1, level: -1, style: st}
			p.apply(st.ownPara.from(2), f, s, 0)
			if p.outline >= 0 {
				st.outline = p.outline
			}
			if p.list >= 0 {
				st.list = p.list
			}
			if p.level >= 0 {
				st.level = p.level
			}
		}
		st.look.apply(st.ownChars, f.isOld, st.look, s)
	}
}

func (st *style) inheritFrom(base *style) {
	if st.outline == wordmodel.BodyLevel && st.role == wordmodel.RoleText {
		st.outline = base.outline
	}
	st.list, st.level, st.look = base.list, base.level, base.look
	if !st.isItem {
		st.isItem, st.nesting = base.isItem, base.nesting
	}
	if st.role == wordmodel.RoleText && st.outline == wordmodel.BodyLevel && base.role != wordmodel.RoleContentsTitle {
		st.role = base.role
	}
}

// markCode makes styles with a monospaced font styles of code, unless the text of the document is monospaced.
func (s *styles) markCode() {
	if s.at(0).look.isMono {
		return
	}
	for i := range s.list {
		if st := &s.list[i]; !st.isCharacter && st.look.isMono && st.role == wordmodel.RoleText && st.outline == wordmodel.BodyLevel && st.name != "plain text" {
			st.role = wordmodel.RoleCode
		}
	}
}

// classify sets the properties that follow from the number or name. Numbers of built-in styles are the same in every
// language (MS-DOC 2.9.260).
func (st *style) classify(number int) {
	switch {
	case number >= 1 && number <= 9:
		st.outline = number - 1
	case number >= 19 && number <= 27:
		st.role = wordmodel.RoleContents
	case number == 62:
		st.isTitle = true
	}
	meaning := wordmodel.MeaningOf(st.name)
	if meaning.HeadingLevel > 0 && st.outline == wordmodel.BodyLevel {
		st.outline = meaning.HeadingLevel - 1
	}
	st.isTitle = st.isTitle || meaning.IsTitle
	if meaning.IsItem {
		st.isItem, st.nesting = true, meaning.Nesting
	}
	if meaning.Role != wordmodel.RoleText {
		st.role = meaning.Role
	}
}

// fonts are the names of a document's fonts, in lower case.
type fonts []string

// readFonts reads the list of fonts (MS-DOC 2.9.81, 2.9.83).
func readFonts(list view, old bool) fonts {
	var found fonts
	count, at := list.u16(0), 4
	head := 39
	if old {
		count, at, head = 1<<12, 2, 5
	}
	for range count {
		length := list.u8(at)
		if at >= len(list) || length == 0 {
			break
		}
		name := list.part(at+1+head, length-head)
		if old {
			found = append(found, strings.ToLower(cfb.Decode(1252, untilZero(name))))
		} else {
			text, _, _ := strings.Cut(cfb.DecodeUTF16(name), "\x00")
			found = append(found, strings.ToLower(text))
		}
		at += 1 + length
	}
	return found
}

func untilZero(text view) view {
	for i := range text {
		if text[i] == 0 {
			return text[:i]
		}
	}
	return text
}

func (f fonts) name(number int) string {
	if number >= len(f) {
		return ""
	}
	return f[number]
}
