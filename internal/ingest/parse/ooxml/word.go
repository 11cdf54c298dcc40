package ooxml

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	wordFormat = "Word document"
	// maxEntries bounds how many notes or comments of a document count.
	maxEntries = 100_000
	// maxParts bounds how many charts, diagrams and inserted files of a document are read.
	maxParts = 1000
)

// word is a Word document that is being read.
type word struct {
	effort
	in  document.Source
	pkg *Package
	// main is the path of the main part.
	main string
	// body is the story of the main part.
	body *story

	styles   styles
	numbers  numbering
	numbered bool // whether the lists could be read
	comments map[string]entry

	footnotes, endnotes notes
	// pending are the notes that are to come at the end of the section.
	pending []string

	title    string // the first paragraph in the style of titles
	contents []int  // those blocks of the body that are entries of a table of contents
	headers  []string

	page     int
	rendered bool // the file tells where pages break
	fresh    bool // nothing has been written since a page break that the author made

	parts int // how many charts, diagrams and inserted files were read
}

// notes are the footnotes or endnotes of a document.
type notes struct {
	texts  map[string]entry
	labels map[string]string // of those that the text has referred to
	format string            // of their numbers
}

// number returns the number of a note, and its text when it is referred to for the first time. Both are empty when there
// is no such note.
func (n *notes) number(id string) (label, text string) {
	if label, known := n.labels[id]; known {
		return label, ""
	}
	found, known := n.texts[id]
	if !known || strings.TrimSpace(found.text) == "" {
		return "", ""
	}
	if n.labels == nil {
		n.labels = make(map[string]string)
	}
	label = numberText(n.format, len(n.labels)+1)
	n.labels[id] = label
	return label, found.text
}

// ReadWord reads a Word document (DOCX, DOCM, DOTX; WordprocessingML of ECMA-376 part 1, 17, in its transitional and its
// strict form): the body in order with headings, lists, tables, code and quotations, text boxes after the paragraph that
// holds them, notes at the end of their section, comments as quotations, the text of headers and footers once at the end.
// Deleted and hidden text and the codes of fields are left out, and so are entries of a table of contents that repeat a
// heading. Pages are counted where the word processor has left marks of them.
//
// The error is *document.DamagedError when the main part is missing or has no text that can be read,
// *document.EncryptedError, *document.LimitError, or the context's. Parts that are broken are named in Extra["damaged"].
func ReadWord(ctx context.Context, in document.Source) (*document.Draft, error) {
	pkg, err := Open(in, wordFormat)
	if err != nil {
		return nil, err
	}
	main, err := pkg.MainPart()
	if err != nil {
		return nil, err
	}
	w := &word{
		effort: effort{ctx: ctx, maxText: in.Limits.MaxText}, in: in, pkg: pkg, main: main, page: 1,
		endnotes: notes{format: "lowerRoman"},
	}
	relations, err := pkg.Relationships(main)
	if err = w.tolerate("links between its parts", err); err != nil {
		return nil, err
	}
	if err := w.readParts(relations); err != nil {
		return nil, err
	}
	w.body = w.newStory(relations)
	broken := w.body.read(main)
	if err := w.tolerate("the rest of the text", broken); err != nil {
		return nil, err
	}
	w.placeNotes(w.body.root)
	if err := w.readHeaders(relations); err != nil {
		return nil, err
	}
	blocks := w.assemble()
	if len(blocks) == 0 && broken != nil {
		return nil, broken
	}
	draft := &document.Draft{Blocks: blocks, Meta: pkg.Properties(), Title: w.title, Prose: true, Extra: make(map[string]any)}
	if w.rendered {
		draft.Pages = w.page
	}
	w.report(draft)
	return draft, nil
}

// step counts the steps of reading, and ends it when there is too much.
func (w *word) step() error {
	if w.page > w.in.Limits.MaxPages {
		return &document.LimitError{Detail: fmt.Sprintf("document has more than %d pages", w.in.Limits.MaxPages)}
	}
	return w.effort.step()
}

// readParts reads what the main part refers to: styles and lists first, since notes are written with them.
func (w *word) readParts(relations map[string]Relationship) error {
	err := w.pkg.Scan(w.part(relations, "styles"), func(s *xmlscan.Scanner) (err error) {
		w.styles, err = readStyles(s)
		return err
	})
	if err := w.tolerate("styles", absent(err)); err != nil {
		return err
	}
	err = w.pkg.Scan(w.part(relations, "numbering"), func(s *xmlscan.Scanner) (err error) {
		w.numbers, err = readNumbering(s, &w.styles)
		return err
	})
	w.numbered = err == nil
	if err := w.tolerate("numbers of lists", absent(err)); err != nil {
		return err
	}
	if w.footnotes.texts, err = w.entries(w.part(relations, "footnotes"), "footnotes"); err != nil {
		return err
	}
	if w.endnotes.texts, err = w.entries(w.part(relations, "endnotes"), "endnotes"); err != nil {
		return err
	}
	w.comments, err = w.entries(w.part(relations, "comments"), "comments")
	return err
}

// absent takes it for no error that there is no such part.
func absent(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// part returns the path of the part of a type, where it stands by custom when no relationship tells.
func (w *word) part(relations map[string]Relationship, kind string) string {
	for _, target := range targets(relations, kind) {
		if w.pkg.Has(target) {
			return target
		}
	}
	return path.Join(path.Dir(w.main), kind+".xml")
}

// entries reads a part of notes or comments, which most documents do not have.
func (w *word) entries(part, kind string) (map[string]entry, error) {
	found := make(map[string]entry)
	if !w.pkg.Has(part) {
		return found, nil
	}
	relations, err := w.pkg.Relationships(part)
	if err != nil {
		relations = nil // links are lost, text is not
	}
	st := w.newStory(relations)
	st.entries = found
	return found, w.tolerate(kind, st.read(part))
}

// pageBreak counts a page. A break that the author made and the mark that the word processor left of it are one.
func (st *story) pageBreak(authored bool) {
	w := st.word
	switch {
	case w.body != st || st.run.hidden:
	case authored:
		w.page++
		w.fresh = true
	default:
		w.rendered = true
		if !w.fresh {
			w.page++
		}
		w.fresh = false
	}
}

// section reads the properties of a section: which headers and footers it has.
func (st *story) section() error {
	w := st.word
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.of(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "headerReference", "footerReference":
			if len(w.headers) < maxParts && w.body == st {
				w.headers = append(w.headers, relationID(st.s, "id"))
			}
		case "sectPrChange":
			if err := st.s.Skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHeaders adds the lines of headers and footers that are not there yet.
func (w *word) readHeaders(relations map[string]Relationship) error {
	read := make(map[string]bool)
	seen := make(map[string]bool)
	var lines []string
	for _, id := range w.headers {
		relation, found := relations[id]
		if !found || relation.External || read[relation.Target] {
			continue
		}
		read[relation.Target] = true
		inner, err := w.pkg.Relationships(relation.Target)
		if err != nil {
			inner = nil // links are lost, text is not
		}
		st := w.newStory(inner)
		st.header = true
		err = st.read(relation.Target)
		if err := w.tolerate("a header or footer", absent(err)); err != nil {
			return err
		}
		for _, text := range st.lines {
			if key := strings.ToLower(text); !seen[key] {
				seen[key] = true
				lines = append(lines, text)
			}
		}
	}
	if len(lines) > 0 {
		w.body.root.blocks = append(w.body.root.blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(lines, "\n")})
	}
	return nil
}

// placeNotes adds the notes of a section.
func (w *word) placeNotes(to *flow) {
	if len(w.pending) == 0 {
		return
	}
	page := 0
	if n := len(to.blocks); n > 0 {
		page = to.blocks[n-1].Page
	}
	to.add(document.Block{Kind: document.List, Text: "- " + strings.Join(w.pending, "\n- "), Page: page})
	w.pending = nil
}

// chunk reads a file that stands in the place of a part of the text.
func (st *story) chunk(id string) error {
	w := st.word
	relation, found := st.relations[id]
	if w.parts++; !found || relation.External || w.parts > maxParts {
		return nil
	}
	content, err := w.pkg.Read(relation.Target)
	if err := w.tolerate("an inserted file", err); err != nil || content == nil {
		return err
	}
	draft, err := w.in.Nested(w.ctx, path.Base(relation.Target), "", content)
	if err != nil {
		if w.ctx.Err() != nil {
			return fmt.Errorf("parse: %w", w.ctx.Err())
		}
		w.damage = append(w.damage, "an inserted file ("+err.Error()+")")
		return nil
	}
	for i := range draft.Blocks {
		draft.Blocks[i].Page = w.page
		draft.Blocks[i].Anchor = ""
		w.cost += draft.Blocks[i].Size()
	}
	st.flow.add(draft.Blocks...)
	return nil
}

// assemble gives the blocks of the body their anchors and pages, without those that are empty or repeat headings as
// entries of a table of contents.
func (w *word) assemble() []document.Block {
	blocks := w.body.root.blocks
	repeated := w.repeated(blocks)
	kept := make([]document.Block, 0, len(blocks))
	anchors := make(document.Anchors)
	for i := range blocks {
		if repeated[i] || blocks[i].Blank() {
			continue
		}
		block := blocks[i]
		if !w.rendered {
			block.Page = 0
		}
		if block.Kind == document.Heading {
			block.Anchor = anchors.Take("", block.Text)
		}
		kept = append(kept, block)
	}
	return kept
}

// repeated tells which entries of a table of contents repeat a heading, by their place. The line above them goes with them.
func (w *word) repeated(blocks []document.Block) map[int]bool {
	if len(w.contents) == 0 {
		return nil
	}
	headings := make(map[string]bool)
	for i := range blocks {
		if blocks[i].Kind == document.Heading {
			headings[withoutNumber(blocks[i].Text)] = true
		}
	}
	repeated := make(map[int]bool)
	other := -1 // the first entry that repeats nothing, which may be the line above
	for _, at := range w.contents {
		text := blocks[at].Text
		switch {
		case headings[withoutNumber(text)], headings[withoutNumber(withoutPage(text))]:
			repeated[at] = true
		case other < 0 && len(repeated) == 0:
			other = at
		}
	}
	if other >= 0 && repeated[other+1] && len(blocks[other].Text) < 60 {
		repeated[other] = true
	}
	return repeated
}

// withoutPage takes the number of a page off the end of an entry, as in "3.2 Storage 17".
func withoutPage(text string) string {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || strings.Trim(text[at+1:], "0123456789ivxlcIVXLC") != "" {
		return text
	}
	return strings.TrimRight(text[:at], " .…")
}

// withoutNumber takes the number off the beginning of a heading, as in "3.2 Storage".
func withoutNumber(text string) string {
	first, rest, found := strings.Cut(text, " ")
	if _, err := strconv.Atoi(strings.ReplaceAll(strings.TrimRight(first, ".)"), ".", "")); err == nil && found {
		text = rest
	}
	return strings.ToLower(strings.TrimSpace(text))
}
