package chunk

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// Passage is one stretch of a document.
type Passage struct {
	// Ordinal counts the passages of a document from 0.
	Ordinal int
	// Headings are the headings the passage stands under, the highest first, without one that only repeats the title.
	// Their lines are not in Text.
	Headings []string
	// Text is Markdown. It is the document's Markdown from Start to End, save that a table or code that was begun in an
	// earlier passage has its header or fence again, and code that goes on in a later one is closed.
	Text string
	// Anchor is the fragment of the nearest heading above the start of the passage, "" before the first heading.
	Anchor string
	// Page is where the passage starts, 0 where the format has no pages.
	Page int
	// Start and End are byte offsets in the document's Markdown. Passages do not overlap and come in order.
	Start, End int
}

// Options bounds the length of passages in runes; zero values take the default.
type Options struct {
	// Min is the length from which on a passage may end before a heading (800), Target the length aimed at (1000), Max the
	// greatest (1200). Only two things are longer than Max: a table row, up to four times Max, together with its header,
	// and what is added to a cut block to make it readable alone, its fence or header, at most half of Max.
	Min, Target, Max int
}

func (o Options) withDefaults() Options {
	if o.Max <= 0 {
		o.Max = 1200
		if o.Target > 0 {
			o.Max = o.Target * 6 / 5
		}
	}
	if o.Target <= 0 || o.Target > o.Max {
		o.Target = max(o.Max*5/6, 1)
	}
	if o.Min <= 0 || o.Min > o.Target {
		o.Min = max(o.Target*4/5, 1)
	}
	return o
}

// Split cuts a document into passages. The same document and options give the same passages. A document that has only
// headings gives one passage of them.
func Split(d *document.Document, opt Options) []Passage {
	text, spans := d.Render()
	return SplitText(d, text, spans, opt)
}

// SplitText is Split for a caller that has rendered the document.
func SplitText(d *document.Document, text string, spans []document.Span, opt Options) []Passage {
	s := splitter{document: d, text: text, spans: spans, opt: opt.withDefaults(), border: borderLevel(d.Blocks)}
	for i := range d.Blocks {
		s.block(i)
	}
	s.endGroup()
	if len(s.passages) == 0 && strings.TrimSpace(text) != "" {
		s.headingsOnly()
	}
	return s.passages
}

// borderLevel is the lowest level of heading that passages do not reach over.
func borderLevel(blocks []document.Block) int {
	highest := 7
	for i := range blocks {
		if blocks[i].Kind == document.Heading {
			highest = min(highest, blocks[i].Level)
		}
	}
	return max(highest, 2)
}

// splitter walks the blocks of a document, collects those between two borders and packs them.
type splitter struct {
	document *document.Document
	text     string
	spans    []document.Span
	opt      Options
	border   int
	path     []*section
	group    []atom
	passages []Passage
}

// section is a heading with the headings above it.
type section struct {
	title, anchor string
	level         int
	path          []string // titles from the highest down to this one
}

func (s *splitter) block(i int) {
	block := &s.document.Blocks[i]
	if block.Kind != document.Heading {
		s.group = append(s.group, s.atoms(i)...)
		return
	}
	if block.Level <= s.border {
		s.endGroup()
	}
	for len(s.path) > 0 && s.path[len(s.path)-1].level >= block.Level {
		s.path = s.path[:len(s.path)-1]
	}
	next := &section{title: block.Text, anchor: block.Anchor, level: block.Level}
	if len(s.path) > 0 {
		next.path = s.path[len(s.path)-1].path
	}
	if block.Level > 1 || !strings.EqualFold(strings.TrimSpace(block.Text), s.document.Title) {
		next.path = append(slices.Clip(next.path), block.Text)
	}
	s.path = append(s.path, next)
	if block.Level > s.border {
		s.group = append(s.group, atom{
			span: s.spans[i], runes: utf8.RuneCountInString(block.Text) + block.Level + 1, heading: true, page: block.Page, section: next,
		})
	}
}

func (s *splitter) current() *section {
	if len(s.path) == 0 {
		return nil
	}
	return s.path[len(s.path)-1]
}

// headingsOnly makes one passage, or as many as the limit asks for, of a document without other text.
func (s *splitter) headingsOnly() {
	s.path = nil
	for i := range s.document.Blocks {
		if s.document.Blocks[i].Kind == document.Heading {
			s.group = append(s.group, s.prose(s.spans[i], &s.document.Blocks[i])...)
		}
	}
	s.endGroup()
}

// endGroup packs the blocks since the last border into passages of about the same length.
func (s *splitter) endGroup() {
	group := s.group
	s.group = s.group[:0]
	for len(group) > 0 && group[len(group)-1].heading {
		group = group[:len(group)-1] // a heading without text below it
	}
	if len(group) == 0 {
		return
	}
	total := 0
	for i := range group {
		if i > 0 {
			group[i].gap = utf8.RuneCountInString(s.text[group[i-1].span.End:group[i].span.Start])
		}
		total += group[i].gap + group[i].runes
	}
	target := s.opt.Max
	if total > s.opt.Max {
		count := max((total+s.opt.Target/2)/s.opt.Target, (total+s.opt.Max-1)/s.opt.Max)
		target = min((total+count-1)/count, s.opt.Max)
	}
	s.pack(group, total, target)
}

// pack fills passages up to target, ending early before a heading once they have the least length, unless the rest is
// short and still fits.
func (s *splitter) pack(group []atom, rest, target int) {
	from, size := 0, group[0].lead
	for i := range group {
		next := group[i].gap + group[i].runes
		ends := size+next > s.opt.Max || size+next/2 > target || group[i].heading && size >= s.opt.Min
		if i > from && ends && (size+rest > s.opt.Max || group[i].heading && rest >= s.opt.Min/4) {
			to := i
			for to > from && group[to-1].heading {
				to-- // a heading goes with what stands below it
			}
			if to == from {
				to = i - 1 // nothing but headings so far, too many of them
			}
			if to > from {
				s.emit(group[from:to])
				from, size = to, group[to].lead-group[to].gap
				for _, carried := range group[to:i] {
					size += carried.gap + carried.runes
				}
			}
		}
		size += next
		rest -= next
	}
	s.emit(group[from:])
}

// emit makes a passage of atoms that follow each other. Nothing but headings, each below the other, make none.
func (s *splitter) emit(atoms []atom) {
	passage := Passage{Ordinal: len(s.passages)}
	if above := atoms[0].section; above != nil {
		passage.Anchor = above.anchor
		passage.Headings = above.path
	}
	// Headings at the start that all the rest stands under are in the path and not in the text.
	for len(atoms) > 0 && atoms[0].heading && highest(atoms[1:]) > atoms[0].section.level {
		passage.Headings, passage.Anchor = atoms[0].section.path, atoms[0].section.anchor
		atoms = atoms[1:]
	}
	if len(atoms) == 0 {
		return
	}
	if atoms[0].heading {
		passage.Headings = commonPath(atoms)
	}
	passage.Headings = slices.Clone(passage.Headings)
	last := &atoms[len(atoms)-1]
	passage.Page, passage.Start, passage.End = atoms[0].page, atoms[0].span.Start, last.span.End
	passage.Text = atoms[0].before + s.text[passage.Start:passage.End] + last.after
	s.passages = append(s.passages, passage)
}

// highest returns the level of the highest heading among atoms, 7 when there is none.
func highest(atoms []atom) int {
	level := 7
	for i := range atoms {
		if atoms[i].heading {
			level = min(level, atoms[i].section.level)
		}
	}
	return level
}

// commonPath returns the headings that all headings among atoms stand under.
func commonPath(atoms []atom) []string {
	var common []string
	for i := range atoms {
		if !atoms[i].heading {
			continue
		}
		above := atoms[i].section.path[:len(atoms[i].section.path)-1]
		if i == 0 {
			common = above
			continue
		}
		n := 0
		for n < min(len(common), len(above)) && common[n] == above[n] {
			n++
		}
		common = common[:n]
	}
	return common
}
