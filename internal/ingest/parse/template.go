package parse

import (
	"bytes"
	"strings"
)

// stripTemplates removes from Markdown what generators of sites replace before anyone reads it: Liquid and Hugo tags,
// kramdown attributes, admonition marks, HTML comments, and, with mdx, imports, exports, JSX tags and expressions. Text
// between tags stays, and so does everything in code. A line that consisted of such marks alone goes with them.
func stripTemplates(text string, mdx bool) string {
	if !strings.ContainsAny(text, "{<:") && !strings.Contains(text, "import ") && !strings.Contains(text, "export ") {
		return text
	}
	s := templateStripper{in: text, mdx: mdx, budget: 1<<20 + 8*len(text)}
	s.out.grow(len(text))
	for s.at < len(s.in) {
		s.line()
	}
	return s.out.String()
}

// lineWriter builds text and can take back the line it is on.
type lineWriter struct {
	buffer []byte
	start  int  // of the current line
	cut    bool // whether something was left out of the current line
}

func (w *lineWriter) grow(n int) { w.buffer = make([]byte, 0, n) }

func (w *lineWriter) String() string { return string(w.buffer) }

func (w *lineWriter) write(text string) {
	for text != "" {
		end := strings.IndexByte(text, '\n')
		if end < 0 {
			w.buffer = append(w.buffer, text...)
			return
		}
		w.buffer = append(w.buffer, text[:end]...)
		w.endLine()
		text = text[end+1:]
	}
}

func (w *lineWriter) endLine() {
	if w.cut && strings.TrimSpace(string(w.buffer[w.start:])) == "" {
		w.buffer = w.buffer[:w.start]
	} else {
		w.buffer = append(w.buffer, '\n')
	}
	w.start, w.cut = len(w.buffer), false
}

// headingID gives the heading on the current line, or on the line before it, the id among attributes such as "#id .class". The
// id goes into braces at the end of the heading, where readers of Markdown look for it.
func (w *lineWriter) headingID(attributes string) {
	id, _, _ := strings.Cut(attributes[strings.IndexByte(attributes, '#')+1:], " ")
	if !strings.Contains(attributes, "#") || id == "" || strings.ContainsAny(id, "\"'{}") {
		return
	}
	line := w.buffer[w.start:]
	if isHeadingLine(line) {
		w.buffer = append(w.buffer, "{#"+id+"}"...)
		return
	}
	if len(bytes.TrimSpace(line)) > 0 || w.start == 0 {
		return
	}
	before := w.buffer[:w.start-1]
	if before = before[bytes.LastIndexByte(before, '\n')+1:]; isHeadingLine(before) {
		w.buffer = append(w.buffer[:w.start-1], " {#"+id+"}\n"...)
		w.start = len(w.buffer)
	}
}

// isHeadingLine reports a line that is a heading with number signs.
func isHeadingLine(line []byte) bool {
	level := len(line) - len(bytes.TrimLeft(line, "#"))
	return level > 0 && level <= 6 && len(line) > level && line[level] == ' '
}

type templateStripper struct {
	in  string
	at  int
	mdx bool
	out lineWriter
	// budget is how many bytes may still be looked at ahead. A text made of openings without an end would otherwise cost
	// its length squared; when the budget is spent the rest is copied as it is.
	budget int
}

// find returns where needle is in the first limit bytes of rest, or -1.
func (s *templateStripper) find(rest, needle string, limit int) int {
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

// line handles the line that starts at s.at, and what goes on from it over several lines.
func (s *templateStripper) line() {
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

func (s *templateStripper) drop(n int) {
	s.at += n
	s.out.cut = true
}

func (s *templateStripper) newline() {
	if s.at < len(s.in) {
		s.at++
		s.out.endLine()
	}
}

func isFence(trimmed string) bool {
	return strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")
}

// fenced copies a block of code from its fence to the fence that ends it.
func (s *templateStripper) fenced(opening string) {
	width := len(opening) - len(strings.TrimLeft(opening, opening[:1]))
	inline := opening[0] == '`' && strings.Contains(opening[width:], "`") // a code span that starts a line
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
		if inline || !first && closing {
			return
		}
		first = false
	}
}

// isImport recognises the import lines of MDX, and its exports of one line.
func (s *templateStripper) isImport(line string) bool {
	if strings.HasPrefix(line, "import ") {
		trimmed := strings.TrimRight(line, "; \t")
		return strings.HasSuffix(trimmed, `"`) && strings.Contains(line, `"`) || strings.HasSuffix(trimmed, "'") && strings.Contains(line, "'")
	}
	return s.mdx && (strings.HasPrefix(line, "export const ") || strings.HasPrefix(line, "export default ") ||
		strings.HasPrefix(line, "export function ") || strings.HasPrefix(line, "export {"))
}

// admonition keeps the title of a mark such as ":::note Title" or ":::note[Title]".
func (s *templateStripper) admonition(line, trimmed string) {
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
	s.out.cut = true
}

// inline handles text up to the end of its line; tags may take it further.
func (s *templateStripper) inline() {
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

func (s *templateStripper) copy(n int) {
	s.out.write(s.in[s.at : s.at+n])
	s.at += n
}

// codeSpan returns the length of the code span that text starts with, or of the backquotes where none is closed before
// the paragraph ends.
func (s *templateStripper) codeSpan(text string) int {
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

// brace handles what starts with a brace.
func (s *templateStripper) brace(rest string) {
	switch {
	case strings.HasPrefix(rest, "{%"):
		s.liquidTag(rest)
	case strings.HasPrefix(rest, "{{<"), strings.HasPrefix(rest, "{{%"):
		closing := ">}}"
		if rest[2] == '%' {
			closing = "%}}"
		}
		s.shortcode(rest, closing)
	case strings.HasPrefix(rest, "{{"):
		end := s.find(rest, "}}", 300)
		if end > 0 && isLiquidVariable(rest[2:end]) {
			s.drop(end + 2)
			return
		}
		s.copy(2)
	case strings.HasPrefix(rest, "{:"):
		line, _, _ := strings.Cut(rest[:min(len(rest), 300)], "\n")
		end := strings.IndexByte(line, '}')
		if inner := strings.TrimLeft(rest[2:max(end, 2)], " "); end > 0 && inner != "" && (inner[0] == '.' || isLetter(inner[0])) {
			s.out.headingID(inner)
			s.drop(end + 1)
			return
		}
		s.copy(1)
	case s.mdx && strings.HasPrefix(rest, "{/*"):
		if end := s.find(rest, "*/}", len(rest)); end > 0 {
			s.drop(end + 3)
			return
		}
		s.copy(1)
	case s.mdx && !strings.HasPrefix(rest, "{#"):
		s.expression(rest)
	default:
		s.copy(1)
	}
}

func isLetter(b byte) bool { return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b == '#' }

// isLiquidVariable recognises output of the site's data; other double braces are the text of pages about templates.
func isLiquidVariable(inner string) bool {
	inner = strings.TrimLeft(inner, "- ")
	for _, prefix := range []string{"page.", "site.", "include.", "layout.", "jekyll.", "content "} {
		if strings.HasPrefix(inner, prefix) {
			return true
		}
	}
	return false
}

// expression drops a JavaScript expression of MDX; one that is a string alone is text.
func (s *templateStripper) expression(rest string) {
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

// liquidTag drops a tag, a whole comment, and turns a link tag into the path it links to.
func (s *templateStripper) liquidTag(rest string) {
	end := s.find(rest, "%}", 4<<10)
	if end < 0 {
		s.copy(2)
		return
	}
	words := strings.Fields(strings.Trim(rest[2:end], "-"))
	length := end + 2
	if len(words) > 0 {
		switch words[0] {
		case "comment":
			closing := s.find(rest, "endcomment", len(rest))
			if closing > 0 {
				if after := s.find(rest[closing:], "%}", 64); after >= 0 {
					length = closing + after + 2
				}
			}
		case "link", "post_url":
			s.out.write(linkTarget(words[1:]))
		}
	}
	s.drop(length)
}

// linkTarget joins the words of a link tag without the variables among them.
func linkTarget(words []string) string {
	target := strings.Join(words, " ")
	for {
		start := strings.Index(target, "{{")
		if start < 0 {
			break
		}
		end := strings.Index(target[start:], "}}")
		if end < 0 {
			break
		}
		target = target[:start] + target[start+end+2:]
	}
	return strings.TrimLeft(strings.TrimSpace(target), "/")
}

// shortcode drops a Hugo shortcode; a reference becomes the path it refers to.
func (s *templateStripper) shortcode(rest, closing string) {
	end := s.find(rest, closing, 4<<10)
	if end < 0 {
		s.copy(3)
		return
	}
	words := strings.Fields(rest[3:end])
	if len(words) > 1 && (words[0] == "relref" || words[0] == "ref") {
		s.out.write(strings.Trim(words[1], "\"'`"))
	} else if len(words) > 1 {
		s.shortcodeTitle(words[0], strings.TrimSpace(rest[3:end]))
	}
	s.drop(end + len(closing))
}

// shortcodeTitle keeps the title of a tab, an alert or a section that unfolds.
func (s *templateStripper) shortcodeTitle(name, source string) {
	if name == "tab" || name == "expand" || name == "details" || name == "accordion" {
		if rest := strings.TrimSpace(source[len(name):]); strings.HasPrefix(rest, `"`) {
			if title, _, found := strings.Cut(rest[1:], `"`); found {
				s.label("<a title=\"" + title + "\">")
				return
			}
		}
	}
	s.label("<" + source + ">")
}

// balanced returns the length of the braces that text starts with and of what is in them, 0 where they do not close.
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

// angle handles what starts with an angle bracket: comments, JSX tags, and tables in HTML, whose empty lines would end
// the table for a Markdown reader.
func (s *templateStripper) angle(rest string) {
	switch {
	case strings.HasPrefix(rest, "<!--"):
		if end := s.find(rest, "-->", len(rest)); end > 0 {
			s.drop(end + 3)
			return
		}
		if s.budget > 0 && s.beginsLine() {
			s.drop(len("<!--")) // else Markdown takes the rest of the page for the comment
			return
		}
		s.copy(1)
	case strings.HasPrefix(rest, "<?"):
		s.declaration(rest, "?>")
	case strings.HasPrefix(rest, "<![CDATA["):
		s.declaration(rest, "]]>")
	case len(rest) > 2 && rest[1] == '!' && isLetter(rest[2]):
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
			end = indexFold(rest, "</table>")
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

// declaration copies the opening of an instruction, a declaration or a section of data, which end with closing. Where that
// is missing, Markdown takes the whole rest of the page for HTML that nobody sees. What the author wrote there is text: the
// angle bracket gets a backslash.
func (s *templateStripper) declaration(rest, closing string) {
	if s.beginsLine() && s.find(rest, closing, len(rest)) < 0 && s.budget > 0 {
		s.out.write(`\`)
	}
	s.copy(1)
}

// beginsLine reports whether a block of HTML could begin here.
func (s *templateStripper) beginsLine() bool {
	before := s.out.buffer[s.out.start:]
	return len(before) <= 3 && len(bytes.TrimLeft(before, " ")) == 0
}

// label keeps the title of a component that begins a line: of a tab, a card, a section that unfolds.
func (s *templateStripper) label(tag string) {
	if len(bytes.TrimSpace(s.out.buffer[s.out.start:])) > 0 || strings.HasPrefix(tag, "</") {
		return
	}
	for _, name := range []string{"title", "label", "header", "summary", "heading"} {
		if title := attribute(tag, name); title != "" && len(title) < 200 && !strings.ContainsAny(title, "{}<>\n*") {
			s.out.write("**" + title + "**\n")
			return
		}
	}
}

func indexFold(text, sub string) int {
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

func isJSX(rest string) bool {
	tag := strings.TrimPrefix(rest[1:], "/")
	return tag != "" && ('A' <= tag[0] && tag[0] <= 'Z' || tag[0] == '>')
}

// jsxTag returns the length of a tag, whose attributes may hold strings and braces, 0 where it does not end.
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
