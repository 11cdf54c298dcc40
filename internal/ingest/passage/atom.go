package passage

import (
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// An atom is a range of the text that is never split.
type atom struct {
	span      document.Span
	runes     int
	gap       int // runes between the previous atom and this one
	page      int
	section   *section // the heading above, or the heading that the atom is
	isHeading bool
	// before and after make the atom readable at the start or end of a passage. lead is the length of before, and of
	// after for code.
	before, after string
	lead          int
}

// wholeRows is how many times longer than a passage a table row may be without being split.
const wholeRows = 4

// atoms splits a block into atoms.
func (s *splitter) atoms(i int) []atom {
	block, span := &s.document.Blocks[i], s.spans[i]
	runes := utf8.RuneCountInString(s.text[span.Start:span.End])
	if runes <= s.opt.Max {
		return []atom{{span: span, runes: runes, page: block.Page, section: s.current()}}
	}
	switch block.Kind {
	case document.Table:
		return s.table(span, block)
	case document.Code:
		return s.code(span, block)
	case document.Paragraph, document.List, document.Quote, document.Heading:
	}
	return s.prose(span, block)
}

func (s *splitter) atom(start, end int, block *document.Block) atom {
	return atom{
		span: document.Span{Start: start, End: end}, runes: utf8.RuneCountInString(s.text[start:end]), page: block.Page, section: s.current(),
	}
}

func (s *splitter) prose(span document.Span, block *document.Block) []atom {
	var atoms []atom
	for _, piece := range cutProse(s.text, span, block.Kind == document.List, s.opt) {
		atoms = append(atoms, s.atom(piece.Start, piece.End, block))
	}
	return atoms
}

// table returns an atom for each row. The first row includes the header, the others repeat it.
func (s *splitter) table(span document.Span, block *document.Block) []atom {
	head := document.TableHead(block.Header)
	headEnd := span.Start + len(head)
	headRunes := utf8.RuneCountInString(head)
	if headEnd > span.End || s.text[span.Start:headEnd] != head || headRunes > s.opt.Max/2 {
		head, headEnd, headRunes = "", span.Start, 0
	}
	var atoms []atom
	start := span.Start
	at := headEnd
	for line := range strings.Lines(s.text[headEnd:span.End]) {
		at += len(line)
		if at == headEnd+1 && line == "\n" {
			continue // the end of the header's last line
		}
		row := s.atom(start, trimEnd(s.text, start, at), block)
		if start > span.Start && head != "" {
			row.before, row.lead = head+"\n", headRunes+1
		}
		if row.runes > wholeRows*s.opt.Max {
			for _, piece := range cutProse(s.text, row.span, false, s.opt) {
				atoms = append(atoms, s.atom(piece.Start, piece.End, block))
			}
		} else {
			atoms = append(atoms, row)
		}
		start = at
	}
	return atoms
}

// code returns an atom for each range between empty lines, or for each line of a long range.
func (s *splitter) code(span document.Span, block *document.Block) []atom {
	fence := document.Fence(block.Text)
	before, after := fence+block.Language+"\n", "\n"+fence
	inner := document.Span{Start: span.Start + len(before), End: span.End - len(after)}
	if len(before) > s.opt.Max/4 || inner.Start >= inner.End {
		return s.prose(span, block) // the fence is so long that repeating it would outweigh the code
	}
	var atoms []atom
	for _, piece := range cutCode(s.text, inner, s.opt) {
		next := s.atom(piece.Start, piece.End, block)
		next.before, next.after, next.lead = before, after, len(before)+len(after)
		atoms = append(atoms, next)
	}
	if len(atoms) == 0 {
		return nil
	}
	first, last := &atoms[0], &atoms[len(atoms)-1]
	first.span.Start, first.before = span.Start, ""
	last.span.End, last.after = span.End, ""
	return atoms
}

// trimEnd returns end without the white space before it.
func trimEnd(text string, start, end int) int {
	return start + len(strings.TrimRight(text[start:end], " \t\n"))
}
