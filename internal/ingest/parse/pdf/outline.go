package pdf

import "context"

const (
	// maxBookmarks and maxOutlineDepth bound what is read of an outline.
	maxBookmarks    = 20_000
	maxOutlineDepth = 32
)

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
		mark := bookmark{title: oneLine(f.wide(ctx, "FPDFBookmark_GetTitle", at.handle)), level: at.level}
		if mark.title == "" || len(mark.title) > maxHeading {
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
