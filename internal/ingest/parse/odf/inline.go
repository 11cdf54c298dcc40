package odf

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// outlineLevel returns the level of a heading element.
func outlineLevel(s *xmlscan.Scanner) int {
	level, err := strconv.Atoi(s.Attr("outline-level"))
	if err != nil || level < 1 {
		return 1
	}
	return level
}

// paragraph reads a paragraph, or a heading if the level is not 0.
func (w *walker) paragraph(s *xmlscan.Scanner, level int) error {
	style := w.r.styles.get("paragraph", s.Attr("style-name"))
	if style.hidden == on {
		return w.skip(s)
	}
	if level == 0 {
		level = style.outline
	}
	if style.breakBefore == on || style.newMaster {
		w.breakPage()
	}
	label := ""
	if level > 0 && len(w.items) == 0 {
		label = w.outlineNumber(s, style, level)
	}
	ln := w.openLine(style.code && level == 0, level > 0)
	err := w.inline(s, ln)
	text, after, hidden, page := ln.text(), ln.after, ln.isHidden, ln.page
	w.closeLine()
	if !hidden {
		w.emitParagraph(text, label, style, level, page)
	}
	for _, block := range after {
		w.emit(block)
	}
	if style.breakAfter == on {
		w.turnPage()
	}
	return err
}

func (w *walker) emitParagraph(text, label string, style *style, level, page int) {
	block := document.Block{Kind: document.Paragraph, Text: text, Page: page}
	if style.title && level == 0 && w.nested == 0 && len(w.items) == 0 {
		text = strings.Join(strings.Fields(text), " ")
		level = 1
		if w.r.draft.Title == "" {
			w.r.draft.Title = text
		}
	}
	switch {
	case text == "" && w.kind == document.List:
		return
	case text == "" && style.code:
		if len(w.pending) > 0 && w.kind == document.Code {
			w.extend(document.Code, "\n", "", page)
		}
		return
	case text == "":
		w.flush()
		return
	case level > 0 && len(text) <= maxHeading:
		if len(w.items) > 0 {
			label = w.itemNumber()
		}
		if label != "" && !strings.HasPrefix(text, label) {
			text = label + " " + text
		}
		w.heading(text, level, page)
		return
	case style.code:
		block.Kind = document.Code
	case style.quote:
		block.Kind = document.Quote
	}
	w.emit(block)
}

// heading adds a heading. The pending notes come before it.
func (w *walker) heading(text string, level, page int) {
	if w.nested == 0 {
		w.flushNotes()
	}
	w.emit(document.Block{Kind: document.Heading, Level: min(level, 6), Text: text, Anchor: w.anchors.Take("", text), Page: page})
}

// breakPage starts a new page, unless the page is the first and empty.
func (w *walker) breakPage() {
	if w.nested == 0 && (len(w.blocks) > 0 || len(w.pending) > 0) {
		w.turnPage()
	}
}

// inline reads the content of a paragraph.
func (w *walker) inline(s *xmlscan.Scanner, ln *line) error {
	for depth := s.Depth(); ; {
		kind, err := w.next(s)
		if err != nil {
			return err
		}
		switch kind {
		case xmlscan.Text:
			ln.write(s.Bytes())
		case xmlscan.Start:
			if err := w.inlineElement(s, ln); err != nil {
				return err
			}
		case xmlscan.End:
			if s.Depth() < depth {
				return nil
			}
		}
	}
}

func (w *walker) inlineElement(s *xmlscan.Scanner, ln *line) error {
	switch s.Prefix() {
	case "text":
		return w.inlineText(s, ln)
	case "draw":
		if s.Name() == "a" {
			break
		}
		text, blocks, err := w.drawing(s)
		if ln.isPlain {
			ln.after = append(ln.after, document.Block{Kind: document.Paragraph, Text: text})
		} else {
			ln.word(text)
		}
		ln.after = append(ln.after, blocks...)
		return err
	case "table":
		if s.Name() != "table" {
			break
		}
		blocks, err := w.collect(func() error { return w.table(s) })
		ln.after = append(ln.after, blocks...)
		return err
	case "office":
		switch s.Name() {
		case "annotation":
			quote, err := w.annotation(s)
			ln.after = append(ln.after, quote)
			return err
		case "annotation-end", "event-listeners", "binary-data":
			return w.skip(s)
		}
	case "presentation", "svg", "dc", "meta", "form":
		return w.skip(s)
	}
	if s.Name() == "math" {
		text, err := w.formula(s)
		ln.word(text)
		return err
	}
	return w.inline(s, ln)
}

func (w *walker) inlineText(s *xmlscan.Scanner, ln *line) error {
	switch s.Name() {
	case "s":
		count, err := strconv.Atoi(s.Attr("c"))
		if err != nil {
			count = 1
		}
		ln.blanks(count)
	case "tab":
		ln.tab()
	case "line-break":
		ln.lineBreak()
	case "soft-page-break":
		w.hasPageBreaks = true
		w.turnPage()
		if len(ln.buf) == 0 {
			ln.page = w.page
		}
	case "span":
		return w.span(s, ln)
	case "a":
		before := ln.look
		if target := linkTarget(s.Attr("href")); target != "" {
			ln.look.link = target
		}
		err := w.inline(s, ln)
		ln.look = before
		return err
	case "note":
		return w.note(s, ln)
	case "p", "h":
		ln.space()
		err := w.inline(s, ln)
		ln.space()
		return err
	case "ruby-text":
		ln.write([]byte("("))
		err := w.inline(s, ln)
		ln.write([]byte(")"))
		return err
	case "page-number", "page-count":
		if w.inMargin {
			w.hasPageNumber = true
			return w.skip(s)
		}
	case "hidden-text":
		if s.Attr("is-hidden") != "false" {
			return w.skip(s)
		}
	case "hidden-paragraph":
		ln.isHidden = ln.isHidden || s.Attr("is-hidden") == "true"
		return w.skip(s)
	case "script", "tracked-changes", "number":
		return w.skip(s)
	}
	return w.inline(s, ln)
}

func (w *walker) span(s *xmlscan.Scanner, ln *line) error {
	style := w.r.styles.get("text", s.Attr("style-name"))
	if style.hidden == on {
		return w.skip(s)
	}
	before := ln.look
	style.bold.apply(&ln.look.bold)
	style.italic.apply(&ln.look.italic)
	ln.look.code = ln.look.code || style.code
	err := w.inline(s, ln)
	ln.look = before
	return err
}

// linkTarget returns a web or mail address, "" for other targets.
func linkTarget(href string) string {
	href = strings.TrimSpace(href)
	scheme, _, found := strings.Cut(href, ":")
	if !found || len(href) > 1000 {
		return ""
	}
	switch strings.ToLower(scheme) {
	case "http", "https", "mailto":
		if !strings.ContainsAny(href, " ()\n\t") {
			return href
		}
		return strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29", "\n", "", "\t", "").Replace(href)
	}
	return ""
}

// A note is a footnote or endnote.
type note struct {
	label, text string
	page        int
}

// note reads a note. Its number stays in the text, the note comes before the next heading.
func (w *walker) note(s *xmlscan.Scanner, ln *line) error {
	made := note{page: w.page}
	w.hasEndnotes = w.hasEndnotes || s.Attr("note-class") == "endnote"
	err := w.each(s, func() error {
		var err error
		switch s.Name() {
		case "note-citation":
			made.label, err = w.flat(s)
		case "note-body":
			made.text, err = w.collectText(s, func() error { return w.flow(s) })
		default:
			err = w.skip(s)
		}
		return err
	})
	if made.label == "" {
		made.label = "*"
	}
	if made.text != "" {
		if !ln.isPlain {
			before := ln.look
			ln.look = look{}
			ln.write([]byte("[" + made.label + "]"))
			ln.look = before
		}
		w.notes = append(w.notes, made)
	}
	return err
}

// flushNotes adds the pending notes, those of each page as a list.
func (w *walker) flushNotes() {
	notes := w.notes
	if w.notes = nil; len(notes) > 0 {
		w.flush()
	}
	for i, note := range notes {
		if i > 0 && note.page != notes[i-1].page {
			w.flush()
		}
		text := strings.ReplaceAll(note.text, "\n", "\n  ")
		w.extend(document.List, "\n", "- ["+note.label+"] "+text, note.page)
	}
	w.flush()
}

// annotation reads a comment.
func (w *walker) annotation(s *xmlscan.Scanner) (document.Block, error) {
	author := ""
	text, err := w.collectText(s, func() error {
		return w.each(s, func() error {
			var err error
			switch {
			case s.Prefix() == "dc" && s.Name() == "creator":
				author, err = w.flat(s)
			case s.Prefix() == "text":
				err = w.textElement(s)
			default:
				err = w.skip(s)
			}
			return err
		})
	})
	if author != "" && text != "" {
		text = author + ": " + text
	}
	return document.Block{Kind: document.Quote, Text: text, Page: w.page}, err
}
