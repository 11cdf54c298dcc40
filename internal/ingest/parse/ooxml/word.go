package ooxml

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	wordFormat = "Word document"
	// maxEntries is how many notes or comments of a document are read.
	maxEntries = 100_000
	// maxParts is how many charts, diagrams and inserted files of a document are read.
	maxParts = 1000
)

// word reads a Word document.
type word struct {
	wordmodel.Work
	in  document.Source
	pkg *Package
	// main is the path of the main part.
	main string
	// body is the story of the main part.
	body *story

	styles       styles
	lists        numbering
	hasNumbering bool // the numbering part is readable
	comments     map[string]entry

	footnotes, endnotes notes
	// pendingNotes are the notes for the end of the section.
	pendingNotes []string

	title    string // the first paragraph in a title style
	contents []int  // indexes of blocks of the body that belong to a table of contents
	headers  []string

	page         int
	hasPageMarks bool // the file marks its page breaks
	isPageEmpty  bool // nothing has been written since the last manual page break

	parts int // how many charts, diagrams and inserted files were read
}

// notes are the footnotes or endnotes of a document.
type notes struct {
	texts  map[string]entry
	labels map[string]string      // by id, of the notes to which the text has referred
	format wordmodel.NumberFormat // of the numbers
}

// reference returns the number of a note. With the first reference to the note it also returns its text. Both are ""
// for an unknown note.
func (n *notes) reference(id string) (label, text string) {
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
	label = n.format.Text(len(n.labels) + 1)
	n.labels[id] = label
	return label, found.text
}

// ReadWord reads a Word document (DOCX, DOCM, DOTX; WordprocessingML of ECMA-376 part 1, 17, in its transitional and
// strict form): the body in order with headings, lists, tables, code and quotations, text boxes after their paragraph,
// notes at the end of their section, comments as quotations, and the text of headers and footers once at the end.
// Deleted and hidden text and field codes are left out, and so are entries of a table of contents that repeat a
// heading. Pages are counted if the file marks page breaks.
//
// The error is a *document.DamagedError if the main part is missing or has no readable text, a
// *document.EncryptedError, a *document.LimitError, or that of the context. Extra["damaged"] names the damaged parts.
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
		Work: wordmodel.NewWork(ctx, in.Limits.MaxText), in: in, pkg: pkg, main: main, page: 1,
		endnotes: notes{format: wordmodel.LowerRoman},
	}
	relations, err := pkg.Relationships(main)
	if err = w.Tolerate("links between its parts", err); err != nil {
		return nil, err
	}
	if err := w.readParts(relations); err != nil {
		return nil, err
	}
	w.body = w.newStory(relations)
	broken := w.body.read(main)
	if err := w.Tolerate("the rest of the text", broken); err != nil {
		return nil, err
	}
	w.addNotes(w.body.root)
	if err := w.readHeaders(relations); err != nil {
		return nil, err
	}
	blocks := w.assemble()
	if len(blocks) == 0 && broken != nil {
		return nil, broken
	}
	draft := &document.Draft{Blocks: blocks, Meta: pkg.Properties(), Title: w.title, Prose: true, Extra: make(map[string]any)}
	if w.hasPageMarks {
		draft.Pages = w.page
	}
	w.Report(draft)
	return draft, nil
}

// step is Work.Step with the limit of pages.
func (w *word) step() error {
	if w.page > w.in.Limits.MaxPages {
		return &document.LimitError{Detail: fmt.Sprintf("document has more than %d pages", w.in.Limits.MaxPages)}
	}
	return w.Step()
}

// readParts reads the related parts. Styles and lists come first, since notes use them.
func (w *word) readParts(relations map[string]Relationship) error {
	err := w.pkg.Scan(w.part(relations, "styles"), func(s *xmlscan.Scanner) (err error) {
		w.styles, err = readStyles(s)
		return err
	})
	if err := w.Tolerate("styles", ignoreMissing(err)); err != nil {
		return err
	}
	err = w.pkg.Scan(w.part(relations, "numbering"), func(s *xmlscan.Scanner) (err error) {
		w.lists, err = readNumbering(s, &w.styles)
		return err
	})
	w.hasNumbering = err == nil
	if err := w.Tolerate("numbers of lists", ignoreMissing(err)); err != nil {
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

// ignoreMissing returns nil if the error is that a part does not exist.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// part returns the path of the related part of a type. Without a relationship it is the usual path.
func (w *word) part(relations map[string]Relationship, kind string) string {
	for _, target := range targets(relations, kind) {
		if w.pkg.Has(target) {
			return target
		}
	}
	return path.Join(path.Dir(w.main), kind+".xml")
}

// entries reads a part of notes or comments.
func (w *word) entries(part, kind string) (map[string]entry, error) {
	found := make(map[string]entry)
	if !w.pkg.Has(part) {
		return found, nil
	}
	relations, err := w.pkg.Relationships(part)
	if err != nil {
		relations = nil // the links are lost, the text is not
	}
	st := w.newStory(relations)
	st.entries = found
	return found, w.Tolerate(kind, st.read(part))
}

// pageBreak counts a page break. A manual break and the mark of the word processor after it count once.
func (st *story) pageBreak(isManual bool) {
	w := st.word
	switch {
	case w.body != st || st.run.isHidden:
	case isManual:
		w.page++
		w.isPageEmpty = true
	default:
		w.hasPageMarks = true
		if !w.isPageEmpty {
			w.page++
		}
		w.isPageEmpty = false
	}
}

// section reads which headers and footers a section has.
func (st *story) section() error {
	w := st.word
	for depth := st.s.Depth(); st.s.Depth() >= depth; {
		kind, err := st.s.Next()
		if err != nil {
			return err
		}
		if kind != xmlscan.Start || st.names.space(st.s) != spaceWord {
			continue
		}
		switch st.s.Name() {
		case "headerReference", "footerReference":
			if len(w.headers) < maxParts && w.body == st {
				w.headers = append(w.headers, relationshipID(st.s, "id"))
			}
		case "sectPrChange":
			if err := st.s.Skip(); err != nil {
				return err
			}
		}
	}
	return nil
}

// readHeaders adds the text of headers and footers, each line once.
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
		relations, err := w.pkg.Relationships(relation.Target)
		if err != nil {
			relations = nil // the links are lost, the text is not
		}
		st := w.newStory(relations)
		st.header = true
		err = st.read(relation.Target)
		if err := w.Tolerate("a header or footer", ignoreMissing(err)); err != nil {
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
		w.body.root.Blocks = append(w.body.root.Blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(lines, "\n")})
	}
	return nil
}

// addNotes adds the notes of a section.
func (w *word) addNotes(to *flow) {
	if len(w.pendingNotes) == 0 {
		return
	}
	page := 0
	if n := len(to.Blocks); n > 0 {
		page = to.Blocks[n-1].Page
	}
	to.Add(document.Block{Kind: document.List, Text: "- " + strings.Join(w.pendingNotes, "\n- "), Page: page})
	w.pendingNotes = nil
}

// insertedFile reads a file that is inserted into the text.
func (st *story) insertedFile(id string) error {
	w := st.word
	relation, found := st.relations[id]
	if w.parts++; !found || relation.External || w.parts > maxParts {
		return nil
	}
	content, err := w.pkg.Read(relation.Target)
	if err := w.Tolerate("an inserted file", err); err != nil || content == nil {
		return err
	}
	draft, err := w.in.Nested(w.Context(), path.Base(relation.Target), "", content)
	if err != nil {
		if w.Context().Err() != nil {
			return fmt.Errorf("parse: %w", w.Context().Err())
		}
		w.Missing("an inserted file (" + err.Error() + ")")
		return nil
	}
	for i := range draft.Blocks {
		draft.Blocks[i].Page = w.page
		draft.Blocks[i].Anchor = ""
		w.Cost += draft.Blocks[i].Size()
	}
	st.flow.Add(draft.Blocks...)
	return nil
}

// assemble returns the blocks of the body with anchors and pages, without empty blocks and repeated entries of a table
// of contents.
func (w *word) assemble() []document.Block {
	blocks := w.body.root.Blocks
	repeated := wordmodel.RepeatedContents(blocks, w.contents)
	kept := make([]document.Block, 0, len(blocks))
	anchors := make(document.Anchors)
	for i := range blocks {
		if repeated[i] || blocks[i].Blank() {
			continue
		}
		block := blocks[i]
		if !w.hasPageMarks {
			block.Page = 0
		}
		if block.Kind == document.Heading {
			block.Anchor = anchors.Take("", block.Text)
		}
		kept = append(kept, block)
	}
	return kept
}
