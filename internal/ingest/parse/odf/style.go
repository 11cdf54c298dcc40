package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxStyles bounds the styles that are held.
const maxStyles = 200_000

// styleKey names a style: names are unique within a family.
type styleKey struct{ family, name string }

// style is what a style says itself; resolve adds what its ancestors say.
type style struct {
	family, name, display, parent string
	outline                       int // level of a heading, 0 for none
	hidden, bold, italic          setting
	breakBefore, breakAfter       setting
	newPage                       bool // a paragraph of this style begins a page of another master
	resolved                      bool
	code, quote, title            bool
	list                          string // the list style of its paragraphs, "" for none where listSet
	listSet                       bool
}

// setting is a property of a style that may be left to the style it is derived from.
type setting int8

const (
	inherited setting = iota
	on
	off
)

func settingOf(value string, isOn bool) setting {
	switch {
	case value == "":
		return inherited
	case isOn:
		return on
	}
	return off
}

// apply sets a value where the style says something about it.
func (s setting) apply(value *bool) {
	if s != inherited {
		*value = s == on
	}
}

func (s *setting) inherit(from setting) {
	if *s == inherited {
		*s = from
	}
}

// styles are those of a document: the common ones, and the automatic ones of the file of the package at hand.
type styles struct {
	common, automatic           map[styleKey]*style
	commonLists, automaticLists map[string]*listStyle
	outline                     listStyle // of headings
	count                       int
}

func newStyles() *styles {
	s := &styles{common: make(map[styleKey]*style), commonLists: make(map[string]*listStyle)}
	s.nextFile()
	return s
}

// nextFile forgets the automatic styles: each file of a package has its own.
func (s *styles) nextFile() {
	s.automatic, s.automaticLists = make(map[styleKey]*style), make(map[string]*listStyle)
}

// read reads the styles inside the open element.
func (s *styles) read(w *walker, scan *xmlscan.Scanner, automatic bool) error {
	all, lists := s.common, s.commonLists
	if automatic {
		all, lists = s.automatic, s.automaticLists
	}
	return w.each(scan, func() error {
		s.count++
		switch {
		case s.count > maxStyles:
		case scan.Name() == "style":
			made, err := readStyle(w, scan)
			all[styleKey{made.family, made.name}] = made
			return err
		case scan.Name() == "outline-style":
			return s.outline.read(w, scan)
		case scan.Name() == "list-style":
			name, made := scan.Attr("name"), new(listStyle)
			lists[name] = made
			return made.read(w, scan)
		}
		return w.skip(scan)
	})
}

func readStyle(w *walker, scan *xmlscan.Scanner) (*style, error) {
	made := &style{
		family: scan.Attr("family"), name: scan.Attr("name"), display: scan.Attr("display-name"), parent: scan.Attr("parent-style-name"),
		newPage: scan.Attr("master-page-name") != "",
	}
	made.judge(made.name)
	made.judge(made.display)
	made.list, made.listSet = scan.LookupAttr("list-style-name")
	if level, err := strconv.Atoi(scan.Attr("default-outline-level")); err == nil && level >= 1 && level <= 10 {
		made.outline = level
	}
	err := w.each(scan, func() error {
		switch scan.Name() {
		case "paragraph-properties", "table-properties":
			before, after := scan.Attr("break-before"), scan.Attr("break-after")
			made.breakBefore, made.breakAfter = settingOf(before, isPageBreak(before)), settingOf(after, isPageBreak(after))
		case "text-properties":
			for _, attr := range scan.Attrs() {
				switch attr.Prefix + ":" + attr.Name {
				case "text:display":
					made.hidden = settingOf(attr.Value, attr.Value == "none")
				case "fo:font-weight":
					made.bold = settingOf(attr.Value, isBold(attr.Value))
				case "fo:font-style":
					made.italic = settingOf(attr.Value, attr.Value == "italic" || attr.Value == "oblique")
				}
			}
		}
		return w.skip(scan)
	})
	return made, err
}

func isBold(weight string) bool {
	return weight == "bold" || len(weight) == 3 && weight >= "600" && weight <= "900"
}

func isPageBreak(value string) bool {
	return value == "page" || value == "even-page" || value == "odd-page"
}

// listLevel returns a level, from 1, of a list style. A level that the style does not speak of is like the one above it; a
// style that is not there gives bullets.
func (s *styles) listLevel(name string, level int) listLevel {
	found := s.listStyle(name)
	if found == nil {
		return listLevel{}
	}
	at := min(max(level, 1), maxListLevel) - 1
	for at > 0 && !found[at].defined {
		at--
	}
	return found[at]
}

func (s *styles) listStyle(name string) *listStyle {
	if found := s.automaticLists[name]; found != nil {
		return found
	}
	return s.commonLists[name]
}

// get returns a style with what it inherits. A style that is not there is judged by its name.
func (s *styles) get(family, name string) *style {
	if name == "" {
		return &style{}
	}
	key := styleKey{family, name}
	found := s.automatic[key]
	if found == nil {
		found = s.common[key]
	}
	if found == nil {
		found = &style{family: family, name: name}
		found.judge(name)
		if s.count < maxStyles { // a hostile file may name a new one each time
			s.count++
			s.automatic[key] = found
		}
	}
	s.resolve(found)
	return found
}

// maxAncestors bounds how far styles are followed; they may go in circles.
const maxAncestors = 32

func (s *styles) resolve(made *style) {
	if made.resolved {
		return
	}
	made.resolved = true
	for at, steps := made, 0; at != nil && steps < maxAncestors; steps++ {
		if at != made {
			if made.outline == 0 {
				made.outline = at.outline
			}
			if !made.listSet {
				made.judge(made.name)
				made.judge(made.display)
				made.list, made.listSet = at.list, at.listSet
			}
			made.hidden.inherit(at.hidden)
			made.bold.inherit(at.bold)
			made.italic.inherit(at.italic)
			made.breakBefore.inherit(at.breakBefore)
			made.breakAfter.inherit(at.breakAfter)
			made.code, made.quote, made.title = made.code || at.code, made.quote || at.quote, made.title || at.title
		}
		if at.parent == "" || at.parent == at.name {
			return
		}
		key := styleKey{at.family, at.parent}
		if at.family == "" {
			key.family = made.family
		}
		at = s.common[key]
		if at == nil {
			made.judge(key.name)
		}
	}
}

// judge tells by the name of a style, as office programs and converters give it, what it is for. Names of styles have
// their blanks written as _20_.
func (s *style) judge(name string) {
	name = strings.ToLower(strings.NewReplacer("_20_", " ", "_", " ", "-", " ").Replace(name))
	switch name {
	case "preformatted text", "html preformatted", "source code", "sourcecode", "code", "code block", "codeblock", "rststyle codeblock",
		"listing", "source text", "verbatim char", "verbatim", "teletype", "html code", "code in text", "inline code", "rststyle inlineliteral":
		s.code = true
	case "quotations", "quote", "intense quote", "block text", "rststyle blockquote":
		s.quote = true
	case "title", "rststyle title":
		s.title = true
	}
}
