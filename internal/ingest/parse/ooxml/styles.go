package ooxml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// role is what the paragraphs of a style are.
type role uint8

const (
	roleText role = iota
	roleCode
	roleQuote
	roleContents // an entry of a table of contents
	roleContentsTitle
)

// bodyLevel is the outline level of text that is no heading.
const bodyLevel = 9

// maxStyles bounds how many styles of a document count.
const maxStyles = 20_000

// style is a style of paragraphs or characters, with what it takes over from the one it is based on.
type style struct {
	id, name, based string
	kind            string // paragraph, character, table, numbering
	outline         int    // 0 to 8 of a heading, bodyLevel for text
	title           bool   // the title of the document
	role            role
	number          string // id of its numbering, "" for none
	level           int    // of its numbering, -1 where the style does not say
	bold, italic    bool
	hidden          bool
	mono            bool
	isItem          bool   // a style of items by its name, "List Bullet 2", with
	nesting         int    // the level that the name tells, and
	fallback        marker // the marker where the numbering is missing

	outlineSet, boldSet, italicSet, hiddenSet, monoSet, numberSet, resolved bool
}

// styles are the styles of a document by id. The zero value has none.
type styles struct {
	byID map[string]*style
	// initial is the style of paragraphs that name none.
	initial *style
}

// paragraph returns the style of a paragraph, never nil.
func (s *styles) paragraph(id string) *style {
	if found := s.byID[id]; found != nil && (found.kind == "paragraph" || found.kind == "") {
		return found
	}
	if id != "" {
		// A style that is named but not defined, as in files whose styles are lost: its id still tells.
		guessed := &style{id: id, name: strings.ToLower(id), outline: bodyLevel, level: -1}
		guessed.classify()
		return guessed
	}
	if s.initial != nil {
		return s.initial
	}
	return &style{outline: bodyLevel, level: -1}
}

// character returns a style of characters, nil when there is none.
func (s *styles) character(id string) *style { return s.byID[id] }

// readStyles reads the part of styles.
func readStyles(s *xmlscan.Scanner) (styles, error) {
	found := styles{byID: make(map[string]*style)}
	names := newNames()
	var current *style
	for {
		kind, err := s.Next()
		if err != nil {
			found.resolve()
			return found, err
		}
		if kind != xmlscan.Start || names.of(s) != spaceWord {
			continue
		}
		if s.Name() == "style" {
			current = &style{id: s.Attr("styleId"), kind: s.Attr("type"), outline: bodyLevel, level: -1}
			if len(found.byID) < maxStyles && found.byID[current.id] == nil {
				found.byID[current.id] = current
				if current.kind == "paragraph" && isOn(s.Attr("default")) {
					found.initial = current
				}
			}
			continue
		}
		if current == nil {
			continue
		}
		if s.Name() == "tblStylePr" {
			if err := s.Skip(); err != nil {
				found.resolve()
				return found, err
			}
			continue
		}
		current.property(s)
	}
}

// property takes in a property that the scanner stands at.
func (st *style) property(s *xmlscan.Scanner) {
	switch s.Name() {
	case "name":
		st.name = strings.ToLower(strings.Join(strings.Fields(s.Attr("val")), " "))
	case "basedOn":
		st.based = s.Attr("val")
	case "outlineLvl":
		if level, err := strconv.Atoi(s.Attr("val")); err == nil && level >= 0 && level <= bodyLevel {
			st.outline, st.outlineSet = level, true
		}
	case "numId":
		st.number, st.numberSet = s.Attr("val"), true
	case "ilvl":
		if level, err := strconv.Atoi(s.Attr("val")); err == nil && level >= 0 && level < maxLevels {
			st.level = level
		}
	case "b":
		st.bold, st.boldSet = toggled(s), true
	case "i":
		st.italic, st.italicSet = toggled(s), true
	case "vanish":
		st.hidden, st.hiddenSet = toggled(s), true
	case "rFonts":
		if font := s.Attr("ascii"); font != "" {
			st.mono, st.monoSet = isMonospaced(font), true
		}
	}
}

// toggled reads a property that is on unless its value says otherwise.
func toggled(s *xmlscan.Scanner) bool {
	value, found := s.LookupAttr("val")
	return !found || isOn(value)
}

func isOn(value string) bool {
	switch value {
	case "1", "true", "on":
		return true
	}
	return false
}

// maxBased bounds how far styles are based on each other.
const maxBased = 40

func (s *styles) resolve() {
	for _, st := range s.byID {
		s.inherit(st)
	}
	if s.initial != nil && s.initial.mono {
		return // written on a typewriter, as it were: the font tells nothing
	}
	for _, st := range s.byID {
		if st.mono && st.role == roleText && st != s.initial && st.name != "plain text" {
			st.role = roleCode
		}
	}
}

// inherit gives a style what it does not say itself from those it is based on, which ends where they go round in a circle.
func (s *styles) inherit(st *style) {
	var chain []*style
	for next := st; next != nil && !next.resolved && len(chain) < maxBased; next = s.byID[next.based] {
		next.resolved = true
		chain = append(chain, next)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].classify()
		if base := s.byID[chain[i].based]; base != nil && base != chain[i] {
			chain[i].takeFrom(base)
		}
	}
}

func (st *style) takeFrom(base *style) {
	if !st.outlineSet && base.outline < bodyLevel {
		st.outline, st.outlineSet = base.outline, true
	}
	if !st.boldSet {
		st.bold = base.bold
	}
	if !st.italicSet {
		st.italic = base.italic
	}
	if !st.hiddenSet {
		st.hidden = base.hidden
	}
	if !st.monoSet {
		st.mono = base.mono
	}
	if !st.numberSet {
		st.number = base.number
		if st.level < 0 {
			st.level = base.level
		}
	}
	if !st.isItem {
		st.isItem, st.nesting, st.fallback = base.isItem, base.nesting, base.fallback
	}
	if st.role == roleText && !st.outlineSet && base.role != roleContentsTitle {
		st.role = base.role
	}
}

// classify tells from its name what a style is for. Word processors keep the English names of their own styles in files
// of every language; the other names are those of programs and people that do not.
func (st *style) classify() {
	name, number := splitNumber(st.name)
	switch name {
	case "heading", "überschrift", "berschrift", "titre", "título", "ttulo", "titolo", "kop", "rubrik", "overskrift", "nagłówek",
		"nadpis", "заголовок", "标题", "標題", "見出し", "제목", "otsikko", "címsor", "başlık", "encabezado":
		if !st.outlineSet && number >= 1 && number <= 9 {
			st.outline, st.outlineSet = number-1, true
		}
		st.title = number == 0 && (name == "titre" || name == "título" || name == "titolo")
	case "title", "titel", "表題", "название", "tytuł", "název":
		st.title = number == 0
	case "toc", "verzeichnis", "tm", "tdc", "contents":
		if number >= 1 && number <= 9 {
			st.role = roleContents
		}
	case "toc heading", "contents heading":
		st.role = roleContentsTitle
		st.outline, st.outlineSet = bodyLevel, true
	case "list bullet", "listbullet":
		st.isItem, st.nesting, st.fallback = true, nesting(number), marker{}
	case "list number", "listnumber":
		st.isItem, st.nesting, st.fallback = true, nesting(number), marker{ordered: true}
	case "quote", "intense quote", "intensequote", "block text", "blocktext", "quotations", "block quotation", "zitat":
		st.role = roleQuote
	}
	if st.role == roleText && isCodeName(st.name) {
		st.role = roleCode
	}
}

// nesting is the level of the items of a style whose name ends in a number: "List Bullet 2".
func nesting(number int) int { return min(max(number-1, 0), maxLevels-1) }

// splitNumber parts a name from the number at its end.
func splitNumber(name string) (string, int) {
	text := strings.TrimRight(name, "0123456789")
	number, err := strconv.Atoi(name[len(text):])
	if err != nil {
		return name, 0
	}
	return strings.TrimSpace(text), number
}

// isCodeName recognises the names of styles for code.
func isCodeName(name string) bool {
	words := strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) })
	for i, word := range words {
		switch word {
		case "code", "sourcecode", "codeblock", "preformatted", "htmlpreformatted", "preformattedtext", "verbatim", "quellcode",
			"programlisting", "codelisting":
			return i == 0 || word != "code" || !isOtherCode(words[i-1])
		case "source":
			if i+1 < len(words) && words[i+1] == "text" || i == len(words)-1 && i == 0 {
				return true
			}
		}
	}
	return false
}

// isOtherCode reports words that make "code" mean something else.
func isOtherCode(word string) bool {
	switch word {
	case "postal", "zip", "area", "country", "bar", "document", "cost":
		return true
	}
	return false
}

func isMonospaced(font string) bool {
	font = strings.ToLower(font)
	for _, part := range []string{"courier", "consolas", "menlo", "monaco", "monospace", "lucida console", "inconsolata", " mono", "andale mono",
		"cascadia", "source code", "fira code", "typewriter"} {
		if strings.Contains(font, part) {
			return true
		}
	}
	return false
}

// code tells whether paragraphs of the style are code.
func (st *style) code() bool { return st.role == roleCode && st.outline >= bodyLevel && !st.title }
