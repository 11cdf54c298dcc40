package parse

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"magpie/internal/ingest/document"
)

// readRestructured reads reStructuredText as text with its headings and literal blocks; other directives are text.
func readRestructured(ctx context.Context, r request) (*document.Draft, error) {
	w := textWriter{anchors: make(document.Anchors)}
	var styles []string // in order of first sight, which is their level
	special := func(lines []string) int {
		if len(w.lines) == 0 {
			if title, style, used := restructuredHeading(lines); used > 0 {
				if !slices.Contains(styles, style) {
					styles = append(styles, style)
				}
				w.heading(slices.Index(styles, style)+1, title)
				return used
			}
		}
		return w.restructuredBlock(lines)
	}
	if err := w.read(ctx, r.text, special); err != nil {
		return nil, err
	}
	return &document.Draft{Blocks: w.blocks, Prose: true}, nil
}

// restructuredHeading recognises a title with a line of punctuation below it, or also above. The style is the
// punctuation, twice when it is on both sides.
func restructuredHeading(lines []string) (title, style string, used int) {
	if len(lines) >= 3 && isRule(lines[0]) && strings.TrimSpace(lines[1]) != "" && strings.TrimRight(lines[2], " ") == strings.TrimRight(lines[0], " ") {
		return strings.TrimSpace(lines[1]), lines[0][:1] + lines[0][:1], 3
	}
	if len(lines) < 2 || !isRule(lines[1]) || isRule(lines[0]) || strings.TrimSpace(lines[0]) == "" || lines[0][0] == ' ' {
		return "", "", 0
	}
	if len(strings.TrimSpace(lines[1])) < utf8.RuneCountInString(strings.TrimSpace(lines[0]))*2/3 {
		return "", "", 0
	}
	return strings.TrimSpace(lines[0]), lines[1][:1], 2
}

func isRule(line string) bool {
	line = strings.TrimRight(line, " \t")
	return len(line) >= 3 && strings.ContainsRune("=-~^\"'`#*+:.<>_", rune(line[0])) && strings.Trim(line, line[:1]) == ""
}

// restructuredBlock takes code directives, literal blocks after "::", comments and targets out of the flow.
func (w *textWriter) restructuredBlock(lines []string) int {
	line := strings.TrimSpace(lines[0])
	switch {
	case strings.HasPrefix(line, ".. code"), strings.HasPrefix(line, ".. sourcecode::"), strings.HasPrefix(line, ".. highlight::"):
		_, language, found := strings.Cut(line, "::")
		if !found {
			return 0
		}
		n := indented(lines[1:])
		body := lines[1 : 1+n]
		for len(body) > 0 && (strings.HasPrefix(strings.TrimSpace(body[0]), ":") || strings.TrimSpace(body[0]) == "") {
			body = body[1:]
		}
		w.code(strings.TrimSpace(language), body)
		return 1 + n
	case strings.HasPrefix(line, ".. _") && strings.HasSuffix(line, ":"), line == "..":
		return 1
	case strings.HasSuffix(line, "::") && !strings.HasPrefix(line, ".."):
		n := indented(lines[1:])
		if n == 0 {
			return 0
		}
		if text := strings.TrimSuffix(line, ":"); text != ":" {
			w.lines = append(w.lines, text)
		}
		w.code("", lines[1:1+n])
		return 1 + n
	}
	return 0
}

// readASCIIDoc reads AsciiDoc as text with its headings and listing blocks.
func readASCIIDoc(ctx context.Context, r request) (*document.Draft, error) {
	w := textWriter{anchors: make(document.Anchors)}
	meta := make(map[string]any)
	language := ""
	special := func(lines []string) int {
		line := strings.TrimRight(lines[0], " \t")
		switch {
		case asciidocLevel(line) > 0 && len(w.lines) == 0:
			level := asciidocLevel(line)
			w.heading(level, strings.Trim(line[level:], " ="))
			return 1
		case strings.HasPrefix(line, ":") && len(w.lines) == 0:
			if key, value, found := strings.Cut(line[1:], ":"); found && !strings.Contains(key, " ") && len(meta) < 50 {
				if value = strings.TrimSpace(value); value != "" {
					meta[strings.ToLower(key)] = value
				}
				return 1
			}
		case strings.HasPrefix(line, "[source"):
			_, language, _ = strings.Cut(strings.TrimRight(line, "]"), ",")
			language, _, _ = strings.Cut(language, ",")
			return 1
		case line == "----" || line == "....":
			for i, other := range lines[1:] {
				if strings.TrimRight(other, " \t") == line {
					w.code(strings.TrimSpace(language), lines[1:1+i])
					language = ""
					return i + 2
				}
			}
		case strings.HasPrefix(line, "//") && !strings.HasPrefix(line, "////"):
			return 1
		}
		return 0
	}
	if err := w.read(ctx, r.text, special); err != nil {
		return nil, err
	}
	found := &document.Draft{Blocks: w.blocks, Prose: true, Meta: make(map[string]any)}
	for from, to := range map[string]string{"description": "description", "keywords": "keywords", "revdate": "updated", "author": "author", "lang": "lang"} {
		if value, ok := meta[from]; ok {
			found.Meta[to] = value
		}
	}
	return found, nil
}

// asciidocLevel returns the level of a heading line, 0 for other lines.
func asciidocLevel(line string) int {
	level := len(line) - len(strings.TrimLeft(line, "="))
	if level == 0 || level > 6 || level >= len(line) || line[level] != ' ' {
		return 0
	}
	return level
}
