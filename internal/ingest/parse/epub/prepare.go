package epub

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// prepared is a chapter as the reader of web pages gets it, and what was counted on the way.
type prepared struct {
	book *book
	path string
	in   []byte // what is still to be read
	out  bytes.Buffer

	head     bool             // inside of what is about the page
	places   map[string]title // of a page without headings, by their ids
	defined  bool             // the document type was passed
	open     bool             // a script or style sheet has no end
	label    string           // of the note that begins, to be written before its text
	headings int              // open h1 to h6
	linked   bool             // inside of a link within the book
	links    int              // links to other files of the book
	inLinks  int              // letters inside of links within the book
	outside  int              // letters of what is neither linked nor a heading
	last     rune             // of the text so far
}

// maxTag is the longest tag that is looked into, maxInside the longest content of a link or of a page break that is.
const (
	maxTag    = 4 << 10
	maxInside = 300
	maxLabels = 50_000
)

// prepare takes out of a chapter what means nothing outside of the book: links to its other files become text. The
// references to notes stand in brackets, and the notes begin with theirs; the links back from them and the numbers of
// printed pages go.
func (b *book) prepare(name string, content []byte) *prepared {
	p := &prepared{book: b, path: name, in: content}
	if places := b.places[key(name)]; len(places) > 0 && !hasHeadings(content) {
		p.places = places
	}
	p.out.Grow(len(content))
	for steps := 1; len(p.in) > 0 && (steps%4096 != 0 || b.ctx.Err() == nil); steps++ {
		at := bytes.IndexByte(p.in, '<')
		if at < 0 {
			at = len(p.in)
		}
		if at > 0 {
			p.text(p.in[:at])
			p.in = p.in[at:]
			continue
		}
		p.markup()
	}
	return p
}

// isContents reports a page that is only links to other parts of the book.
func (p *prepared) isContents() bool { return p.links >= 2 && p.inLinks > 4*p.outside }

// hasHeadings tells whether a page has elements for headings.
func hasHeadings(content []byte) bool {
	for {
		at := bytes.IndexByte(content, '<')
		if at < 0 || at+2 >= len(content) {
			return false
		}
		content = content[at+1:]
		if content[0]|0x20 == 'h' && '1' <= content[1] && content[1] <= '6' {
			return true
		}
	}
}

// entitle writes the heading of the place that a tag begins, as the table of contents has it.
func (p *prepared) entitle(name string, tag []byte) {
	var found title
	if name == "body" {
		p.head = false
		p.pass(len(tag))
		if found = p.book.titles[key(p.path)]; found.fragment != "" {
			found = title{}
		}
	} else if id := attribute(tag, "id"); id != "" {
		found = p.places[id]
		delete(p.places, id)
	}
	if found.text != "" {
		level := strconv.Itoa(min(found.depth, 6))
		p.out.WriteString("<h" + level + ">" + html.EscapeString(found.text) + "</h" + level + ">")
	}
}

func (p *prepared) text(text []byte) {
	trimmed := bytes.TrimSpace(text)
	if len(trimmed) > 0 && !p.head {
		p.last, _ = utf8.DecodeLastRune(text)
		switch {
		case p.linked:
			p.inLinks += len(trimmed)
		case p.headings == 0:
			p.outside += len(trimmed)
		}
		if p.label != "" {
			if !bytes.HasPrefix(bytes.TrimLeft(trimmed, "[("), []byte(p.label)) {
				p.out.WriteString("[" + html.EscapeString(p.label) + "] ")
			}
			p.label = ""
		}
	}
	p.out.Write(text)
}

// pass copies n bytes.
func (p *prepared) pass(n int) {
	p.out.Write(p.in[:n])
	p.in = p.in[n:]
}

// until returns the length up to and with a mark, all there is where the mark is missing.
func (p *prepared) until(mark string) int {
	if at := bytes.Index(p.in, []byte(mark)); at >= 0 {
		return at + len(mark)
	}
	return len(p.in)
}

// markup reads one tag, or what else begins with <.
func (p *prepared) markup() {
	switch {
	case bytes.HasPrefix(p.in, []byte("<!--")):
		p.in = p.in[p.until("-->"):]
	case bytes.HasPrefix(p.in, []byte("<![CDATA[")):
		p.pass(p.until("]]>"))
	case bytes.HasPrefix(p.in, []byte("<?")):
		p.pass(p.until("?>"))
	case bytes.HasPrefix(p.in, []byte("<!")) && !p.defined:
		p.definition()
	default:
		p.tag()
	}
}

// definition passes over a document type with the declarations inside it, which the reader of web pages does not know.
func (p *prepared) definition() {
	depth := 0
	p.defined = true
	for i, c := range p.in {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case '>':
			if depth <= 0 {
				p.in = p.in[i+1:]
				p.out.WriteString("<!DOCTYPE html>")
				return
			}
		}
	}
	p.pass(2)
}

// tagEnd returns the length of the tag that the rest begins with, 0 where it is none.
func tagEnd(in []byte) int {
	in = in[:min(len(in), maxTag)]
	var quote byte
	for i := 1; i < len(in); i++ {
		switch c := in[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i + 1
		case c == '<':
			return 0
		}
	}
	return 0
}

func (p *prepared) tag() {
	n := tagEnd(p.in)
	if n == 0 {
		p.pass(1)
		return
	}
	tag := p.in[:n]
	closing := tag[1] == '/'
	name := tagName(tag)
	if p.places != nil && !closing {
		if p.entitle(name, tag); name == "body" {
			return
		}
	}
	switch name {
	case "script", "style":
		if !closing && tag[n-2] != '/' && !p.open {
			end := closingTag(p.in[n:], name)
			p.open = end < 0
			n += max(end, 0)
		}
		p.pass(n)
	case "head", "body":
		p.head = name == "head" && !closing && tag[n-2] != '/'
		p.pass(n)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if closing {
			p.headings = max(p.headings-1, 0)
		} else if tag[n-2] != '/' {
			p.headings++
		}
		p.pass(n)
	case "a":
		if closing {
			p.linked = false
			p.pass(n)
			return
		}
		p.anchor(tag)
	default:
		if !closing && p.special(name, tag) {
			return
		}
		p.pass(n)
	}
}

// closingTag returns where the end tag of an element begins, -1 where there is none.
func closingTag(in []byte, name string) int {
	for at := 0; ; at += 2 {
		next := bytes.Index(in[at:], []byte("</"))
		if next < 0 {
			return -1
		}
		at += next
		if rest := in[at+2:]; len(rest) >= len(name) && strings.EqualFold(string(rest[:len(name)]), name) {
			return at
		}
	}
}

// tagName returns the name of a tag in lower case.
func tagName(tag []byte) string {
	name := bytes.TrimLeft(tag[1:min(len(tag), 40)], "/")
	end := bytes.IndexAny(name, " \t\r\n/>")
	if end < 0 {
		return ""
	}
	return strings.ToLower(string(name[:end]))
}

// attribute returns the value of an attribute of a tag.
func attribute(tag []byte, name string) string {
	for rest := tag; ; {
		at := bytes.Index(rest, []byte(name))
		if at <= 0 {
			return ""
		}
		before := rest[at-1]
		rest = bytes.TrimLeft(rest[at+len(name):], " \t\r\n")
		if !bytes.ContainsRune([]byte(" \t\r\n\"'"), rune(before)) || len(rest) < 2 || rest[0] != '=' {
			continue
		}
		rest = bytes.TrimLeft(rest[1:], " \t\r\n")
		if len(rest) > 0 && (rest[0] == '"' || rest[0] == '\'') {
			value, _, _ := bytes.Cut(rest[1:], rest[:1])
			return html.UnescapeString(string(value))
		}
	}
}

// kinds returns what a tag says that it is for, in all the ways in which books say so.
func kinds(tag []byte) string {
	return " " + strings.ToLower(attribute(tag, "epub:type")+" "+attribute(tag, "role")+" "+attribute(tag, "class")) + " "
}

func isAny(kinds string, names ...string) bool {
	for _, name := range names {
		if strings.Contains(kinds, " "+name+" ") {
			return true
		}
	}
	return false
}

// special handles the elements of notes and of page breaks. It tells whether the tag was passed over.
func (p *prepared) special(name string, tag []byte) bool {
	if !bytes.Contains(tag, []byte("epub:type")) && !bytes.Contains(tag, []byte("role")) {
		return false
	}
	is := kinds(tag)
	switch {
	case isAny(is, "pagebreak", "doc-pagebreak"):
		if tag[len(tag)-2] == '/' {
			p.in = p.in[len(tag):]
			return true
		}
		inside, after, found := p.inside(len(tag), name)
		if !found || len(inside) > 12 || bytes.IndexByte(inside, '<') >= 0 {
			return false
		}
		p.in = p.in[after:]
		return true
	case isAny(is, "footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"):
		if id := attribute(tag, "id"); name != "li" && id != "" {
			p.label = p.book.labels[key(p.path)+"#"+id]
		}
		if bytes.Contains(tag, []byte("hidden")) {
			p.out.WriteString("<" + name + ">") // it pops up in readers of books
			p.in = p.in[len(tag):]
			return true
		}
	}
	return false
}

// inside returns the content of the element whose tag has n bytes, where it is short, and the length of all of it.
func (p *prepared) inside(n int, name string) (content []byte, after int, found bool) {
	rest := p.in[n:min(len(p.in), n+maxInside)]
	at := closingTag(rest, name)
	if at < 0 {
		return nil, 0, false
	}
	end := bytes.IndexByte(rest[at:], '>')
	if end < 0 {
		return nil, 0, false
	}
	return rest[:at], n + at + end + 1, true
}

// anchor handles a link.
func (p *prepared) anchor(tag []byte) {
	href := attribute(tag, "href")
	file, fragment := resolve(p.path, href)
	if href == "" || file == "" {
		p.pass(len(tag))
		return
	}
	inside, after, short := p.inside(len(tag), "a")
	if is := kinds(tag); short {
		label := plain(inside)
		switch {
		case isAny(is, "backlink", "doc-backlink", "footnote-back", "footnote-backref"):
			p.in = p.in[after:]
			return
		case fragment != "" && label != "" && (isAny(is, "noteref", "doc-noteref", "footnote-ref", "footnote") || p.looksLikeNote(label, inside)):
			if len(p.book.labels) < maxLabels && len(label) <= maxLabel {
				p.book.labels[key(file)+"#"+fragment] = strings.Trim(label, "[]()")
			}
			p.out.WriteString("[" + html.EscapeString(strings.Trim(label, "[]()")) + "]")
			p.in = p.in[after:]
			return
		}
	}
	if p.linked = tag[len(tag)-2] != '/'; key(file) != key(p.path) {
		p.links++
	}
	p.out.WriteString("<a")
	if id := attribute(tag, "id"); id != "" {
		p.out.WriteString(` id="` + html.EscapeString(id) + `"`)
	}
	if tag[len(tag)-2] == '/' {
		p.out.WriteByte('/')
	}
	p.out.WriteByte('>')
	p.in = p.in[len(tag):]
}

// plain returns the text of a short piece of HTML.
func plain(content []byte) string { return withoutTags(string(content)) }

// maxLabel is the longest mark of a note, in bytes.
const maxLabel = 12

// looksLikeNote recognises the reference to a note by a number or sign that is raised, or that stands close after a word.
func (p *prepared) looksLikeNote(label string, inside []byte) bool {
	mark := strings.Trim(label, "[]()")
	if mark == "" || len(mark) > maxLabel || strings.Trim(mark, "0123456789*†‡§¹²³⁰⁴⁵⁶⁷⁸⁹") != "" {
		return false
	}
	raised := bytes.Contains(inside, []byte("<sup")) || bytes.HasSuffix(bytes.TrimRight(p.out.Bytes(), " "), []byte("<sup>"))
	return raised || p.last != 0 && !unicode.IsSpace(p.last) && strings.ContainsAny(mark, "*†‡")
}
