package parse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"magpie/internal/ingest/document"
	"magpie/internal/ingest/parse/xmlscan"
)

// maxXMLNesting is how deep elements are followed by recursion; deeper ones are read as their text.
const maxXMLNesting = 100

// xmlWriter turns a document of paragraphs into blocks. It follows the roles of elements, whatever their vocabulary.
type xmlWriter struct {
	ctx      context.Context
	scanner  *xmlscan.Scanner
	anchors  document.Anchors
	blocks   []document.Block
	meta     map[string]any
	language string
	line     bytes.Buffer // text of the paragraph that is open
	section  int          // how many sections are open
	item     int          // how many items of lists are open
	ids      []string     // ids of the open sections that no heading has taken
	steps    int
}

// document reads from the root to the end.
func (w *xmlWriter) document() error {
	w.meta = make(map[string]any)
	kind, err := w.scanner.Next()
	for err == nil && kind != xmlscan.Start {
		kind, err = w.scanner.Next()
	}
	if err != nil {
		return err // surveyXML has seen the whole document
	}
	if w.language = w.scanner.Attr("lang"); w.language == "" {
		w.language = w.scanner.Attr("language")
	}
	if err := w.children(0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	w.flush()
	return nil
}

// children reads up to the end of the element that was begun.
func (w *xmlWriter) children(nesting int) error {
	for depth := w.scanner.Depth(); w.scanner.Depth() >= depth; {
		if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
			return fmt.Errorf("parse XML: %w", w.ctx.Err())
		}
		kind, err := w.scanner.Next()
		if err != nil {
			return err // io.EOF, or what surveyXML would have met
		}
		switch kind {
		case xmlscan.Text:
			w.line.Write(w.scanner.Bytes())
		case xmlscan.Start:
			if err := w.element(nesting + 1); err != nil {
				return err
			}
		case xmlscan.End:
		}
	}
	return nil
}

func (w *xmlWriter) element(nesting int) error {
	name := w.scanner.Name()
	role := xmlRole(name)
	if name == "info" && w.item == 0 {
		role = xmlMeta // of DocBook; in the steps of a task it is text
	}
	if nesting > maxXMLNesting {
		text, err := w.scanner.InnerText()
		w.line.WriteString(text)
		return err // as in children
	}
	switch role {
	case xmlSkip:
		return w.scanner.Skip() // as in children
	case xmlSection:
		return w.sectionElement(nesting)
	case xmlTitle:
		return w.title()
	case xmlParagraph:
		w.flush()
		if text := w.scanner.Attr("text"); name == "outline" && text != "" {
			w.line.WriteString(text)
			w.flush()
		}
		if err := w.children(nesting); err != nil {
			return err
		}
		w.flush()
		return nil
	case xmlList:
		return w.list(nesting)
	case xmlTable:
		return w.table(nesting)
	case xmlCode:
		return w.code()
	case xmlQuote:
		return w.quote(nesting)
	case xmlMeta:
		return w.about()
	case xmlItem, xmlRow, xmlCell:
		w.flush()
		if err := w.children(nesting); err != nil {
			return err
		}
		w.flush()
		return nil
	case xmlOther:
	}
	return w.inline(nesting, name)
}

// inline keeps the text of an element that stands in a paragraph, and its link.
func (w *xmlWriter) inline(nesting int, name string) error {
	target := ""
	for _, attribute := range []string{"url", "href", "target"} {
		if target == "" && (name == "ulink" || name == "link" || name == "xref" || name == "ext-link" || name == "a" || name == "ref") {
			target = w.scanner.Attr(attribute)
		}
	}
	before := w.line.Len()
	if err := w.children(nesting); err != nil {
		return err
	}
	isAddress := strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") || strings.HasPrefix(target, "mailto:")
	if !isAddress || w.line.Len() <= before {
		return nil
	}
	text := oneLine(string(w.line.Bytes()[before:]))
	w.line.Truncate(before)
	w.line.WriteString("[" + text + "](" + strings.ReplaceAll(target, ")", "%29") + ")")
	return nil
}

func (w *xmlWriter) flush() {
	text := oneLine(clean(w.line.String()))
	w.line.Reset()
	if text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

func (w *xmlWriter) sectionElement(nesting int) error {
	w.flush()
	w.section++
	w.ids = append(w.ids, w.scanner.Attr("id"))
	err := w.children(nesting)
	w.flush()
	w.section--
	w.ids = w.ids[:len(w.ids)-1]
	return err
}

func (w *xmlWriter) title() error {
	w.flush()
	text, err := w.scanner.InnerText()
	if err != nil {
		return err // as in children
	}
	if text = oneLine(clean(text)); text == "" {
		return nil
	}
	if len(text) > maxHeading {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
		return nil
	}
	id := ""
	if len(w.ids) > 0 {
		id, w.ids[len(w.ids)-1] = w.ids[len(w.ids)-1], ""
	}
	w.blocks = append(w.blocks, document.Block{
		Kind: document.Heading, Level: min(w.section+1, 6), Text: text, Anchor: w.anchors.Take(id, text),
	})
	return nil
}

// within reads the element that was begun into blocks of its own.
func (w *xmlWriter) within(nesting int) ([]document.Block, error) {
	outer := w.blocks
	w.blocks = nil
	err := w.children(nesting)
	w.flush()
	inner := w.blocks
	w.blocks = outer
	return inner, err
}

func (w *xmlWriter) quote(nesting int) error {
	w.flush()
	inner, err := w.within(nesting)
	if err != nil {
		return err
	}
	var parts []string
	for i := range inner {
		parts = append(parts, inner[i].Markdown())
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Quote, Text: strings.Join(parts, "\n\n")})
	return nil
}

func (w *xmlWriter) code() error {
	w.flush()
	language := w.scanner.Attr("language")
	if language == "" {
		language = w.scanner.Attr("outputclass")
	}
	text, err := w.scanner.InnerText()
	if err != nil {
		return err // as in children
	}
	w.blocks = append(w.blocks, document.Block{Kind: document.Code, Language: strings.TrimPrefix(language, "language-"), Text: strings.Trim(clean(text), "\n")})
	return nil
}

// list reads a list; lists in its items are indented below them.
func (w *xmlWriter) list(nesting int) error {
	w.flush()
	ordered := false
	switch w.scanner.Name() {
	case "orderedlist", "ol", "steps", "procedure":
		ordered = true
	}
	var b strings.Builder
	number := 0
	outer := w.blocks
	w.blocks = nil
	for depth := w.scanner.Depth(); w.scanner.Depth() >= depth; {
		kind, err := w.scanner.Next()
		if err != nil {
			return err // as in children
		}
		if kind != xmlscan.Start {
			continue
		}
		if xmlRole(w.scanner.Name()) != xmlItem {
			if err := w.element(nesting + 1); err != nil {
				return err
			}
			continue
		}
		w.item++
		inner, err := w.within(nesting + 1)
		w.item--
		if err != nil {
			return err
		}
		number++
		mark := "- "
		if ordered {
			mark = fmt.Sprintf("%d. ", number)
		}
		writeItem(&b, mark, inner)
	}
	w.flush()
	before := w.blocks
	w.blocks = append(outer, before...)
	if b.Len() > 0 {
		w.blocks = append(w.blocks, document.Block{Kind: document.List, Text: strings.TrimRight(b.String(), "\n")})
	}
	return nil
}

// writeItem writes an item of a list, all its lines but the first indented below the mark.
func writeItem(b *strings.Builder, mark string, blocks []document.Block) {
	var parts []string
	for i := range blocks {
		text := blocks[i].Markdown()
		if blocks[i].Kind == document.Heading {
			text = "**" + blocks[i].Text + "**"
		}
		parts = append(parts, text)
	}
	text := strings.Join(parts, "\n")
	first := true
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case first:
			b.WriteString(mark + line + "\n")
		case line == "":
			b.WriteByte('\n')
		default:
			b.WriteString(strings.Repeat(" ", len(mark)) + line + "\n")
		}
		first = false
	}
}

// table reads rows and cells wherever they stand in the table.
func (w *xmlWriter) table(nesting int) error {
	w.flush()
	var rows [][]string
	for depth := w.scanner.Depth(); w.scanner.Depth() >= depth; {
		if w.steps++; w.steps%1024 == 0 && w.ctx.Err() != nil {
			return fmt.Errorf("parse XML: %w", w.ctx.Err())
		}
		kind, err := w.scanner.Next()
		if err != nil {
			return err // as in children
		}
		if kind != xmlscan.Start {
			continue
		}
		switch xmlRole(w.scanner.Name()) {
		case xmlRow:
			rows = append(rows, nil)
		case xmlTitle:
			if err := w.caption(); err != nil {
				return err
			}
		case xmlCell:
			inner, err := w.within(nesting + 1)
			if err != nil {
				return err
			}
			var parts []string
			for i := range inner {
				parts = append(parts, inner[i].Markdown())
			}
			if len(rows) == 0 {
				rows = append(rows, nil)
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], strings.Join(parts, " "))
		case xmlOther, xmlSection, xmlParagraph, xmlList, xmlItem, xmlTable, xmlCode, xmlQuote, xmlMeta, xmlSkip:
		}
	}
	if len(rows) > 0 {
		w.blocks = append(w.blocks, document.NewTable(rows[0], rows[1:]))
	}
	return nil
}

// caption is the title of a table, which is no heading.
func (w *xmlWriter) caption() error {
	text, err := w.scanner.InnerText()
	if text = oneLine(clean(text)); text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
	return err // as in children
}

// about reads what the document says of itself.
func (w *xmlWriter) about() error {
	for depth := w.scanner.Depth(); w.scanner.Depth() >= depth; {
		kind, err := w.scanner.Next()
		if err != nil {
			return err // as in children
		}
		key, known := map[string]string{
			"title": "title", "article-title": "title", "author": "author", "creator": "author", "pubdate": "created", "date": "created",
			"keyword": "keywords", "abstract": "description", "releaseinfo": "version", "subject": "category",
		}[w.scanner.Name()]
		if kind != xmlscan.Start || !known {
			continue
		}
		text, err := w.scanner.InnerText()
		if err != nil {
			return err // as in children
		}
		if text = oneLine(clean(text)); text == "" {
			continue
		}
		if key == "keywords" && w.meta[key] != nil {
			text = fmt.Sprint(w.meta[key], ", ", text)
		} else if w.meta[key] != nil {
			continue
		}
		w.meta[key] = text
	}
	return nil
}
