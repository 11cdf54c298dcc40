package mail

import (
	"strings"
)

// multipart returns the texts and files in the parts of a part.
func (c *collector) multipart(e *entity) (collected, error) {
	var found collected
	switch e.kind {
	case "multipart/encrypted":
		c.letter.encrypted = true
		return found, nil
	case "multipart/alternative":
		return c.alternative(e)
	case "multipart/related":
		return c.related(e)
	case "multipart/signed":
		if last := e.children[len(e.children)-1]; len(e.children) == 2 && !isSignature(last.kind) && !last.isMultipart() {
			last.kind = "application/pgp-signature" // whatever type it declares
		}
	}
	for _, child := range e.children {
		inner, err := c.collect(child)
		if err != nil {
			return found, err
		}
		found.add(inner)
	}
	return found, nil
}

// alternative returns the best form of a text. Files among the forms are kept.
func (c *collector) alternative(e *entity) (collected, error) {
	var found collected
	var forms [][]body
	for _, child := range e.children {
		if child.kind == "text/calendar" || child.kind == "text/x-amp-html" || child.kind == "text/x-watch-html" {
			continue // repeats the others for programs
		}
		inner, err := c.collect(child)
		if err != nil {
			return found, err
		}
		found.files = append(found.files, inner.files...)
		if len(inner.bodies) > 0 {
			forms = append(forms, inner.bodies)
		}
	}
	if len(forms) == 0 {
		if len(found.files) == 0 {
			for _, child := range e.children {
				if child.kind == "text/calendar" {
					found.files = append(found.files, attached(child, fileName(child), ""))
				}
			}
		}
		return found, nil
	}
	best := 0
	for i := range forms {
		if rank(forms[i]) >= rank(forms[best]) {
			best = i
		}
	}
	chosen := forms[best]
	if len(chosen) == 1 && chosen[0].plain == "" {
		for i := range forms {
			if i != best && rank(forms[i]) == 1 {
				chosen[0].plain, chosen[0].flowed, chosen[0].delSp = joinPlain(forms[i])
				break
			}
		}
	}
	found.bodies = chosen
	return found, nil
}

// rank orders the forms of a text by how much of the structure they have.
func rank(bodies []body) int {
	best := 0
	for i := range bodies {
		switch b := &bodies[i]; {
		case len(b.html) > 0:
			best = 3
		case len(b.rtf) > 0:
			best = max(best, 2)
		default:
			best = max(best, 1)
		}
	}
	return best
}

func joinPlain(bodies []body) (text string, flowed, delSp bool) {
	var parts []string
	for i := range bodies {
		parts = append(parts, bodies[i].plain)
	}
	return strings.Join(parts, "\n\n"), bodies[0].flowed, bodies[0].delSp
}

// related reads a text with its pictures and style sheets.
func (c *collector) related(e *entity) (collected, error) {
	root := 0
	if start := messageID(e.parameters["start"]); start != "" {
		for i, child := range e.children {
			if messageID(child.header["content-id"]) == start {
				root = i
			}
		}
	}
	var found collected
	for i, child := range e.children {
		if i != root && isDecoration(child) {
			continue
		}
		inner, err := c.collect(child)
		if err != nil {
			return found, err
		}
		if i != root {
			for at := range inner.files {
				inner.files[at].inline = true
			}
			if _, addressed := child.header["content-location"]; addressed && len(inner.bodies) > 0 {
				continue // a frame or an advertisement of a saved page
			}
		}
		found.add(inner)
	}
	return found, nil
}

// isDecoration reports whether a part only affects the look of a page.
func isDecoration(e *entity) bool {
	switch e.kind {
	case "text/css", "text/javascript", "application/javascript", "application/x-javascript", "application/font-woff", "application/font-woff2":
		return true
	}
	return strings.HasPrefix(e.kind, "font/")
}
