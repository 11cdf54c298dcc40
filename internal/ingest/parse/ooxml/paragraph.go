package ooxml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// maxHeading is the longest text, in bytes, that is taken for a heading.
const maxHeading = 1000

func (st *story) beginParagraph() {
	f := st.flow
	p := &f.para
	if p.open {
		st.put("\n") // a text box nested too deep
		return
	}
	kept := p.line
	if !f.carried {
		kept.reset()
	}
	page := 0
	if f.carried {
		page = p.page
	}
	*p = paragraph{open: true, style: st.word.styles.paragraph(""), level: -1, outline: -1, fields: len(st.fields.open), page: page, line: kept}
	f.carried = false
	st.run = run{}
	st.push(frame{kind: frameParagraph})
}

// paragraphProperties reads the properties of the paragraph that has begun.
func (st *story) paragraphProperties() error {
	p := &st.flow.para
	if !p.open {
		return st.s.Skip()
	}
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "pStyle":
			p.style = st.word.styles.paragraph(st.s.Attr("val"))
		case "numId":
			p.number, p.numbered = st.s.Attr("val"), true
		case "ilvl":
			p.level = number(st.s, p.level, maxLevels-1)
		case "outlineLvl":
			p.outline = number(st.s, p.outline, bodyLevel)
		case "pageBreakBefore":
			if toggled(st.s) {
				st.pageBreak(true)
			}
		case "framePr":
			p.joined = p.joined || st.s.Attr("dropCap") == "drop" || st.s.Attr("dropCap") == "margin"
		case "del", "moveFrom":
			p.joined = true
		case "sectPr":
			err = st.section()
		case "pPrChange", "rPrChange":
			err = st.s.Skip()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// number reads a value from 0 to a limit; what is none leaves the number as it was.
func number(s *xmlscan.Scanner, was, limit int) int {
	value, err := strconv.Atoi(s.Attr("val"))
	if err != nil || value < 0 || value > limit {
		return was
	}
	return value
}

func (st *story) endParagraph() {
	f := st.flow
	p := &f.para
	p.open = false
	st.fields.settle(p.fields)
	switch {
	case st.header:
		st.headerLine(&p.line)
	case p.joined:
		f.carried = true
	default:
		st.emit(f)
	}
	if len(f.after) > 0 && !f.carried {
		f.flush()
		f.blocks = append(f.blocks, f.after...)
		f.after = nil
	}
	st.settle()
}

// settle puts the comments that a paragraph or table of the root referred to after it, and keeps its notes for the end of
// the section.
func (st *story) settle() {
	if st.flow != st.root || len(st.held) == 0 && len(st.notes) == 0 {
		return
	}
	st.root.quotes = append(st.root.quotes, st.held...)
	st.held = nil
	st.word.pending = append(st.word.pending, st.notes...)
	st.notes = nil
	if !st.root.joining || st.root.pending != document.List {
		st.root.flush()
	}
}

// emit makes a block of the paragraph of a flow.
func (st *story) emit(f *flow) {
	p := &f.para
	style := p.style
	st.word.cost += blockCost
	if style.code() && p.outline < 0 {
		f.join(document.Code, "\n", p.line.verbatim(), p.page)
		return
	}
	m, label, item := st.marker(p)
	if level, is := headingLevel(p); is && st.heading(f, level, label) {
		return
	}
	text := p.line.markdown()
	switch {
	case text == "":
		f.gap()
	case item:
		level := st.level(p)
		if !p.numbered {
			level = max(level, style.nesting)
		}
		f.item(level, m, text, p.page)
	case style.role == roleQuote:
		f.join(document.Quote, "\n\n", text, p.page)
	default:
		f.flush()
		if f == st.root && st.word.body == st && st.isContents(style) {
			text = p.line.plain()
			st.word.contents = append(st.word.contents, len(f.blocks))
		}
		f.blocks = append(f.blocks, document.Block{Kind: document.Paragraph, Text: text, Page: p.page})
	}
}

// isContents tells whether a paragraph is an entry of a table of contents, or the line above one.
func (st *story) isContents(style *style) bool {
	return style.role == roleContents || st.contents > 0 || st.fields.toc()
}

// headingLevel returns the level of a heading, counted from 1.
func headingLevel(p *paragraph) (level int, is bool) {
	outline := p.style.outline
	if p.outline >= 0 {
		outline = p.outline
	}
	switch {
	case outline < bodyLevel:
		return min(outline+1, 6), true
	case p.style.title:
		return 1, true
	}
	return 0, false
}

// heading adds a heading, where the text is one: not empty, and no longer than headings are.
func (st *story) heading(f *flow, level int, label string) bool {
	p := &f.para
	text := p.line.plain()
	if text == "" || len(text) > maxHeading || !strings.ContainsFunc(text, unicode.IsPrint) {
		return false
	}
	if p.style.title && st.word.title == "" && st.word.body == st {
		st.word.title = text
	}
	if label != "" && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if f == st.root && st.word.body == st {
		f.flush()
		st.word.placeNotes(f)
	}
	f.add(document.Block{Kind: document.Heading, Level: level, Text: text, Page: p.page})
	return true
}

// marker counts the paragraph in its list. It returns what stands before it as an item, and its number as text.
func (st *story) marker(p *paragraph) (m marker, label string, item bool) {
	id := p.style.number
	if p.numbered {
		id = p.number
	}
	none := p.numbered && id == "0"
	if id == "" || id == "0" {
		return p.style.fallback, "", p.style.isItem && !none
	}
	if st.word.body != st {
		return marker{}, "", st.entries != nil // what is counted in notes must not be missing in the text
	}
	m, label, found := st.word.numbers.next(id, st.level(p))
	switch {
	case found:
		return m, label, !m.ordered || label != ""
	case p.style.isItem:
		return p.style.fallback, "", true
	}
	return marker{}, "", !st.word.numbered
}

// level returns on which level of its list a paragraph stands.
func (st *story) level(p *paragraph) int {
	if p.level >= 0 {
		return p.level
	}
	if !p.numbered && p.style.number != "" {
		if level := st.word.numbers.levelOfStyle(p.style.number, p.style.id); level >= 0 {
			return level
		}
	}
	if p.numbered && p.style.number == "" && !p.style.isItem {
		return 0
	}
	return max(p.style.level, 0)
}

// headerLine keeps a line of a header or footer: what stands between its tabs, without page numbers and the words around
// them.
func (st *story) headerLine(l *line) {
	for text := range strings.SplitSeq(string(l.text), "\n") {
		var kept []string
		for part := range strings.SplitSeq(text, "\t") {
			if strings.Contains(part, pageMark) {
				part = strings.ReplaceAll(part, pageMark, " ")
				if countLetters(part) <= maxPageWords {
					continue
				}
			}
			if part = strings.Join(strings.Fields(part), " "); part != "" {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			st.lines = append(st.lines, strings.Join(kept, " "))
		}
	}
	l.reset()
}

// maxPageWords is how many letters the words around a page number have: "Page of".
const maxPageWords = 14

func countLetters(text string) int {
	n := 0
	for _, r := range text {
		if isWordRune(r) {
			n++
		}
	}
	return n
}
