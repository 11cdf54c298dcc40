package ole

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// style is a style of paragraphs or characters (MS-DOC 2.9.259), with what it has from those it is based on.
type style struct {
	characters bool // of characters, else of paragraphs
	name       string
	role       wordmodel.Role
	title      bool
	outline    int // level of a heading from 0, wordmodel.BodyLevel for text
	list       int // number of its list from 1, 0 for none
	level      int
	bullet     bool // an item by its name
	nesting    int
	look       charFormat

	own      view // its properties: of the paragraph with the style in front, of the characters
	ownChars view
	based    int
	resolved bool
}

// styles are the styles of a document.
type styles struct {
	list  []style
	plain style
	fonts fonts
}

// maxBased bounds how far styles are based on each other.
const maxBased = 40

// at returns a style by its number, a plain one when there is none.
func (s *styles) at(number int) *style {
	if number < 0 || number >= len(s.list) {
		return &s.plain
	}
	return &s.list[number]
}

func readStyles(f *fib) *styles {
	s := &styles{plain: style{outline: wordmodel.BodyLevel}, fonts: readFonts(f.place(placeFonts), f.old)}
	sheet := f.place(placeStyles)
	head := sheet.part(2, sheet.u16(0))
	base := head.u16(2)
	at := 2 + len(head)
	for range min(head.u16(0), 1<<12) {
		length := sheet.u16(at)
		s.list = append(s.list, readStyle(sheet.part(at+2, length), base, f.old))
		if at += 2 + length; at >= len(sheet) {
			break
		}
	}
	for i := range s.list {
		s.inherit(i, f)
	}
	s.settleCode()
	return s
}

// readStyle reads what stands about a style: numbers, its name, its properties.
func readStyle(content view, base int, old bool) style {
	s := style{outline: wordmodel.BodyLevel, based: content.u16(2) >> 4, characters: content.u16(2)&0xF == 2}
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
	// Names may go on with others for the same style, after a comma.
	s.name, _, _ = strings.Cut(s.name, ",")
	s.name = strings.ToLower(strings.TrimSpace(s.name))
	for i := range min(sets, 3) {
		at += at & 1
		length := content.u16(at)
		set := content.part(at+2, length)
		switch {
		case s.characters && i == 0, !s.characters && i == 1:
			s.ownChars = set
		case i == 0:
			s.own = set
		}
		at += 2 + length
	}
	s.classify(content.u16(0) & 0xFFF)
	return s
}

// inherit gives a style what it does not say itself from those it is based on, which ends where they go round in a circle.
func (s *styles) inherit(number int, f *fib) {
	var chain []int
	for next := number; next >= 0 && next < len(s.list) && !s.list[next].resolved && len(chain) < maxBased; next = s.list[next].based {
		s.list[next].resolved = true
		chain = append(chain, next)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		st := &s.list[chain[i]]
		if st.based != chain[i] {
			st.takeFrom(s.at(st.based))
		}
		if len(st.own) > 2 {
			p := paraFormat{outline: -1, list: -1, level: -1, style: st}
			p.apply(st.own.from(2), f, s, 0)
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
		st.look.apply(st.ownChars, f.old, st.look, s)
	}
}

func (st *style) takeFrom(base *style) {
	if st.outline == wordmodel.BodyLevel && st.role == wordmodel.RoleText {
		st.outline = base.outline
	}
	st.list, st.level, st.look = base.list, base.level, base.look
	if !st.bullet {
		st.bullet, st.nesting = base.bullet, base.nesting
	}
	if st.role == wordmodel.RoleText && st.outline == wordmodel.BodyLevel && base.role != wordmodel.RoleContentsTitle {
		st.role = base.role
	}
}

// settleCode makes styles in a font of one width those of code, where the document is not written in such a font at all.
func (s *styles) settleCode() {
	if s.at(0).look.mono {
		return
	}
	for i := range s.list {
		if st := &s.list[i]; !st.characters && st.look.mono && st.role == wordmodel.RoleText && st.outline == wordmodel.BodyLevel && st.name != "plain text" {
			st.role = wordmodel.RoleCode
		}
	}
}

// classify tells what a style is for: by the number that the word processor's own styles have, which is the same in every
// language (MS-DOC 2.9.260), or by its name.
func (st *style) classify(number int) {
	switch {
	case number >= 1 && number <= 9:
		st.outline = number - 1
	case number >= 19 && number <= 27:
		st.role = wordmodel.RoleContents
	case number == 62:
		st.title = true
	}
	meaning := wordmodel.MeaningOf(st.name)
	if meaning.HeadingLevel > 0 && st.outline == wordmodel.BodyLevel {
		st.outline = meaning.HeadingLevel - 1
	}
	st.title = st.title || meaning.IsTitle
	if meaning.IsItem {
		st.bullet, st.nesting = true, meaning.Nesting
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
