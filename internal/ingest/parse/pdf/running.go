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
	// edgeShare is how much of the height of a page its edges are.
	edgeShare = 0.25
)

// edge is what tells whether a line at the edge of a page runs from page to page: what it says, and where it stands.
type edge struct {
	text   string
	offset int // of the number in the text to the number of the page
	place  int // from the upper edge of the page, in steps of 4 points
}

// markRunning marks the headers, footers and page numbers that repeat from page to page. All but the first of them, and
// all page numbers, are taken away; what stays is left out of the flow of the text.
func markRunning(pages []page) {
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
		for _, k := range p.edgeLines() {
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
		for _, k := range p.edgeLines() {
			l := &p.lines[k]
			said, found := p.runs(l, counts, least)
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

// runs tells whether a line runs from page to page, and what it says without the number of the page.
func (p *page) runs(l *line, counts map[edge]int, least int) (string, bool) {
	for _, e := range p.edges(l) {
		pages := counts[e]
		for _, step := range []int{-1, 1} {
			beside := e
			beside.place += step
			pages += counts[beside]
		}
		switch {
		case pages < least, e.text == anyText && pages < 3:
		case e.text == anyText:
			return strings.Trim(oneLine(l.text), "0123456789ivxlc -–|"), true
		default:
			return strings.Trim(e.text, "# -–|"), true
		}
	}
	return "", false
}

// edgeLines returns the indexes of the lines at the edges of a page.
func (p *page) edgeLines() []int {
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
	high, low := p.top+edgeShare*(p.bottom-p.top), p.bottom-edgeShare*(p.bottom-p.top)
	var chosen []int
	for i, k := range order {
		if base := p.lines[k].base; base < high && i < edgeLines || base > low && i >= len(order)-edgeLines {
			chosen = append(chosen, k)
		}
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
			found = append(found, edge{text: oneLine(piece), place: place, offset: math.MinInt})
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
