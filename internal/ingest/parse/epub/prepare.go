package epub

import (
	"bytes"
	"html"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A prepared is a chapter as the reader of web pages gets it.
type prepared struct {
	book *book
	path string
	in   []byte // the unread rest
	out  bytes.Buffer

	inHead        bool             // inside of the head element
	places        map[string]title // of a page without headings, by id
	hasDefinition bool             // the document type has been read
	isOpen        bool             // a script or style sheet has no end
	label         string           // of a note, to be written before its text
	headings      int              // open h1 to h6
	inLink        bool             // inside of a link within the book
	links         int              // links to other files of the book
	linkText      int              // bytes of text in links within the book
	otherText     int              // bytes of text outside of links and headings
	last          rune             // last character of the text so far
}

// maxTag is the longest tag that is parsed, maxContent the longest content of a note reference or page break, in bytes.
// maxLabels is how many note references are kept.
const (
	maxTag     = 4 << 10
	maxContent = 300
	maxLabels  = 50_000
)

// prepare removes markup that has no meaning outside of the book. Links to other files of the book become text.
// References to notes become numbers in brackets, and the notes begin with them. Links back from notes and printed page
// numbers are removed.
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

// isContents reports whether the page consists of links to other parts of the book.
func (p *prepared) isContents() bool { return p.links >= 2 && p.linkText > 4*p.otherText }

// hasHeadings reports whether a page has heading elements.
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

// writeTitle writes the heading of the place that a tag starts, from the table of contents.
func (p *prepared) writeTitle(name string, tag []byte) {
	var found title
	if name == "body" {
		p.inHead = false
		p.copy(len(tag))
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
	if len(trimmed) > 0 && !p.inHead {
		p.last, _ = utf8.DecodeLastRune(text)
		switch {
		case p.inLink:
			p.linkText += len(trimmed)
		case p.headings == 0:
			p.otherText += len(trimmed)
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

// copy copies n bytes.
func (p *prepared) copy(n int) {
	p.out.Write(p.in[:n])
	p.in = p.in[n:]
}

// until returns the length of the rest up to and including a mark, or of all of it if there is none.
func (p *prepared) until(mark string) int {
	if at := bytes.Index(p.in, []byte(mark)); at >= 0 {
		return at + len(mark)
	}
	return len(p.in)
}

// markup reads a tag, comment or declaration.
func (p *prepared) markup() {
	switch {
	case bytes.HasPrefix(p.in, []byte("<!--")):
		p.in = p.in[p.until("-->"):]
	case bytes.HasPrefix(p.in, []byte("<![CDATA[")):
		p.copy(p.until("]]>"))
	case bytes.HasPrefix(p.in, []byte("<?")):
		p.copy(p.until("?>"))
	case bytes.HasPrefix(p.in, []byte("<!")) && !p.hasDefinition:
		p.definition()
	default:
		p.tag()
	}
}

// definition replaces a document type, which the reader of web pages does not need.
func (p *prepared) definition() {
	depth := 0
	p.hasDefinition = true
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
	p.copy(2)
}

// tagEnd returns the length of the tag at the start of the input, 0 if it is no tag.
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
		p.copy(1)
		return
	}
	tag := p.in[:n]
	closing := tag[1] == '/'
	name := tagName(tag)
	if p.places != nil && !closing {
		if p.writeTitle(name, tag); name == "body" {
			return
		}
	}
	switch name {
	case "script", "style":
		if !closing && tag[n-2] != '/' && !p.isOpen {
			end := closingTag(p.in[n:], name)
			p.isOpen = end < 0
			n += max(end, 0)
		}
		p.copy(n)
	case "head", "body":
		p.inHead = name == "head" && !closing && tag[n-2] != '/'
		p.copy(n)
	case "h1", "h2", "h3", "h4", "h5", "h6":
		if closing {
			p.headings = max(p.headings-1, 0)
		} else if tag[n-2] != '/' {
			p.headings++
		}
		p.copy(n)
	case "a":
		if closing {
			p.inLink = false
			p.copy(n)
			return
		}
		p.anchor(tag)
	default:
		if !closing && p.special(name, tag) {
			return
		}
		p.copy(n)
	}
}

// closingTag returns the index of the end tag of an element, or -1.
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

// kinds returns what a tag is for, from all attributes that books use for it.
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

// special handles the elements of notes and page breaks. It reports whether it has replaced the tag.
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
		content, after, found := p.content(len(tag), name)
		if !found || len(content) > 12 || bytes.IndexByte(content, '<') >= 0 {
			return false
		}
		p.in = p.in[after:]
		return true
	case isAny(is, "footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote"):
		if id := attribute(tag, "id"); name != "li" && id != "" {
			p.label = p.book.labels[key(p.path)+"#"+id]
		}
		if bytes.Contains(tag, []byte("hidden")) {
			p.out.WriteString("<" + name + ">") // readers of books show it on demand
			p.in = p.in[len(tag):]
			return true
		}
	}
	return false
}

// content returns the content of the element whose tag has n bytes, and the length of the whole element. It is false if
// the content is too long.
func (p *prepared) content(n int, name string) (content []byte, after int, found bool) {
	rest := p.in[n:min(len(p.in), n+maxContent)]
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
		p.copy(len(tag))
		return
	}
	content, after, short := p.content(len(tag), "a")
	if is := kinds(tag); short {
		label := plain(content)
		switch {
		case isAny(is, "backlink", "doc-backlink", "footnote-back", "footnote-backref"):
			p.in = p.in[after:]
			return
		case fragment != "" && label != "" && (isAny(is, "noteref", "doc-noteref", "footnote-ref", "footnote") || p.looksLikeNote(label, content)):
			if len(p.book.labels) < maxLabels && len(label) <= maxLabel {
				p.book.labels[key(file)+"#"+fragment] = strings.Trim(label, "[]()")
			}
			p.out.WriteString("[" + html.EscapeString(strings.Trim(label, "[]()")) + "]")
			p.in = p.in[after:]
			return
		}
	}
	if p.inLink = tag[len(tag)-2] != '/'; key(file) != key(p.path) {
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

// maxLabel is the longest label of a note, in bytes.
const maxLabel = 12

// looksLikeNote reports whether a link refers to a note: a superscript number or sign, or a sign directly after a word.
func (p *prepared) looksLikeNote(label string, content []byte) bool {
	mark := strings.Trim(label, "[]()")
	if mark == "" || len(mark) > maxLabel || strings.Trim(mark, "0123456789*†‡§¹²³⁰⁴⁵⁶⁷⁸⁹") != "" {
		return false
	}
	isRaised := bytes.Contains(content, []byte("<sup")) || bytes.HasSuffix(bytes.TrimRight(p.out.Bytes(), " "), []byte("<sup>"))
	return isRaised || p.last != 0 && !unicode.IsSpace(p.last) && strings.ContainsAny(mark, "*†‡")
}
