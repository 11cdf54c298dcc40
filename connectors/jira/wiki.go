package jira

import (
	"regexp"
	"strings"
)

// Data Center has texts in Jira's wiki notation. What is not known stays as it is.

var (
	wikiHeading = regexp.MustCompile(`^h([1-6])\.\s*(.*)$`)
	wikiList    = regexp.MustCompile(`^([*#-]+)\s+(.*)$`)
	wikiBlock   = regexp.MustCompile(`\{(code|noformat)(:[^{}\n]*)?\}`)
	wikiLink    = regexp.MustCompile(`\[(?:([^\[\]|\n]+)\|)?((?:https?://|mailto:|#|\^|~)[^\[\]|\s]*)(?:\|[^\[\]\n]*)?\]`)
	wikiImage   = regexp.MustCompile(`!([^!|\s][^!|\n]*)(?:\|[^!\n]*)?!`)
	wikiBold    = regexp.MustCompile(`(^|[\s(>|])\*([^\s*](?:[^*\n]*[^\s*])?)\*`)
	wikiItalic  = regexp.MustCompile(`(^|[\s(>|])_([^\s_](?:[^_\n]*[^\s_])?)_`)
	wikiMono    = regexp.MustCompile(`\{\{([^{}\n]+)\}\}`)
	wikiColor   = regexp.MustCompile(`\{color(?::[^{}\n]*)?\}`)
	wikiPanel   = regexp.MustCompile(`\{(?:panel|quote|info|note|warning|tip|anchor)(?::([^{}\n]*))?\}`)
	wikiTitle   = regexp.MustCompile(`(?:^|\|)title=([^|]*)`)
)

// wikiMarkdown converts a text in Jira's wiki notation to Markdown.
func wikiMarkdown(text string) string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	var b strings.Builder
	for text != "" {
		match := wikiBlock.FindStringSubmatchIndex(text)
		if match == nil {
			b.WriteString(wikiLines(text))
			break
		}
		name, parameters := text[match[2]:match[3]], ""
		if match[4] >= 0 {
			parameters = text[match[4]+1 : match[5]]
		}
		b.WriteString(wikiLines(text[:match[0]]))
		code, rest, found := strings.Cut(text[match[1]:], "{"+name+"}")
		if !found {
			b.WriteString(wikiLines(code))
			break
		}
		language, _, _ := strings.Cut(parameters, "|")
		if name != "code" || strings.ContainsAny(language, "= `") {
			language = ""
		}
		marks := "```"
		for strings.Contains(code, marks) {
			marks += "`"
		}
		b.WriteString("\n" + marks + language + "\n" + strings.Trim(code, "\n") + "\n" + marks + "\n")
		text = rest
	}
	return strings.TrimSpace(b.String())
}

func wikiLines(text string) string {
	lines := strings.Split(text, "\n")
	inTable := false
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		isRow := strings.HasPrefix(trimmed, "|")
		switch {
		case isRow:
			lines[i] = wikiRow(trimmed, !inTable)
		case wikiHeading.MatchString(trimmed):
			match := wikiHeading.FindStringSubmatch(trimmed)
			lines[i] = strings.Repeat("#", int(match[1][0]-'0')) + " " + wikiInline(match[2])
		case strings.HasPrefix(trimmed, "bq. "):
			lines[i] = "> " + wikiInline(trimmed[4:])
		case trimmed == "----":
			lines[i] = "---"
		case wikiList.MatchString(trimmed):
			match := wikiList.FindStringSubmatch(trimmed)
			mark := "- "
			if strings.HasSuffix(match[1], "#") {
				mark = "1. "
			}
			lines[i] = strings.Repeat("   ", min(len(match[1])-1, 20)) + mark + wikiInline(match[2])
		default:
			lines[i] = wikiInline(line)
		}
		inTable = isRow
	}
	return strings.Join(lines, "\n")
}

// wikiRow converts a row of a table. The first one gets a line below it, as the
// header.
func wikiRow(row string, first bool) string {
	isHeader := strings.HasPrefix(row, "||")
	if isHeader {
		row = strings.ReplaceAll(row, "||", "|")
	}
	// A bar inside of a link does not end a cell.
	row = wikiInline(row)
	cells := strings.Split(strings.Trim(row, "|"), "|")
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	line := "| " + strings.Join(cells, " | ") + " |"
	switch separator := "|" + strings.Repeat(" --- |", len(cells)); {
	case first && isHeader:
		return line + "\n" + separator
	case first:
		return "|" + strings.Repeat("  |", len(cells)) + "\n" + separator + "\n" + line
	}
	return line
}

func wikiInline(text string) string {
	text = wikiColor.ReplaceAllString(text, "")
	text = wikiPanel.ReplaceAllStringFunc(text, func(found string) string {
		match := wikiPanel.FindStringSubmatch(found)
		if title := wikiTitle.FindStringSubmatch(match[1]); title != nil {
			return "**" + title[1] + "** "
		}
		return ""
	})
	text = wikiMono.ReplaceAllString(text, "`$1`")
	text = wikiLink.ReplaceAllStringFunc(text, func(found string) string {
		match := wikiLink.FindStringSubmatch(found)
		label, address := match[1], match[2]
		switch {
		case strings.HasPrefix(address, "~"):
			return "@" + address[1:]
		case strings.HasPrefix(address, "^"), strings.HasPrefix(address, "#"):
			if label == "" {
				label = address[1:]
			}
			return label
		case label == "":
			return "<" + address + ">"
		}
		return "[" + label + "](" + strings.NewReplacer("(", "%28", ")", "%29").Replace(address) + ")"
	})
	text = wikiImage.ReplaceAllStringFunc(text, func(found string) string {
		name := wikiImage.FindStringSubmatch(found)[1]
		if !strings.Contains(name, ".") {
			return found // an exclamation
		}
		return "[" + name + "]"
	})
	text = wikiBold.ReplaceAllString(text, "$1**$2**")
	return wikiItalic.ReplaceAllString(text, "$1*$2*")
}
