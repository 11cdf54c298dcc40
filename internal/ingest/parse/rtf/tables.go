package rtf

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// maxEntries is how many fonts, styles and lists of a file are read.
const maxEntries = 20_000

// A style is a style of paragraphs.
type style struct {
	number  int
	name    []byte
	basedOn int  // -1 for none
	outline int  // -1 if not given
	isOther bool // a style of characters or tables

	// meaning is set if isResolved is.
	meaning    wordmodel.StyleMeaning
	isResolved bool
}

// meaning returns the meaning of a style, including that of the styles on which it is based.
func (r *reader) meaning(number int) wordmodel.StyleMeaning {
	s := r.styles[number]
	if s == nil {
		return wordmodel.StyleMeaning{}
	}
	if !s.isResolved {
		s.meaning, s.isResolved = r.resolveStyle(number), true
	}
	return s.meaning
}

// maxBased is how long a chain of styles may be that are based on each other.
const maxBased = 20

func (r *reader) resolveStyle(number int) (meaning wordmodel.StyleMeaning) {
	outline := -1
	for range maxBased {
		s := r.styles[number]
		if s == nil {
			break
		}
		if outline < 0 {
			outline = s.outline
		}
		named := wordmodel.MeaningOf(string(s.name))
		if outline < 0 {
			outline = named.HeadingLevel - 1
		}
		if meaning.Role == wordmodel.RoleText && !meaning.IsTitle {
			meaning.Role, meaning.IsTitle = named.Role, named.IsTitle
		}
		if s.basedOn < 0 || s.basedOn == number {
			break
		}
		number = s.basedOn
	}
	if outline >= 0 {
		meaning.HeadingLevel, _ = wordmodel.HeadingLevel(outline, false)
	}
	return meaning
}

// tableWord handles a word of the tables at the start of a file.
func (r *reader) tableWord(t *token) {
	switch r.state.dest {
	case destFonts:
		r.fontWord(t)
	case destStyle:
		switch string(t.text) {
		case "s":
			r.style.number = t.value
		case "cs", "ds", "ts":
			r.style.isOther = true
		case "sbasedon":
			r.style.basedOn = t.value
		case "outlinelevel":
			r.style.outline = t.value
		}
	case destLists, destOverrides:
		r.listWord(t)
	}
}

// fontWord handles a word of the font table.
func (r *reader) fontWord(t *token) {
	if r.font != nil {
		r.font.isResolved = false
	}
	switch string(t.text) {
	case "f":
		r.flush() // the name of the previous font
		if r.fonts[t.value] == nil && len(r.fonts) < maxEntries {
			r.fonts[t.value] = newFont()
		}
		r.font = r.fonts[t.value]
		r.declared = nil
	case "fcharset":
		if r.font != nil {
			r.font.charset = t.value
		}
	case "cpg":
		if r.font != nil {
			r.font.page = t.value
		}
	}
}

// fontName appends to the name of the open font. A semicolon ends it.
func (r *reader) fontName(text string) {
	if r.font == nil || r.font.isComplete || len(r.font.name) > 200 {
		return
	}
	name, _, ended := strings.Cut(text, ";")
	r.font.name = append(r.font.name, strings.TrimLeft(name, " ")...)
	r.font.isComplete = ended
	r.font.isMono = wordmodel.IsMonospaced(string(r.font.name))
}

// styleName appends to the name of the open style.
func (r *reader) styleName(text string) {
	name, _, _ := strings.Cut(text, ";")
	if len(r.style.name) < 200 {
		r.style.name = append(r.style.name, name...)
	}
}

func (r *reader) keepStyle() {
	if s := r.style; !s.isOther && len(r.styles) < maxEntries && r.styles[s.number] == nil {
		r.styles[s.number] = &s
	}
}

// listWord handles a word of the list table or list override table. Some files define levels in the override table.
func (r *reader) listWord(t *token) {
	switch string(t.text) {
	case "list", "listoverride":
		r.list = &listDefinition{}
	case "listlevel":
		if r.list != nil && r.list.defined < wordmodel.MaxListLevels {
			r.list.defined++
		}
	case "levelnfc", "levelnfcn":
		if level := r.listLevel(); level != nil {
			level.format = wordmodel.NumberFormat(t.value)
		}
	case "levelstartat":
		if level := r.listLevel(); level != nil && t.value < 1e6 {
			level.start = t.value
		}
	case "listid":
		r.listID = t.value
		if r.list != nil && r.state.dest == destLists && len(r.lists) < maxEntries {
			r.lists[t.value] = r.list
		}
	case "ls":
		if r.state.dest != destOverrides || len(r.overrides) >= maxEntries {
			return
		}
		defined := r.lists[r.listID]
		if defined == nil {
			defined = r.list
		}
		if defined != nil {
			r.overrides[t.value] = defined
		}
	}
}

func (r *reader) listLevel() *listLevel {
	if r.list == nil {
		return nil
	}
	if r.list.defined == 0 {
		r.list.defined = 1 // a simple list has no group for its level
	}
	return &r.list.levels[r.list.defined-1]
}
