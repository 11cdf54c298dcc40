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
	// edgeShare is how much of the height of a page its edges are. A single line beyond them is at the edge as well when it
	// is set apart from the others.
	edgeShare = 0.085
)

// edge is what tells whether a line at the edge of a page runs from page to page: what it says, and where it stands.
type edge struct {
	text   string
	offset int // of the number in the text to the number of the page
	place  int // from the upper edge of the page, in steps of 4 points
}

// markRunning marks the headers, footers and page numbers that repeat from page to page. All but the first of them, and
// all page numbers, are taken away; what stays is left out of the flow of the text.
func markRunning(pages []page, m measures) {
	least := 3
	if len(pages) < 4 {
		least = 2
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
			said, found := p.runs(l, counts, least, max(3, len(pages)/4), m.body)
			if !found {
				continue
			}
			l.running = true
			drop[k] = kept[said] || !strings.ContainsFunc(said, unicode.IsLetter)
			kept[said] = true
		}
		if len(drop) > 0 {
			at := -1
			p.lines = slices.DeleteFunc(p.lines, func(line) bool { at++; return drop[at] })
		}
	}
}

// runs tells whether a line runs from page to page, and what it says without the number of the page. A line that is set
// larger than the body may be a heading: it has to be the same on many pages.
func (p *page) runs(l *line, counts map[edge]int, least, many int, body float64) (string, bool) {
	large := l.size > 1.1*body
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
		case pages < least, e.text == anyText && pages < 3, large && e.text != "#" && (pages < many || e.offset != math.MinInt):
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
	var rows [][]int // what stands side by side
	for i, k := range order {
		if l := &p.lines[k]; i == 0 || l.base-p.lines[order[i-1]].base > 0.5*l.size {
			rows = append(rows, nil)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
	}
	high, low := p.top+edgeShare*(p.bottom-p.top), p.bottom-edgeShare*(p.bottom-p.top)
	last := len(rows) - 1
	apart := func(i, other int) bool {
		l, o := &p.lines[rows[i][0]], &p.lines[rows[other][0]]
		return math.Abs(o.base-l.base) > 1.6*m.leading*max(o.size, l.size)
	}
	var chosen []int
	for i, row := range rows {
		switch base := p.lines[row[0]].base; {
		case base < high && i < edgeLines, base > low && i > last-edgeLines:
		case i == 0 && last > 0 && apart(0, 1), i == last && last > 0 && apart(last, last-1):
		case i < edgeLines || i > last-edgeLines:
			for _, k := range row { // the number of a page may stand further in than other lines
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

// edges returns as what a line may run: with one of its numbers as that of the page, or as it is.
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
			// A header that changes with the chapter, but for the number of the page.
			found = append(found, edge{text: anyText, offset: number - p.number, place: place})
		}
		if isPageWord(text) {
			text = "#"
		}
		// The number may stand left on one page and right on the next.
		found = append(found, edge{text: text, offset: number - p.number, place: place})
	}
	for _, piece := range l.pieces {
		if len(piece) > 3 {
			found = append(found, edge{text: strings.Join(strings.Fields(piece), " "), place: place, offset: math.MinInt})
		}
	}
	return append(found, edge{text: strings.Join(words, " "), place: place, offset: math.MinInt})
}

// anyText stands for the text beside the number of a page.
const anyText = "\x00"

// pageWord is a line that says nothing but which page it is.
var pageWord = regexp.MustCompile(`(?i)^\W*(?:page|pages|seite|blatt|p\.|s\.|página|pagina|strona|sida|side|sivu|pág\.)?\s*#\s*(?:(?:of|von|de|di|sur|van|av|af|/|\|)\s*\d+)?\s*(?:页|ページ|頁|page)?\W*$`)

// isPageWord recognises such lines, in which # stands for the number.
func isPageWord(text string) bool { return pageWord.MatchString(text) }

// roman reads a small number in Roman figures, 0 when it is none.
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
