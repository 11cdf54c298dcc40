package sitetemplate

import (
	"bytes"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/ascii"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// expression removes a JavaScript expression of MDX. A string literal leaves its text.
func (s *stripper) expression(rest string) {
	end := 0
	if s.budget > 0 {
		end = balanced(rest, 4<<10)
	}
	if end == 0 {
		s.budget -= 4 << 10
		s.copy(1)
		return
	}
	inner := strings.TrimSpace(rest[1 : end-1])
	if len(inner) >= 2 && (inner[0] == '"' || inner[0] == '\'' || inner[0] == '`') && inner[len(inner)-1] == inner[0] {
		s.out.write(inner[1 : len(inner)-1])
	}
	s.drop(end)
}

// balanced returns the length of the braces that text starts with, including their content, or 0 if they do not close.
func balanced(text string, limit int) int {
	depth := 0
	for i := 0; i < min(len(text), limit); i++ {
		switch text[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"', '\'', '`':
			closing := strings.IndexByte(text[i+1:], text[i])
			if closing < 0 || strings.Contains(text[i+1:i+1+closing], "\n\n") {
				return 0
			}
			i += closing + 1
		}
	}
	return 0
}

// angle strips the markup that starts with an angle bracket: comments, JSX tags, and empty lines in HTML tables, which
// would end the table in Markdown.
func (s *stripper) angle(rest string) {
	switch {
	case strings.HasPrefix(rest, "<!--"):
		if end := s.find(rest, "-->", len(rest)); end > 0 {
			s.drop(end + 3)
			return
		}
		if s.budget > 0 && s.beginsLine() {
			s.drop(len("<!--")) // otherwise Markdown takes the rest of the page for the comment
			return
		}
		s.copy(1)
	case strings.HasPrefix(rest, "<?"):
		s.declaration(rest, "?>")
	case strings.HasPrefix(rest, "<![CDATA["):
		s.declaration(rest, "]]>")
	case len(rest) > 2 && rest[1] == '!' && (ascii.IsLetter(rest[2]) || rest[2] == '#'):
		s.declaration(rest, ">")
	case s.mdx && isJSX(rest):
		if s.budget > 0 {
			if end := jsxTag(rest); end > 0 {
				s.label(rest[:end])
				s.drop(end)
				return
			}
		}
		s.budget -= 16 << 10
		s.copy(1)
	case len(rest) > 6 && strings.EqualFold(rest[:6], "<table"):
		end := -1
		if s.budget > 0 {
			end = inline.IndexFold(rest, "</table>")
		}
		if end < 0 {
			s.budget -= len(rest)
		}
		if end < 0 || strings.Contains(rest[:end], "```") {
			s.copy(1)
			return
		}
		for line := range strings.Lines(rest[:end]) {
			if trimmed := strings.TrimSpace(line); trimmed != "" {
				s.out.write(trimmed)
				if strings.HasSuffix(line, "\n") {
					s.out.write("\n")
				}
			}
		}
		s.at += end
		s.copy(len("</table>"))
	default:
		s.copy(1)
	}
}

// declaration copies the opening of an HTML instruction, declaration or CDATA section. If its end is missing, Markdown
// would hide the rest of the page, so the angle bracket is escaped.
func (s *stripper) declaration(rest, closing string) {
	if s.beginsLine() && s.find(rest, closing, len(rest)) < 0 && s.budget > 0 {
		s.out.write(`\`)
	}
	s.copy(1)
}

// beginsLine reports whether a block of HTML may begin here.
func (s *stripper) beginsLine() bool {
	before := s.out.buffer[s.out.start:]
	return len(before) <= 3 && len(bytes.TrimLeft(before, " ")) == 0
}

// label writes the title of a component at the start of a line, such as a tab, a card or a collapsible section.
func (s *stripper) label(tag string) {
	if len(bytes.TrimSpace(s.out.buffer[s.out.start:])) > 0 || strings.HasPrefix(tag, "</") {
		return
	}
	for _, name := range []string{"title", "label", "header", "summary", "heading"} {
		if title := inline.Attribute(tag, name); title != "" && len(title) < 200 && !strings.ContainsAny(title, "{}<>\n*") {
			s.out.write("**" + title + "**\n")
			return
		}
	}
}

func isJSX(rest string) bool {
	tag := strings.TrimPrefix(rest[1:], "/")
	return tag != "" && ('A' <= tag[0] && tag[0] <= 'Z' || tag[0] == '>')
}

// jsxTag returns the length of a tag with its attributes, or 0 if it does not end.
func jsxTag(text string) int {
	for i := 1; i < min(len(text), 16<<10); i++ {
		switch text[i] {
		case '>':
			return i + 1
		case '{':
			inner := balanced(text[i:], 16<<10)
			if inner == 0 {
				return 0
			}
			i += inner - 1
		case '"', '\'':
			closing := strings.IndexByte(text[i+1:], text[i])
			if closing < 0 {
				return 0
			}
			i += closing + 1
		case '<':
			return 0
		}
	}
	return 0
}
