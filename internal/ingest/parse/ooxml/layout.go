package ooxml

import (
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// A layout is what the placeholders of a slide inherit from a slide layout and its master.
type layout struct {
	placeholders []*shape
	titles       bullets
	bodies       bullets
	others       bullets
	master       *layout
}

// layout reads the layout (with "slideLayout") or master ("slideMaster") of a slide or layout, once. It returns nil if
// there is none.
func (r *slides) layout(relations map[string]Relationship, kind string) (*layout, error) {
	part := ""
	if parts := targets(relations, kind); len(parts) > 0 {
		part = parts[0]
	}
	if known, read := r.layouts[part]; read || part == "" {
		return known, nil
	}
	l := &layout{}
	r.layouts[part] = l
	root := &shape{}
	err := r.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		d := r.drawing(s, nil)
		for {
			kind, ns, isOpen, err := d.next(0)
			if err != nil || !isOpen {
				return err
			}
			if kind != xmlscan.Start {
				continue
			}
			switch name := s.Name(); {
			case ns == spaceSlide && name == "spTree":
				err = r.shapes(d, root, maxGroups)
			case name == "titleStyle":
				l.titles, err = d.levels()
			case name == "bodyStyle":
				l.bodies, err = d.levels()
			case name == "otherStyle":
				l.others, err = d.levels()
			}
			if err != nil {
				return err
			}
		}
	})
	if err := r.Tolerate("a layout", ignoreMissing(err)); err != nil {
		return nil, err
	}
	for _, s := range root.children {
		if s.isPlaceholder && len(l.placeholders) < maxOrdered {
			l.placeholders = append(l.placeholders, s)
		}
	}
	if kind == "slideMaster" {
		return l, nil
	}
	above, err := r.pkg.Relationships(part)
	if err := r.Tolerate("links of a layout", err); err != nil {
		return nil, err
	}
	l.master, err = r.layout(above, "slideMaster")
	return l, err
}

// placeholder returns the placeholder of the layout from which a shape inherits: the one with the same index, or the
// first of the same kind.
func (l *layout) placeholder(s *shape) *shape {
	if l == nil || !s.isPlaceholder {
		return nil
	}
	if s.index != "" {
		for _, candidate := range l.placeholders {
			if candidate.index == s.index {
				return candidate
			}
		}
	}
	kind := masterKind(s.kind)
	for _, candidate := range l.placeholders {
		if masterKind(candidate.kind) == kind {
			return candidate
		}
	}
	return nil
}

// masterKind returns the kind of the master's placeholder from which a placeholder inherits.
func masterKind(kind string) string {
	switch kind {
	case "ctrTitle":
		return "title"
	case "dt", "ftr", "sldNum", "hdr", "title":
		return kind
	}
	return "body"
}

// inherit gives a shape of a slide the position that it inherits, and returns its bullets by level.
func (l *layout) inherit(s *shape) func(level int) bullet {
	var chain []bullets
	chain = append(chain, s.bullets)
	if l != nil && s.isPlaceholder {
		above := l.placeholder(s)
		var over *shape
		if above != nil {
			chain = append(chain, above.bullets)
			over = l.master.placeholder(&shape{isPlaceholder: true, kind: above.kind})
		} else {
			over = l.master.placeholder(&shape{isPlaceholder: true, kind: s.kind})
		}
		for _, from := range []*shape{above, over} {
			if from != nil && from.isPlaced && !s.isPlaced {
				s.box, s.isPlaced = from.box, true
			}
		}
		if over != nil {
			chain = append(chain, over.bullets)
		}
	}
	chain = append(chain, l.style(s))
	return func(level int) bullet {
		for _, found := range chain {
			if found[level].kind != bulletUnset {
				return found[level]
			}
		}
		return bullet{}
	}
}

// style returns the bullets of the master's text style for a shape.
func (l *layout) style(s *shape) bullets {
	body := masterKind(s.kind) == "body"
	switch {
	case l == nil || l.master == nil:
		var fallback bullets
		if s.isPlaceholder && body && s.kind != "subTitle" {
			for i := range fallback {
				fallback[i].kind = bulletSign
			}
		}
		return fallback
	case !s.isPlaceholder:
		return l.master.others
	case body:
		return l.master.bodies
	}
	return l.master.titles
}
