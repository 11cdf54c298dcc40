package odf

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// drawing reads a frame or a shape. It returns the text of its picture or formula, and the blocks inside of it.
func (w *walker) drawing(s *xmlscan.Scanner) (string, []document.Block, error) {
	if s.Attr("placeholder") == "true" {
		return "", nil, w.skip(s)
	}
	if w.nested >= maxNested {
		text, err := w.flat(s)
		return text, nil, err
	}
	var title, description, formula string
	hasPicture, hasObject := false, false
	blocks, err := w.collect(func() error {
		return w.each(s, func() error {
			var err error
			switch name := s.Name(); {
			case s.Prefix() == "svg" && name == "title":
				title, err = w.flat(s)
			case s.Prefix() == "svg" && name == "desc":
				description, err = w.flat(s)
			case s.Prefix() == "draw" && name == "image":
				hasPicture = true
				err = w.skip(s)
			case s.Prefix() == "draw" && name == "object":
				hasObject = true
				var text string
				text, err = w.object(s)
				if formula == "" {
					formula = text
				}
			case s.Prefix() == "draw" && name == "text-box":
				err = w.flow(s)
			default:
				err = w.element(s)
			}
			return err
		})
	})
	text := formula
	if text == "" && (len(blocks) == 0 || hasPicture && !hasObject) {
		text = alternative(title, description)
	}
	return text, blocks, err
}

// alternative returns the text that describes a picture.
func alternative(title, description string) string {
	switch {
	case title == "" || strings.Contains(description, title):
		return description
	case description == "" || strings.Contains(title, description):
		return title
	}
	return title + ": " + description
}

// object reads an embedded object. It returns the text of a formula. Other objects become blocks.
func (w *walker) object(s *xmlscan.Scanner) (string, error) {
	href := strings.TrimPrefix(s.Attr("href"), "./")
	formula := ""
	if href == "" { // flat XML has the object here
		err := w.each(s, func() error { return w.embedded(s, &formula) })
		return formula, err
	}
	if err := w.skip(s); err != nil {
		return "", err
	}
	r := w.r
	if r.archive == nil || r.objects[href] || r.depth >= maxObjects {
		return "", nil
	}
	r.objects[href] = true
	r.depth++
	outer := *r.styles
	r.styles.nextFile()
	err := r.part(href+"/content.xml", func(s *xmlscan.Scanner) error {
		for {
			kind, err := w.next(s)
			if err != nil {
				return err
			}
			if kind == xmlscan.Start {
				if err := w.embedded(s, &formula); err != nil {
					return err
				}
			}
		}
	})
	r.styles.automatic, r.styles.automaticLists = outer.automatic, outer.automaticLists
	r.depth--
	if errors.Is(err, fs.ErrNotExist) || isDamage(err) {
		return formula, nil // a damaged object does not end the reading
	}
	return formula, err
}

// embedded reads the root of an embedded object, or a child of it.
func (w *walker) embedded(s *xmlscan.Scanner, formula *string) error {
	switch s.Name() {
	case "math":
		text, err := w.formula(s)
		if *formula == "" {
			*formula = text
		}
		return err
	case "document", "document-content", "body":
		return w.each(s, func() error { return w.embedded(s, formula) })
	case "automatic-styles", "styles":
		return w.r.styles.read(w, s, true)
	case "chart":
		outer := w.inChart
		w.inChart = true
		err := w.flow(s)
		w.inChart = outer
		return err
	case "text", "spreadsheet", "drawing", "presentation":
		return w.flow(s)
	}
	return w.skip(s)
}

// formula reads MathML. It returns the source of the formula if there is one, else its characters.
func (w *walker) formula(s *xmlscan.Scanner) (string, error) {
	var signs []string
	size, source := 0, ""
	for depth := s.Depth(); s.Depth() >= depth; {
		kind, err := w.next(s)
		if err != nil {
			return "", err
		}
		switch {
		case kind == xmlscan.Start && s.Name() == "annotation":
			text, err := w.flat(s)
			if err != nil {
				return "", err
			}
			source = text
		case kind == xmlscan.Text && size < maxHeading:
			if text := strings.TrimSpace(s.Text()); text != "" {
				signs = append(signs, text)
				size += len(text)
			}
		}
	}
	if source != "" {
		return source, nil
	}
	return strings.Join(signs, " "), nil
}
