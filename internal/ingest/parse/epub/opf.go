package epub

import (
	"html"
	"net/url"
	"path"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// An item is a file that the package document lists.
type item struct {
	path, mediaType, fallback string
	isNav, isCover            bool
}

// An itemRef is a place in the reading order.
type itemRef struct {
	id        string
	isOutside bool // outside of the reading order
}

// A property is an element of the metadata.
type property struct{ id, text, role string }

// opf is a package document (EPUB 2 Open Packaging Format 2.0.1; EPUB 3.3, section 5).
type opf struct {
	identifier                                    string // id of the property with the book's own identifier
	titles, creators, identifiers, dates          []property
	languages, descriptions, subjects, publishers []property
	modified                                      string
	refined                                       map[string]string // roles and kinds of titles, by the id of the property that they refine
	items                                         map[string]item
	spine                                         []itemRef
	ncx, nav                                      string // paths of the tables of contents, "" for none
	covers                                        map[string]bool
	coverID                                       string
}

// Limits of a package document.
const (
	maxProperties = 1000
	maxItems      = 100_000
	maxFallbacks  = 10
)

// unescape decodes the percent signs of an address.
func unescape(address string) string {
	if plain, err := url.PathUnescape(address); err == nil {
		return plain
	}
	return address
}

// resolve returns the path and fragment of an address in a file. The path is "" if the address is outside of the book.
func resolve(from, address string) (file, fragment string) {
	address, fragment, _ = strings.Cut(strings.TrimSpace(address), "#")
	if scheme, _, found := strings.Cut(address, ":"); found && !strings.ContainsAny(scheme, "/.") {
		return "", ""
	}
	if address == "" {
		return from, fragment
	}
	address = unescape(address)
	if strings.HasPrefix(address, "/") {
		return strings.TrimPrefix(path.Clean(address), "/"), fragment
	}
	return strings.TrimPrefix(path.Clean("/"+path.Dir(from)+"/"+address), "/"), fragment
}

func (b *book) readPackage(name string) error {
	o := &b.pack
	o.items, o.refined, o.covers = make(map[string]item), make(map[string]string), make(map[string]bool)
	toc := ""
	err := b.scan(name, func(s *xmlscan.Scanner) error {
		switch strings.ToLower(s.Name()) {
		case "package":
			o.identifier = s.Attr("unique-identifier")
		case "title":
			return o.property(s, &o.titles, "")
		case "creator":
			return o.property(s, &o.creators, s.Attr("role"))
		case "identifier":
			return o.property(s, &o.identifiers, s.Attr("scheme"))
		case "date":
			return o.property(s, &o.dates, s.Attr("event"))
		case "language":
			return o.property(s, &o.languages, "")
		case "description":
			return o.property(s, &o.descriptions, "")
		case "subject":
			return o.property(s, &o.subjects, "")
		case "publisher":
			return o.property(s, &o.publishers, "")
		case "meta":
			return o.meta(s)
		case "item":
			o.item(s, name)
		case "spine":
			toc = s.Attr("toc")
		case "itemref":
			if len(o.spine) < maxItems {
				o.spine = append(o.spine, itemRef{id: s.Attr("idref"), isOutside: strings.EqualFold(s.Attr("linear"), "no")})
			}
		case "reference":
			if file, _ := resolve(name, s.Attr("href")); strings.EqualFold(s.Attr("type"), "cover") && file != "" {
				o.covers[key(file)] = true
			}
		}
		return nil
	})
	if listed, found := o.items[toc]; found {
		o.ncx = listed.path
	}
	return err
}

func (o *opf) item(s *xmlscan.Scanner, name string) {
	made := item{mediaType: strings.ToLower(s.Attr("media-type")), fallback: s.Attr("fallback")}
	made.path, _ = resolve(name, s.Attr("href"))
	if made.path == "" || len(o.items) >= maxItems {
		return
	}
	for property := range strings.FieldsSeq(s.Attr("properties")) {
		if property == "nav" {
			made.isNav, o.nav = true, made.path
		}
	}
	id := s.Attr("id")
	made.isCover = strings.Contains(strings.ToLower(id+" "+path.Base(made.path)), "cover")
	if made.mediaType == "application/x-dtbncx+xml" && o.ncx == "" {
		o.ncx = made.path
	}
	o.items[id] = made
}

// property reads an element of the metadata.
func (o *opf) property(s *xmlscan.Scanner, list *[]property, role string) error {
	id := s.Attr("id")
	text, err := s.InnerText()
	if text = strings.Join(strings.Fields(text), " "); text != "" && len(*list) < maxProperties {
		*list = append(*list, property{id: id, text: text, role: strings.ToLower(role)})
	}
	return err
}

// meta reads a refinement of other metadata, or the time of the last change.
func (o *opf) meta(s *xmlscan.Scanner) error {
	refines, name := strings.TrimPrefix(s.Attr("refines"), "#"), s.Attr("property")
	if s.Attr("name") == "cover" {
		o.coverID = s.Attr("content")
	}
	text, err := s.InnerText()
	text = strings.TrimSpace(text)
	switch {
	case name == "dcterms:modified" && refines == "":
		o.modified = text
	case (name == "role" || name == "title-type") && refines != "" && len(o.refined) < maxProperties:
		o.refined[refines] = strings.ToLower(text)
	}
	return err
}

// page returns the page with an id, or its fallback if the item is no page.
func (o *opf) page(id string) (item, bool) {
	for range maxFallbacks {
		found, listed := o.items[id]
		if !listed {
			return item{}, false
		}
		switch found.mediaType {
		case "application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/x-dtbook+xml", "application/xml", "text/xml", "":
			found.isCover = found.isCover || o.covers[key(found.path)] || o.coverID != "" && id == o.coverID
			return found, true
		}
		id = found.fallback
	}
	return item{}, false
}

// describe sets the properties of the book, by the keys of document.Draft.Meta.
func (o *opf) describe(meta map[string]any) {
	for i := range o.titles {
		kind := o.refined[o.titles[i].id]
		if i == 0 || kind == "main" {
			meta["title"] = o.titles[i].text
		}
		if kind == "main" {
			break
		}
	}
	if authors := o.authors(); len(authors) == 1 {
		meta["author"] = authors[0]
	} else if len(authors) > 1 {
		meta["author"] = authors
	}
	first := func(name string, list []property) {
		if len(list) > 0 {
			meta[name] = list[0].text
		}
	}
	first("language", o.languages)
	first("publisher", o.publishers)
	first("identifier", o.identifiers)
	for _, identifier := range o.identifiers {
		if identifier.id != "" && identifier.id == o.identifier {
			meta["identifier"] = identifier.text
		}
	}
	if len(o.descriptions) > 0 {
		if text := withoutTags(o.descriptions[0].text); text != "" {
			meta["description"] = text
		}
	}
	var subjects []any
	for _, subject := range o.subjects {
		subjects = append(subjects, subject.text)
	}
	if len(subjects) > 0 {
		meta["keywords"] = subjects
	}
	o.describeDates(meta)
}

// authors returns the authors. If the book names none, these are all other contributors.
func (o *opf) authors() []any {
	var authors, others []any
	for _, creator := range o.creators {
		role := creator.role
		if refined := o.refined[creator.id]; role == "" && creator.id != "" {
			role = refined
		}
		switch lower := strings.ToLower(creator.text); {
		case lower == "unknown" || lower == "unknown author": // the default of programs
		case role == "" || role == "aut":
			authors = append(authors, creator.text)
		default:
			others = append(others, creator.text)
		}
	}
	if len(authors) == 0 {
		return others
	}
	return authors
}

func (o *opf) describeDates(meta map[string]any) {
	for _, date := range o.dates {
		switch {
		case date.role == "modification" || date.role == "modified":
			meta["modified"] = date.text
		case date.role == "publication" || meta["published"] == nil:
			meta["published"] = date.text
		}
	}
	if o.modified != "" {
		meta["modified"] = o.modified
	}
}

// withoutTags returns the text of a description, which may be HTML.
func withoutTags(text string) string {
	if !strings.Contains(text, "<") {
		return strings.Join(strings.Fields(html.UnescapeString(text)), " ")
	}
	var b strings.Builder
	for text != "" {
		before, rest, found := strings.Cut(text, "<")
		b.WriteString(before)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, ">")
		if !closed {
			b.WriteString("<" + rest)
			break
		}
		name := strings.ToLower(strings.Trim(inside, "/ "))
		if name != "b" && name != "i" && name != "em" && name != "strong" {
			b.WriteByte(' ')
		}
		text = after
	}
	return strings.Join(strings.Fields(html.UnescapeString(b.String())), " ")
}
