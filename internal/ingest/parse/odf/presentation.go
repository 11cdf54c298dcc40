package odf

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// A shape is a frame or drawing of a slide.
type shape struct {
	x, y   float64 // upper left corner, in cm
	class  string  // its role: "title", "subtitle", "outline", "notes", …
	blocks []document.Block
}

// A slide is a slide with its shapes.
type slide struct {
	name   string
	shapes []shape
	notes  []document.Block
}

// presentation reads the slides of a presentation, or the pages of a drawing.
func (r *reader) presentation(s *xmlscan.Scanner) error {
	w := r.walk
	kind := s.Name()
	r.draft.Prose = true
	r.margins.texts = nil
	var footers []string
	err := w.each(s, func() error {
		switch {
		case s.Prefix() == "draw" && s.Name() == "page":
			return r.slide(s, kind)
		case s.Name() == "footer-decl", s.Name() == "header-decl":
			text, err := w.flat(s)
			if text != "" && len(footers) < maxMargins && !slices.Contains(footers, text) {
				footers = append(footers, text)
			}
			return err
		}
		return w.skip(s)
	})
	r.draft.Pages = w.page
	w.flush()
	w.page = 0
	r.margins.texts = footers
	return err
}

func (r *reader) slide(s *xmlscan.Scanner, kind string) error {
	w := r.walk
	w.page++
	if limit := r.in.Limits.WithDefaults().MaxPages; w.page > limit {
		return &document.LimitError{Detail: fmt.Sprintf("the file has more than %d slides", limit)}
	}
	made := slide{name: s.Attr("name")}
	err := w.each(s, func() error {
		switch {
		case s.Prefix() == "draw":
			return w.shape(s, &made.shapes, 0)
		case s.Prefix() == "presentation" && s.Name() == "notes":
			return w.slideNotes(s, &made)
		}
		blocks, err := w.collect(func() error { return w.element(s) })
		if len(blocks) > 0 {
			made.shapes = append(made.shapes, shape{x: farOut, y: farOut, blocks: blocks})
		}
		return err
	})
	made.emit(w, kind)
	return err
}

// farOut is the position of shapes without one: after the others.
const farOut = 1e6

// maxGroups is how deep groups of shapes are split.
const maxGroups = 16

// shape reads a shape of a slide. A group is replaced by its shapes.
func (w *walker) shape(s *xmlscan.Scanner, shapes *[]shape, depth int) error {
	switch s.Name() {
	case "g", "a":
		if depth < maxGroups {
			return w.each(s, func() error {
				if s.Prefix() == "draw" {
					return w.shape(s, shapes, depth+1)
				}
				return w.skip(s)
			})
		}
	case "page-thumbnail", "layer-set":
		return w.skip(s)
	}
	made := shape{x: farOut, y: farOut}
	for _, attr := range s.Attrs() {
		switch attr.Name {
		case "x", "x1":
			made.x = length(attr.Value)
		case "y", "y1":
			made.y = length(attr.Value)
		case "transform":
			made.translate(attr.Value)
		case "class":
			if attr.Prefix == "presentation" {
				made.class = attr.Value
			}
		}
	}
	switch made.class {
	case "page-number", "date-time", "footer", "header", "page", "handout":
		return w.skip(s)
	}
	blocks, err := w.collect(func() error { return w.element(s) })
	if made.blocks = blocks; len(blocks) > 0 {
		*shapes = append(*shapes, made)
	}
	return err
}

// length parses a length in centimeters. It returns farOut for an invalid one.
func length(text string) float64 {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz%")
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil || value != value || value > farOut || value < -farOut {
		return farOut
	}
	switch text[len(digits):] {
	case "in":
		value *= 2.54
	case "mm":
		value /= 10
	case "pt":
		value *= 2.54 / 72
	case "pc":
		value *= 2.54 / 6
	case "px":
		value *= 2.54 / 96
	}
	return value
}

// translate sets the position of a rotated shape from its transformation.
func (p *shape) translate(transform string) {
	_, rest, found := strings.Cut(transform, "translate")
	if !found {
		return
	}
	rest = strings.TrimLeft(rest, " (")
	inside, _, _ := strings.Cut(rest, ")")
	if parts := strings.FieldsFunc(inside, func(r rune) bool { return r == ' ' || r == ',' }); len(parts) == 2 {
		p.x, p.y = length(parts[0]), length(parts[1])
	}
}

func (w *walker) slideNotes(s *xmlscan.Scanner, to *slide) error {
	var shapes []shape
	err := w.each(s, func() error {
		if s.Prefix() == "draw" {
			return w.shape(s, &shapes, 0)
		}
		return w.skip(s)
	})
	for _, made := range shapes {
		to.notes = append(to.notes, made.blocks...)
	}
	return err
}

// rowHeight is how far apart, in cm, the tops of shapes in a row may be.
const rowHeight = 0.4

// order sorts shapes into reading order: rows from top to bottom, and from left to right within a row.
func order(shapes []shape) {
	slices.SortStableFunc(shapes, func(a, b shape) int { return cmp.Compare(a.y, b.y) })
	for from := 0; from < len(shapes); {
		to := from + 1
		for to < len(shapes) && shapes[to].y-shapes[from].y < rowHeight {
			to++
		}
		slices.SortStableFunc(shapes[from:to], func(a, b shape) int { return cmp.Compare(a.x, b.x) })
		from = to
	}
}

// emit adds the blocks of the slide.
func (p *slide) emit(w *walker, kind string) {
	title := ""
	order(p.shapes)
	for i := range p.shapes {
		if p.shapes[i].class != "title" || title != "" {
			continue
		}
		text := strings.Join(strings.Fields(textOf(p.shapes[i].blocks)), " ")
		if text != "" && len(text) <= maxHeading {
			title = text
			p.shapes[i].blocks = nil
		}
	}
	if title == "" {
		title = p.topLine()
	}
	if title == "" && len(p.shapes) == 0 && len(p.notes) == 0 {
		return
	}
	if title == "" {
		title = p.givenName(w.page, kind)
	}
	w.heading(title, 2, w.page)
	for i := range p.shapes {
		for _, block := range p.shapes[i].blocks {
			w.emit(block)
		}
		w.flush()
	}
	if text := textOf(p.notes); text != "" {
		between := " "
		if strings.HasPrefix(text, "- ") || strings.HasPrefix(text, "1. ") {
			between = "\n"
		}
		w.emit(document.Block{Kind: document.Paragraph, Text: "Notes:" + between + text})
	}
	w.flush()
	w.flushNotes()
}

// Limits of a line that looks like the title of a slide.
const (
	maxTopLine = 100 // bytes
	topOfSlide = 6.0 // cm from the top
)

// topLine removes the first shape and returns its text, if it looks like the title: a short line at the top, with other
// shapes below.
func (p *slide) topLine() string {
	if len(p.shapes) < 2 || p.shapes[0].y > topOfSlide || len(p.shapes[0].blocks) != 1 || p.shapes[0].class == "subtitle" {
		return ""
	}
	block := &p.shapes[0].blocks[0]
	if block.Kind != document.Paragraph || len(block.Text) > maxTopLine || strings.ContainsAny(block.Text, "\n[`") || strings.HasSuffix(block.Text, ".") {
		return ""
	}
	p.shapes[0].blocks = nil
	return block.Text
}

// givenName returns the name of a slide, or one with its number if it only has a default name.
func (p *slide) givenName(page int, kind string) string {
	name := strings.TrimSpace(p.name)
	digits := strings.TrimRight(name, "0123456789")
	if name != "" && digits != "page" && digits != "Slide " && len(name) <= maxHeading {
		return name
	}
	if kind == "drawing" {
		return "Page " + strconv.Itoa(page)
	}
	return "Slide " + strconv.Itoa(page)
}
