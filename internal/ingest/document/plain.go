package document

import (
	"regexp"
	"strings"
)

// PlainText returns the text of Markdown without its markup, for readers of excerpts:
// without the marks of headings, quotes, code, tables, links and bold text. Code keeps
// its lines. A row of a table is a line with a middle dot between its cells. Text
// without markup is returned as it is.
func PlainText(markdown string) string {
	if !strings.ContainsAny(markdown, "#`|*[>~") {
		return markdown
	}
	var b strings.Builder
	b.Grow(len(markdown))
	fence := ""
	for line := range strings.Lines(markdown) {
		text := strings.TrimRight(line, "\r\n")
		end := line[len(text):]
		switch mark := fenceMark(text); {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.TrimSpace(text) == mark {
				fence = ""
				continue
			}
		case mark != "":
			fence = mark
			continue
		default:
			var ok bool
			if text, ok = plainLine(text); !ok {
				continue
			}
		}
		b.WriteString(text)
		b.WriteString(end)
	}
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

// plainLine returns a line outside of code without markup. ok is false for the line
// below the header of a table, which has nothing else.
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
				cells = append(cells, strings.ReplaceAll(cell, `\|`, "|"))
			}
		}
		line = strings.Join(cells, " · ")
	}
	if strings.Contains(line, "](") {
		line = markdownLink.ReplaceAllString(line, "$1")
	}
	if strings.Contains(line, "**") {
		line = boldText.ReplaceAllString(line, "$1")
	}
	if strings.Contains(line, "`") {
		line = codeSpan.ReplaceAllString(line, "$1")
	}
	return line, true
}

var (
	markdownLink = regexp.MustCompile(`!?\[([^\[\]]*)\]\([^()\s]*(?:\s+"[^"]*")?\)`)
	boldText     = regexp.MustCompile(`\*\*([^*\s](?:[^*]*[^*\s])?)\*\*`)
	codeSpan     = regexp.MustCompile("`([^`]+)`")
)
