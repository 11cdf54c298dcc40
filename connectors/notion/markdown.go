package notion

import (
	"html"
	"net/url"
	"path"
	"regexp"
	"strings"
)

// Notion's Markdown has tags for what Markdown cannot express, lists of attributes
// in braces, and addresses of files that expire. What is left of it is Markdown
// without them: an address that changes with each request would change the document.

var (
	colorList   = regexp.MustCompile(`[ \t]*\{(?:color|toggle)="[^"\n]*"(?:[ \t]+[a-z]+="[^"\n]*")*\}`)
	linkTag     = regexp.MustCompile(`(?s)<(page|database|data-source|mention-page|mention-database|mention-data-source|mention-agent|bookmark|embed)\b([^<>]*?)(?:/>|>(.*?)</(?:page|database|data-source|mention-page|mention-database|mention-data-source|mention-agent|bookmark|embed)>)`)
	fileTag     = regexp.MustCompile(`(?s)<(file|image|img|video|audio|pdf)\b([^<>]*?)(?:/>|>(.*?)</(?:file|image|img|video|audio|pdf)>)`)
	personTag   = regexp.MustCompile(`(?s)<mention-user\b([^<>]*?)(?:/>|>(.*?)</mention-user>)`)
	dateTag     = regexp.MustCompile(`<mention-date\b([^<>]*?)/?>(?:</mention-date>)?`)
	calloutTag  = regexp.MustCompile(`<callout\b[^<>]*>`)
	tableTag    = regexp.MustCompile(`(?s)<table\b[^<>]*>(.*?)</table>`)
	rowTag      = regexp.MustCompile(`(?s)<tr\b[^<>]*>(.*?)</tr>`)
	cellTag     = regexp.MustCompile(`(?s)<t[dh]\b[^<>]*>(.*?)</t[dh]>`)
	layoutTag   = regexp.MustCompile(`</?(?:callout|columns|column|details|summary|synced_block|synced_block_reference|span|tab|tabs|meeting-notes|notes|transcript|table_of_contents|empty-block|colgroup|col|u|omitted|content)\b[^<>]*>`)
	unknownTag  = regexp.MustCompile(`<unknown\b([^<>]*?)/?>(?:</unknown>)?`)
	markdownURL = regexp.MustCompile(`(!?)\[((?:[^\[\]\\\n]|\\.)*)\]\((https?://[^()\s]*)\)`)
	attribute   = regexp.MustCompile(`([a-z_-]+)="([^"]*)"`)
	blankLines  = regexp.MustCompile(`\n{3,}`)
)

func attributes(text string) map[string]string {
	found := map[string]string{}
	for _, match := range attribute.FindAllStringSubmatch(text, -1) {
		found[match[1]] = html.UnescapeString(match[2])
	}
	return found
}

// hasFiles reports whether a page in Notion's Markdown may have files.
func hasFiles(text string) bool {
	return fileTag.MatchString(text) || unknownTag.MatchString(text) || strings.Contains(text, "![") || isSigned(text) || strings.Contains(text, "<synced_block")
}

// isSigned reports whether a text has the address of a file that expires.
func isSigned(text string) bool {
	return strings.Contains(text, "X-Amz-") || strings.Contains(text, "amazonaws.com/") || strings.Contains(text, "file.notion.so") || strings.Contains(text, "expirationTimestamp=")
}

// fileName returns the name in the address of a file.
func fileName(address string) string {
	target, err := url.Parse(address)
	if err != nil || target.Path == "" {
		return ""
	}
	if name := path.Base(target.Path); name != "/" && name != "." {
		return name
	}
	return ""
}

// cleanMarkdown converts a page in Notion's Markdown to Markdown. Code blocks stay
// as they are.
func cleanMarkdown(text string) string {
	var b strings.Builder
	fence := ""
	var open []string
	flush := func() {
		if len(open) > 0 {
			b.WriteString(cleanProse(strings.Join(open, "\n")) + "\n")
			open = open[:0]
		}
	}
	for line := range strings.SplitSeq(unindented(text), "\n") {
		marks := fenceOf(strings.TrimLeft(line, " "))
		switch {
		case fence == "" && marks != "":
			flush()
			fence = marks
			b.WriteString(line + "\n")
		case fence != "":
			b.WriteString(line + "\n")
			if closes(line, fence) {
				fence = ""
			}
		default:
			open = append(open, line)
		}
	}
	flush()
	return strings.TrimSpace(blankLines.ReplaceAllString(b.String(), "\n\n"))
}

// fenceOf returns the backticks with which a line begins a code block, "" for none.
func fenceOf(line string) string {
	marks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
	if len(marks) < 3 || strings.Contains(line[len(marks):], "`") {
		return ""
	}
	return marks
}

// closes reports whether a line ends a code block.
func closes(line, fence string) bool {
	line = strings.TrimSpace(line)
	return len(line) >= len(fence) && strings.Trim(line, "`") == ""
}

// unindented indents only what is below list items. Notion's Markdown indents with
// tabs what is inside of anything, which would be code in Markdown.
func unindented(text string) string {
	type level struct {
		tabs int
		list bool
	}
	var stack []level
	var lines []string
	fence, cut, indent := "", 0, ""
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, "\t")
		tabs := len(line) - len(body)
		switch {
		case fence != "":
			line = line[min(tabs, cut):]
			if closes(line, fence) {
				fence = ""
			}
			lines = append(lines, indent+line)
			continue
		case strings.TrimSpace(body) == "":
			lines = append(lines, "")
			continue
		}
		for len(stack) > 0 && stack[len(stack)-1].tabs >= tabs {
			stack = stack[:len(stack)-1]
		}
		indent = ""
		for _, above := range stack {
			if above.list {
				indent += "    "
			}
		}
		if len(stack) < maxIndents {
			stack = append(stack, level{tabs, listItem.MatchString(body)})
		}
		fence, cut = fenceOf(body), tabs
		lines = append(lines, indent+body)
	}
	return strings.Join(lines, "\n")
}

const maxIndents = 50

var listItem = regexp.MustCompile(`^(?:[-*+]|[0-9]{1,9}[.)]) `)

func cleanProse(text string) string {
	text = colorList.ReplaceAllString(text, "")
	text = tableTag.ReplaceAllStringFunc(text, tableMarkdown)
	return cleanInline(text)
}

func cleanInline(text string) string {
	text = linkTag.ReplaceAllStringFunc(text, func(found string) string {
		match := linkTag.FindStringSubmatch(found)
		facts := attributes(match[2])
		name, address := strings.TrimSpace(match[3]), facts["url"]
		if address == "" {
			address = facts["src"]
		}
		switch {
		case isSigned(address) || !strings.HasPrefix(address, "http"):
			return name
		case name == "":
			return "<" + address + ">"
		}
		return "[" + name + "](" + strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(address) + ")"
	})
	text = fileTag.ReplaceAllStringFunc(text, func(found string) string {
		match := fileTag.FindStringSubmatch(found)
		facts := attributes(match[2])
		address := facts["src"]
		if address == "" {
			address = facts["url"]
		}
		return fileReference(strings.TrimSpace(match[3]), address)
	})
	text = markdownURL.ReplaceAllStringFunc(text, func(found string) string {
		match := markdownURL.FindStringSubmatch(found)
		if !isSigned(match[3]) {
			return found
		}
		return fileReference(match[2], match[3])
	})
	text = personTag.ReplaceAllStringFunc(text, func(found string) string {
		if name := strings.TrimSpace(personTag.FindStringSubmatch(found)[2]); name != "" {
			return "@" + strings.TrimPrefix(name, "@")
		}
		return "@user"
	})
	text = dateTag.ReplaceAllStringFunc(text, func(found string) string {
		facts := attributes(dateTag.FindStringSubmatch(found)[1])
		if facts["end"] != "" {
			return facts["start"] + " to " + facts["end"]
		}
		return facts["start"]
	})
	text = unknownTag.ReplaceAllString(text, "")
	text = calloutTag.ReplaceAllString(text, "")
	return layoutTag.ReplaceAllString(text, "")
}

// fileReference returns the name of a file, or a link to a file elsewhere.
func fileReference(name, address string) string {
	if name == "" {
		name = fileName(address)
	}
	if isSigned(address) || !strings.HasPrefix(address, "http") {
		return "[" + name + "]"
	}
	return "[" + name + "](" + strings.NewReplacer("(", "%28", ")", "%29", " ", "%20").Replace(address) + ")"
}

// tableMarkdown converts a table of tags to one of pipes. The first row is the
// header.
func tableMarkdown(table string) string {
	var lines []string
	for _, row := range rowTag.FindAllStringSubmatch(table, -1) {
		var cells []string
		for _, cell := range cellTag.FindAllStringSubmatch(row[1], -1) {
			cells = append(cells, strings.ReplaceAll(strings.Join(strings.Fields(cell[1]), " "), "|", `\|`))
		}
		if len(cells) == 0 {
			continue
		}
		lines = append(lines, "| "+strings.Join(cells, " | ")+" |")
		if len(lines) == 1 {
			lines = append(lines, "|"+strings.Repeat(" --- |", len(cells)))
		}
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}
