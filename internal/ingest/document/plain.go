package document

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// PlainText returns the text of Markdown without its markup, for readers of excerpts: without the marks of headings,
// quotes, code, tables, links, images, emphasis and HTML. Code keeps its lines. A row of a table is a line with a middle
// dot between its cells, an image its description. Text without markup is returned as it is.
func PlainText(markdown string) string {
	if !strings.ContainsAny(markdown, "#`|*[>~_<\\") {
		return markdown
	}
	var b, prose strings.Builder
	b.Grow(len(markdown))
	flush := func() {
		writePlain(&b, prose.String(), 0)
		prose.Reset()
	}
	fence := ""
	for line := range strings.Lines(markdown) {
		text := strings.TrimRight(line, "\r\n")
		mark := fenceMark(strings.TrimLeft(text, " "))
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(text) == mark:
			fence = ""
		case fence != "":
			b.WriteString(line)
		case mark != "":
			flush()
			fence = mark
		default:
			if plain, ok := plainLine(text); ok {
				prose.WriteString(plain)
				prose.WriteString(line[len(text):])
			}
		}
	}
	flush()
	return strings.TrimRight(b.String(), "\n")
}

// fenceMark returns the run of at least three backquotes or tildes that a line begins
// with; "" if there is none.
func fenceMark(line string) string {
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// plainLine returns a line outside of code without the marks of its block. ok is false for the line below the header of
// a table, which has nothing else.
func plainLine(line string) (plain string, ok bool) {
	if heading := strings.TrimLeft(line, "#"); len(line)-len(heading) <= 6 && strings.HasPrefix(heading, " ") && heading != line {
		line = strings.TrimSpace(heading)
	}
	for strings.HasPrefix(line, "> ") {
		line = line[2:]
	}
	if len(line) > 2 && strings.HasPrefix(line, "| ") && strings.HasSuffix(line, " |") {
		if strings.Trim(line, "|-: ") == "" {
			return "", false
		}
		var cells []string
		for cell := range strings.SplitSeq(strings.Trim(line, "| "), " | ") {
			if cell = strings.TrimSpace(cell); cell != "" {
				cells = append(cells, cell)
			}
		}
		line = strings.Join(cells, " · ")
	}
	return line, true
}

// Bounds of the search for the end of inline markup, in bytes, and of its depth.
const (
	maxInline = 2000
	maxDepth  = 6
)

// htmlTag matches a tag of HTML for the look of a text.
var htmlTag = regexp.MustCompile(`^</?(?:a|b|br|center|code|del|details|div|em|font|hr|i|img|ins|kbd|p|small|span|strong|sub|summary|sup|u)(?:\s[^<>]*)?/?>`)

// writePlain writes inline Markdown without its markup.
func writePlain(b *strings.Builder, text string, depth int) {
	from := 0
	for i := 0; i < len(text); {
		n, inner, verbatim := markup(text, i)
		if n == 0 {
			i++
			for i < len(text) && !isMarkupStart(text[i]) {
				i++
			}
			continue
		}
		b.WriteString(text[from:i])
		if verbatim || depth == maxDepth {
			b.WriteString(inner)
		} else {
			writePlain(b, inner, depth+1)
		}
		i += n
		from = i
	}
	b.WriteString(text[from:])
}

func isMarkupStart(c byte) bool {
	return c == '`' || c == '\\' || c == '!' || c == '[' || c == '<' || c == '*' || c == '_'
}

// markup returns the length of the inline markup at a place and the text inside, 0 if there is none. The text is Markdown
// unless it is verbatim.
func markup(text string, at int) (n int, inner string, verbatim bool) {
	rest := text[at:]
	switch rest[0] {
	case '`':
		width := len(rest) - len(strings.TrimLeft(rest, "`"))
		if end := strings.Index(rest[width:min(len(rest), maxInline)], rest[:width]); end > 0 && !strings.HasPrefix(rest[width+end+width:], "`") {
			return end + 2*width, rest[width : width+end], true
		}
	case '\\':
		if len(rest) > 1 && strings.IndexByte("*_[]#|<>~`", rest[1]) >= 0 {
			return 2, rest[1:2], true
		}
	case '!':
		if strings.HasPrefix(rest, "![") {
			if n, label := link(rest[1:]); n > 0 {
				return n + 1, label, false
			}
		}
	case '[':
		n, label := link(rest)
		return n, label, false
	case '<':
		if end := strings.IndexByte(rest[:min(len(rest), maxInline)], '>'); end > 0 && strings.Contains(rest[:end], "://") && !strings.ContainsAny(rest[1:end], " <") {
			return end + 1, rest[1:end], true
		}
		if tag := htmlTag.FindString(rest[:min(len(rest), maxInline)]); tag != "" {
			if strings.HasPrefix(tag, "<br") {
				return len(tag), " ", true
			}
			return len(tag), "", true
		}
	case '*', '_':
		n, inner := emphasis(text, at)
		return n, inner, false
	}
	return 0, "", false
}

// link returns the length and the label of the link that a text begins with, 0 if there is none.
func link(text string) (n int, label string) {
	text = text[:min(len(text), maxInline)]
	end := closingBracket(text, '[', ']')
	if end < 0 || !strings.HasPrefix(text[end+1:], "(") {
		return 0, ""
	}
	stop := closingBracket(text[end+1:], '(', ')')
	if stop < 0 || strings.Contains(text[:end], "\n\n") || strings.Contains(text[end+1:end+1+stop], "\n") {
		return 0, ""
	}
	target, title, _ := strings.Cut(strings.TrimSpace(text[end+2:end+1+stop]), " ")
	if title = strings.TrimSpace(title); title != "" && strings.IndexByte("\"'(", title[0]) < 0 || target == "" && title != "" {
		return 0, ""
	}
	return end + 1 + stop + 1, text[1:end]
}

// closingBracket returns the index of the bracket that closes the one that a text begins with, -1 if there is none.
func closingBracket(text string, open, shut byte) int {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case open:
			depth++
		case shut:
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// emphasis returns the length of the emphasized text at a place and the text inside, 0 if there is none. The marks are at
// the borders of words, as in *x* and **x**; two underscores are part of a name.
func emphasis(text string, at int) (n int, inner string) {
	rest := text[at:min(len(text), at+maxInline)]
	width := len(rest) - len(strings.TrimLeft(rest, rest[:1]))
	if width > 3 || rest[0] == '_' && width > 1 || len(rest) == width {
		return 0, ""
	}
	before, _ := utf8.DecodeLastRuneInString(text[:at])
	first, _ := utf8.DecodeRuneInString(rest[width:])
	if at > 0 && isWordRune(before) || unicode.IsSpace(first) {
		return 0, ""
	}
	for from := width; from < len(rest); {
		end := strings.Index(rest[from:], rest[:width])
		if end < 0 {
			break
		}
		end += from
		after, _ := utf8.DecodeRuneInString(rest[end+width:])
		last, _ := utf8.DecodeLastRuneInString(rest[:end])
		if end > width && !unicode.IsSpace(last) && last != rune(rest[0]) && !isWordRune(after) && !strings.HasPrefix(rest[end+width:], rest[:1]) {
			if inner = rest[width:end]; strings.Contains(inner, "\n\n") {
				break
			}
			return end + width, inner
		}
		from = end + width
	}
	return 0, ""
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
