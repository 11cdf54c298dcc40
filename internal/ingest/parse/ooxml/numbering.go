package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxLevels is how many levels a list has.
	maxLevels = 9
	// maxNumberings bounds how many lists of a document count.
	maxNumberings = 20_000
	// maxLabel bounds the length of a label, in bytes.
	maxLabel = 200
)

// numbering is how the lists of a document count (ECMA-376 part 1, 17.9), and how far they have come. The zero value has
// no lists.
type numbering struct {
	abstract map[string]*abstractNumbering
	lists    map[string]*numberedList
	styles   *styles
}

// abstractNumbering is how lists count that share their numbers.
type abstractNumbering struct {
	levels [maxLevels]*numberLevel
	// linked is the style of lists whose numbering is used instead, "" for none.
	linked string
	counts [maxLevels]int
	begun  [maxLevels]bool
}

type numberLevel struct {
	start        int
	format, text string
	style        string // id of the style of paragraphs that stand on the level
	restart      int    // after which level, counted from 1, it starts again; -1 for any above, 0 for none
	legal        bool   // numbers above are decimal whatever they are
}

// numberedList is a list that paragraphs name.
type numberedList struct {
	abstract  *abstractNumbering
	starts    [maxLevels]int // where it starts other than its abstract numbering, -1 for not
	overrides [maxLevels]*numberLevel
	begun     [maxLevels]bool
}

func newLevel() *numberLevel { return &numberLevel{start: 1, restart: -1} }

// readNumbering reads the part of lists. With an error it returns what was read.
func readNumbering(s *xmlscan.Scanner, st *styles) (numbering, error) {
	found := numbering{abstract: make(map[string]*abstractNumbering), lists: make(map[string]*numberedList), styles: st}
	names := newNames()
	var abstract *abstractNumbering
	var list *numberedList
	var level *numberLevel
	at := 0
	for {
		kind, err := s.Next()
		if err != nil {
			return found, err
		}
		if kind != xmlscan.Start || names.of(s) != spaceWord {
			continue
		}
		switch s.Name() {
		case "abstractNum":
			abstract, list, level = &abstractNumbering{}, nil, nil
			if id := s.Attr("abstractNumId"); len(found.abstract) < maxNumberings && found.abstract[id] == nil {
				found.abstract[id] = abstract
			}
		case "num":
			abstract, level = nil, nil
			list = &numberedList{starts: [maxLevels]int{-1, -1, -1, -1, -1, -1, -1, -1, -1}}
			if id := s.Attr("numId"); len(found.lists) < maxNumberings {
				found.lists[id] = list
			}
		case "abstractNumId":
			if list != nil {
				list.abstract = found.abstract[s.Attr("val")]
			}
		case "numStyleLink":
			if abstract != nil {
				abstract.linked = s.Attr("val")
			}
		case "lvlOverride":
			at, level = levelOf(s), nil
		case "startOverride":
			if start, err := strconv.Atoi(s.Attr("val")); err == nil && list != nil && start >= 0 {
				list.starts[at] = start
			}
		case "lvl":
			level = newLevel()
			switch at := levelOf(s); {
			case list != nil:
				list.overrides[at] = level
			case abstract != nil && abstract.levels[at] == nil:
				abstract.levels[at] = level
			}
		default:
			if level != nil {
				level.property(s)
			}
		}
	}
}

func levelOf(s *xmlscan.Scanner) int {
	level, err := strconv.Atoi(s.Attr("ilvl"))
	if err != nil {
		return 0
	}
	return min(max(level, 0), maxLevels-1)
}

func (l *numberLevel) property(s *xmlscan.Scanner) {
	switch s.Name() {
	case "start":
		if start, err := strconv.Atoi(s.Attr("val")); err == nil && start >= 0 {
			l.start = start
		}
	case "numFmt":
		if l.format == "" {
			l.format = s.Attr("val")
		}
	case "lvlText":
		text := s.Attr("val")
		l.text = oneLine(text[:min(len(text), maxLabel)])
	case "pStyle":
		l.style = s.Attr("val")
	case "lvlRestart":
		if after, err := strconv.Atoi(s.Attr("val")); err == nil && after >= 0 {
			l.restart = after
		}
	case "isLgl":
		l.legal = toggled(s)
	}
}

// resolve returns the list of an id and what its levels are, nil when there is none.
func (n *numbering) resolve(id string) (*numberedList, *abstractNumbering) {
	list := n.lists[id]
	if list == nil || list.abstract == nil {
		return nil, nil
	}
	abstract := list.abstract
	for range 4 { // a chain of links is one link long in files that are not made to hurt
		if abstract.linked == "" || n.styles == nil {
			break
		}
		linked := n.styles.byID[abstract.linked]
		if linked == nil || n.lists[linked.number] == nil || n.lists[linked.number].abstract == nil {
			break
		}
		abstract = n.lists[linked.number].abstract
	}
	return list, abstract
}

// levelOfStyle returns the level of a list that belongs to a style, -1 when there is none.
func (n *numbering) levelOfStyle(id, style string) int {
	_, abstract := n.resolve(id)
	if abstract == nil {
		return -1
	}
	for i, level := range abstract.levels {
		if level != nil && level.style == style {
			return i
		}
	}
	return -1
}

// next counts an item of a list and returns its marker, and its number as it is shown ("" for bullets). There is none of
// a list that is not defined.
func (n *numbering) next(id string, at int) (m marker, label string, found bool) {
	at = min(max(at, 0), maxLevels-1)
	list, abstract := n.resolve(id)
	if abstract == nil {
		return marker{}, "", false
	}
	level := list.level(abstract, at)
	abstract.count(list, at)
	if level.format == "bullet" {
		return marker{}, "", true
	}
	label = abstract.label(list, at)
	m = marker{ordered: true, number: abstract.counts[at], label: label}
	if isPlainNumber(level, at) {
		m.label = ""
	}
	return m, label, true
}

func (l *numberedList) level(abstract *abstractNumbering, at int) *numberLevel {
	switch {
	case l.overrides[at] != nil:
		return l.overrides[at]
	case abstract.levels[at] != nil:
		return abstract.levels[at]
	}
	level := newLevel()
	level.format, level.text = "decimal", "%"+strconv.Itoa(at+1)+"."
	return level
}

// count goes on to the next number of a level.
func (a *abstractNumbering) count(list *numberedList, at int) {
	level := list.level(a, at)
	start := level.start
	first := !list.begun[at] && list.starts[at] >= 0
	if list.starts[at] >= 0 {
		start = list.starts[at]
	}
	list.begun[at] = true
	if a.begun[at] && !first {
		if a.counts[at] < 1<<30 {
			a.counts[at]++
		}
	} else {
		a.counts[at], a.begun[at] = start, true
	}
	for above := range at {
		if !a.begun[above] {
			a.counts[above], a.begun[above] = list.level(a, above).start, true
		}
	}
	for below := at + 1; below < maxLevels; below++ {
		restart := list.level(a, below).restart
		if restart < 0 || restart > at {
			a.begun[below] = false
		}
	}
}

// label fills the numbers into the text of a level: "%1.%2" becomes "3.2".
func (a *abstractNumbering) label(list *numberedList, at int) string {
	level := list.level(a, at)
	var b strings.Builder
	for i := 0; i < len(level.text) && b.Len() < maxLabel; i++ {
		c := level.text[i]
		if c != '%' || i+1 == len(level.text) || level.text[i+1] < '1' || level.text[i+1] > '9' {
			b.WriteByte(c)
			continue
		}
		i++
		of := int(level.text[i] - '1')
		if of > at {
			continue
		}
		format := list.level(a, of).format
		if level.legal && format != "decimalZero" {
			format = "decimal"
		}
		b.WriteString(numberText(format, a.counts[of]))
	}
	return strings.TrimSpace(b.String())
}

// isPlainNumber tells whether Markdown can show the numbers of a level as they are: its own decimal number and a dot or
// parenthesis after it.
func isPlainNumber(level *numberLevel, at int) bool {
	if level.format != "decimal" && level.format != "" {
		return false
	}
	rest, found := strings.CutPrefix(level.text, "%"+strconv.Itoa(at+1))
	return found && (rest == "" || rest == "." || rest == ")")
}
