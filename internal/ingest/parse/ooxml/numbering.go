package ooxml

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/parse/wordmodel"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
)

const (
	// maxNumberings is how many lists of a document are read.
	maxNumberings = 20_000
	// maxLabel is the longest label, in bytes.
	maxLabel = 200
)

// numbering holds the lists of a document (ECMA-376 part 1, 17.9) and their counters. The zero value has no lists.
type numbering struct {
	abstract map[string]*abstractNumbering
	lists    map[string]*numberedList
	styles   *styles
}

// abstractNumbering holds the levels and counters that lists share.
type abstractNumbering struct {
	levels [wordmodel.MaxListLevels]*numberLevel
	// linked is the numbering style whose list is used instead, "" for none.
	linked   string
	counts   [wordmodel.MaxListLevels]int
	hasBegun [wordmodel.MaxListLevels]bool
}

type numberLevel struct {
	start        int
	format       wordmodel.NumberFormat
	hasFormat    bool
	text         string
	style        string // id of the paragraph style of the level
	restartAfter int    // the level, counted from 1, after which the numbers restart; -1 for any level above, 0 for none
	isLegal      bool   // show the numbers of all levels as decimal
}

// A numberedList is a list to which paragraphs refer.
type numberedList struct {
	abstract  *abstractNumbering
	starts    [wordmodel.MaxListLevels]int // start numbers that differ from the abstract numbering, -1 for none
	overrides [wordmodel.MaxListLevels]*numberLevel
	hasBegun  [wordmodel.MaxListLevels]bool
}

func newLevel() *numberLevel { return &numberLevel{start: 1, restartAfter: -1} }

// readNumbering reads the numbering part. With an error it returns the lists that it has read.
func readNumbering(s *xmlscan.Scanner, st *styles) (numbering, error) {
	n := numbering{abstract: make(map[string]*abstractNumbering), lists: make(map[string]*numberedList), styles: st}
	names := newNames()
	var abstract *abstractNumbering
	var list *numberedList
	var level *numberLevel
	at := 0
	for {
		kind, err := s.Next()
		if err != nil {
			return n, err
		}
		if kind != xmlscan.Start || names.space(s) != spaceWord {
			continue
		}
		switch s.Name() {
		case "abstractNum":
			abstract, list, level = &abstractNumbering{}, nil, nil
			if id := s.Attr("abstractNumId"); len(n.abstract) < maxNumberings && n.abstract[id] == nil {
				n.abstract[id] = abstract
			}
		case "num":
			abstract, level = nil, nil
			list = &numberedList{starts: [wordmodel.MaxListLevels]int{-1, -1, -1, -1, -1, -1, -1, -1, -1}}
			if id := s.Attr("numId"); len(n.lists) < maxNumberings {
				n.lists[id] = list
			}
		case "abstractNumId":
			if list != nil {
				list.abstract = n.abstract[s.Attr("val")]
			}
		case "numStyleLink":
			if abstract != nil {
				abstract.linked = s.Attr("val")
			}
		case "lvlOverride":
			at, level = levelAttr(s), nil
		case "startOverride":
			if start, err := strconv.Atoi(s.Attr("val")); err == nil && list != nil && start >= 0 {
				list.starts[at] = start
			}
		case "lvl":
			level = newLevel()
			switch at := levelAttr(s); {
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

func levelAttr(s *xmlscan.Scanner) int {
	level, err := strconv.Atoi(s.Attr("ilvl"))
	if err != nil {
		return 0
	}
	return min(max(level, 0), wordmodel.MaxListLevels-1)
}

func (l *numberLevel) property(s *xmlscan.Scanner) {
	switch s.Name() {
	case "start":
		if start, err := strconv.Atoi(s.Attr("val")); err == nil && start >= 0 {
			l.start = start
		}
	case "numFmt":
		if !l.hasFormat {
			l.format, l.hasFormat = numberFormat(s.Attr("val")), true
		}
	case "lvlText":
		text := s.Attr("val")
		l.text = oneLine(text[:min(len(text), maxLabel)])
	case "pStyle":
		l.style = s.Attr("val")
	case "lvlRestart":
		if after, err := strconv.Atoi(s.Attr("val")); err == nil && after >= 0 {
			l.restartAfter = after
		}
	case "isLgl":
		l.isLegal = isToggled(s)
	}
}

// resolve returns a list and its levels, or nil if there is no such list.
func (n *numbering) resolve(id string) (*numberedList, *abstractNumbering) {
	list := n.lists[id]
	if list == nil || list.abstract == nil {
		return nil, nil
	}
	abstract := list.abstract
	for range 4 { // a valid file has one link at most
		if abstract.linked == "" || n.styles == nil {
			break
		}
		linked := n.styles.byID[abstract.linked]
		if linked == nil || n.lists[linked.list] == nil || n.lists[linked.list].abstract == nil {
			break
		}
		abstract = n.lists[linked.list].abstract
	}
	return list, abstract
}

// levelOfStyle returns the level of a list that belongs to a paragraph style, or -1.
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

// next counts an item of a list. It returns the marker and the number as text, "" for bullets. It is false for an
// unknown list.
func (n *numbering) next(id string, at int) (m wordmodel.Marker, label string, found bool) {
	at = min(max(at, 0), wordmodel.MaxListLevels-1)
	list, abstract := n.resolve(id)
	if abstract == nil {
		return wordmodel.Marker{}, "", false
	}
	level := list.level(abstract, at)
	abstract.count(list, at)
	if level.format == wordmodel.Bullet {
		return wordmodel.Marker{}, "", true
	}
	label = abstract.label(list, at)
	m = wordmodel.Marker{Ordered: true, Number: abstract.counts[at], Label: label}
	if isPlainNumber(level, at) {
		m.Label = ""
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
	level.text = "%" + strconv.Itoa(at+1) + "."
	return level
}

// count increments the counter of a level.
func (a *abstractNumbering) count(list *numberedList, at int) {
	level := list.level(a, at)
	start := level.start
	first := !list.hasBegun[at] && list.starts[at] >= 0
	if list.starts[at] >= 0 {
		start = list.starts[at]
	}
	list.hasBegun[at] = true
	if a.hasBegun[at] && !first {
		if a.counts[at] < 1<<30 {
			a.counts[at]++
		}
	} else {
		a.counts[at], a.hasBegun[at] = start, true
	}
	for above := range at {
		if !a.hasBegun[above] {
			a.counts[above], a.hasBegun[above] = list.level(a, above).start, true
		}
	}
	for below := at + 1; below < wordmodel.MaxListLevels; below++ {
		restart := list.level(a, below).restartAfter
		if restart < 0 || restart > at {
			a.hasBegun[below] = false
		}
	}
}

// label returns the text of a level with its numbers: "%1.%2" becomes "3.2".
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
		if level.isLegal && format != wordmodel.DecimalZero {
			format = wordmodel.Decimal
		}
		b.WriteString(format.Text(a.counts[of]))
	}
	return strings.TrimSpace(b.String())
}

// isPlainNumber reports whether Markdown can show the numbers of a level: decimal, followed by nothing, a dot or a
// parenthesis.
func isPlainNumber(level *numberLevel, at int) bool {
	if level.format != wordmodel.Decimal {
		return false
	}
	rest, found := strings.CutPrefix(level.text, "%"+strconv.Itoa(at+1))
	return found && (rest == "" || rest == "." || rest == ")")
}

// numberFormat returns the format with a name of ST_NumberFormat (ECMA-376 part 1, 17.18.59).
func numberFormat(name string) wordmodel.NumberFormat {
	switch name {
	case "decimal", "":
		return wordmodel.Decimal
	case "decimalZero":
		return wordmodel.DecimalZero
	case "lowerLetter":
		return wordmodel.LowerLetter
	case "upperLetter":
		return wordmodel.UpperLetter
	case "lowerRoman":
		return wordmodel.LowerRoman
	case "upperRoman":
		return wordmodel.UpperRoman
	case "ordinal":
		return wordmodel.Ordinal
	case "bullet":
		return wordmodel.Bullet
	case "none":
		return wordmodel.NoNumber
	}
	return wordmodel.OtherFormat
}
