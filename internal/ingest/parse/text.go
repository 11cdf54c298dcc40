package parse

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"magpie/internal/ingest/document"
)

// readText reads plain text: paragraphs parted by empty lines. A line underlined with = or - is a heading.
func readText(ctx context.Context, r request) (*document.Draft, error) {
	w := textWriter{anchors: make(document.Anchors)}
	if err := w.read(ctx, strings.ReplaceAll(r.text, "\f", "\n"), nil); err != nil {
		return nil, err
	}
	return &document.Draft{Blocks: w.blocks, Prose: true}, nil
}

// textWriter collects the lines of plain text into blocks.
type textWriter struct {
	anchors document.Anchors
	blocks  []document.Block
	lines   []string
}

// read goes through a text. The function special may take lines out of the flow: it gets the lines from the current one
// on and returns how many it has used up, 0 for none.
func (w *textWriter) read(ctx context.Context, text string, special func(lines []string) int) error {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); {
		if i%1024 == 0 && ctx.Err() != nil {
			return fmt.Errorf("parse text: %w", ctx.Err())
		}
		if special != nil {
			if used := special(lines[i:]); used > 0 {
				i += used
				continue
			}
		}
		line := strings.TrimRight(lines[i], " \t")
		switch {
		case line == "":
			w.paragraph()
		case len(w.lines) == 0 && i+1 < len(lines) && underlined(line, lines[i+1]) > 0:
			w.heading(underlined(line, lines[i+1]), line)
			i++
		default:
			w.lines = append(w.lines, line)
		}
		i++
	}
	w.paragraph()
	return nil
}

// underlined returns the level of a heading underlined with = or -, 0 when it is none.
func underlined(line, below string) int {
	below = strings.TrimRight(below, " \t")
	if len(below) < 3 || len(below) < utf8.RuneCountInString(line)*2/3 || len(line) > 200 || line[0] == ' ' {
		return 0
	}
	switch {
	case strings.Trim(below, "=") == "":
		return 1
	case strings.Trim(below, "-") == "":
		return 2
	}
	return 0
}

func (w *textWriter) heading(level int, text string) {
	w.paragraph()
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if len(text) > maxHeading {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Heading, Level: min(level, 6), Text: text, Anchor: w.anchors.Take("", text)})
}

func (w *textWriter) paragraph() {
	if len(w.lines) == 0 {
		return
	}
	text := strings.Join(w.lines, "\n")
	kind := document.Paragraph
	if isItem(w.lines[0]) && len(w.lines) > 1 {
		kind = document.List
	}
	w.lines = w.lines[:0]
	if strings.TrimSpace(text) != "" {
		w.blocks = append(w.blocks, document.Block{Kind: kind, Text: strings.Trim(text, "\n")})
	}
}

func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t")
	return strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "* ") || strings.HasPrefix(line, "• ")
}

func (w *textWriter) code(language string, lines []string) {
	w.paragraph()
	if text := strings.Trim(dedent(strings.Join(lines, "\n")), "\n"); strings.TrimSpace(text) != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Code, Language: language, Text: text})
	}
}

// indented returns how many of the lines are empty or start with a blank.
func indented(lines []string) int {
	n := 0
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' {
			break
		}
		n = i + 1
	}
	return n
}
