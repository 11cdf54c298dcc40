package ole

import (
	"cmp"
	"slices"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// span is a stretch of characters of the document.
type span struct{ from, to int }

// spans reads where the texts of a story are, the first numbers of a list. They never overlap: a text begins where the one
// before it ends, or later.
func spans(list view, count, base, length int) []span {
	var found []span
	last := 0
	for i := range min(count, maxEntries) {
		from := max(last, list.u32(4*i))
		to := max(from, min(list.u32(4*(i+1)), length))
		last = to
		found = append(found, span{base + from, base + to})
	}
	return found
}

// anchorKind is what an anchor refers to.
type anchorKind uint8

const (
	anchorNote anchorKind = iota
	anchorEndnote
	anchorComment
	anchorShape
)

// anchor is a character of the body that refers to something.
type anchor struct {
	char int
	kind anchorKind
	// index is the number of the note or comment, or the id of the shape.
	index  int
	author int
}

// readAnchors finds the characters that refer to notes, comments and shapes (MS-DOC 2.8.7 to 2.8.37).
func readAnchors(f *fib) []anchor {
	var found []anchor
	comment := 30
	if f.old {
		comment = 20
	}
	for _, source := range []struct {
		place, entry int
		kind         anchorKind
	}{{placeNoteRefs, 2, anchorNote}, {placeEndnoteRefs, 2, anchorEndnote}, {placeCommentRefs, comment, anchorComment}, {placeShapes, 26, anchorShape}} {
		if f.old && source.kind == anchorShape {
			continue
		}
		list := f.place(source.place)
		count := max(len(list)-4, 0) / (4 + source.entry)
		for i := range min(count, maxEntries) {
			a := anchor{char: list.u32(4 * i), kind: source.kind, index: i}
			entry := list.from(4*(count+1) + i*source.entry)
			switch source.kind {
			case anchorComment:
				a.author = entry.u16(comment - 10)
			case anchorShape:
				a.index = entry.u32(0)
			case anchorNote, anchorEndnote:
			}
			found = append(found, a)
		}
	}
	slices.SortStableFunc(found, func(a, b anchor) int { return cmp.Compare(a.char, b.char) })
	return found
}

// readAuthors reads who has written comments (MS-DOC 2.5.6, fcGrpXstAtnOwners).
func readAuthors(f *fib) []string {
	list := f.place(placeAuthors)
	var found []string
	for at := 0; at < len(list) && len(found) < maxEntries; {
		if f.old {
			length := list.u8(at)
			found = append(found, oneLine(cfb.Decode(codePageOf(f.language), list.part(at+1, length))))
			at += 1 + length
			continue
		}
		length := list.u16(at)
		found = append(found, oneLine(cfb.DecodeUTF16(list.part(at+2, 2*length))))
		at += 2 + 2*length
	}
	return found
}
