package rtf

import (
	"strconv"
	"strings"
)

// maxEntries bounds how many fonts, styles and lists of a file count.
const maxEntries = 20_000

// role is what the paragraphs of a style are.
type role uint8

const (
	roleText role = iota
	roleCode
	roleQuote
	roleContents // an entry of a table of contents
	roleTitle
)

// style is a style of paragraphs.
type style struct {
	number  int
	name    []byte
	based   int  // -1 for none
	outline int  // -1 where it does not say
	other   bool // it is one of characters or tables

	// What it means, once it is resolved.
	level    int
	role     role
	resolved bool
}

// bodyLevel is the outline level of text that is no heading.
const bodyLevel = 9

// meaning follows what a style is based on until one says what its paragraphs are: the level of a heading, counted from 1, or
// 0, and a role.
func (r *reader) meaning(number int) (level int, as role) {
	if s := r.styles[number]; s != nil {
		if !s.resolved {
			s.level, s.role = r.resolveStyle(number)
			s.resolved = true
		}
		return s.level, s.role
	}
	return 0, roleText
}

func (r *reader) resolveStyle(number int) (level int, as role) {
	outline := -1
	for range 20 {
		s := r.styles[number]
		if s == nil {
			break
		}
		if outline < 0 {
			outline = s.outline
		}
		named, found := roleOf(string(s.name))
		if outline < 0 {
			outline = named - 1
		}
		if as == roleText {
			as = found
		}
		if s.based < 0 || s.based == number {
			break
		}
		number = s.based
	}
	if outline >= 0 && outline < bodyLevel {
		level = min(outline+1, 6)
	}
	return level, as
}

// roleOf reads the name of a style: the level of a heading, or 0, and a role.
func roleOf(name string) (level int, as role) {
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	switch name {
	case "title", "titel", "titre", "título", "titolo", "doc title", "document title":
		return 0, roleTitle
	case "html preformatted", "preformatted text", "source code", "code", "code block", "verbatim", "listing", "program listing",
		"macro text", "htmlvorformatiert", "html vorformatiert", "html préformaté":
		return 0, roleCode
	case "quote", "intense quote", "quotations", "quotation", "block quote", "blockquote", "block text", "zitat", "intensives zitat", "citation":
		return 0, roleQuote
	case "contents heading", "toc heading":
		return 0, roleContents
	}
	word, number, found := cutLast(name)
	if !found {
		return 0, roleText
	}
	switch word {
	case "heading", "überschrift", "titre", "título", "titolo", "kop", "rubrik", "overskrift", "otsikko", "nagłówek", "nadpis",
		"заголовок", "見出し", "标题", "標題", "제목":
		if number <= bodyLevel {
			return number, roleText
		}
	case "toc", "contents", "verzeichnis", "tm", "tdc":
		return 0, roleContents
	}
	return 0, roleText
}

// cutLast parts a name such as "heading 1" from its number.
func cutLast(name string) (word string, number int, found bool) {
	at := len(name)
	for at > 0 && isDigit(name[at-1]) {
		at--
	}
	number, err := strconv.Atoi(name[at:])
	if err != nil || number < 1 {
		return "", 0, false
	}
	return strings.TrimSpace(name[:at]), number, true
}

// tableWord handles a word in the tables at the head of a file.
func (r *reader) tableWord(t *token) {
	switch r.state.dest {
	case destFonts:
		r.fontWord(t)
	case destStyle:
		switch string(t.text) {
		case "s":
			r.style.number = t.value
		case "cs", "ds", "ts":
			r.style.other = true
		case "sbasedon":
			r.style.based = t.value
		case "outlinelevel":
			r.style.outline = t.value
		}
	case destLists, destOverrides:
		r.listWord(t)
	}
}

// fontWord handles a word in the table of fonts.
func (r *reader) fontWord(t *token) {
	if r.font != nil {
		r.font.resolved = false
	}
	switch string(t.text) {
	case "f":
		r.flush() // the name of the one before
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

// fontName adds to the name of the font that is read; a semicolon ends it.
func (r *reader) fontName(text string) {
	if r.font == nil || r.font.named || len(r.font.name) > 200 {
		return
	}
	name, _, ended := strings.Cut(text, ";")
	r.font.name = append(r.font.name, strings.TrimLeft(name, " ")...)
	r.font.named = ended
	r.font.mono = isMonospaced(string(r.font.name))
}

// styleName adds to the name of the style that is read.
func (r *reader) styleName(text string) {
	name, _, _ := strings.Cut(text, ";")
	if len(r.style.name) < 200 {
		r.style.name = append(r.style.name, name...)
	}
}

func (r *reader) keepStyle() {
	if s := r.style; !s.other && len(r.styles) < maxEntries && r.styles[s.number] == nil {
		r.styles[s.number] = &s
	}
}

// listWord handles a word in the tables of lists and of what stands for them in paragraphs. Files with levels in the second
// table, where only the number of a list should be, are read as they are meant.
func (r *reader) listWord(t *token) {
	switch string(t.text) {
	case "list", "listoverride":
		r.list = &listDefinition{}
	case "listlevel":
		if r.list != nil && r.list.known < maxLevels {
			r.list.known++
		}
	case "levelnfc", "levelnfcn":
		if level := r.listLevel(); level != nil {
			level.format = t.value
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
	if r.list.known == 0 {
		r.list.known = 1 // a simple list has its level in itself
	}
	return &r.list.levels[r.list.known-1]
}
