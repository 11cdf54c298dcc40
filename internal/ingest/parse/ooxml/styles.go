package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxStyles is how many styles of a document are read.
const maxStyles = 20_000

// A style is a style of paragraphs or characters, including the properties of the style on which it is based.
type style struct {
	id, name, basedOn string
	kind              string // "paragraph", "character", "table" or "numbering"
	outline           int    // 0 to 8 for a heading, wordmodel.BodyLevel for text
	isTitle           bool   // of the document
	role              wordmodel.Role
	list              string // id of its list, "" for none
	level             int    // in its list, -1 if not given
	bold, italic      bool
	isHidden          bool
	isMono            bool
	isItem            bool             // the name is that of list items, "List Bullet 2"
	nesting           int              // the level of the name
	fallback          wordmodel.Marker // the marker if there is no numbering

	hasOutline, hasBold, hasItalic, hasHidden, hasMono, hasList, isResolved bool
}

// styles holds the styles of a document by id. The zero value has none.
type styles struct {
	byID map[string]*style
	// initial is the style of paragraphs that name none. It may be nil.
	initial *style
}

// paragraph returns the style of a paragraph. It is never nil.
func (s *styles) paragraph(id string) *style {
	if found := s.byID[id]; found != nil && (found.kind == "paragraph" || found.kind == "") {
		return found
	}
	if id != "" {
		// The definitions of styles are missing in some files. The id is similar to the name.
		guessed := &style{id: id, name: strings.ToLower(id), outline: wordmodel.BodyLevel, level: -1}
		guessed.classify()
		return guessed
	}
	if s.initial != nil {
		return s.initial
	}
	return &style{outline: wordmodel.BodyLevel, level: -1}
}

// character returns a character style, or nil.
func (s *styles) character(id string) *style { return s.byID[id] }

// readStyles reads the styles part. With an error it returns the styles that it has read.
func readStyles(s *xmlscan.Scanner) (styles, error) {
	all := styles{byID: make(map[string]*style)}
	names := newNames()
	var current *style
	for {
		kind, err := s.Next()
		if err != nil {
			all.resolve()
			return all, err
		}
		if kind != xmlscan.Start || names.space(s) != spaceWord {
			continue
		}
		if s.Name() == "style" {
			current = &style{id: s.Attr("styleId"), kind: s.Attr("type"), outline: wordmodel.BodyLevel, level: -1}
			if len(all.byID) < maxStyles && all.byID[current.id] == nil {
				all.byID[current.id] = current
				if current.kind == "paragraph" && isOn(s.Attr("default")) {
					all.initial = current
				}
			}
			continue
		}
		if current == nil {
			continue
		}
		if s.Name() == "tblStylePr" {
			if err := s.Skip(); err != nil {
				all.resolve()
				return all, err
			}
			continue
		}
		current.property(s)
	}
}

// property reads the property of the last Start.
func (st *style) property(s *xmlscan.Scanner) {
	switch s.Name() {
	case "name":
		st.name = strings.ToLower(strings.Join(strings.Fields(s.Attr("val")), " "))
	case "basedOn":
		st.basedOn = s.Attr("val")
	case "outlineLvl":
		if level, err := strconv.Atoi(s.Attr("val")); err == nil && level >= 0 && level <= wordmodel.BodyLevel {
			st.outline, st.hasOutline = level, true
		}
	case "numId":
		st.list, st.hasList = s.Attr("val"), true
	case "ilvl":
		if level, err := strconv.Atoi(s.Attr("val")); err == nil && level >= 0 && level < wordmodel.MaxListLevels {
			st.level = level
		}
	case "b":
		st.bold, st.hasBold = isToggled(s), true
	case "i":
		st.italic, st.hasItalic = isToggled(s), true
	case "vanish":
		st.isHidden, st.hasHidden = isToggled(s), true
	case "rFonts":
		if font := s.Attr("ascii"); font != "" {
			st.isMono, st.hasMono = wordmodel.IsMonospaced(font), true
		}
	}
}

// isToggled reports whether a property is on, as it is without a value.
func isToggled(s *xmlscan.Scanner) bool {
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

// maxBased is how long a chain of styles may be that are based on each other.
const maxBased = 40

func (s *styles) resolve() {
	for _, st := range s.byID {
		s.inherit(st)
	}
	if s.initial != nil && s.initial.isMono {
		return // all text is monospaced, so the font does not mark code
	}
	for _, st := range s.byID {
		if st.isMono && st.role == wordmodel.RoleText && st != s.initial && st.name != "plain text" {
			st.role = wordmodel.RoleCode
		}
	}
}

// inherit gives a style the missing properties of the styles on which it is based. A cycle ends it.
func (s *styles) inherit(st *style) {
	var chain []*style
	for next := st; next != nil && !next.isResolved && len(chain) < maxBased; next = s.byID[next.basedOn] {
		next.isResolved = true
		chain = append(chain, next)
	}
	for i := len(chain) - 1; i >= 0; i-- {
		chain[i].classify()
		if base := s.byID[chain[i].basedOn]; base != nil && base != chain[i] {
			chain[i].inheritFrom(base)
		}
	}
}

func (st *style) inheritFrom(base *style) {
	if !st.hasOutline && base.outline < wordmodel.BodyLevel {
		st.outline, st.hasOutline = base.outline, true
	}
	if !st.hasBold {
		st.bold = base.bold
	}
	if !st.hasItalic {
		st.italic = base.italic
	}
	if !st.hasHidden {
		st.isHidden = base.isHidden
	}
	if !st.hasMono {
		st.isMono = base.isMono
	}
	if !st.hasList {
		st.list = base.list
		if st.level < 0 {
			st.level = base.level
		}
	}
	if !st.isItem {
		st.isItem, st.nesting, st.fallback = base.isItem, base.nesting, base.fallback
	}
	if st.role == wordmodel.RoleText && !st.hasOutline && base.role != wordmodel.RoleContentsTitle {
		st.role = base.role
	}
}

// classify sets the properties that follow from the name.
func (st *style) classify() {
	meaning := wordmodel.MeaningOf(st.name)
	if meaning.HeadingLevel > 0 && !st.hasOutline {
		st.outline, st.hasOutline = meaning.HeadingLevel-1, true
	}
	st.isTitle = meaning.IsTitle
	if meaning.IsItem {
		st.isItem, st.nesting, st.fallback = true, meaning.Nesting, wordmodel.Marker{Ordered: meaning.IsOrdered}
	}
	if meaning.Role != wordmodel.RoleText {
		st.role = meaning.Role
	}
	if meaning.Role == wordmodel.RoleContentsTitle {
		st.outline, st.hasOutline = wordmodel.BodyLevel, true
	}
}

// isCode reports whether the style is one of code.
func (st *style) isCode() bool {
	return st.role == wordmodel.RoleCode && st.outline >= wordmodel.BodyLevel && !st.isTitle
}
