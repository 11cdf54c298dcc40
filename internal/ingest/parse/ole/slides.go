package ole

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/cfb"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
)

// Lists of slides by their instance (MS-PPT 2.4.14.3).
const (
	listSlides = 0
	listNotes  = 2
)

// slides reads a presentation.
type slides struct {
	walk
	persist *persist
	links   map[int]string // addresses by id
	notes   map[int]int    // objects of notes by id

	anchors     document.Anchors
	blocks      []document.Block
	page        int
	title       string
	footers     []string
	seenFooters map[string]bool // footers, in lower case
	isRead      map[int]bool    // objects that were read
}

// An entry is a slide in the list of slides.
type entry struct {
	object int
	texts  []*slideText
}

// ReadSlides reads a binary PowerPoint presentation (PPT, PPS, POT) of PowerPoint 97 to 2003 (MS-PPT). Slides are read
// in the order of the presentation, including hidden ones. Each has its title as a heading of level 2, then the texts
// and tables of its shapes in drawing order, its notes after "Notes:", and its comments as quotations. Slides are the
// pages. The text of headers and footers comes once, at the end. If the presentation does not locate its slides, all
// texts of the file are returned in their order.
//
// The error is a *document.DamagedError if there is no readable text, a *document.EncryptedError, a
// *document.UnsupportedError for earlier versions, a *document.LimitError, or that of the context. Extra["damaged"]
// names the missing parts.
func ReadSlides(ctx context.Context, in document.Source) (*document.Draft, error) {
	file, content, err := openSlides(in)
	if err != nil {
		return nil, err
	}
	limits := in.Limits.WithDefaults()
	r := &slides{
		walk:  walk{Work: wordmodel.NewWork(ctx, limits.MaxText), stepsLeft: maxSteps(len(content))},
		links: make(map[int]string), notes: make(map[int]int), anchors: make(document.Anchors),
		seenFooters: make(map[string]bool), isRead: make(map[int]bool),
	}
	meta := make(map[string]any)
	pages := -1
	if file == nil {
		r.Missing("the end of the file")
	} else {
		meta = file.Properties()
		if file.Size(slidesStream) > int64(len(content)) {
			r.Missing("the end of the file")
		}
		if r.persist, err = readPersist(&r.walk, file, content); err != nil {
			return nil, err
		}
		if pages, err = r.document(limits.MaxPages); err != nil {
			return nil, err
		}
	}
	if pages < 0 {
		r.Missing("the order of its slides")
		if err := r.scan(content); err != nil {
			return nil, err
		}
	}
	if len(r.footers) > 0 {
		r.blocks = append(r.blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(r.footers, "\n")})
	}
	if len(r.blocks) == 0 && len(r.Damage) > 0 {
		return nil, &document.DamagedError{Format: slidesFormat, Detail: "it has no text that can be read"}
	}
	draft := &document.Draft{
		Blocks: r.blocks, Meta: meta, Title: r.title, Prose: true, Pages: max(pages, 0), Extra: make(map[string]any),
	}
	r.Report(draft)
	return draft, nil
}

const slidesStream = "PowerPoint Document"

// openSlides returns the stream of slides. The file is nil if the directory of streams is lost. The stream then begins
// at the first sector that looks like one.
func openSlides(in document.Source) (*cfb.File, view, error) {
	file, err := cfb.Open(in.Content, slidesFormat, in.Budget)
	if err == nil && file.Has(slidesStream) {
		content, err := file.Read(slidesStream)
		return file, content, err
	}
	if err == nil && (file.Has("PP40") || file.Has("PP_Document")) {
		return nil, nil, &document.UnsupportedError{Reason: "format not supported: PowerPoint before version 97"}
	}
	const sector = 512
	if bytes.HasPrefix(in.Content, []byte(cfb.Magic)) {
		for at := sector; at < len(in.Content); at += sector {
			r, _, ok := readRecord(in.Content, at)
			if ok && r.isContainer && r.instance == 0 && (r.kind == recordDocument || r.kind == recordSlide || r.kind == recordMaster) {
				return nil, in.Content[at:], nil
			}
		}
	}
	if err == nil {
		err = &document.DamagedError{Format: slidesFormat, Detail: "its slides are missing"}
	}
	return nil, nil, err
}

// maxSteps returns how many records of a stream may be read.
func maxSteps(length int) int { return length + 100_000 }

// document reads the slides and returns their number, -1 if the file does not locate them.
func (r *slides) document(maxPages int) (int, error) {
	doc, found := r.persist.at(r.persist.document, recordDocument)
	if !found {
		return -1, nil
	}
	var lists [3]view
	err := r.each(doc.content, func(rec record) error {
		switch {
		case rec.kind == recordSlideList && rec.instance < len(lists) && lists[rec.instance] == nil:
			lists[rec.instance] = rec.content
		case rec.kind == recordExternals:
			return r.externals(rec.content)
		case rec.kind == recordHeadersFooters:
			return r.headersFooters(rec.content)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	err = r.each(lists[listNotes], func(rec record) error {
		if rec.kind == recordSlidePersist {
			r.notes[rec.content.u32(12)] = rec.content.u32(0)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	entries, err := r.entries(lists[listSlides])
	if err != nil {
		return 0, err
	}
	if len(entries) > maxPages {
		return 0, &document.LimitError{Detail: fmt.Sprintf("presentation has %d slides, the limit is %d", len(entries), maxPages)}
	}
	if lists[listSlides] == nil {
		return -1, nil
	}
	for i := range entries {
		r.page++
		if err := r.slide(&entries[i]); err != nil {
			return 0, err
		}
	}
	return len(entries), nil
}

// entries reads the list of slides with the texts that it contains.
func (r *slides) entries(list view) ([]entry, error) {
	var found []entry
	start, at := -1, 0
	collect := func(end int) error {
		if start < 0 {
			return nil
		}
		texts, err := r.texts(list.part(start, end-start), nil)
		found[len(found)-1].texts = texts
		return err
	}
	err := r.each(list, func(rec record) error {
		if rec.kind == recordSlidePersist {
			if err := collect(at); err != nil {
				return err
			}
			found = append(found, entry{object: rec.content.u32(0)})
			start = at + recordHead + len(rec.content)
		}
		at += recordHead + len(rec.content)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return found, collect(len(list))
}

// externals reads the addresses of links.
func (r *slides) externals(content view) error {
	return r.each(content, func(rec record) error {
		if rec.kind != recordLink {
			return nil
		}
		id, target := -1, ""
		err := r.each(rec.content, func(part record) error {
			switch {
			case part.kind == recordLinkAtom:
				id = part.content.u32(0)
			case part.kind == recordString && part.instance == 1:
				target = wordmodel.WebLink(cfb.DecodeUTF16(part.content.part(0, maxString)))
			}
			return nil
		})
		if target != "" {
			r.links[id] = target
		}
		return err
	})
}

// headersFooters keeps the visible texts of headers and footers.
func (r *slides) headersFooters(content view) error {
	flags := 0
	return r.each(content, func(rec record) error {
		switch {
		case rec.kind == recordHeadersAtom:
			flags = rec.content.u16(2)
		case rec.kind == recordString && (rec.instance == 1 && flags&0x10 != 0 || rec.instance == 2 && flags&0x20 != 0):
			r.addFooter(clean(stringOf(rec)))
		}
		return nil
	})
}

func (r *slides) addFooter(text string) {
	text = strings.Join(strings.Fields(text), " ")
	if key := strings.ToLower(text); text != "" && text != "*" && !r.seenFooters[key] {
		r.seenFooters[key] = true
		r.footers = append(r.footers, text)
	}
}

// object returns the content of a slide or of its notes, once.
func (r *slides) object(id, kind int) (view, bool) {
	rec, found := r.persist.at(id, kind)
	if !found || r.isRead[id] {
		return nil, false
	}
	r.isRead[id] = true
	if rec.isTruncated {
		r.Missing("a part of slide " + strconv.Itoa(r.page))
	}
	return rec.content, true
}

// slide reads a slide with its notes and comments.
func (r *slides) slide(e *entry) error {
	content, found := r.object(e.object, recordSlide)
	if !found {
		r.Missing("the shapes of slide " + strconv.Itoa(r.page))
	}
	shapes, err := r.drawing(content, e.texts)
	if err != nil {
		return err
	}
	title, blocks := r.content(shapes)
	for _, t := range e.texts {
		switch {
		case t.isUsed:
		case t.isTitle() && title == "":
			title = t.plain()
		default:
			blocks = append(blocks, (&shape{texts: []*slideText{t}}).blocks()...)
		}
	}
	more, err := r.related(content)
	if err != nil {
		return err
	}
	r.add(title, append(blocks, more...))
	return nil
}

// content returns the title of a slide and the text of its shapes.
func (r *slides) content(shapes []*shape) (title string, blocks []document.Block) {
	for _, s := range shapes {
		switch s.placeholder {
		case placeholderDate, placeholderNumber:
			continue
		case placeholderFooter, placeholderHeader:
			r.addFooter(s.plain())
			continue
		}
		if title == "" && s.isTitle() {
			if title = s.plain(); title != "" {
				continue
			}
		}
		blocks = append(blocks, s.blocks()...)
	}
	return title, blocks
}

// related reads the notes, comments and footer of a slide.
func (r *slides) related(content view) (blocks []document.Block, err error) {
	notes := 0
	var comments []document.Block
	err = r.each(content, func(rec record) error {
		switch rec.kind {
		case recordSlideAtom:
			notes = rec.content.u32(16)
		case recordHeadersFooters:
			return r.headersFooters(rec.content)
		case recordTags:
			found, err := r.comments(rec.content)
			comments = append(comments, found...)
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if object, found := r.notes[notes]; found && notes != 0 {
		if blocks, err = r.notesOf(object); err != nil {
			return nil, err
		}
	}
	return append(blocks, comments...), nil
}

// notesOf reads the notes of a slide.
func (r *slides) notesOf(object int) ([]document.Block, error) {
	content, found := r.object(object, recordNotes)
	if !found {
		return nil, nil
	}
	shapes, err := r.drawing(content, nil)
	if err != nil {
		return nil, err
	}
	var texts []string
	for _, s := range shapes {
		switch s.placeholder {
		case placeholderFooter, placeholderHeader:
			r.addFooter(s.plain())
			continue
		case placeholderDate, placeholderNumber, placeholderNotesImage:
			continue
		}
		if text := wordmodel.Flatten(s.blocks()); text != "" && text != strconv.Itoa(r.page) {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	between, text := " ", strings.Join(texts, "\n")
	if strings.HasPrefix(text, "- ") {
		between = "\n"
	}
	return []document.Block{{Kind: document.Paragraph, Text: "Notes:" + between + text}}, nil
}

// comments reads the comments on a slide. They are in the tags of later versions.
func (r *slides) comments(tags view) ([]document.Block, error) {
	var blocks []document.Block
	err := r.each(tags, func(tag record) error {
		if tag.kind != recordBinaryTag {
			return nil
		}
		data, ok, err := r.child(tag.content, recordBinaryData)
		if err != nil || !ok {
			return err
		}
		return r.each(data.content, func(rec record) error {
			if rec.kind != recordComment {
				return nil
			}
			var parts [3]string
			err := r.each(rec.content, func(part record) error {
				if part.kind == recordString && part.instance < len(parts) {
					parts[part.instance] = oneLine(stringOf(part))
				}
				return nil
			})
			author, text := parts[0], parts[1]
			r.Cost += len(text)
			if author != "" && text != "" {
				text = author + ": " + text
			}
			if text != "" {
				blocks = append(blocks, document.Block{Kind: document.Quote, Text: text})
			}
			return err
		})
	})
	return blocks, err
}

// add adds a slide.
func (r *slides) add(title string, blocks []document.Block) {
	if title == "" && len(blocks) == 0 {
		return
	}
	if len(title) > wordmodel.MaxHeading {
		blocks = slices.Insert(blocks, 0, document.Block{Kind: document.Paragraph, Text: title})
		title = ""
	}
	if title == "" {
		title = "Slide " + strconv.Itoa(r.page)
	} else if r.title == "" {
		r.title = title
	}
	r.blocks = append(r.blocks, document.Block{
		Kind: document.Heading, Level: 2, Text: title, Anchor: r.anchors.Take("", title), Page: r.page,
	})
	for i := range blocks {
		blocks[i].Page = r.page
		r.Cost += blockCost
	}
	r.blocks = append(r.blocks, blocks...)
}

// scan returns all texts of the stream in their order, except those of masters.
func (r *slides) scan(stream view) error {
	var f wordmodel.Flow
	kind := textOther
	for at := 0; ; {
		rec, next, ok := readRecord(stream, at)
		if !ok {
			break
		}
		if err := r.Step(); err != nil {
			return err
		}
		if rec.isContainer && (rec.isTruncated || rec.kind != recordMaster && rec.kind != recordHandout) {
			at += recordHead
			continue
		}
		at = next
		t := &slideText{kind: kind}
		switch rec.kind {
		case recordTextHeader:
			kind = rec.content.u32(0)
			continue
		case recordTextChars:
			t.units = wideUnits(rec.content)
		case recordTextBytes:
			t.units = narrowUnits(rec.content)
		default:
			continue
		}
		if err := r.count(t); err != nil {
			return err
		}
		if t.plain() == "*" {
			continue // a placeholder of a number or date
		}
		if t.isTitle() {
			if text := t.plain(); text != "" && len(text) <= wordmodel.MaxHeading {
				f.Add(document.Block{Kind: document.Heading, Level: 2, Text: text, Anchor: r.anchors.Take("", text)})
				continue
			}
		}
		t.write(&f)
	}
	r.blocks = f.Finish()
	return nil
}
