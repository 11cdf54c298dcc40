package pdf

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// maxHeading is the longest heading, in bytes.
	maxHeading = 300
	// maxHeadingLines is the highest number of lines of a heading.
	maxHeadingLines = 4
	// larger is the least ratio of the font sizes of a heading and of the body.
	larger = 1.13
)

// A class is a style of headings.
type class struct {
	size    float64
	isBold  bool // in the font size of the body
	votes   [7]int
	level   int
	count   int
	isLater bool // it occurs after the first page
	first   int  // groups with its first and last heading
	last    int
}

// headings finds the headings of a document and their levels.
type headings struct {
	measures
	groups  []group
	classes []class
}

// mark sets the levels of headings. Some have one from the outline already.
func (h *headings) mark() {
	bold := h.boldHeadings()
	largest := h.largest()
	candidates := make([]int, 0, 64) // groups
	classOf := make(map[int]int)
	for i := range h.groups {
		g := &h.groups[i]
		large := h.isLarge(g) && (!h.isSlides || g.lines[0].size > 0.95*largest[g.page])
		if !large && !bold[i] && g.heading == 0 {
			continue
		}
		size := g.lines[0].size
		if !large {
			size = 0
		}
		k := h.classAt(size, !large)
		c := &h.classes[k]
		if c.count == 0 {
			c.first = i
		}
		c.last = i
		c.count++
		c.isLater = c.isLater || g.page > h.groups[0].page
		if g.heading > 0 {
			c.votes[min(g.heading, 6)]++
			continue
		}
		candidates = append(candidates, i)
		classOf[i] = k
	}
	h.levels()
	for _, i := range candidates {
		g := &h.groups[i]
		g.heading = h.classes[classOf[i]].level
		if h.classes[classOf[i]].isBold {
			g.heading += max(depthOf(g.text(nil))-1, 0)
		}
		g.heading = min(max(g.heading, 1), 6)
	}
}

// largest returns the size of the largest text of each page. On a slide only that is a heading, since slides have texts
// in many sizes.
func (h *headings) largest() map[int]float64 {
	sizes := make(map[int]float64)
	for i := range h.groups {
		if g := &h.groups[i]; g.table == nil && isWordy(g.text(nil)) {
			sizes[g.page] = max(sizes[g.page], g.lines[0].size)
		}
	}
	return sizes
}

// classAt returns the index of the class of headings in a font size.
func (h *headings) classAt(size float64, bold bool) int {
	for k := range h.classes {
		if c := &h.classes[k]; c.isBold == bold && math.Abs(c.size-size) <= 0.04*size {
			return k
		}
	}
	h.classes = append(h.classes, class{size: size, isBold: bold})
	return len(h.classes) - 1
}

// levels sets the levels of the classes: that of the outline if there is one, else by font size. A title on the first
// page is above all others. Other classes that only occur there have no level of their own.
func (h *headings) levels() {
	order := make([]*class, 0, len(h.classes))
	for k := range h.classes {
		order = append(order, &h.classes[k])
	}
	slices.SortFunc(order, func(a, b *class) int { return cmp.Compare(b.size, a.size) })
	start := len(h.groups) // the first heading after the title page
	for _, c := range order {
		if c.isLater {
			start = min(start, c.first)
		}
	}
	next, titles := 1, 0
	for _, c := range order {
		most := 0
		for level, votes := range c.votes {
			if votes > 0 && (most == 0 || votes > c.votes[most]) {
				most = level
			}
		}
		switch {
		case most > 0:
			c.level = most
			next = max(next, most+1)
		case c.last < start && start < len(h.groups) && c.count <= 2 && !c.isBold:
			c.level = min(titles+1, 2)
			titles++
			next = max(next, 2)
		default:
			c.level = next
			next++
		}
		c.level = min(c.level, 6)
	}
}

// isLarge reports whether a group is a heading by its font size.
func (h *headings) isLarge(g *group) bool {
	if g.isRunning || g.table != nil || g.isCode || len(g.lines) > maxHeadingLines || g.marker == "-" {
		return false
	}
	size := g.lines[0].size
	for i := range g.lines {
		if g.lines[i].length() > 160 {
			return false
		}
	}
	text := g.text(nil)
	switch {
	case size < larger*h.body && (size < 1.04*h.body || !g.isBold()), len(text) > maxHeading, !isWordy(text):
		return false
	case strings.HasSuffix(text, ".") && len(text) > 60, strings.HasSuffix(text, ","), strings.Contains(text, " … "):
		return false
	}
	return true
}

// isBold reports whether all of a group is bold.
func (g *group) isBold() bool {
	for i := range g.lines {
		if !g.lines[i].isBold {
			return false
		}
	}
	return true
}

// isWordy reports whether a text contains a word.
func isWordy(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.IsLetter(r) {
			if letters++; letters >= 2 || isIdeographic(r) {
				return true
			}
		}
	}
	return false
}

// boldHeadings returns the groups that are headings only because they are bold. A document with many of them is a form
// and has none.
func (h *headings) boldHeadings() map[int]bool {
	found := make(map[int]bool)
	if h.isBold || h.isSlides {
		return found
	}
	pages := make(map[int]bool)
	for i := range h.groups {
		g := &h.groups[i]
		pages[g.page] = true
		if g.heading > 0 || g.isRunning || g.table != nil || g.isCode || g.marker == "-" || len(g.lines) > 2 || !g.isBold() ||
			g.lines[0].hasGaps && depthOf(g.text(nil)) == 0 || g.lines[0].size < 0.95*h.body || h.isLarge(g) {
			continue
		}
		text := g.text(nil)
		first := firstRune(text)
		if len(text) > 120 || !isWordy(text) || strings.ContainsRune(".,;:", lastRune(text)) || unicode.IsLower(first) ||
			!unicode.IsLetter(first) && !unicode.IsDigit(first) {
			continue
		}
		if !g.isFirst && g.gap < 1.05*h.leading {
			continue // no gap to the text above
		}
		if i+1 == len(h.groups) || h.groups[i+1].page > g.page+1 || h.groups[i+1].table == nil && h.groups[i+1].isBold() && h.groups[i+1].lines[0].size <= h.body*larger {
			continue
		}
		found[i] = true
	}
	if len(found) > 12*len(pages) {
		return make(map[int]bool)
	}
	return found
}

var numbering = regexp.MustCompile(`^(?:[A-Z]\.)?\d{1,3}(?:\.\d{1,3}){0,5}\.?\s+\S`)

// depthOf returns the number of parts of a heading's number: 2 for "3.1 Tools", 0 without a number.
func depthOf(text string) int {
	found := numbering.FindString(text)
	if found == "" {
		return 0
	}
	return strings.Count(strings.TrimRight(strings.Fields(found)[0], "."), ".") + 1
}

// letters returns the letters and digits of a text in lower case, for comparisons.
func letters(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(unicode.ToLower(r))
		} else if r >= utf8.RuneSelf && unicode.IsSymbol(r) {
			b.WriteRune(r)
		}
	}
	return b.String()
}
