package pdf

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// A group is lines that belong together: a paragraph, a heading, a list item, code, or a table.
type group struct {
	page      int // its number
	column    int
	lines     []line
	length    int    // of its text, without the last line
	marker    string // of a list item
	isCode    bool
	isRunning bool
	table     *table
	heading   int     // level, 0 for no heading
	isFirst   bool    // the first of its column
	left      float64 // edges of its column
	right     float64
	gap       float64 // to the line above, in lines
}

const (
	// maxParagraph and maxParagraphLines are the longest paragraph, in bytes and lines.
	maxParagraph      = 64 << 10
	maxParagraphLines = 1000
)

// measures are the typical values of a document.
type measures struct {
	body     float64 // font size of the body, in points
	leading  float64 // distance of lines, as a multiple of the font size
	isMono   bool    // the body is monospaced
	isBold   bool    // much of the text is bold
	isSlides bool    // pages are wider than high
}

// measure returns the measures of pages: the font size of most characters, the distance of most lines.
func measure(pages []page) measures {
	sizes, leadings := make(map[float64]int), make(map[float64]int)
	all, mono, bold := 0, 0, 0
	for i := range pages {
		lines := pages[i].lines
		for k := range lines {
			l := &lines[k]
			length := l.length()
			sizes[math.Round(2*l.size)/2] += length
			if l.table != nil {
				continue
			}
			all += length
			if l.isMono {
				mono += length
			}
			if l.isBold {
				bold += length
			}
			if k > 0 && lines[k-1].column == l.column && math.Abs(lines[k-1].size-l.size) < 0.5 && lines[k-1].table == nil {
				if ratio := (l.base - lines[k-1].base) / l.size; ratio > 0.8 && ratio < 3 {
					leadings[math.Round(ratio*20)/20] += length
				}
			}
		}
	}
	m := measures{body: mode(sizes, 10), leading: mode(leadings, 1.2)}
	wide := 0
	for i := range pages {
		if p := &pages[i]; p.right-p.left > 1.2*(p.bottom-p.top) {
			wide++
		}
	}
	m.isSlides = 2*wide > len(pages)
	m.isMono, m.isBold = 10*mono > 6*all, 10*bold > 3*all
	return m
}

// mode returns the key with the highest value, the smaller one of equals.
func mode(counts map[float64]int, otherwise float64) float64 {
	best, most := otherwise, 0
	for key, count := range counts {
		if key > 0 && (count > most || count == most && key < best) {
			best, most = key, count
		}
	}
	return best
}

// A grouper groups the lines of a page.
type grouper struct {
	measures
	page   *page
	groups []group
}

// groupPage returns the groups of a page.
func groupPage(p *page, m measures) []group {
	g := grouper{measures: m, page: p}
	for k := range p.lines {
		l := &p.lines[k]
		var last, next *line
		if k > 0 && p.lines[k-1].column == l.column {
			last = &p.lines[k-1]
		}
		if k+1 < len(p.lines) && p.lines[k+1].column == l.column {
			next = &p.lines[k+1]
		}
		g.add(l, last, next)
	}
	return g.groups
}

func (g *grouper) add(l, last, next *line) {
	code := l.isMono && !g.isMono && l.table == nil && g.isCode(l, last, next)
	marker := ""
	if l.table == nil && !code {
		marker, _ = listMarker(l.text)
	}
	if n := len(g.groups); n > 0 && last != nil && g.continues(&g.groups[n-1], l, last, next, code, marker) {
		g.groups[n-1].lines = append(g.groups[n-1].lines, *l)
		return
	}
	made := group{page: g.page.number, column: l.column, lines: []line{*l}, marker: marker, isCode: code, isRunning: l.isRunning, table: l.table, isFirst: last == nil, left: g.page.columns[l.column].x0, right: g.page.columns[l.column].x1}
	if last != nil {
		made.gap = (l.base - last.base) / max(l.size, 1)
	}
	g.groups = append(g.groups, made)
}

// isCode reports whether a monospaced line is code, and not a long name in a paragraph.
func (g *grouper) isCode(l, last, next *line) bool {
	if last != nil && last.isMono || next != nil && next.isMono {
		return true
	}
	bounds := g.page.columns[l.column]
	if l.x0 > bounds.x0+0.8*l.size || last == nil {
		return true
	}
	fits := bounds.x1-last.x1 > wordWidth(l)+0.3*l.size
	return l.base-last.base > 1.25*g.leading*l.size || fits || strings.HasSuffix(last.text, ":")
}

// continues reports whether a line belongs to the group of the line above.
func (g *grouper) continues(open *group, l, last, next *line, code bool, marker string) bool {
	if open.table != nil || l.table != nil || open.isCode != code || open.isRunning || l.isRunning || l.turn != last.turn {
		return false
	}
	if open.length += len(last.text); open.length > maxParagraph || len(open.lines) >= maxParagraphLines {
		return false
	}
	distance := l.base - last.base
	if distance <= 0 || math.Abs(l.size-last.size) > 0.08*max(l.size, last.size) {
		return false
	}
	if code {
		return distance < 3.2*l.size
	}
	if marker != "" || distance > g.maxDistance(open, l) {
		return false
	}
	bounds := g.page.columns[l.column]
	width := bounds.x1 - bounds.x0
	room := bounds.x1 - last.x1
	fits := room > wordWidth(l)+0.3*l.size // the first word would fit on the line above
	if l.isBold != last.isBold && fits && room > 0.15*width {
		return false
	}
	if isHyphen(lastRune(last.text)) {
		return true
	}
	indent := l.x0 - last.x0
	step := 0.8 * l.size
	if open.marker != "" {
		return g.continuesItem(open, l, fits)
	}
	if indent > step && len(open.lines) >= 1 && (next == nil || next.x0 < l.x0-0.5*l.size || next.base-l.base > 1.5*distance) &&
		l.x0 < bounds.x0+0.4*width && !isCentred(l, last) && (fits || endsSentence(last.text)) {
		return false // the first line of a paragraph is indented
	}
	if indent < -step && len(open.lines) > 1 && open.lines[1].x0 > open.lines[0].x0+step && math.Abs(l.x0-open.lines[0].x0) < step {
		return false // the other lines of a paragraph are indented
	}
	if startsNumbered(l.text) && startsNumbered(open.lines[0].text) && math.Abs(indent) < step {
		return false
	}
	return !fits || room < 0.15*width || !endsSentence(last.text)
}

var numbered = regexp.MustCompile(`^§*\s*\d{1,4}(?:\.\d{1,4})+\.?\s`)

// startsNumbered reports whether a line starts with a section number. Such lines are no paragraph.
func startsNumbered(text string) bool { return numbered.MatchString(text) }

// maxDistance returns the highest distance of a line from the line above in the same group.
func (g *grouper) maxDistance(open *group, l *line) float64 {
	if n := len(open.lines); n > 1 {
		return 1.22*(open.lines[n-1].base-open.lines[n-2].base) + 0.1*l.size
	}
	return 1.3 * g.leading * l.size
}

// continuesItem reports whether a line belongs to the list item above.
func (g *grouper) continuesItem(open *group, l *line, fits bool) bool {
	step := 0.4 * l.size
	first := open.lines[0].x0
	if len(open.lines) > 1 {
		return l.x0 > open.lines[1].x0-step
	}
	return l.x0 > first+step || !fits
}

func isCentred(a, b *line) bool {
	return math.Abs((a.x0+a.x1)-(b.x0+b.x1)) < a.size
}

// wordWidth estimates the width of the first word of a line.
func wordWidth(l *line) float64 {
	word, _, _ := strings.Cut(l.text, " ")
	switch {
	case l.text == "":
		return 0
	case isIdeographic(firstRune(word)):
		return l.size
	}
	return (l.x1 - l.x0) * float64(len(word)) / float64(len(l.text))
}

// endsSentence reports whether a text ends like a sentence.
func endsSentence(text string) bool {
	text = strings.TrimRight(text, " \"'”’»)]")
	return strings.ContainsRune(".!?:…。！？：", lastRune(text))
}

// flows reports whether a group continues in another at the start of the next column or page.
func (g *group) flows(next *group) bool {
	if g.isCode || next.isCode || g.table != nil || next.table != nil || g.heading > 0 || next.heading > 0 || next.marker != "" || next.isRunning {
		return false
	}
	if len(g.lines)+len(next.lines) > maxParagraphLines || g.length+next.length > maxParagraph {
		return false
	}
	last, first := &g.lines[len(g.lines)-1], &next.lines[0]
	if last.turn != first.turn || math.Abs(last.size-first.size) > 0.08*first.size || last.isBold != first.isBold {
		return false
	}
	if isHyphen(lastRune(last.text)) && unicode.IsLetter(firstRune(first.text)) {
		return true
	}
	return !endsSentence(last.text) && unicode.IsLower(firstRune(first.text))
}

// text returns the lines of a group as text without markup.
func (g *group) text(words vocabulary) string {
	text := ""
	for i := range g.lines {
		text = joinLines(text, strings.TrimSpace(g.lines[i].text), words)
	}
	return smooth(squeeze(text))
}
