package ooxml

import (
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// layout is what the placeholders of a slide take over from its layout, and that from its master.
type layout struct {
	holders []*shape
	titles  bullets
	bodies  bullets
	others  bullets
	master  *layout
}

// layout reads the layout that a slide refers to, or with "slideMaster" the master of a layout, once. Without one it is
// nil: slides are then read as they are.
func (r *slides) layout(relations map[string]Relationship, kind string) (*layout, error) {
	part := ""
	if parts := targets(relations, kind); len(parts) > 0 {
		part = parts[0]
	}
	if known, read := r.layouts[part]; read || part == "" {
		return known, nil
	}
	found := &layout{}
	r.layouts[part] = found
	root := &shape{}
	err := r.pkg.Scan(part, func(s *xmlscan.Scanner) error {
		d := r.drawing(s, nil)
		for {
			kind, in, open, err := d.next(0)
			if err != nil || !open {
				return err
			}
			if kind != xmlscan.Start {
				continue
			}
			switch name := s.Name(); {
			case in == spaceSlide && name == "spTree":
				err = r.shapes(d, root, maxGroups)
			case name == "titleStyle":
				found.titles, err = d.levels()
			case name == "bodyStyle":
				found.bodies, err = d.levels()
			case name == "otherStyle":
				found.others, err = d.levels()
			}
			if err != nil {
				return err
			}
		}
	})
	if err := r.tolerate("a layout", absent(err)); err != nil {
		return nil, err
	}
	for _, s := range root.children {
		if s.holder && len(found.holders) < maxOrdered {
			found.holders = append(found.holders, s)
		}
	}
	if kind == "slideMaster" {
		return found, nil
	}
	above, err := r.pkg.Relationships(part)
	if err := r.tolerate("links of a layout", err); err != nil {
		return nil, err
	}
	found.master, err = r.layout(above, "slideMaster")
	return found, err
}

// holder finds the placeholder that one of a slide or of a layout takes over from: by its index, else by its kind.
func (l *layout) holder(s *shape) *shape {
	if l == nil || !s.holder {
		return nil
	}
	if s.index != "" {
		for _, candidate := range l.holders {
			if candidate.index == s.index {
				return candidate
			}
		}
	}
	kind := masterKind(s.kind)
	for _, candidate := range l.holders {
		if masterKind(candidate.kind) == kind {
			return candidate
		}
	}
	return nil
}

// masterKind returns the kind of placeholder of a master that one of a kind takes over from.
func masterKind(kind string) string {
	switch kind {
	case "ctrTitle":
		return "title"
	case "dt", "ftr", "sldNum", "hdr", "title":
		return kind
	}
	return "body"
}

// settle gives a shape of a slide its place, and returns the bullets that it takes over.
func (l *layout) settle(s *shape) func(level int) bullet {
	var chain []bullets
	chain = append(chain, s.own)
	if l != nil && s.holder {
		above := l.holder(s)
		var over *shape
		if above != nil {
			chain = append(chain, above.own)
			over = l.master.holder(&shape{holder: true, kind: above.kind})
		} else {
			over = l.master.holder(&shape{holder: true, kind: s.kind})
		}
		for _, from := range []*shape{above, over} {
			if from != nil && from.placed && !s.placed {
				s.box, s.placed = from.box, true
			}
		}
		if over != nil {
			chain = append(chain, over.own)
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

// style returns the bullets that the master gives to all texts of a sort.
func (l *layout) style(s *shape) bullets {
	body := masterKind(s.kind) == "body"
	switch {
	case l == nil || l.master == nil:
		var fallback bullets
		if s.holder && body && s.kind != "subTitle" {
			for i := range fallback {
				fallback[i].kind = bulletSign
			}
		}
		return fallback
	case !s.holder:
		return l.master.others
	case body:
		return l.master.bodies
	}
	return l.master.titles
}
