package htmldoc

import (
	"html"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// closeElements rewrites XHTML for a parser of HTML: self-closing elements (<title/>, <a id="x"/>) get an end tag, and
// CDATA sections become text. Other text is returned as it is.
func closeElements(text string) string {
	head := text[:min(len(text), 2048)]
	if !strings.HasPrefix(strings.TrimSpace(head), "<?xml") && !strings.Contains(head, "http://www.w3.org/1999/xhtml") {
		return text
	}
	if !strings.Contains(text, "/>") && !strings.Contains(text, "<![CDATA[") {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/16)
	for {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:at])
		text = text[at:]
		switch {
		case strings.HasPrefix(text, "<!--"):
			text = copyTo(&b, text, "-->")
		case strings.HasPrefix(text, "<![CDATA["):
			inner, rest, _ := strings.Cut(text[len("<![CDATA["):], "]]>")
			b.WriteString(html.EscapeString(inner))
			text = rest
		default:
			text = copyTag(&b, text)
		}
	}
}

// copyTo copies text up to and including a mark, or all of it if the mark is missing.
func copyTo(b *strings.Builder, text, mark string) string {
	end := strings.Index(text, mark)
	if end < 0 {
		b.WriteString(text)
		return ""
	}
	b.WriteString(text[:end+len(mark)])
	return text[end+len(mark):]
}

// copyTag copies a tag, and after it the content of a script or style sheet.
func copyTag(b *strings.Builder, text string) string {
	end := 1
	for end < len(text) && text[end] != '>' {
		if quote := text[end]; quote == '"' || quote == '\'' {
			closing := strings.IndexByte(text[end+1:min(len(text), end+inline.MaxTag)], quote)
			if closing >= 0 {
				end += closing + 1
			}
		}
		end++
	}
	if end >= len(text) {
		b.WriteString(text)
		return ""
	}
	name := tagName(text[1:end])
	if text[end-1] != '/' || name == "" || isVoid(name) {
		b.WriteString(text[:end+1])
		text = text[end+1:]
		if name == "script" || name == "style" {
			return copyTo(b, text, "</"+name)
		}
		return text
	}
	b.WriteString(text[:end-1])
	b.WriteString("></" + name + ">")
	return text[end+1:]
}

func tagName(tag string) string {
	end := 0
	for end < len(tag) && (ascii.IsLetter(tag[end]) || '0' <= tag[end] && tag[end] <= '9' || tag[end] == ':' || tag[end] == '-') {
		end++
	}
	return tag[:end]
}

// isVoid reports whether an element never has an end tag.
func isVoid(name string) bool {
	switch strings.ToLower(name) {
	case "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr":
		return true
	}
	return false
}
