package parse

import (
	"context"
	"strings"

	"magpie/internal/ingest/document"
)

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
