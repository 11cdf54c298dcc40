package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// edgeLines is how many lines at each edge of a page may be running.
	edgeLines = 3
	// edgeShare is the share of a page's height that belongs to its edges. A single line further inside, with a gap to
	// the others, is at the edge too.
	edgeShare = 0.085
)

// edge identifies a line at the edge of pages by text and position.
type edge struct {
	text   string
	offset int // of the number in the text from the page number
	place  int // from the upper edge, in steps of 4 points
}

// markRunning marks headers, footers and page numbers that repeat on pages. It removes page numbers, and all but the
// first of the others.
func markRunning(pages []page, m measures) {
	minPages := 3
	if len(pages) < 4 {
		minPages = 2
	}
	if len(pages) < 2 {
		return
	}
	counts := make(map[edge]int)
	for i := range pages {
		p := &pages[i]
		seen := make(map[edge]bool)
		for _, k := range p.edgeLines(m) {
			for _, e := range p.edges(&p.lines[k]) {
				if !seen[e] {
					seen[e] = true
					counts[e]++
				}
			}
		}
	}
	kept := make(map[string]bool)
	for i := range pages {
		p := &pages[i]
		drop := make(map[int]bool)
		for _, k := range p.edgeLines(m) {
			l := &p.lines[k]
			text, found := p.runs(l, counts, minPages, max(3, len(pages)/4), m.body)
			if !found {
				continue
			}
			l.isRunning = true
			drop[k] = kept[text] || !strings.ContainsFunc(text, unicode.IsLetter)
			kept[text] = true
		}
		if len(drop) > 0 {
			at := -1
			p.lines = slices.DeleteFunc(p.lines, func(line) bool { at++; return drop[at] })
		}
	}
}

// runs reports whether a line repeats on pages, and returns its text without the page number. A line in a large font
// may be a heading, so its text must be on many pages.
func (p *page) runs(l *line, counts map[edge]int, minPages, manyPages int, body float64) (string, bool) {
	isLarge := l.size > 1.1*body
	if l.size > 1.6*body {
		return "", false
	}
	for _, e := range p.edges(l) {
		pages := counts[e]
		for _, step := range []int{-1, 1} {
			beside := e
			beside.place += step
			pages += counts[beside]
		}
		switch {
		case pages < minPages, e.text == anyText && pages < 3, isLarge && e.text != "#" && (pages < manyPages || e.offset != math.MinInt):
		case e.text == anyText:
			return strings.Trim(strings.Join(strings.Fields(l.text), " "), "0123456789ivxlc -–|"), true
		default:
			return strings.Trim(e.text, "# -–|"), true
		}
	}
	return "", false
}

// edgeLines returns the indexes of the lines at the edges of a page.
func (p *page) edgeLines(m measures) []int {
	if p.turn%90 != 0 || p.bottom <= p.top {
		return nil
	}
	order := make([]int, 0, len(p.lines))
	for k := range p.lines {
		if l := &p.lines[k]; l.table == nil && l.turn == p.turn {
			order = append(order, k)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.lines[a].base, p.lines[b].base) })
	var rows [][]int // lines at the same height
	for i, k := range order {
		if l := &p.lines[k]; i == 0 || l.base-p.lines[order[i-1]].base > 0.5*l.size {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
	}
	high, low := p.top+edgeShare*(p.bottom-p.top), p.bottom-edgeShare*(p.bottom-p.top)
	last := len(rows) - 1
	hasGap := func(i, other int) bool {
		l, o := &p.lines[rows[i][0]], &p.lines[rows[other][0]]
		return math.Abs(o.base-l.base) > 1.6*m.leading*max(o.size, l.size)
	}
	var chosen []int
	for i, row := range rows {
		switch base := p.lines[row[0]].base; {
		case base < high && i < edgeLines, base > low && i > last-edgeLines:
		case i == 0 && last > 0 && hasGap(0, 1), i == last && last > 0 && hasGap(last, last-1):
		case i < edgeLines || i > last-edgeLines:
			for _, k := range row { // a page number may be further inside than other lines
				if slices.ContainsFunc(p.edges(&p.lines[k]), func(e edge) bool { return e.text == "#" }) {
					chosen = append(chosen, k)
				}
			}
			continue
		default:
			continue
		}
		chosen = append(chosen, row...)
	}
	return chosen
}

// edges returns the edges that a line may be: with one of its numbers as the page number, or with its text.
func (p *page) edges(l *line) []edge {
	const longest = 200
	if len(l.text) > longest {
		return nil
	}
	place := int(math.Round((l.base - p.top) / 4))
	words := strings.Fields(l.text)
	var found []edge
	for i, word := range words {
		bare := strings.Trim(word, "-–—|[]().,:/•")
		number, err := strconv.Atoi(bare)
		if err != nil {
			number = roman(strings.ToLower(bare))
		}
		if number <= 0 || number > 100_000 {
			continue
		}
		before := words[i]
		words[i] = "#"
		text := strings.Join(words, " ")
		words[i] = before
		if i == 0 || i == len(words)-1 {
			// A header that changes, except for the page number.
			found = append(found, edge{text: anyText, offset: number - p.number, place: place})
		}
		if isPageWord(text) {
			text = "#"
		}
		// The number may be on the left and right in turn.
		found = append(found, edge{text: text, offset: number - p.number, place: place})
	}
	for _, piece := range l.pieces {
		if len(piece) > 3 {
			found = append(found, edge{text: strings.Join(strings.Fields(piece), " "), place: place, offset: math.MinInt})
		}
	}
	return append(found, edge{text: strings.Join(words, " "), place: place, offset: math.MinInt})
}

// anyText stands for any text beside a page number.
const anyText = "\x00"

// pageWord matches a line with only a page number, in which # stands for the number.
var pageWord = regexp.MustCompile(`(?i)^\W*(?:page|pages|seite|blatt|p\.|s\.|página|pagina|strona|sida|side|sivu|pág\.)?\s*#\s*(?:(?:of|von|de|di|sur|van|av|af|/|\|)\s*\d+)?\s*(?:页|ページ|頁|page)?\W*$`)

// isPageWord reports whether a line is only a page number.
func isPageWord(text string) bool { return pageWord.MatchString(text) }

// roman parses a small Roman numeral. It returns 0 for an invalid one.
func roman(text string) int {
	if text == "" || len(text) > 8 {
		return 0
	}
	values := map[byte]int{'i': 1, 'v': 5, 'x': 10, 'l': 50, 'c': 100}
	total := 0
	for i := range len(text) {
		value := values[text[i]]
		if value == 0 {
			return 0
		}
		if i+1 < len(text) && values[text[i+1]] > value {
			value = -value
		}
		total += value
	}
	return total
}
