package sitetemplate

import "strings"

// Strip removes the markup that site generators replace: Liquid tags, Hugo shortcodes, kramdown attributes, admonition
// marks, HTML comments, and, if mdx is set, imports, exports, JSX tags and expressions. Text between tags stays, and so
// does code. A line with nothing but such markup is removed.
func Strip(text string, mdx bool) string {
	if !strings.ContainsAny(text, "{<:") && !strings.Contains(text, "import ") && !strings.Contains(text, "export ") {
		return text
	}
	s := stripper{in: text, mdx: mdx, budget: 1<<20 + 8*len(text)}
	s.out.grow(len(text))
	for s.at < len(s.in) {
		s.line()
	}
	return s.out.String()
}

// stripper strips one text.
type stripper struct {
	in  string
	at  int
	mdx bool
	out lineWriter
	// budget is how many bytes may still be searched ahead. Without it, a text of unclosed openings would cost its
	// length squared. Once it is spent, markup is copied.
	budget int
}

// find returns the index of needle in the first limit bytes of rest, or -1.
func (s *stripper) find(rest, needle string, limit int) int {
	if s.budget <= 0 {
		return -1
	}
	window := rest[:min(len(rest), limit)]
	at := strings.Index(window, needle)
	if at < 0 {
		s.budget -= len(window)
	} else {
		s.budget -= at
	}
	return at
}

// line strips the line at s.at, and further lines that belong to its markup.
func (s *stripper) line() {
	rest := s.in[s.at:]
	line, _, _ := strings.Cut(rest, "\n")
	trimmed := strings.TrimLeft(line, " \t>")
	switch {
	case isFence(trimmed):
		s.fenced(trimmed)
		return
	case s.isImport(line), strings.HasPrefix(trimmed, ":::") && strings.Trim(trimmed, ": \t") == "":
		s.drop(len(line))
	case strings.HasPrefix(trimmed, ":::"):
		s.admonition(line, trimmed)
	default:
		s.inline()
		return
	}
	s.newline()
}

func (s *stripper) drop(n int) {
	s.at += n
	s.out.isCut = true
}

func (s *stripper) newline() {
	if s.at < len(s.in) {
		s.at++
		s.out.endLine()
	}
}

func isFence(trimmed string) bool {
	return strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
}

// fenced copies a block of code up to its closing fence.
func (s *stripper) fenced(opening string) {
	width := len(opening) - len(strings.TrimLeft(opening, opening[:1]))
	isSpan := opening[0] == '`' && strings.Contains(opening[width:], "`") // a code span at the start of a line
	first := true
	for s.at < len(s.in) {
		line, _, found := strings.Cut(s.in[s.at:], "\n")
		s.out.write(line)
		s.at += len(line)
		if found {
			s.newline()
		}
		trimmed := strings.TrimLeft(line, " \t>")
		closing := isFence(trimmed) && trimmed[0] == opening[0] && strings.Trim(trimmed, opening[:1]+" \t") == "" &&
			len(strings.TrimRight(trimmed, " \t")) >= width
		if isSpan || !first && closing {
			return
		}
		first = false
	}
}

// isImport reports whether a line is an import or an export of MDX.
func (s *stripper) isImport(line string) bool {
	if strings.HasPrefix(line, "import ") {
		trimmed := strings.TrimRight(line, "; \t")
		return strings.HasSuffix(trimmed, `"`) && strings.Contains(line, `"`) || strings.HasSuffix(trimmed, "'") && strings.Contains(line, "'")
	}
	return s.mdx && (strings.HasPrefix(line, "export const ") || strings.HasPrefix(line, "export default ") ||
		strings.HasPrefix(line, "export function ") || strings.HasPrefix(line, "export {"))
}

// admonition replaces a mark such as ":::note Title" or ":::note[Title]" by its title.
func (s *stripper) admonition(line, trimmed string) {
	indent := line[:len(line)-len(trimmed)]
	words := strings.TrimLeft(trimmed, ": ")
	if name, title, found := strings.Cut(words, "}"); found && strings.HasPrefix(name, "{") && !strings.ContainsAny(name, ".#") {
		words = "note " + title // :::{note} Title
	}
	end := strings.IndexAny(words, " [{")
	if end < 0 {
		s.drop(len(line))
		return
	}
	title := strings.Trim(strings.TrimSpace(words[end:]), "[]")
	if cut := strings.IndexByte(title, '{'); cut >= 0 {
		title = strings.TrimSpace(title[:cut])
	}
	if title == "" {
		s.drop(len(line))
		return
	}
	s.at += len(line)
	s.out.write(indent + "**" + title + "**\n")
	s.out.isCut = true
}

// inline strips text up to the end of the line, or of a tag that extends beyond it.
func (s *stripper) inline() {
	for s.at < len(s.in) {
		rest := s.in[s.at:]
		next := strings.IndexAny(rest, "`{<\n\\")
		if next < 0 {
			s.out.write(rest)
			s.at = len(s.in)
			return
		}
		s.out.write(rest[:next])
		s.at += next
		rest = rest[next:]
		switch rest[0] {
		case '\n':
			s.newline()
			return
		case '\\':
			n := min(2, len(rest))
			if n == 2 && rest[1] == '\n' {
				n = 1
			}
			s.copy(n)
		case '`':
			s.copy(s.codeSpan(rest))
		case '{':
			s.brace(rest)
		case '<':
			s.angle(rest)
		}
	}
}

func (s *stripper) copy(n int) {
	s.out.write(s.in[s.at : s.at+n])
	s.at += n
}

// codeSpan returns the length of the code span that text starts with, or of its opening if the span does not end in its
// paragraph.
func (s *stripper) codeSpan(text string) int {
	width := len(text) - len(strings.TrimLeft(text, "`"))
	limit := len(text)
	if end := s.find(text, "\n\n", limit); end >= 0 {
		limit = end
	}
	if s.budget <= 0 {
		return width
	}
	for at := width; at < limit; {
		next := strings.IndexByte(text[at:limit], '`')
		if next < 0 {
			break
		}
		at += next
		run := len(text[at:limit]) - len(strings.TrimLeft(text[at:limit], "`"))
		at += run
		if run == width {
			return at
		}
	}
	s.budget -= limit
	return width
}
