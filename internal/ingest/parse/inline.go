package parse

import (
	"html"
	"strings"
	"unicode"
	"unicode/utf8"
)

// inlineHTML turns the HTML inside a line of Markdown into Markdown: links and code are kept as such, other tags go, and
// entities become characters. Names in angle brackets that are no HTML elements, such as <your-name>, are text. Code
// spans are left alone.
func inlineHTML(text string) string {
	if !strings.ContainsAny(text, "<&") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	var links []string // targets of the open links, "" for an anchor
	for i := 0; i < len(text); {
		switch text[i] {
		case '`':
			n := spanLength(text[i:])
			b.WriteString(text[i : i+n])
			i += n
		case '\\':
			n := min(2, len(text)-i)
			b.WriteString(text[i : i+n])
			i += n
		case '&':
			n := entityLength(text[i:])
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

// spanLength is the length of a code span, or of its opening where it is not closed.
func spanLength(text string) int {
	width := len(text) - len(strings.TrimLeft(text, "`"))
	if end := strings.Index(text[width:], text[:width]); end >= 0 {
		closing := width + end
		for closing+width < len(text) && text[closing+width] == '`' {
			closing++ // a longer run does not close; its last backquotes do well enough
		}
		return closing + width
	}
	return width
}

func entityLength(text string) int {
	if end := strings.IndexByte(text[:min(len(text), 40)], ';'); end > 0 {
		return end + 1
	}
	return 1
}

// htmlTag returns the length and the lower-case name (with a slash when it closes) of the HTML tag that text starts
// with, 0 for anything else.
func htmlTag(text string) (int, string) {
	text = text[:min(len(text), maxTag)]
	i := 1
	if i < len(text) && text[i] == '/' {
		i++
	}
	start := i
	for i < len(text) && (isLetter(text[i]) && text[i] != '#' || '0' <= text[i] && text[i] <= '9') {
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

// maxTag is the longest tag that is recognised, so that brackets without an end cost little.
const maxTag = 4 << 10

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
		b.WriteString(attribute(source, "alt"))
	case "a":
		if strings.HasSuffix(source, "/>") {
			return links
		}
		target := attribute(source, "href")
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

// attribute returns the value of a quoted attribute of a tag.
func attribute(tag, name string) string {
	for rest := tag; ; {
		at := indexFold(rest, name)
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

// plainText turns inline Markdown into the text a reader sees.
func plainText(text string) string {
	text = inlineHTML(text)
	if !strings.ContainsAny(text, "`*_[]\\~!<") {
		return strings.Join(strings.Fields(text), " ")
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; c {
		case '`':
			n := spanLength(text[i:])
			b.WriteString(strings.Trim(text[i:i+n], "`"))
			i += n
		case '\\':
			if i+1 < len(text) && unicode.IsPunct(rune(text[i+1])) || i+1 < len(text) && strings.ContainsRune("<>$+=^`|~", rune(text[i+1])) {
				i++
			}
			b.WriteByte(text[i])
			i++
		case '!':
			if i+1 < len(text) && text[i+1] == '[' && linkEnd(text[i+1:]) > 0 {
				i++
				continue
			}
			b.WriteByte(c)
			i++
		case '[':
			if label, n := linkLabel(text[i:]); n > 0 {
				b.WriteString(plainText(label))
				i += n
				continue
			}
			b.WriteByte(c)
			i++
		case '<':
			if end := strings.IndexByte(text[i:], '>'); end > 0 && strings.Contains(text[i:i+end], "://") {
				b.WriteString(text[i+1 : i+end])
				i += end + 1
				continue
			}
			b.WriteByte(c)
			i++
		case '*', '_', '~':
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], string(c)))
			if !isEmphasis(text, i, n) {
				b.WriteString(text[i : i+n])
			}
			i += n
		default:
			b.WriteByte(c)
			i++
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// isEmphasis reports whether the run of n marks at i stands at the border of a word.
func isEmphasis(text string, i, n int) bool {
	if n > 3 || text[i] == '~' && n != 2 {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	inside := func(r rune, exists bool) bool { return exists && (unicode.IsLetter(r) || unicode.IsNumber(r)) }
	blank := func(r rune, exists bool) bool { return !exists || unicode.IsSpace(r) }
	hasBefore, hasAfter := i > 0, i+n < len(text)
	if blank(before, hasBefore) && blank(after, hasAfter) {
		return false
	}
	return text[i] != '_' || !inside(before, hasBefore) || !inside(after, hasAfter)
}

// linkEnd returns the length of a link in brackets and parentheses, 0 for anything else.
func linkEnd(text string) int {
	_, n := linkLabel(text)
	return n
}

// maxLink bounds how far the parts of a link are looked for, so that brackets without an end cost little.
const maxLink = 2000

// linkLabel returns the label and the length of the link that text starts with: [label](target) or [label][name].
func linkLabel(text string) (string, int) {
	end := closing(text, '[', ']')
	if end == 0 || end+1 >= len(text) {
		return "", 0
	}
	label, rest := text[1:end], text[end+1:]
	switch rest[0] {
	case '(':
		if stop := closing(rest, '(', ')'); stop > 0 {
			return label, end + 1 + stop + 1
		}
	case '[':
		if stop := closing(rest, '[', ']'); stop > 0 {
			return label, end + 1 + stop + 1
		}
	}
	return "", 0
}

// closing returns the index of the bracket that closes the one text starts with, 0 where none does.
func closing(text string, open, shut byte) int {
	depth := 0
	for i := range min(len(text), maxLink) {
		switch text[i] {
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return 0
}
