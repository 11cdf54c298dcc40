package ooxml

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// space is a namespace that the readers know.
type space uint8

const (
	spaceOther space = iota
	spaceWord
	spaceMath
	spaceDrawing
	spaceChart
	spaceDiagram
	spaceSlide
	spaceCompatibility
	spaceVector
)

// names are the prefixes of namespaces. A declaration is valid until its prefix is declared again, not only inside its
// element. Only test files give a prefix two meanings, and those lose no text.
type names struct {
	prefixes []prefixSpace
}

type prefixSpace struct {
	prefix string
	space  space
}

// maxPrefixes is how many prefixes are remembered.
const maxPrefixes = 64

func newNames() names {
	return names{prefixes: []prefixSpace{
		{"w", spaceWord}, {"a", spaceDrawing}, {"p", spaceSlide}, {"mc", spaceCompatibility}, {"m", spaceMath},
		{"c", spaceChart}, {"dgm", spaceDiagram}, {"v", spaceVector},
	}}
}

// space returns the namespace of the element of the last Start, and reads its declarations.
func (n *names) space(s *xmlscan.Scanner) space {
	attrs := s.Attrs()
	for i := range attrs {
		switch {
		case attrs[i].Prefix == "xmlns":
			n.declare(attrs[i].Name, attrs[i].Value)
		case attrs[i].Name == "xmlns" && attrs[i].Prefix == "":
			n.declare("", attrs[i].Value)
		}
	}
	prefix := s.Prefix()
	for i := range n.prefixes {
		if n.prefixes[i].prefix == prefix {
			return n.prefixes[i].space
		}
	}
	return spaceOther
}

func (n *names) declare(prefix, address string) {
	space := spaceOf(address)
	for i := range n.prefixes {
		if n.prefixes[i].prefix == prefix {
			n.prefixes[i].space = space
			return
		}
	}
	if space != spaceOther && len(n.prefixes) < maxPrefixes {
		n.prefixes = append(n.prefixes, prefixSpace{prefix, space})
	}
}

// spaceOf returns the namespace of an address. Each has an address in the transitional and one in the strict form of
// the standard.
func spaceOf(address string) space {
	switch {
	case strings.HasSuffix(address, "vml"):
		return spaceVector
	case strings.Contains(address, "/markup-compatibility/"):
		return spaceCompatibility
	case !strings.HasSuffix(address, "/main") && !strings.HasSuffix(address, "/math") &&
		!strings.HasSuffix(address, "/chart") && !strings.HasSuffix(address, "/diagram"):
		return spaceOther
	case strings.Contains(address, "/wordprocessingml/"):
		return spaceWord
	case strings.Contains(address, "/presentationml/"):
		return spaceSlide
	case strings.Contains(address, "/officeDocument/"):
		return spaceMath
	case !strings.Contains(address, "/drawingml/"):
		return spaceOther
	case strings.HasSuffix(address, "/chart"):
		return spaceChart
	case strings.HasSuffix(address, "/diagram"):
		return spaceDiagram
	case strings.HasSuffix(address, "/main"):
		return spaceDrawing
	}
	return spaceOther
}

// relationshipID returns the attribute that names a relationship. It has a prefix, unlike the id of the element.
func relationshipID(s *xmlscan.Scanner, name string) string {
	attrs := s.Attrs()
	for i := range attrs {
		if attrs[i].Name == name && attrs[i].Prefix != "" && attrs[i].Prefix != "xmlns" {
			return attrs[i].Value
		}
	}
	return ""
}

// alternates follow mc:AlternateContent. Of its branches, the first that produces text is read.
type alternates struct {
	open []alternate
}

type alternate struct {
	depth   int  // of mc:AlternateContent
	branch  int  // depth of the open branch, 0 for none
	written int  // how much text had been written when the branch began
	hasText bool // a branch has produced text
}

// start handles the Start of an element of the compatibility namespace. It reports whether the element must be skipped.
func (a *alternates) start(s *xmlscan.Scanner, written int) (skip bool) {
	switch s.Name() {
	case "AlternateContent":
		a.open = append(a.open, alternate{depth: s.Depth()})
	case "Choice", "Fallback":
		if len(a.open) == 0 {
			return false
		}
		last := &a.open[len(a.open)-1]
		if last.hasText {
			return true
		}
		last.branch, last.written = s.Depth(), written
	}
	return false
}

// end handles an End.
func (a *alternates) end(s *xmlscan.Scanner, written int) {
	if len(a.open) == 0 {
		return
	}
	last, depth := &a.open[len(a.open)-1], s.Depth()+1
	switch {
	case last.branch == depth:
		last.hasText = written > last.written
		last.branch = 0
	case last.depth == depth:
		a.open = a.open[:len(a.open)-1]
	}
}
