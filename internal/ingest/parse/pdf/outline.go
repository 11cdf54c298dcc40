package pdf

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

const (
	// maxBookmarks and maxOutlineDepth bound what is read of an outline.
	maxBookmarks    = 20_000
	maxOutlineDepth = 32
	// maxPageMarks is how many bookmarks that lead to one page are looked for on it.
	maxPageMarks = 300
)

// slideName is what programs call the slides and pages that have no title.
var slideName = regexp.MustCompile(`(?i)^(?:slide|folie|diapositive|dia|diapositiva|page|seite)\s*\d+$`)

// bookmark is an entry of the outline.
type bookmark struct {
	title string
	level int     // from 1
	page  int     // from 1
	y     float64 // height on the page it leads to, in the space of the page
	high  bool    // whether y is known
	used  bool    // whether a heading was found for it
}

// outline reads the bookmarks that lead to a page of the document, in order.
func (f *file) outline(ctx context.Context, pages int) []bookmark {
	var marks []bookmark
	seen := make(map[uint64]bool) // an outline that leads back to itself must end
	type entry struct {
		handle uint64
		level  int
	}
	stack := []entry{{f.call(ctx, "FPDFBookmark_GetFirstChild", f.document, 0), 1}}
	for len(stack) > 0 && len(seen) < maxBookmarks && f.err == nil {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at.handle == 0 || seen[at.handle] {
			continue
		}
		seen[at.handle] = true
		stack = append(stack, entry{f.call(ctx, "FPDFBookmark_GetNextSibling", f.document, at.handle), at.level})
		if at.level < maxOutlineDepth {
			stack = append(stack, entry{f.call(ctx, "FPDFBookmark_GetFirstChild", f.document, at.handle), at.level + 1})
		}
		mark := bookmark{title: strings.Join(strings.Fields(f.wide(ctx, "FPDFBookmark_GetTitle", at.handle)), " "), level: at.level}
		if mark.title == "" || len(mark.title) > maxHeading || slideName.MatchString(mark.title) {
			continue
		}
		if f.lead(ctx, at.handle, &mark); mark.page > 0 && mark.page <= pages {
			marks = append(marks, mark)
		}
	}
	return marks
}

// lead fills in where a bookmark leads to.
func (f *file) lead(ctx context.Context, handle uint64, mark *bookmark) {
	target := f.call(ctx, "FPDFBookmark_GetDest", f.document, handle)
	if target == 0 {
		if action := f.call(ctx, "FPDFBookmark_GetAction", handle); action != 0 {
			target = f.call(ctx, "FPDFAction_GetDest", f.document, action)
		}
	}
	if target == 0 {
		return
	}
	mark.page = f.number(ctx, "FPDFDest_GetDestPageIndex", f.document, target) + 1
	at := f.scratch
	// Three flags and three numbers: whether x, y and the zoom are given, and what they are.
	if f.number(ctx, "FPDFDest_GetLocationInPage", target, at+16, at+20, at+24, at, at+4, at+8) != 0 && f.word(20) != 0 {
		place := make([]float64, 2)
		f.floats(place)
		mark.y, mark.high = place[1], true
	}
}

// marksByPage returns the indexes of the bookmarks that lead to each page.
func marksByPage(outline []bookmark) map[int][]int {
	pages := make(map[int][]int)
	for b := range outline {
		if number := outline[b].page; len(pages[number]) < maxPageMarks {
			pages[number] = append(pages[number], b)
		}
	}
	return pages
}

// matchOutline makes headings of the lines of a page that the bookmarks name which lead to it.
func matchOutline(groups []group, outline []bookmark, marks []int, words vocabulary) []group {
	if len(marks) == 0 {
		return groups
	}
	names := make([][]string, len(groups))
	for i := range groups {
		names[i] = groups[i].names(words)
	}
	for _, b := range marks {
		mark := &outline[b]
		wanted := letters(mark.title)
		if wanted == "" {
			continue
		}
		for i := range groups {
			count := named(names[i], wanted)
			if count == 0 || groups[i].heading > 0 {
				continue
			}
			groups = split(groups, i, count, min(mark.level, 6))
			names[i] = nil
			if len(groups) > len(names) {
				names = slices.Insert(names, i+1, groups[i+1].names(words))
			}
			mark.used = true
			break
		}
	}
	return groups
}

// names returns the letters of the first line of a group, of the first two, and so on, for as many as a heading may have.
func (g *group) names(words vocabulary) []string {
	if g.table != nil {
		return nil
	}
	var names []string
	text := ""
	for k := range min(len(g.lines), maxHeadingLines) {
		text = joinLines(text, strings.TrimSpace(g.lines[k].text), words)
		if len(text) > 2*maxHeading {
			break
		}
		names = append(names, letters(text))
	}
	return names
}

// named returns how many lines of a group the title of a bookmark is, 0 when it is none. One of them may have a number
// that the other has not.
func named(names []string, wanted string) int {
	const digits = "0123456789"
	for k, have := range names {
		if have == wanted || len(have) > 2 && strings.TrimLeft(have, digits) == strings.TrimLeft(wanted, digits) {
			return k + 1
		}
	}
	return 0
}

// split makes a heading of the first lines of a group. Other lines are a group of their own.
func split(groups []group, i, count, level int) []group {
	g := &groups[i]
	rest := *g
	rest.lines = slices.Clone(g.lines[count:])
	rest.marker, rest.first = "", false
	g.lines, g.heading, g.running, g.marker, g.code = g.lines[:count:count], level, false, "", false
	if len(rest.lines) == 0 {
		return groups
	}
	return slices.Insert(groups, i+1, rest)
}

// insertMarks adds a heading for each bookmark that leads to a page and that no line of it names. The blocks of the page
// begin at start.
func (a *assembler) insertMarks(p *page, start int, outline []bookmark, marks []int) {
	said := ""
	for _, b := range marks {
		mark := &outline[b]
		if mark.used {
			continue
		}
		mark.used = true
		if said == "" {
			said = lettersOf(a.blocks[start:])
		}
		wanted := letters(mark.title)
		if wanted == "" || strings.Contains(said, "\n"+wanted) || len(wanted) >= 8 && strings.Contains(said, wanted) {
			continue
		}
		at := start
		if mark.high {
			_, y := p.turn.apply(0, mark.y)
			for at < len(a.blocks) && a.blocks[at].y < y-1 {
				at++
			}
			if at == len(a.blocks) {
				at = start
			}
		}
		for at < len(a.blocks) && a.blocks[at].Kind == document.Heading && a.blocks[at].Level < mark.level {
			at++
		}
		heading := document.Block{Kind: document.Heading, Level: min(mark.level, 6), Text: mark.title, Page: p.number}
		y := math.Inf(-1)
		if at > start {
			y = a.blocks[at-1].y
		}
		a.blocks = slices.Insert(a.blocks, at, placed{heading, y})
	}
}

// lettersOf returns the letters of blocks, each after a line end.
func lettersOf(blocks []placed) string {
	var b strings.Builder
	for i := range blocks {
		b.WriteByte('\n')
		b.WriteString(letters(blocks[i].Text))
		b.WriteString(letters(strings.Join(blocks[i].Header, " ")))
	}
	return b.String() + "\n"
}
