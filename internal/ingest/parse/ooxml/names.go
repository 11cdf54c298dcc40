package ooxml

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

// space is a namespace, as far as its elements mean something to a reader.
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

// names knows which prefix stands for which namespace. Declarations hold until the same prefix is declared again: files
// that give one prefix two meanings are made by nobody but testers, and lose no more than structure.
type names struct {
	prefixes []prefixSpace
}

type prefixSpace struct {
	prefix string
	space  space
}

// maxPrefixes bounds what is remembered of a file that declares new prefixes without end.
const maxPrefixes = 64

func newNames() names {
	return names{prefixes: []prefixSpace{
		{"w", spaceWord}, {"a", spaceDrawing}, {"p", spaceSlide}, {"mc", spaceCompatibility}, {"m", spaceMath},
		{"c", spaceChart}, {"dgm", spaceDiagram}, {"v", spaceVector},
	}}
}

// of returns the namespace of the element of the last Start, whose declarations count.
func (n *names) of(s *xmlscan.Scanner) space {
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

// spaceOf recognises the namespaces of the transitional and of the strict form of the standard.
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

// relationID returns the attribute that names a relationship: one with a prefix, since elements have ids of their own.
func relationID(s *xmlscan.Scanner, name string) string {
	attrs := s.Attrs()
	for i := range attrs {
		if attrs[i].Name == name && attrs[i].Prefix != "" && attrs[i].Prefix != "xmlns" {
			return attrs[i].Value
		}
	}
	return ""
}

// alternates follows mc:AlternateContent: of its branches the first that gives anything is read.
type alternates struct {
	open []alternate
}

type alternate struct {
	depth  int  // of mc:AlternateContent
	branch int  // depth of the branch that is open, 0 for none
	before int  // what had been written when it began
	given  bool // a branch has given something
}

// start looks at an element of the compatibility namespace; skip tells to pass over it.
func (a *alternates) start(s *xmlscan.Scanner, written int) (skip bool) {
	switch s.Name() {
	case "AlternateContent":
		a.open = append(a.open, alternate{depth: s.Depth()})
	case "Choice", "Fallback":
		if len(a.open) == 0 {
			return false
		}
		last := &a.open[len(a.open)-1]
		if last.given {
			return true
		}
		last.branch, last.before = s.Depth(), written
	}
	return false
}

// end looks at every End.
func (a *alternates) end(s *xmlscan.Scanner, written int) {
	if len(a.open) == 0 {
		return
	}
	last, depth := &a.open[len(a.open)-1], s.Depth()+1
	switch {
	case last.branch == depth:
		last.given = written > last.before
		last.branch = 0
	case last.depth == depth:
		a.open = a.open[:len(a.open)-1]
	}
}
