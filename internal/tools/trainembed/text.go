package main

import (
	"regexp"
	"strings"
	"sync"
)

// readManual returns the headings and paragraphs of a manual page (troff with man or mdoc macros).
func readManual(content string) []block {
	var blocks []block
	var text strings.Builder
	flush := func() {
		if found := squeeze(text.String()); found != "" {
			blocks = append(blocks, block{text: found})
		}
		text.Reset()
	}
	listing := false
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			macro, rest, _ := strings.Cut(strings.TrimLeft(line[1:], " "), " ")
			rest = strings.Trim(unescapeTroff(rest), "\" ")
			switch macro {
			case "TH", "Dt":
				name, _, _ := strings.Cut(rest, " ")
				blocks = append(blocks, block{level: 1, text: strings.Trim(name, "\"")})
			case "SH", "Sh":
				flush()
				blocks = append(blocks, block{level: 2, text: rest})
			case "SS", "Ss":
				flush()
				blocks = append(blocks, block{level: 3, text: rest})
			case "nf", "EX", "Bd":
				flush()
				listing = true
			case "fi", "EE", "Ed":
				listing = false
			case "PP", "P", "LP", "TP", "IP", "Pp", "It", "HP", "sp", "br", "RS", "RE":
				flush()
			case "B", "I", "BR", "IR", "RB", "RI", "BI", "IB", "Nm", "Fl", "Ar", "Nd", "Xr", "Pa", "Em", "Sy", "Dq", "Li", "Ic", "Cm", "Va", "Fn":
				text.WriteString(rest)
				text.WriteByte(' ')
			default:
			}
			continue
		}
		if listing {
			continue
		}
		if line == "" {
			flush()
		}
		text.WriteString(unescapeTroff(line))
		text.WriteByte('\n')
	}
	flush()
	return blocks
}

var troffEscape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\f(\[[^\]]*\]|\(..|.)|\\s[-+]?[0-9]|\\".*|\\\[[^\]]*\]|\\\(..|\\[&|^/,%:]|\\.`)
})

func unescapeTroff(line string) string {
	if !strings.Contains(line, `\`) {
		return line
	}
	return troffEscape().ReplaceAllStringFunc(line, func(escape string) string {
		switch escape {
		case `\-`:
			return "-"
		case `\(aq`, `\[aq]`, `\(cq`:
			return "'"
		case `\e`:
			return `\`
		case `\~`, `\ `, `\(em`, `\[em]`:
			return " "
		default:
			return ""
		}
	})
}

// readPlain returns the paragraphs of plain text, and headings that are underlined as in reStructuredText or marked as in
// Markdown. The title comes from the front matter.
func readPlain(content string) []block {
	var blocks []block
	var text []string
	marks := ""
	fenced := false
	flush := func() {
		if len(text) > 0 && !strings.HasPrefix(text[0], "..") {
			blocks = append(blocks, block{text: squeeze(plainMarkup().ReplaceAllString(strings.Join(text, " "), "$1$2 "))})
		}
		text = text[:0]
	}
	if front, rest, ok := strings.Cut(strings.TrimPrefix(content, "---\n"), "\n---\n"); ok && strings.HasPrefix(content, "---\n") {
		content = rest
		for line := range strings.Lines(front) {
			name, value, _ := strings.Cut(line, ":")
			if value = strings.Trim(strings.TrimSpace(value), `"'`); name == "title" || name == "summary" || name == "description" {
				level := 0
				if name == "title" {
					level = 1
				}
				blocks = append(blocks, block{level: level, text: value})
			}
		}
	}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			flush()
			fenced = !fenced
		case fenced:
		case line == "":
			flush()
		case strings.HasPrefix(line, "#"):
			flush()
			heading := strings.TrimLeft(line, "#")
			if level := len(line) - len(heading); level <= 6 && strings.HasPrefix(heading, " ") {
				blocks = append(blocks, block{level: level, text: strings.TrimSpace(heading)})
			}
		case isUnderline(line):
			if len(text) == 1 {
				level := strings.IndexByte(marks, line[0])
				if level < 0 {
					level = len(marks)
					marks += line[:1]
				}
				blocks = append(blocks, block{level: min(level+1, 6), text: text[0]})
				text = text[:0]
			}
		case strings.HasPrefix(line, "|") || strings.HasPrefix(line, "{%") || strings.HasPrefix(line, "<"):
		default:
			text = append(text, line)
		}
	}
	flush()
	return blocks
}

func isUnderline(line string) bool {
	if len(line) < 3 || !strings.ContainsRune("=-~^*`'\"+_", rune(line[0])) {
		return false
	}
	return strings.Trim(line, line[:1]) == ""
}

// plainMarkup returns a pattern of tags and of links, whose text is a group.
var plainMarkup = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("!?\\[([^\\]]*)\\]\\([^)]*\\)|:[a-z]+:`([^`<]*)[^`]*`|\\{[{%][^}]*\\}\\}?|<[^>]*>|https?://\\S+|[`*]+")
})
