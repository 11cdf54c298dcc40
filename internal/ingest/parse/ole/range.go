package ole

import (
	"cmp"
	"slices"

	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
)

// span is a range of characters.
type span struct{ from, to int }

// spans reads the ranges of the texts of a story from the first numbers of a list. The ranges do not overlap.
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

// anchorKind is the kind of thing to which an anchor refers.
type anchorKind uint8

const (
	anchorNote anchorKind = iota
	anchorEndnote
	anchorComment
	anchorShape
)

// An anchor is a character of the body that refers to a note, comment or shape.
type anchor struct {
	char int
	kind anchorKind
	// index is the number of the note or comment, or the id of the shape.
	index  int
	author int
}

// readAnchors reads the anchors of notes, comments and shapes (MS-DOC 2.8.7 to 2.8.37), in the order of the text.
func readAnchors(f *fib) []anchor {
	var found []anchor
	comment := 30
	if f.isOld {
		comment = 20
	}
	for _, source := range []struct {
		place, entry int
		kind         anchorKind
	}{{atNoteRefs, 2, anchorNote}, {atEndnoteRefs, 2, anchorEndnote}, {atCommentRefs, comment, anchorComment}, {atShapes, 26, anchorShape}} {
		if f.isOld && source.kind == anchorShape {
			continue
		}
		list := f.structure(source.place)
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

// readAuthors reads the names of the authors of comments (MS-DOC 2.5.6, fcGrpXstAtnOwners).
func readAuthors(f *fib) []string {
	list := f.structure(atAuthors)
	var found []string
	for at := 0; at < len(list) && len(found) < maxEntries; {
		if f.isOld {
			length := list.u8(at)
			found = append(found, oneLine(cfb.Decode(cfb.CodePageOf(f.language), list.part(at+1, length))))
			at += 1 + length
			continue
		}
		length := list.u16(at)
		found = append(found, oneLine(cfb.DecodeUTF16(list.part(at+2, 2*length))))
		at += 2 + 2*length
	}
	return found
}
