package ooxml

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const slidesFormat = "PowerPoint presentation"

// slides reads a presentation.
type slides struct {
	wordmodel.Work
	in          document.Source
	pkg         *Package
	layouts     map[string]*layout
	authors     map[string]string
	anchors     document.Anchors
	blocks      []document.Block
	page        int
	title       string
	parts       int // how many charts and diagrams were read
	footers     []string
	seenFooters map[string]bool // footers, in lower case
}

// ReadSlides reads a PowerPoint presentation (PPTX, PPTM, PPSX; PresentationML of ECMA-376 part 1, 19, in its
// transitional and strict form). Slides are read in the order of the presentation, including hidden ones. Each has its
// title as a heading of level 2, then the texts, tables, charts and diagrams of its shapes in reading order, its notes
// after "Notes:", and its comments as quotations. Slides are the pages. The text of footers comes once, at the end.
//
// The error is a *document.DamagedError if the main part is missing or no slide has readable text, a
// *document.EncryptedError, a *document.LimitError, or that of the context. Extra["damaged"] names the damaged parts.
func ReadSlides(ctx context.Context, in document.Source) (*document.Draft, error) {
	pkg, err := Open(in, slidesFormat)
	if err != nil {
		return nil, err
	}
	main, err := pkg.MainPart()
	if err != nil {
		return nil, err
	}
	r := &slides{
		Work: wordmodel.NewWork(ctx, in.Limits.MaxText), in: in, pkg: pkg, layouts: make(map[string]*layout),
		anchors: make(document.Anchors), seenFooters: make(map[string]bool),
	}
	relations, err := pkg.Relationships(main)
	if err := r.Tolerate("links between its parts", err); err != nil {
		return nil, err
	}
	parts, broken := r.order(main, relations)
	if err := r.Tolerate("the order of its slides", broken); err != nil {
		return nil, err
	}
	if len(parts) > in.Limits.MaxPages {
		return nil, &document.LimitError{Detail: fmt.Sprintf("presentation has %d slides, the limit is %d", len(parts), in.Limits.MaxPages)}
	}
	if err := r.readAuthors(relations); err != nil {
		return nil, err
	}
	for _, part := range parts {
		r.page++
		if err := r.slide(part); err != nil {
			return nil, err
		}
	}
	if len(r.footers) > 0 {
		r.blocks = append(r.blocks, document.Block{Kind: document.Paragraph, Text: strings.Join(r.footers, "\n")})
	}
	if len(r.blocks) == 0 && len(r.Damage) > 0 {
		return nil, pkg.Damaged(r.Damage[0], broken)
	}
	draft := &document.Draft{
		Blocks: r.blocks, Meta: pkg.Properties(), Title: r.title, Prose: true, Pages: len(parts), Extra: make(map[string]any),
	}
	r.Report(draft)
	return draft, nil
}

// order returns the parts of the slides in their order, "" for a missing one.
func (r *slides) order(main string, relations map[string]Relationship) ([]string, error) {
	var parts []string
	err := r.pkg.Scan(main, func(s *xmlscan.Scanner) error {
		names := newNames()
		for {
			kind, err := s.Next()
			if err != nil {
				return err
			}
			if err := r.Step(); err != nil {
				return err
			}
			if kind != xmlscan.Start || names.space(s) != spaceSlide || s.Name() != "sldId" {
				continue
			}
			part := ""
			if relation, found := relations[relationshipID(s, "id")]; found && !relation.External {
				part = relation.Target
			}
			if parts = append(parts, part); len(parts) > r.in.Limits.MaxPages {
				return nil
			}
		}
	})
	if len(parts) > 0 && slices.ContainsFunc(parts, func(part string) bool { return part != "" }) {
		return parts, err
	}
	// Without a list, slides are ordered by number.
	parts = parts[:0]
	for _, relation := range relations {
		if relation.Type == "slide" && !relation.External {
			parts = append(parts, relation.Target)
		}
	}
	if len(relations) == 0 {
		for i := 1; i <= r.in.Limits.MaxPages && r.pkg.Has(slidePart(i)); i++ {
			parts = append(parts, slidePart(i))
		}
	}
	slices.SortFunc(parts, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	return slices.Compact(parts), err
}

func slidePart(number int) string { return "ppt/slides/slide" + strconv.Itoa(number) + ".xml" }

func (r *slides) drawing(s *xmlscan.Scanner, relations map[string]Relationship) *drawing {
	return &drawing{work: &r.Work, s: s, names: newNames(), relations: relations}
}

// tree reads the shapes of a part.
func (r *slides) tree(part string, relations map[string]Relationship) (*shape, error) {
	root := &shape{}
	err := r.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		d := r.drawing(s, relations)
		for {
			kind, ns, isOpen, err := d.next(0)
			if err != nil || !isOpen {
				return err
			}
			if kind == xmlscan.Start && ns == spaceSlide && s.Name() == "spTree" {
				if err := r.shapes(d, root, maxGroups); err != nil {
					return err
				}
			}
		}
	})
	root.isHidden = false // a property of the slide
	return root, err
}

// slide reads a slide with its notes and comments.
func (r *slides) slide(part string) error {
	name := "slide " + strconv.Itoa(r.page)
	if part == "" || !r.pkg.Has(part) {
		r.Missing(name + " (it is missing)")
		return nil
	}
	relations, err := r.pkg.Relationships(part)
	if err := r.Tolerate("links of "+name, err); err != nil {
		return err
	}
	l, err := r.layout(relations, "slideLayout")
	if err != nil {
		return err
	}
	root, err := r.tree(part, relations)
	if err := r.Tolerate(name, err); err != nil {
		return err
	}
	title, blocks := r.content(root, l)
	for _, read := range []struct {
		kind string
		with func(part string) ([]document.Block, error)
	}{{"notesSlide", r.notes}, {"comments", r.comments}} {
		for _, target := range targets(relations, read.kind) {
			more, err := read.with(target)
			if err != nil {
				return err
			}
			blocks = append(blocks, more...)
		}
	}
	if title == "" && len(blocks) == 0 {
		return nil
	}
	if title == "" || len(title) > wordmodel.MaxHeading {
		if title != "" {
			blocks = slices.Insert(blocks, 0, document.Block{Kind: document.Paragraph, Text: title, Page: r.page})
		}
		title = "Slide " + strconv.Itoa(r.page)
	} else if r.title == "" {
		r.title = title
	}
	r.blocks = append(r.blocks, document.Block{
		Kind: document.Heading, Level: 2, Text: title, Anchor: r.anchors.Take("", title), Page: r.page,
	})
	r.blocks = append(r.blocks, blocks...)
	return nil
}

// targets returns the related parts of a type.
func targets(relations map[string]Relationship, kind string) []string {
	var found []string
	for _, relation := range relations {
		if relation.Type == kind && !relation.External {
			found = append(found, relation.Target)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// content returns the title of a slide and the text of its shapes, in reading order.
func (r *slides) content(root *shape, l *layout) (title string, blocks []document.Block) {
	styles := make(map[*shape]func(int) bullet)
	for _, s := range root.leaves(nil) {
		styles[s] = l.inherit(s)
	}
	root.fitGroups()
	root.arrange()
	for _, s := range root.leaves(nil) {
		if s.isPlaceholder {
			switch s.kind {
			case "title", "ctrTitle":
				if text := s.text(); title == "" && text != "" {
					title = text
					continue
				}
			case "sldNum":
				continue
			case "dt", "ftr", "hdr":
				if text := s.text(); !s.hasDate {
					r.addFooter(text)
				}
				continue
			}
		}
		found := drawnBlocks(s.paragraphs, styles[s], r.page)
		found = append(found, s.blocks...)
		if len(found) == 0 && s.picture != "" {
			found = append(found, document.Block{Kind: document.Paragraph, Text: s.picture, Page: r.page})
		}
		blocks = append(blocks, found...)
	}
	return title, blocks
}

func (r *slides) addFooter(text string) {
	if key := strings.ToLower(text); text != "" && !r.seenFooters[key] {
		r.seenFooters[key] = true
		r.footers = append(r.footers, text)
	}
}

// notes reads the speaker notes of a slide. The headers and footers of the notes page count as footers.
func (r *slides) notes(part string) ([]document.Block, error) {
	relations, err := r.pkg.Relationships(part)
	if err != nil {
		relations = nil // the links are lost, the text is not
	}
	root, err := r.tree(part, relations)
	if err := r.Tolerate("the notes of slide "+strconv.Itoa(r.page), ignoreMissing(err)); err != nil {
		return nil, err
	}
	var texts []string
	for _, s := range root.leaves(nil) {
		switch {
		case s.isPlaceholder && (s.kind == "ftr" || s.kind == "hdr"):
			r.addFooter(s.text())
			continue
		case s.isPlaceholder && s.kind != "body":
			continue
		}
		blocks := drawnBlocks(s.paragraphs, func(level int) bullet { return s.bullets[level] }, r.page)
		if text := wordmodel.Flatten(blocks); text != "" {
			texts = append(texts, text)
		}
	}
	if len(texts) == 0 {
		return nil, nil
	}
	separator := " "
	text := strings.Join(texts, "\n")
	if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "1. ") {
		separator = "\n"
	}
	return []document.Block{{Kind: document.Paragraph, Text: "Notes:" + separator + text, Page: r.page}}, nil
}
