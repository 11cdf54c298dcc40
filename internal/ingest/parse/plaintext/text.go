package plaintext

import (
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/subtitle"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads plain text: paragraphs separated by empty lines, and the headings, lists, quotations, code and pages that
// the layout shows. Lines that were wrapped at a width are joined. Drawings made of characters become code. Subtitles
// lose their times, and logs are cut between their entries.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	switch extension := document.Extension(in.Name); {
	case extension == "vtt", extension == "srt", extension == "sbv", subtitle.Is(in.Text):
		return subtitle.Read(ctx, in)
	case isLog(in.Text):
		return readLog(ctx, in)
	}
	survey := detectLayout(in.Text)
	w := writer{ctx: ctx, layout: survey, anchors: make(document.Anchors)}
	pages := []string{in.Text}
	if strings.Count(in.Text, "\f") <= in.Limits.MaxPages {
		pages = strings.Split(in.Text, "\f")
	}
	running := runningLines(pages)
	for i, page := range pages {
		w.page = 0
		if len(pages) > 1 {
			w.page = i + 1
		}
		if err := w.read(page, running[i]); err != nil {
			return nil, err
		}
	}
	found := &document.Draft{Blocks: w.blocks, Prose: true, Title: w.title()}
	if len(pages) > 1 {
		found.Pages = len(pages)
		if strings.TrimSpace(pages[len(pages)-1]) == "" {
			found.Pages-- // a form feed at the end begins no page
		}
	}
	return found, nil
}

// layout holds what the lines of a text have in common.
type layout struct {
	// width is the width at which lines are wrapped, 0 if they are not.
	width int
	// indent is the indentation of most of the text.
	indent int
	// hasNumberedHeadings is set if lines such as "1.2 Title" are headings, hasCapitalHeadings if lines in capitals
	// are, and hasMarkedHeadings if lines with # are.
	hasNumberedHeadings, hasCapitalHeadings, hasMarkedHeadings bool
	// isManual is set for manual pages: section names at the margin, text indented.
	isManual bool
}

// detectLayout returns the layout of a text.
func detectLayout(text string) layout {
	const most = 1 << 20
	var layout layout
	widths, indents := make(map[int]int), make(map[int]int)
	lengths, lines := 0, 0
	previous := ""
	headings := headingStats{}
	for line := range strings.Lines(safetext.TruncateBytes(text, most)) {
		line = strings.TrimRight(line, " \t\n\f")
		if line == "" {
			headings.add(previous, line)
			previous = line
			continue
		}
		lines++
		indents[indentWidth(line)]++
		if previous != "" {
			length := utf8.RuneCountInString(previous)
			widths[min(length, 200)]++
			lengths++
		}
		headings.add(previous, line)
		previous = line
	}
	headings.add(previous, "")
	layout.width = lineWidth(widths, lengths)
	best, deep := 0, 0 // deep counts the lines with a deep indentation
	for indent, count := range indents {
		if indent >= 4 {
			deep += count
		}
	}
	layout.isManual = headings.manual >= 2 && deep*2 >= lines
	for indent, count := range indents {
		if layout.isManual && indent < 4 {
			continue
		}
		if count > best || count == best && indent < layout.indent {
			layout.indent, best = indent, count
		}
	}
	layout.hasNumberedHeadings = headings.isConsistent()
	layout.hasCapitalHeadings = headings.capitals > 0 && headings.capitals*2 <= lines
	layout.hasMarkedHeadings = headings.marked >= 2 && headings.comments*4 < headings.marked
	return layout
}

// lineWidth returns the length that nine of ten lines do not exceed, of those that another line follows.
func lineWidth(widths map[int]int, lengths int) int {
	if lengths < 2 {
		return 72
	}
	seen := 0
	for width := 200; width > 0; width-- {
		if seen += widths[width]; seen*10 >= lengths {
			switch {
			case width >= 140:
				return 0
			case width < 45:
				return 72
			}
			return width
		}
	}
	return 72
}

// indentWidth returns the width of the blanks at the beginning of a line.
func indentWidth(line string) int {
	indent := 0
	for _, r := range line {
		switch r {
		case ' ':
			indent++
		case '\t':
			indent += 8 - indent%8
		case '\u3000':
			indent += 2
		default:
			return indent
		}
	}
	return indent
}

// runningLines returns the running heads and feet of each page: first or last lines that most pages share, except for
// their number. Those of the first page stay.
func runningLines(pages []string) []map[string]bool {
	running := make([]map[string]bool, len(pages))
	if len(pages) < 3 {
		return running
	}
	counts := make(map[string]int)
	edges := make([][]string, len(pages))
	for i, page := range pages {
		edges[i] = edgeLines(page)
		for _, line := range edges[i] {
			counts[maskNumbers(line)]++
		}
	}
	for i := range pages {
		if i == 0 {
			continue
		}
		running[i] = make(map[string]bool)
		for _, line := range edges[i] {
			if counts[maskNumbers(line)]*2 > len(pages) {
				running[i][line] = true
			}
		}
	}
	return running
}

// edgeLines returns the first and the last line of a page.
func edgeLines(page string) []string {
	page = strings.Trim(page, "\n \t")
	if page == "" {
		return nil
	}
	first, _, _ := strings.Cut(page, "\n")
	last := page[strings.LastIndexByte(page, '\n')+1:]
	return []string{strings.TrimSpace(first), strings.TrimSpace(last)}
}

// maskNumbers replaces digits by number signs and folds white space.
func maskNumbers(line string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, strings.ReplaceAll(line, "##", "#"))), " ")
}

// check returns an error if the context has ended or there are too many blocks.
func (w *writer) check() error {
	if w.ctx.Err() != nil {
		return fmt.Errorf("parse text: %w", w.ctx.Err())
	}
	if len(w.blocks) > compose.MaxLines {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d parts", compose.MaxLines)}
	}
	return nil
}
