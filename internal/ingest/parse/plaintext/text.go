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

// Read reads plain text: paragraphs parted by empty lines, with the headings, lists, quotations, code and pages that
// its layout shows. The lines of a paragraph that were broken to fit a width are joined, others stay. What is drawn with
// blanks stays as it is, as code. Subtitles lose their times, and logs are cut between their entries.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	switch extension := document.Extension(r.Name); {
	case extension == "vtt", extension == "srt", extension == "sbv", subtitle.Is(r.Text):
		return subtitle.Read(ctx, r)
	case isLog(r.Text):
		return readLog(ctx, r)
	}
	survey := surveyText(r.Text)
	w := plainWriter{ctx: ctx, layout: survey, anchors: make(document.Anchors)}
	pages := []string{r.Text}
	if strings.Count(r.Text, "\f") <= r.Limits.MaxPages {
		pages = strings.Split(r.Text, "\f")
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

// textLayout is what the lines of a text have in common.
type textLayout struct {
	// width is how long lines are that are broken to fit, 0 where none are.
	width int
	// indent is how far the text as a whole is indented.
	indent int
	// numbered tells that lines such as "1.2 Title" are headings, capitals that lines in capitals are, and marked that
	// lines with # are.
	numbered, capitals, marked bool
	// manual tells of the pages of a manual: names of sections at the margin, their text indented.
	manual bool
}

// surveyText looks at the lines of a text.
func surveyText(text string) textLayout {
	const most = 1 << 20
	var layout textLayout
	widths, indents := make(map[int]int), make(map[int]int)
	lengths, lines := 0, 0
	above := ""
	headings := headingSurvey{}
	for line := range strings.Lines(safetext.TruncateBytes(text, most)) {
		line = strings.TrimRight(line, " \t\n\f")
		if line == "" {
			headings.add(above, line)
			above = line
			continue
		}
		lines++
		indents[indentOfText(line)]++
		if above != "" {
			length := utf8.RuneCountInString(above)
			widths[min(length, 200)]++
			lengths++
		}
		headings.add(above, line)
		above = line
	}
	headings.add(above, "")
	layout.width = widthOf(widths, lengths)
	best, far := 0, 0 // lines that are indented far
	for indent, count := range indents {
		if indent >= 4 {
			far += count
		}
	}
	layout.manual = headings.manual >= 2 && far*2 >= lines
	for indent, count := range indents {
		if layout.manual && indent < 4 {
			continue
		}
		if count > best || count == best && indent < layout.indent {
			layout.indent, best = indent, count
		}
	}
	layout.numbered = headings.consistent()
	layout.capitals = headings.capitals > 0 && headings.capitals*2 <= lines
	layout.marked = headings.marked >= 2 && headings.comments*4 < headings.marked
	return layout
}

// widthOf is the length that nine of ten lines with another below them do not go beyond.
func widthOf(widths map[int]int, lengths int) int {
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

// indentOfText counts the blanks a line begins with.
func indentOfText(line string) int {
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

// runningLines finds the lines at the top and the bottom of pages that nearly all pages have but for their number, and
// says for each page which of its lines these are. On the first page they stay.
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
			counts[withoutNumbers(line)]++
		}
	}
	for i := range pages {
		if i == 0 {
			continue
		}
		running[i] = make(map[string]bool)
		for _, line := range edges[i] {
			if counts[withoutNumbers(line)]*2 > len(pages) {
				running[i][line] = true
			}
		}
	}
	return running
}

// edgeLines returns the first and the last line of a page with text.
func edgeLines(page string) []string {
	page = strings.Trim(page, "\n \t")
	if page == "" {
		return nil
	}
	first, _, _ := strings.Cut(page, "\n")
	last := page[strings.LastIndexByte(page, '\n')+1:]
	return []string{strings.TrimSpace(first), strings.TrimSpace(last)}
}

// withoutNumbers puts a sign for each number and one blank for several.
func withoutNumbers(line string) string {
	return strings.Join(strings.Fields(strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return '#'
		}
		return r
	}, strings.ReplaceAll(line, "##", "#"))), " ")
}

// alive reports whether there is time left, and that there are not too many blocks.
func (w *plainWriter) alive() error {
	if w.ctx.Err() != nil {
		return fmt.Errorf("parse text: %w", w.ctx.Err())
	}
	if len(w.blocks) > compose.MaxLines {
		return &document.LimitError{Detail: fmt.Sprintf("text has more than %d parts", compose.MaxLines)}
	}
	return nil
}
