package inline

import (
	"html"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
)

// FromHTML replaces the HTML inside of Markdown text: links and code become Markdown, other tags are removed, and
// entities become characters. Names in angle brackets that are no HTML elements, such as <your-name>, are text. Code
// spans stay as they are.
func FromHTML(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	var links []string // targets of the open links, "" for anchors
	for i := 0; i < len(text); {
		switch text[i] {
		case '`':
			n := SpanLength(text[i:])
			b.WriteString(text[i : i+n])
			i += n
		case '\\':
			n := min(2, len(text)-i)
			b.WriteString(text[i : i+n])
			i += n
		case '&':
			n := EntityLength(text[i:])
			b.WriteString(strings.ReplaceAll(html.UnescapeString(text[i:i+n]), "\u00a0", " "))
			i += n
		case '<':
			n, tag := htmlTag(text[i:])
			if n == 0 {
				b.WriteByte('<')
				i++
				continue
			}
			links = writeTag(&b, tag, text[i:i+n], links)
			i += n
		default:
			next := strings.IndexAny(text[i:], "`\\&<")
			if next < 0 {
				next = len(text) - i
			}
			b.WriteString(text[i : i+next])
			i += next
		}
	}
	for i := len(links) - 1; i >= 0; i-- {
		closeLink(&b, links[i])
	}
	return b.String()
}

// EntityLength returns the length of the entity that text starts with, or 1 if there is none.
func EntityLength(text string) int {
	if end := strings.IndexByte(text[:min(len(text), 40)], ';'); end > 0 {
		return end + 1
	}
	return 1
}

// htmlTag returns the length of the HTML tag that text starts with, and its lower-case name, after a slash if it is a
// closing tag. The length is 0 if there is no tag.
func htmlTag(text string) (int, string) {
	text = text[:min(len(text), MaxTag)]
	i := 1
	if i < len(text) && text[i] == '/' {
		i++
	}
	start := i
	for i < len(text) && (ascii.IsLetter(text[i]) || '0' <= text[i] && text[i] <= '9') {
		i++
	}
	name := strings.ToLower(text[start:i])
	if i >= len(text) || !isHTMLElement(name) || !strings.ContainsRune(" \t\n/>", rune(text[i])) {
		return 0, ""
	}
	for i < len(text) {
		switch text[i] {
		case '>':
			return i + 1, text[1:start] + name
		case '"', '\'':
			closing := strings.IndexByte(text[i+1:], text[i])
			if closing < 0 {
				return 0, ""
			}
			i += closing + 2
		case '<':
			return 0, ""
		default:
			i++
		}
	}
	return 0, ""
}

// MaxTag is the longest tag that is recognised. It bounds the search for its end.
const MaxTag = 4 << 10

func isHTMLElement(name string) bool {
	switch name {
	case "a", "abbr", "address", "article", "aside", "audio", "b", "bdi", "bdo", "big", "blockquote", "br", "button", "caption",
		"center", "cite", "code", "col", "colgroup", "data", "dd", "del", "details", "dfn", "div", "dl", "dt", "em", "figcaption",
		"figure", "font", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hr", "i", "iframe", "img", "input", "ins",
		"kbd", "label", "li", "link", "main", "mark", "meta", "nav", "nobr", "ol", "p", "picture", "pre", "q", "s", "samp", "section",
		"small", "source", "span", "strike", "strong", "sub", "summary", "sup", "svg", "path", "table", "tbody", "td", "tfoot", "th",
		"thead", "time", "tr", "tt", "u", "ul", "var", "video", "wbr":
		return true
	}
	return false
}

func writeTag(b *strings.Builder, tag, source string, links []string) []string {
	switch tag {
	case "br", "p", "/p", "div", "/div", "li", "tr", "hr", "td", "th":
		if n := b.Len(); n > 0 && !strings.HasSuffix(b.String()[n-1:], " ") {
			b.WriteByte(' ')
		}
	case "code", "/code":
		b.WriteByte('`')
	case "img":
		b.WriteString(Attribute(source, "alt"))
	case "a":
		if strings.HasSuffix(source, "/>") {
			return links
		}
		target := Attribute(source, "href")
		if target != "" {
			b.WriteByte('[')
		}
		return append(links, target)
	case "/a":
		if len(links) > 0 {
			closeLink(b, links[len(links)-1])
			return links[:len(links)-1]
		}
	}
	return links
}

func closeLink(b *strings.Builder, target string) {
	if target != "" {
		b.WriteString("](" + strings.ReplaceAll(target, " ", "%20") + ")")
	}
}

// Attribute returns the value of an attribute of a tag, or "".
func Attribute(tag, name string) string {
	for rest := tag; ; {
		at := IndexFold(rest, name)
		if at <= 0 {
			return ""
		}
		before := rest[at-1]
		rest = strings.TrimLeft(rest[at+len(name):], " \t\n")
		if !strings.ContainsRune(" \t\n\"'", rune(before)) || !strings.HasPrefix(rest, "=") {
			continue
		}
		rest = strings.TrimLeft(rest[1:], " \t\n")
		if rest == "" {
			return ""
		}
		if quote := rest[0]; quote == '"' || quote == '\'' {
			value, _, _ := strings.Cut(rest[1:], string(quote))
			return html.UnescapeString(value)
		}
		end := strings.IndexAny(rest, " \t\n>")
		if end < 0 {
			return ""
		}
		return html.UnescapeString(strings.TrimSuffix(rest[:end], "/"))
	}
}

// IndexFold returns the index of the first instance of sub in text, regardless of ASCII case, or -1.
func IndexFold(text, sub string) int {
	for i := 0; i+len(sub) <= len(text); i++ {
		next := strings.IndexByte(text[i:], sub[0])
		if next < 0 || i+next+len(sub) > len(text) {
			return -1
		}
		i += next
		if strings.EqualFold(text[i:i+len(sub)], sub) {
			return i
		}
	}
	return -1
}
