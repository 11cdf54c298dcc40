package ole

import (
	"context"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// word reads a Word document.
type word struct {
	wordmodel.Work
	fib        *fib
	pieces     pieceTable
	chars      *charset
	characters *binTable
	paragraphs *binTable
	styles     *styles
	lists      *numbering
	body       *story

	notes, endnotes, comments, boxes texts
	authors                          []string

	// pendingNotes are the notes for the end of the section.
	pendingNotes []string
	title        string // the first paragraph in a title style
	contents     []int  // indexes of blocks of the body that belong to a table of contents

	formatted, unformatted int // numbers of paragraphs with and without formatting
}

// texts are the notes, comments or text boxes of a document.
type texts struct {
	spans  []span
	isRead []bool
	// byShape is the number of a text box by the id of its shape.
	byShape map[int]int
	numbers int // how many notes the text has referred to
}

// ReadWord reads a binary Word document (DOC, DOT) of Word 97 to 2003 (MS-DOC), and text, headings and tables of
// documents of Word 6 and 95: the body in order with headings, lists, tables, code and quotations, text boxes after
// their paragraph, notes at the end of their section, comments as quotations, and the text of headers and footers once
// at the end. Deleted and hidden text and field codes are left out, and so are entries of a table of contents that
// repeat a heading. The format does not mark the ends of pages.
//
// The error is a *document.DamagedError if there is no readable text, a *document.EncryptedError, a
// *document.LimitError, or that of the context. Extra["damaged"] names the missing parts.
func ReadWord(ctx context.Context, in document.Source) (*document.Draft, error) {
	f, meta, err := openWord(in)
	if err != nil {
		return nil, err
	}
	w := &word{Work: wordmodel.NewWork(ctx, in.Limits.WithDefaults().MaxText), fib: f, pieces: readPieces(f)}
	w.prepare()
	if err := w.read(); err != nil {
		return nil, err
	}
	blocks := w.assemble()
	if len(blocks) == 0 && len(w.Damage) > 0 {
		return nil, damagedWord("it has no text that can be read", nil)
	}
	draft := &document.Draft{Blocks: blocks, Meta: meta, Title: w.title, Prose: true, Extra: make(map[string]any)}
	w.Report(draft)
	return draft, nil
}

// openWord reads the streams and the properties of a document.
func openWord(in document.Source) (*fib, map[string]any, error) {
	file, err := cfb.Open(in.Content, wordFormat, in.Budget)
	if err == nil && file.Has("WordDocument") {
		f, err := readFIB(file)
		if err != nil {
			return nil, nil, err
		}
		return f, file.Properties(), nil
	}
	if f, found := recoverFIB(in.Content); found {
		return f, make(map[string]any), nil
	}
	if err == nil {
		err = damagedWord("its text is missing", nil)
	}
	return nil, nil, err
}

// prepare reads the structures to which the text refers.
func (w *word) prepare() {
	f := w.fib
	codePage := 1252
	if f.isOld {
		codePage = cfb.CodePageOf(f.language)
	}
	w.chars = newCharset(codePage)
	w.characters, w.paragraphs = newBinTable(f, atCharacters), newBinTable(f, atParagraphs)
	w.styles = readStyles(f)
	w.lists = &numbering{}
	if !f.isOld {
		w.lists = readNumbering(f)
	}
	if !w.pieces.isComplete {
		w.Missing("a part of the text")
	}
	if len(w.styles.list) == 0 {
		w.Missing("styles")
	}
	total := w.pieces.end()
	if f.counts[storyMain] == 0 && f.firstChar(stories) == 0 {
		f.counts[storyMain] = total
	}
	story := func(place, kind, extra int) texts {
		list := f.structure(place)
		count := max(len(list)/4-extra, 0)
		if place == atTextBoxes || place == atHeaderBoxes {
			count = max(len(list)-4, 0) / (4 + boxEntry)
		}
		length := min(f.counts[kind], max(total-f.firstChar(kind), 0))
		if count == 0 && length > 0 {
			return texts{spans: []span{{f.firstChar(kind), f.firstChar(kind) + length}}, isRead: make([]bool, 1)}
		}
		found := spans(list, count, f.firstChar(kind), length)
		return texts{spans: found, isRead: make([]bool, len(found))}
	}
	w.notes, w.endnotes = story(atNoteTexts, storyNotes, 2), story(atEndnoteTexts, storyEndnotes, 2)
	w.comments, w.boxes = story(atCommentTexts, storyComments, 2), story(atTextBoxes, storyBoxes, 0)
	w.boxes.byShape = make(map[int]int)
	for i := range w.boxes.spans {
		shape := f.structure(atTextBoxes).u32(4*(len(w.boxes.spans)+1) + i*boxEntry + 14)
		if _, taken := w.boxes.byShape[shape]; !taken {
			w.boxes.byShape[shape] = i
		}
	}
	w.authors = readAuthors(f)
}

// boxEntry is the size of an entry in the list of text boxes (MS-DOC 2.9.105).
const boxEntry = 22

// read reads all stories.
func (w *word) read() error {
	f := w.fib
	w.body = &story{word: w, isBody: true, anchors: readAnchors(f)}
	if err := w.body.read(0, f.counts[storyMain]); err != nil {
		return err
	}
	w.body.finish()
	w.addNotes(&w.body.root)
	for _, rest := range []*texts{&w.notes, &w.endnotes, &w.boxes, &w.comments} {
		if err := w.readRest(rest); err != nil {
			return err
		}
	}
	if err := w.readHeaders(); err != nil {
		return err
	}
	if w.unformatted*4 > w.formatted {
		w.Missing("formatting")
	}
	return nil
}

// count counts a paragraph with or without formatting.
func (w *word) count(isFormatted bool) {
	if isFormatted {
		w.formatted++
	} else {
		w.unformatted++
	}
}

// text reads a note, comment or text box, once.
func (w *word) text(t *texts, number int) ([]document.Block, error) {
	if number < 0 || number >= len(t.spans) || t.isRead[number] {
		return nil, nil
	}
	t.isRead[number] = true
	st := &story{word: w}
	if err := st.read(t.spans[number].from, t.spans[number].to); err != nil {
		return nil, err
	}
	return st.finish(), nil
}

// readRest adds the texts to which no anchor refers.
func (w *word) readRest(t *texts) error {
	for i := range t.spans {
		blocks, err := w.text(t, i)
		if err != nil {
			return err
		}
		if wordmodel.Flatten(blocks) != "" {
			w.body.root.Add(blocks...)
		}
	}
	return nil
}

// anchored adds the text to which an anchor refers. It reports whether the anchor's character must be left out.
func (st *story) anchored(a *anchor) bool {
	w := st.word
	if st.fields.InCode() || st.err != nil {
		return false
	}
	switch a.kind {
	case anchorNote:
		return st.note(&w.notes, a.index, strconv.Itoa)
	case anchorEndnote:
		return st.note(&w.endnotes, a.index, wordmodel.Roman)
	case anchorComment:
		blocks, err := w.text(&w.comments, a.index)
		st.err = err
		text := wordmodel.Flatten(blocks)
		if text == "" {
			return true
		}
		if a.author < len(w.authors) && w.authors[a.author] != "" {
			text = w.authors[a.author] + ": " + text
		}
		st.held = append(st.held, document.Block{Kind: document.Quote, Text: text})
		return true
	case anchorShape:
		if number, found := w.boxes.byShape[a.index]; found {
			blocks, err := w.text(&w.boxes, number)
			st.err = err
			st.held = append(st.held, blocks...)
		}
	}
	return false
}

// note adds the number of a note to the line, and keeps the note.
func (st *story) note(notes *texts, index int, number func(int) string) bool {
	blocks, err := st.word.text(notes, index)
	st.err = err
	text := wordmodel.Flatten(blocks)
	if text == "" {
		return false
	}
	notes.numbers++
	label := "[" + number(notes.numbers) + "]"
	st.line.Append(label, wordmodel.Look{Aside: true})
	st.notes = append(st.notes, label+" "+strings.ReplaceAll(text, "\n", "\n  "))
	return true
}

// addNotes adds the notes of a section.
func (w *word) addNotes(to *wordmodel.Flow) {
	if len(w.pendingNotes) > 0 {
		to.Add(document.Block{Kind: document.List, Text: "- " + strings.Join(w.pendingNotes, "\n- ")})
		w.pendingNotes = nil
	}
}

// firstHeader is the index of the first header. The texts before it are separators of notes.
const firstHeader = 6

// readHeaders adds the text of headers and footers, each line once.
func (w *word) readHeaders() error {
	f := w.fib
	list := f.structure(atHeaders)
	total := w.pieces.end()
	headers := spans(list, max(len(list)/4-2, 0), f.firstChar(storyHeaders), min(f.counts[storyHeaders], total))
	headers = headers[min(firstHeader, len(headers)):]
	boxes := f.structure(atHeaderBoxes)
	if f.isOld {
		boxes = nil
	}
	headers = append(headers, spans(boxes, max(len(boxes)-4, 0)/(4+boxEntry), f.firstChar(storyHeaderBoxes), min(f.counts[storyHeaderBoxes], total))...)
	var lines []string
	seen := make(map[string]bool)
	for _, header := range headers {
		if header.from == header.to {
			continue
		}
		st := &story{word: w, isHeader: true}
		if err := st.read(header.from, header.to); err != nil {
			return err
		}
		st.addHeaderLines()
		if text := wordmodel.Flatten(st.finish()); text != "" {
			st.lines = append(st.lines, strings.Split(text, "\n")...)
		}
		for _, text := range st.lines {
			if key := strings.ToLower(text); !seen[key] {
				seen[key] = true
				lines = append(lines, text)
			}
		}
	}
	if len(lines) > 0 {
		w.body.root.Add(document.Block{Kind: document.Paragraph, Text: strings.Join(lines, "\n")})
	}
	return nil
}

// assemble returns the blocks of the body with anchors, without empty blocks and repeated entries of a table of
// contents.
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
		if block.Kind == document.Heading {
			block.Anchor = anchors.Take("", block.Text)
		}
		kept = append(kept, block)
	}
	return kept
}
