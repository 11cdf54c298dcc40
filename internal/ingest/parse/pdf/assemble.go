package pdf

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// placed is a block with its position.
type placed struct {
	document.Block
	y float64 // of its first line, in text space
}

// An assembler makes the blocks of a document.
type assembler struct {
	measures
	words    vocabulary
	blocks   []placed
	list     listWriter
	openList int // index of the open list, -1 if there is none
	last     *table
}

// assemble returns the draft of a file's content.
func assemble(ctx context.Context, in document.Source, read *content) (*document.Draft, error) {
	draft := &document.Draft{
		Meta: read.info.meta(in.Name), Language: read.languageOf(), Prose: true, Pages: len(read.pages), Extra: make(map[string]any),
	}
	blocks, err := read.blocks(ctx)
	if err != nil {
		return nil, err
	}
	anchors := make(document.Anchors)
	for i := range blocks {
		block := blocks[i].Block
		if block.Kind == document.Heading {
			block.Anchor = anchors.Take("", block.Text)
			if draft.Title == "" && block.Level == 1 && block.Page <= 2 {
				draft.Title = block.Text
			}
		}
		draft.Blocks = append(draft.Blocks, block)
	}
	if err := read.report(draft); err != nil {
		return nil, err
	}
	return draft, nil
}

// report adds what could not be read to a draft. It returns an error if there is no text.
func (c *content) report(draft *document.Draft) error {
	var damaged, silent []int
	for i := range c.pages {
		switch p := &c.pages[i]; {
		case p.isDamaged:
			damaged = append(damaged, p.number)
		case p.isSilent():
			silent = append(silent, p.number)
		}
	}
	switch {
	case len(draft.Blocks) > 0:
	case len(damaged) > 0:
		return &document.DamagedError{Format: formatName, Detail: pageList(damaged) + " cannot be read, and there is no text on others"}
	case c.isTruncated:
		return &document.DamagedError{Format: formatName, Detail: "the end of the file is missing, and no text is found in the rest"}
	case len(silent) > 0:
		return &document.UnsupportedError{Reason: c.withoutText}
	}
	var missing []string
	if len(damaged) > 0 {
		missing = append(missing, pageList(damaged)+" cannot be read")
	}
	switch {
	case c.isTruncated:
		missing = append(missing, "the end of the file is missing")
	case c.isListLost:
		missing = append(missing, "the list of the objects in the file is missing or broken")
	}
	if len(missing) > 0 {
		draft.Extra["damaged"] = strings.Join(missing, "; ")
	}
	if len(silent) > 0 {
		draft.Extra["pages_without_text"] = len(silent)
	}
	if c.recognized > 0 {
		draft.Extra["pages_recognised"] = c.recognized
	}
	return nil
}

// pageList names pages: "page 3", "pages 1, 4-6".
func pageList(numbers []int) string {
	var parts []string
	for i := 0; i < len(numbers); {
		end := i
		for end+1 < len(numbers) && numbers[end+1] == numbers[end]+1 {
			end++
		}
		if end > i {
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[i], numbers[end]))
		} else {
			parts = append(parts, strconv.Itoa(numbers[i]))
		}
		i = end + 1
	}
	const most = 40
	if len(parts) > most {
		parts = append(parts[:most], "…")
	}
	if len(numbers) == 1 {
		return "page " + parts[0]
	}
	return "pages " + strings.Join(parts, ", ")
}

// blocks makes the blocks of all pages.
func (c *content) blocks(ctx context.Context) ([]placed, error) {
	m := measure(c.pages)
	markRunning(c.pages, m)
	words := vocabularyOf(c.pages)
	h := headings{measures: m}
	marks := marksByPage(c.outline)
	for i := range c.pages {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("read PDF: %w", ctx.Err())
		}
		p := &c.pages[i]
		h.groups = append(h.groups, matchOutline(groupPage(p, m), c.outline, marks[p.number], words)...)
	}
	h.mark()
	a := assembler{measures: m, words: words, openList: -1}
	dropRepeatedRunning(h.groups)
	groups := joinFlowing(h.groups)
	at := 0
	for i := range c.pages {
		if i%64 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("read PDF: %w", ctx.Err())
		}
		p := &c.pages[i]
		start := len(a.blocks)
		for ; at < len(groups) && groups[at].page == p.number; at++ {
			a.group(&groups[at])
		}
		a.endList()
		for _, text := range p.recognized {
			a.blocks = append(a.blocks, placed{document.Block{Kind: document.Paragraph, Text: guard(text), Page: p.number}, 0})
		}
		a.insertMarks(p, start, c.outline, marks[p.number])
		a.annotations(p)
	}
	return a.blocks, nil
}

// dropRepeatedRunning removes running headers that repeat a heading.
func dropRepeatedRunning(groups []group) {
	titles := make(map[string]bool)
	for i := range groups {
		if g := &groups[i]; g.heading > 0 {
			titles[letters(g.text(nil))] = true
		}
	}
	for i := range groups {
		if g := &groups[i]; g.isRunning && titles[letters(g.text(nil))] {
			g.lines = nil
		}
	}
}

// joinFlowing joins paragraphs that continue in the next column or on the next page.
func joinFlowing(groups []group) []group {
	joined := groups[:0]
	last := -1
	for i := range groups {
		g := &groups[i]
		switch {
		case len(g.lines) == 0:
			continue
		case g.isRunning:
			joined = append(joined, *g)
			continue
		case last >= 0 && g.isFirst && g.page <= joined[last].page+1 && joined[last].flows(g):
			joined[last].lines = append(joined[last].lines, g.lines...)
			joined[last].length += g.length
			continue
		}
		joined = append(joined, *g)
		last = len(joined) - 1
	}
	return joined
}

func (a *assembler) emit(block document.Block, y float64) {
	a.blocks = append(a.blocks, placed{block, y})
}

// group adds the blocks of a group.
func (a *assembler) group(g *group) {
	y := g.lines[0].base
	isItem := g.marker != "" && g.heading == 0 && g.table == nil && !g.isCode
	if !isItem && !a.continuesItem(g) {
		a.endList()
	}
	previous := a.last
	a.last = nil
	switch {
	case g.table != nil:
		a.table(g.table, previous, g.page, y)
		a.last = g.table
	case g.isCode:
		a.emit(document.Block{Kind: document.Code, Text: codeText(g.lines, a.leading), Page: g.page}, y)
	case g.heading > 0:
		text := g.text(a.words)
		if text == "" {
			return
		}
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "")
		}
		a.emit(document.Block{Kind: document.Heading, Level: g.heading, Text: text, Page: g.page}, y)
	case isItem:
		a.item(g, y)
	case a.openList >= 0:
		a.list.more(a.prose(g))
		a.blocks[a.openList].Text = a.list.text.String()
	default:
		a.emit(document.Block{Kind: document.Paragraph, Text: guard(a.prose(g)), Page: g.page}, y)
	}
}

// continuesItem reports whether a paragraph belongs to the last list item: it is below it, and indented like its text.
func (a *assembler) continuesItem(g *group) bool {
	if a.openList < 0 || g.table != nil || g.isCode || g.heading > 0 || g.isRunning || g.isFirst || g.gap > 2*a.leading {
		return false
	}
	marker := a.list.indents[len(a.list.indents)-1]
	return g.lines[0].x0-g.left > marker+0.6*g.lines[0].size && a.blocks[a.openList].Page == g.page
}

func (a *assembler) item(g *group, y float64) {
	if a.openList < 0 {
		a.openList = len(a.blocks)
		a.list = listWriter{}
		a.emit(document.Block{Kind: document.List, Page: g.page}, y)
	}
	text := a.prose(g)
	marker, rest := listMarker(text)
	if marker == "" {
		marker, rest = g.marker, text
	}
	a.list.item(marker, g.lines[0].x0-g.left, g.lines[0].size, rest)
	a.blocks[a.openList].Text = a.list.text.String()
}

// endList ends the open list. A single numbered item becomes a paragraph.
func (a *assembler) endList() {
	if a.openList < 0 {
		return
	}
	block := &a.blocks[a.openList]
	if a.list.items == 1 && !strings.HasPrefix(block.Text, "- ") {
		block.Kind = document.Paragraph
	}
	a.openList = -1
}

// table adds a table. A table that continues one of the previous page has the same header.
func (a *assembler) table(t, previous *table, page int, y float64) {
	for _, text := range t.above {
		a.emit(document.Block{Kind: document.Paragraph, Text: guard(smooth(text)), Page: page}, y)
	}
	rows := make([][]string, len(t.rows))
	for i, row := range t.rows {
		rows[i] = make([]string, len(row))
		for c, cell := range row {
			rows[i][c] = smooth(cell)
		}
	}
	header, body := rows[0], rows[1:]
	if previous != nil && len(a.blocks) > 0 && a.blocks[len(a.blocks)-1].Kind == document.Table &&
		a.blocks[len(a.blocks)-1].Page < page && sameColumns(previous, t) {
		before := a.blocks[len(a.blocks)-1].Header
		if len(before) == len(header) && !slices.Equal(before, document.NewTable(header, nil).Header) {
			header, body = before, rows
		}
		if len(body) > 0 && a.completes(body[0]) {
			body = body[1:]
		}
	}
	block := document.NewTable(header, body)
	block.Page = page
	a.emit(block, y)
	for _, text := range t.below {
		a.emit(document.Block{Kind: document.Paragraph, Text: guard(smooth(text)), Page: page}, y)
	}
}

// completes joins the first row of a page with the last row of the previous page, if its first cell is empty.
func (a *assembler) completes(row []string) bool {
	before := &a.blocks[len(a.blocks)-1].Block
	if row[0] != "" || len(before.Rows) == 0 {
		return false
	}
	last := before.Rows[len(before.Rows)-1]
	rest := document.NewTable(row, nil).Header
	for c := range min(len(last), len(rest)) {
		last[c] = joinCells(last[c], rest[c])
	}
	return true
}

// sameColumns reports whether the columns of two tables have the same positions.
func sameColumns(a, b *table) bool {
	return len(a.rows[0]) == len(b.rows[0]) && slices.EqualFunc(a.edges, b.edges, func(x, y float64) bool { return math.Abs(x-y) < 4 })
}

// annotations adds the form values and comments of a page.
func (a *assembler) annotations(p *page) {
	if len(p.fields) > 0 {
		items := make([]string, 0, len(p.fields))
		for _, f := range p.fields {
			value := strings.Join(strings.Fields(f.value), " ")
			if f.name != "" && !strings.ContainsAny(f.name, "[]") {
				value = f.name + ": " + value
			}
			items = append(items, "- "+value)
		}
		a.emit(document.Block{Kind: document.List, Text: strings.Join(items, "\n"), Page: p.number}, math.Inf(1))
	}
	for _, note := range p.comments {
		text := note.text
		if note.author != "" {
			text = note.author + ": " + text
		}
		a.emit(document.Block{Kind: document.Quote, Text: text, Page: p.number}, math.Inf(1))
	}
}

// codeText returns lines of code with their indentation and empty lines.
func codeText(lines []line, leading float64) string {
	left, pitch := math.Inf(1), 0.0
	for i := range lines {
		l := &lines[i]
		left = min(left, l.x0)
		if n := utf8.RuneCountInString(l.text); n > 0 && pitch == 0 || n > 8 {
			pitch = (l.x1 - l.x0) / float64(n)
		}
	}
	var b strings.Builder
	for i := range lines {
		l := &lines[i]
		if i > 0 {
			b.WriteByte('\n')
			if distance := (l.base - lines[i-1].base) / l.size; distance > 1.7*leading {
				b.WriteByte('\n')
			}
		}
		if pitch > 0 {
			b.WriteString(strings.Repeat(" ", min(max(int(math.Round((l.x0-left)/pitch)), 0), 200)))
		}
		b.WriteString(strings.ReplaceAll(strings.TrimRight(l.text, " "), string(softHyphen), "-"))
	}
	return b.String()
}

// guard escapes a paragraph that Markdown would read as a heading or quote.
func guard(text string) string {
	switch firstRune(text) {
	case '>':
		return `\` + text
	case '#':
		if rest := strings.TrimLeft(text, "#"); rest == "" || unicode.IsSpace(firstRune(rest)) {
			return `\` + text
		}
	}
	return text
}
