package passage

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// A Passage is a range of a document.
type Passage struct {
	// Ordinal counts the passages of a document from 0.
	Ordinal int
	// Headings are the headings above all of the passage, the highest first, without one that repeats the title.
	Headings []string
	// Text is the document's Markdown from Start to End. If a table or code starts in an earlier passage, its header or
	// fence is repeated. Code that continues in a later passage is closed.
	Text string
	// Anchor is the fragment of the heading above the start of the passage, "" before the first heading.
	Anchor string
	// Page is the page of the start, 0 in formats without pages.
	Page int
	// Start and End are byte offsets in the document's Markdown. Passages are in order and do not overlap.
	Start, End int
	// Stub says that the text leads elsewhere: a list of links, a page that has moved.
	Stub bool
	// Sections are the sections that begin in Text, in order: their headings are lines of it. It is nil for a passage of
	// one section.
	Sections []Section
}

// A Section is the part of a passage from a heading in its text to the next one, or to the end.
type Section struct {
	// Start is the byte offset of the heading's line in the passage's text.
	Start int `json:"start"`
	// Headings, Anchor and Page are those of a passage that begins here; the heading itself is the last of Headings.
	Headings []string `json:"headings"`
	Anchor   string   `json:"anchor"`
	Page     int      `json:"page,omitempty"`
}

// Options limits the length of passages in runes. Zero fields have defaults.
type Options struct {
	// Tiny is the length below which a section shares a passage with tiny sections beside it (200), Target the usual
	// length (1000), Max the longest (1200). Two things may exceed Max: a table row, up to four times Max with its header, and the header or
	// fence that is repeated for the rest of a block, up to half of Max.
	Tiny, Target, Max int
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
	if o.Tiny <= 0 || o.Tiny > o.Target {
		o.Tiny = max(o.Target/5, 1)
	}
	return o
}

// Split splits a document into passages. The result is deterministic. A document with only headings has a passage of
// them.
func Split(d *document.Document, opt Options) []Passage {
	text, spans := d.Render()
	return SplitText(d, text, spans, opt)
}

// SplitText is Split for a rendered document.
func SplitText(d *document.Document, text string, spans []document.Span, opt Options) []Passage {
	s := splitter{document: d, text: text, spans: spans, opt: opt.withDefaults(), border: borderLevel(d.Blocks)}
	for i := range d.Blocks {
		s.block(i)
	}
	s.endGroup()
	if len(s.passages) == 0 && strings.TrimSpace(text) != "" {
		s.headingsOnly()
	}
	for i := range s.passages {
		s.passages[i].Stub = isStub(s.passages[i].Text, len(s.passages) == 1)
	}
	return s.passages
}

// borderLevel returns the lowest level of headings that end a passage.
func borderLevel(blocks []document.Block) int {
	highest := 7
	for i := range blocks {
		if blocks[i].Kind == document.Heading {
			highest = min(highest, blocks[i].Level)
		}
	}
	return max(highest, 2)
}

// A splitter collects the blocks of a document between two borders and packs them.
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
	path          []string // titles from the highest to this one
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
			span: s.spans[i], runes: utf8.RuneCountInString(block.Text) + block.Level + 1, isHeading: true, page: block.Page, section: next,
		})
	}
}

func (s *splitter) current() *section {
	if len(s.path) == 0 {
		return nil
	}
	return s.path[len(s.path)-1]
}

// headingsOnly makes passages of a document without other text.
func (s *splitter) headingsOnly() {
	s.path = nil
	for i := range s.document.Blocks {
		if s.document.Blocks[i].Kind == document.Heading {
			s.group = append(s.group, s.prose(s.spans[i], &s.document.Blocks[i])...)
		}
	}
	s.endGroup()
}

// endGroup packs the blocks since the last border into passages.
func (s *splitter) endGroup() {
	group := s.group
	s.group = s.group[:0]
	for len(group) > 0 && group[len(group)-1].isHeading {
		group = group[:len(group)-1] // a heading without text below it
	}
	if len(group) == 0 {
		return
	}
	for i := range group[1:] {
		group[i+1].gap = utf8.RuneCountInString(s.text[group[i].span.End:group[i+1].span.Start])
	}
	for _, run := range s.runs(group) {
		total := 0
		for i := range run {
			total += run[i].gap + run[i].runes
		}
		target := s.opt.Max
		if total > s.opt.Max {
			count := max((total+s.opt.Target/2)/s.opt.Target, (total+s.opt.Max-1)/s.opt.Max)
			target = min((total+count-1)/count, s.opt.Max)
		}
		s.pack(run, total, target)
	}
}

// runs divides a group into the ranges that do not share a passage: a section, or consecutive tiny sections up to Max
// together. A section is a heading with the text up to the next one. A heading without text belongs to the section below.
func (s *splitter) runs(group []atom) [][]atom {
	var runs [][]atom
	from, shared := 0, 0 // where the section starts; runes of the last run if its sections are tiny
	for to := 1; to <= len(group); to++ {
		if to < len(group) && (!group[to].isHeading || group[to-1].isHeading) {
			continue
		}
		size := 0
		for i := range group[from:to] {
			size += group[from+i].gap + group[from+i].runes
		}
		last := len(runs) - 1
		if shared > 0 && size < s.opt.Tiny && shared+size <= s.opt.Max {
			runs[last] = group[from-len(runs[last]) : to]
			shared += size
		} else {
			runs = append(runs, group[from:to])
			group[from].gap, shared = 0, 0
			if size < s.opt.Tiny {
				shared = size
			}
		}
		from = to
	}
	return runs
}

// pack fills passages up to the target.
func (s *splitter) pack(group []atom, rest, target int) {
	from, size := 0, group[0].lead
	for i := range group {
		next := group[i].gap + group[i].runes
		ends := size+next > s.opt.Max || size+next/2 > target
		if i > from && ends && size+rest > s.opt.Max {
			to := i
			for to > from && group[to-1].isHeading {
				to-- // a heading belongs to the text below it
			}
			if to == from {
				to = i - 1 // too many headings without text
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

// emit adds a passage of consecutive atoms, unless they are only headings of which each is below the one before.
func (s *splitter) emit(atoms []atom) {
	passage := Passage{Ordinal: len(s.passages)}
	if above := atoms[0].section; above != nil {
		passage.Anchor = above.anchor
		passage.Headings = above.path
	}
	// Headings above all the rest of the passage are in its path, not in its text.
	for len(atoms) > 0 && atoms[0].isHeading && highest(atoms[1:]) > atoms[0].section.level {
		passage.Headings, passage.Anchor = atoms[0].section.path, atoms[0].section.anchor
		atoms = atoms[1:]
	}
	if len(atoms) == 0 {
		return
	}
	if only := onlyText(atoms); only != nil {
		passage.Headings, passage.Anchor = only.path, only.anchor
	} else if atoms[0].isHeading {
		passage.Headings = commonPath(atoms)
	}
	passage.Headings = slices.Clone(passage.Headings)
	last := &atoms[len(atoms)-1]
	passage.Page, passage.Start, passage.End = atoms[0].page, atoms[0].span.Start, last.span.End
	passage.Text = atoms[0].before + s.text[passage.Start:passage.End] + last.after
	for i := range atoms {
		if atoms[i].isHeading {
			passage.Sections = append(passage.Sections, Section{
				Start: len(atoms[0].before) + atoms[i].span.Start - passage.Start, Headings: slices.Clone(atoms[i].section.path),
				Anchor: atoms[i].section.anchor, Page: atoms[i].page,
			})
		}
	}
	s.passages = append(s.passages, passage)
}

// highest returns the level of the highest heading among atoms, 7 if there is none.
func highest(atoms []atom) int {
	level := 7
	for i := range atoms {
		if atoms[i].isHeading {
			level = min(level, atoms[i].section.level)
		}
	}
	return level
}

// onlyText returns the section of all text among atoms, nil if there are several or the text is below no heading.
func onlyText(atoms []atom) *section {
	var only *section
	for i := range atoms {
		switch {
		case atoms[i].isHeading:
		case atoms[i].section == nil, only != nil && atoms[i].section != only:
			return nil
		default:
			only = atoms[i].section
		}
	}
	return only
}

// commonPath returns the headings above all headings among atoms.
func commonPath(atoms []atom) []string {
	var common []string
	for i := range atoms {
		if !atoms[i].isHeading {
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
