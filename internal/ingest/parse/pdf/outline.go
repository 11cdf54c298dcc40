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
	// maxBookmarks and maxOutlineDepth limit the outline.
	maxBookmarks    = 20_000
	maxOutlineDepth = 32
	// maxPageMarks is how many bookmarks of a page are searched for in its text.
	maxPageMarks = 300
)

// slideName matches default names of slides and pages.
var slideName = regexp.MustCompile(`(?i)^(?:slide|folie|diapositive|dia|diapositiva|page|seite)\s*\d+$`)

// A bookmark is an entry of the outline.
type bookmark struct {
	title  string
	level  int     // from 1
	page   int     // from 1
	y      float64 // height on its page, in page space
	hasY   bool    // y is known
	isUsed bool    // it has a heading
}

// outline reads the bookmarks that lead to a page of the document, in order.
func (f *file) outline(ctx context.Context, pages int) []bookmark {
	var marks []bookmark
	seen := make(map[uint64]bool) // an outline may contain a cycle
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
		if f.destination(ctx, at.handle, &mark); mark.page > 0 && mark.page <= pages {
			marks = append(marks, mark)
		}
	}
	return marks
}

// destination reads the page and height to which a bookmark leads.
func (f *file) destination(ctx context.Context, handle uint64, mark *bookmark) {
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
	// Three flags and three numbers: x, y and zoom.
	if f.number(ctx, "FPDFDest_GetLocationInPage", target, at+16, at+20, at+24, at, at+4, at+8) != 0 && f.word(20) != 0 {
		place := make([]float64, 2)
		f.floats(place)
		mark.y, mark.hasY = place[1], true
	}
}

// marksByPage returns the indexes of the bookmarks of each page.
func marksByPage(outline []bookmark) map[int][]int {
	pages := make(map[int][]int)
	for b := range outline {
		if number := outline[b].page; len(pages[number]) < maxPageMarks {
			pages[number] = append(pages[number], b)
		}
	}
	return pages
}

// matchOutline turns the lines of a page that its bookmarks name into headings.
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
		title := letters(mark.title)
		if title == "" {
			continue
		}
		for i := range groups {
			count := matchingLines(names[i], title)
			if count == 0 || groups[i].heading > 0 {
				continue
			}
			groups = split(groups, i, count, min(mark.level, 6))
			names[i] = nil
			if len(groups) > len(names) {
				names = slices.Insert(names, i+1, groups[i+1].names(words))
			}
			mark.isUsed = true
			break
		}
	}
	return groups
}

// names returns the letters of the first line of a group, of its first two lines, and so on.
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

// matchingLines returns how many lines of a group are the title of a bookmark, 0 if they are not. Only one of them may
// have a number.
func matchingLines(names []string, wanted string) int {
	const digits = "0123456789"
	for k, have := range names {
		if have == wanted || len(have) > 2 && strings.TrimLeft(have, digits) == strings.TrimLeft(wanted, digits) {
			return k + 1
		}
	}
	return 0
}

// split turns the first lines of a group into a heading, and the other lines into a group of their own.
func split(groups []group, i, count, level int) []group {
	g := &groups[i]
	rest := *g
	rest.lines = slices.Clone(g.lines[count:])
	rest.marker, rest.isFirst = "", false
	g.lines, g.heading, g.isRunning, g.marker, g.isCode = g.lines[:count:count], level, false, "", false
	if len(rest.lines) == 0 {
		return groups
	}
	return slices.Insert(groups, i+1, rest)
}

// insertMarks adds a heading for each bookmark of a page that its text does not contain. The blocks of the page begin
// at start.
func (a *assembler) insertMarks(p *page, start int, outline []bookmark, marks []int) {
	text := ""
	for _, b := range marks {
		mark := &outline[b]
		if mark.isUsed {
			continue
		}
		mark.isUsed = true
		if text == "" {
			text = lettersOf(a.blocks[start:])
		}
		title := letters(mark.title)
		if title == "" || strings.Contains(text, "\n"+title) || len(title) >= 8 && strings.Contains(text, title) {
			continue
		}
		at := start
		if mark.hasY {
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

// lettersOf returns the letters of blocks, each after a line break.
func lettersOf(blocks []placed) string {
	var b strings.Builder
	for i := range blocks {
		b.WriteByte('\n')
		b.WriteString(letters(blocks[i].Text))
		b.WriteString(letters(strings.Join(blocks[i].Header, " ")))
	}
	return b.String() + "\n"
}
