package ole

import (
	"context"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// word is a document that is being read.
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

	// pending are the notes that are to come at the end of the section.
	pending  []string
	title    string // the first paragraph in the style of titles
	contents []int  // those blocks of the body that are entries of a table of contents

	known, unknown int // paragraphs of which the file says something, and of which not
}

// texts are the notes, comments or text boxes of a document.
type texts struct {
	spans []span
	read  []bool
	// byShape is the number of a text box by the id of its shape.
	byShape map[int]int
	numbers int // of the notes that the text has referred to
}

// ReadWord reads a binary Word document (DOC, DOT) of Word 97 to 2003 (MS-DOC) and of Word 6 and 95, of which it reads
// text, headings and tables: the body in order with headings, lists, tables, code and quotations, text boxes after the
// paragraph that holds them, notes at the end of their section, comments as quotations, the text of headers and footers
// once at the end. Deleted and hidden text and the codes of fields are left out, and so are entries of a table of contents
// that repeat a heading. The format does not say where pages end.
//
// The error is *document.DamagedError when there is no text that can be read, *document.EncryptedError,
// *document.LimitError, or the context's. What is missing of a broken file is named in Extra["damaged"].
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

// openWord opens the streams of a document, and what the file says about itself.
func openWord(in document.Source) (*fib, map[string]any, error) {
	file, err := cfb.Open(in.Content, wordFormat, in.Budget)
	if err == nil && file.Has("WordDocument") {
		f, err := readFIB(file)
		if err != nil {
			return nil, nil, err
		}
		return f, file.Properties(), nil
	}
	if f, found := lostFIB(in.Content); found {
		return f, make(map[string]any), nil
	}
	if err == nil {
		err = damagedWord("its text is missing", nil)
	}
	return nil, nil, err
}

// prepare reads the structures that the text refers to.
func (w *word) prepare() {
	f := w.fib
	codePage := 1252
	if f.old {
		codePage = codePageOf(f.language)
	}
	w.chars = newCharset(codePage)
	w.characters, w.paragraphs = newBinTable(f, placeCharacters), newBinTable(f, placeParagraphs)
	w.styles = readStyles(f)
	w.lists = &numbering{}
	if !f.old {
		w.lists = readNumbering(f)
	}
	if !w.pieces.whole {
		w.Missing("a part of the text")
	}
	if len(w.styles.list) == 0 {
		w.Missing("styles")
	}
	total := w.pieces.end()
	if f.counts[storyMain] == 0 && f.from(stories) == 0 {
		f.counts[storyMain] = total
	}
	story := func(place, kind, extra int) texts {
		list := f.place(place)
		count := max(len(list)/4-extra, 0)
		if place == placeTextBoxes || place == placeHeaderBoxes {
			count = max(len(list)-4, 0) / (4 + boxEntry)
		}
		length := min(f.counts[kind], max(total-f.from(kind), 0))
		if count == 0 && length > 0 {
			return texts{spans: []span{{f.from(kind), f.from(kind) + length}}, read: make([]bool, 1)}
		}
		found := spans(list, count, f.from(kind), length)
		return texts{spans: found, read: make([]bool, len(found))}
	}
	w.notes, w.endnotes = story(placeNoteTexts, storyNotes, 2), story(placeEndnoteTexts, storyEndnotes, 2)
	w.comments, w.boxes = story(placeCommentTexts, storyComments, 2), story(placeTextBoxes, storyBoxes, 0)
	w.boxes.byShape = make(map[int]int)
	for i := range w.boxes.spans {
		shape := f.place(placeTextBoxes).u32(4*(len(w.boxes.spans)+1) + i*boxEntry + 14)
		if _, taken := w.boxes.byShape[shape]; !taken {
			w.boxes.byShape[shape] = i
		}
	}
	w.authors = readAuthors(f)
}

// boxEntry is how much the list of text boxes says of each (MS-DOC 2.9.105).
const boxEntry = 22

// read reads all stories into the body.
func (w *word) read() error {
	f := w.fib
	w.body = &story{word: w, main: true, anchors: readAnchors(f)}
	if err := w.body.read(0, f.counts[storyMain]); err != nil {
		return err
	}
	w.body.finish()
	w.placeNotes(&w.body.root)
	for _, rest := range []*texts{&w.notes, &w.endnotes, &w.boxes, &w.comments} {
		if err := w.readRest(rest); err != nil {
			return err
		}
	}
	if err := w.readHeaders(); err != nil {
		return err
	}
	if w.unknown*4 > w.known {
		w.Missing("formatting")
	}
	return nil
}

// count counts paragraphs of which the file says something.
func (w *word) count(known bool) {
	if known {
		w.known++
	} else {
		w.unknown++
	}
}

// text reads one of the texts beside the body, each once.
func (w *word) text(t *texts, number int) ([]document.Block, error) {
	if number < 0 || number >= len(t.spans) || t.read[number] {
		return nil, nil
	}
	t.read[number] = true
	st := &story{word: w}
	if err := st.read(t.spans[number].from, t.spans[number].to); err != nil {
		return nil, err
	}
	return st.finish(), nil
}

// readRest adds the texts to which nothing has referred.
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

// anchored puts in what a character refers to. It tells whether that stands in place of the character.
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

// note puts the number of a note into the line, and keeps the note.
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

// placeNotes adds the notes of a section.
func (w *word) placeNotes(to *wordmodel.Flow) {
	if len(w.pending) > 0 {
		to.Add(document.Block{Kind: document.List, Text: "- " + strings.Join(w.pending, "\n- ")})
		w.pending = nil
	}
}

// firstHeader is the first text of the list of headers that is one; those before part notes from the text.
const firstHeader = 6

// readHeaders adds the lines of headers and footers, each once.
func (w *word) readHeaders() error {
	f := w.fib
	list := f.place(placeHeaders)
	total := w.pieces.end()
	headers := spans(list, max(len(list)/4-2, 0), f.from(storyHeaders), min(f.counts[storyHeaders], total))
	headers = headers[min(firstHeader, len(headers)):]
	boxes := f.place(placeHeaderBoxes)
	if f.old {
		boxes = nil
	}
	headers = append(headers, spans(boxes, max(len(boxes)-4, 0)/(4+boxEntry), f.from(storyHeaderBoxes), min(f.counts[storyHeaderBoxes], total))...)
	var lines []string
	seen := make(map[string]bool)
	for _, header := range headers {
		if header.from == header.to {
			continue
		}
		st := &story{word: w, header: true}
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

// assemble gives the blocks of the body their anchors, without those that are empty or repeat headings as entries of a
// table of contents.
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
