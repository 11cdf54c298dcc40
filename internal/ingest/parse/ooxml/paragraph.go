package ooxml

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

func (st *story) beginParagraph() {
	f := st.flow
	p := &f.para
	if p.open {
		st.put("\n") // a text box that is nested too deep
		return
	}
	kept := p.line
	if !f.continues {
		kept.Reset()
	}
	page := 0
	if f.continues {
		page = p.page
	}
	*p = paragraph{open: true, style: st.word.styles.paragraph(""), level: -1, outline: -1, fields: st.fields.Depth(), page: page, line: kept}
	f.continues = false
	st.run = run{}
	st.push(frame{kind: frameParagraph})
}

// paragraphProperties reads the properties of the open paragraph.
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
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "pStyle":
			p.style = st.word.styles.paragraph(st.s.Attr("val"))
		case "numId":
			p.list, p.hasList = st.s.Attr("val"), true
		case "ilvl":
			p.level = number(st.s, p.level, wordmodel.MaxListLevels-1)
		case "outlineLvl":
			p.outline = number(st.s, p.outline, wordmodel.BodyLevel)
		case "pageBreakBefore":
			if isToggled(st.s) {
				st.pageBreak(true)
			}
		case "framePr":
			p.isPartial = p.isPartial || st.s.Attr("dropCap") == "drop" || st.s.Attr("dropCap") == "margin"
		case "del", "moveFrom":
			p.isPartial = true
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

// number returns the value of an element if it is from 0 to a limit, else the fallback.
func number(s *xmlscan.Scanner, fallback, limit int) int {
	value, err := strconv.Atoi(s.Attr("val"))
	if err != nil || value < 0 || value > limit {
		return fallback
	}
	return value
}

func (st *story) endParagraph() {
	f := st.flow
	p := &f.para
	p.open = false
	st.fields.EndParagraph(p.fields)
	switch {
	case st.header:
		st.addHeaderLines(&p.line)
	case p.isPartial:
		f.continues = true
	default:
		st.emit(f)
	}
	if len(f.attached) > 0 && !f.continues {
		f.addAttached()
	}
	st.addReferenced()
}

// addReferenced adds the comments to which a paragraph or table of the root refers after it, and keeps its notes until
// the end of the section.
func (st *story) addReferenced() {
	if st.flow != st.root || len(st.comments) == 0 && len(st.notes) == 0 {
		return
	}
	st.root.AddLater(st.comments...)
	st.word.pendingNotes = append(st.word.pendingNotes, st.notes...)
	st.comments, st.notes = nil, nil
}

// emit adds the paragraph of a flow as a block.
func (st *story) emit(f *flow) {
	p := &f.para
	style := p.style
	st.word.Cost += blockCost
	if style.isCode() && p.outline < 0 {
		f.Join(document.Block{Kind: document.Code, Text: p.line.Verbatim(), Page: p.page}, "\n")
		return
	}
	m, label, item := st.marker(p)
	if level, is := headingLevel(p); is && st.heading(f, level, label) {
		return
	}
	text := p.line.Markdown()
	switch {
	case text == "":
		f.Gap(false)
	case item:
		level := st.listLevel(p)
		if !p.hasList {
			level = max(level, style.nesting)
		}
		f.Item(level, m, text, p.page)
	case style.role == wordmodel.RoleQuote:
		f.Join(document.Block{Kind: document.Quote, Text: text, Page: p.page}, "\n\n")
	default:
		f.Flush()
		if f == st.root && st.word.body == st && st.isContents(style) {
			text = p.line.Plain()
			st.word.contents = append(st.word.contents, len(f.Blocks))
		}
		f.Blocks = append(f.Blocks, document.Block{Kind: document.Paragraph, Text: text, Page: p.page})
	}
}

// isContents reports whether a paragraph belongs to a table of contents.
func (st *story) isContents(style *style) bool {
	return style.role == wordmodel.RoleContents || st.openContents > 0 || st.fields.InContents()
}

// headingLevel returns the level of a heading, from 1.
func headingLevel(p *paragraph) (level int, is bool) {
	outline := p.style.outline
	if p.outline >= 0 {
		outline = p.outline
	}
	return wordmodel.HeadingLevel(outline, p.style.isTitle)
}

// heading adds the paragraph as a heading. It is false if the text is empty or too long for one.
func (st *story) heading(f *flow, level int, label string) bool {
	p := &f.para
	text := p.line.Plain()
	if text == "" || len(text) > wordmodel.MaxHeading || !strings.ContainsFunc(text, unicode.IsPrint) {
		return false
	}
	if p.style.isTitle && st.word.title == "" && st.word.body == st {
		st.word.title = text
	}
	if label != "" && !strings.HasPrefix(text, label) {
		text = label + " " + text
	}
	if f == st.root && st.word.body == st {
		f.Flush()
		st.word.addNotes(f)
	}
	f.Add(document.Block{Kind: document.Heading, Level: level, Text: text, Page: p.page})
	return true
}

// marker counts the paragraph in its list. It returns the marker of the item and its number as text.
func (st *story) marker(p *paragraph) (m wordmodel.Marker, label string, item bool) {
	id := p.style.list
	if p.hasList {
		id = p.list
	}
	none := p.hasList && id == "0"
	if id == "" || id == "0" {
		return p.style.fallback, "", p.style.isItem && !none
	}
	if st.word.body != st {
		return wordmodel.Marker{}, "", st.entries != nil // the numbers of notes must not count in the lists of the text
	}
	m, label, found := st.word.lists.next(id, st.listLevel(p))
	switch {
	case found:
		return m, label, !m.Ordered || label != ""
	case p.style.isItem:
		return p.style.fallback, "", true
	}
	return wordmodel.Marker{}, "", !st.word.hasNumbering
}

// listLevel returns the level of a paragraph in its list.
func (st *story) listLevel(p *paragraph) int {
	if p.level >= 0 {
		return p.level
	}
	if !p.hasList && p.style.list != "" {
		if level := st.word.lists.levelOfStyle(p.style.list, p.style.id); level >= 0 {
			return level
		}
	}
	if p.hasList && p.style.list == "" && !p.style.isItem {
		return 0
	}
	return max(p.style.level, 0)
}

// addHeaderLines keeps the lines of a paragraph of a header or footer.
func (st *story) addHeaderLines(l *wordmodel.Line) {
	st.lines = append(st.lines, wordmodel.HeaderLines(string(l.Text))...)
	l.Reset()
}
