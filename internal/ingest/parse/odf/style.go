package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxStyles is how many styles are read.
const maxStyles = 200_000

// styleKey identifies a style. Names are unique within a family.
type styleKey struct{ family, name string }

// A style is a style with its own properties, and those of its ancestors once isResolved is set.
type style struct {
	family, name, display, parent string
	outline                       int // level of a heading, 0 for none
	hidden, bold, italic          setting
	breakBefore, breakAfter       setting
	newMaster                     bool // a paragraph of the style starts a page of another master
	isResolved                    bool
	code, quote, title            bool
	list                          string // its list style; "" for none if hasList is set
	hasList                       bool
}

// setting is a property that may be inherited.
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

// apply sets a value unless the setting is inherited.
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

// styles holds the common styles of a document and the automatic styles of the current file of the package.
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

// nextFile removes the automatic styles. Each file of a package has its own.
func (s *styles) nextFile() {
	s.automatic, s.automaticLists = make(map[styleKey]*style), make(map[string]*listStyle)
}

// read reads the styles in the open element.
func (s *styles) read(w *walker, scan *xmlscan.Scanner, isAutomatic bool) error {
	all, lists := s.common, s.commonLists
	if isAutomatic {
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
		newMaster: scan.Attr("master-page-name") != "",
	}
	made.classify(made.name)
	made.classify(made.display)
	made.list, made.hasList = scan.LookupAttr("list-style-name")
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

// listLevel returns a level, from 1, of a list style. An undefined level is like the one above it. A missing style has
// bullets.
func (s *styles) listLevel(name string, level int) listLevel {
	found := s.listStyle(name)
	if found == nil {
		return listLevel{}
	}
	at := min(max(level, 1), maxListLevel) - 1
	for at > 0 && !found[at].isDefined {
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

// get returns a style with its inherited properties. The name determines the properties of a missing style.
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
		found.classify(name)
		if s.count < maxStyles { // a hostile file may name a new style each time
			s.count++
			s.automatic[key] = found
		}
	}
	s.resolve(found)
	return found
}

// maxAncestors is how long a chain of styles may be. It may be a cycle.
const maxAncestors = 32

func (s *styles) resolve(st *style) {
	if st.isResolved {
		return
	}
	st.isResolved = true
	for ancestor, steps := st, 0; ancestor != nil && steps < maxAncestors; steps++ {
		if ancestor != st {
			if st.outline == 0 {
				st.outline = ancestor.outline
			}
			if !st.hasList {
				st.classify(st.name)
				st.classify(st.display)
				st.list, st.hasList = ancestor.list, ancestor.hasList
			}
			st.hidden.inherit(ancestor.hidden)
			st.bold.inherit(ancestor.bold)
			st.italic.inherit(ancestor.italic)
			st.breakBefore.inherit(ancestor.breakBefore)
			st.breakAfter.inherit(ancestor.breakAfter)
			st.code, st.quote, st.title = st.code || ancestor.code, st.quote || ancestor.quote, st.title || ancestor.title
		}
		if ancestor.parent == "" || ancestor.parent == ancestor.name {
			return
		}
		key := styleKey{ancestor.family, ancestor.parent}
		if ancestor.family == "" {
			key.family = st.family
		}
		ancestor = s.common[key]
		if ancestor == nil {
			st.classify(key.name)
		}
	}
}

// classify sets the properties that follow from the name, as office programs and converters write it. Blanks in names
// are written as _20_.
func (s *style) classify(name string) {
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
