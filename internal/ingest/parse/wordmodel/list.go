package wordmodel

import (
	"strconv"
	"strings"
)

// MaxListLevels is how many levels a list has.
const MaxListLevels = 9

// Marker is the bullet or number of a list item.
type Marker struct {
	// Ordered is set if items are counted. Number is the number of the item, -1 if only its label is known.
	Ordered bool
	Number  int
	// Label is the number as the file shows it, if Markdown has no such numbers: "(a)", "iv.", "2.3".
	Label string
}

// String returns the marker as Markdown, with the blank after it.
func (m Marker) String() string {
	switch {
	case m.Label != "":
		return "- " + m.Label + " "
	case m.Ordered:
		return strconv.Itoa(m.Number) + ". "
	}
	return "- "
}

// listText collects the items of one list as Markdown. The zero value is empty.
type listText struct {
	text strings.Builder
	open []openItem // from the outermost
	last Marker     // of the outermost level
}

// openItem is an item in which others may be nested.
type openItem struct {
	level int
	inner int // indentation of nested items
}

// startsNew reports whether an item starts a list of its own: the numbers restart, or ordered items follow others.
func (l *listText) startsNew(level int, m Marker) bool {
	if len(l.open) == 0 || level > l.open[0].level {
		return false
	}
	return m.Ordered != l.last.Ordered || m.Ordered && m.Number >= 0 && m.Number <= l.last.Number
}

// item appends an item. Levels count from 0. A level that is skipped does not indent.
func (l *listText) item(level int, m Marker, text string) {
	for len(l.open) > 0 && l.open[len(l.open)-1].level >= level {
		l.open = l.open[:len(l.open)-1]
	}
	indent := 0
	if len(l.open) > 0 {
		indent = l.open[len(l.open)-1].inner
	} else {
		l.last = m
	}
	lead := m.String()
	inner := indent + 2
	if m.Ordered && m.Label == "" {
		inner = indent + len(lead)
	}
	l.open = append(l.open, openItem{level: level, inner: inner})
	if l.text.Len() > 0 {
		l.text.WriteByte('\n')
	}
	writeBlanks(&l.text, indent)
	l.text.WriteString(lead)
	for i, part := 0, ""; ; i++ {
		var more bool
		part, text, more = strings.Cut(text, "\n")
		if i > 0 {
			l.text.WriteByte('\n')
			writeBlanks(&l.text, inner)
		}
		l.text.WriteString(part)
		if !more {
			return
		}
	}
}

func writeBlanks(b *strings.Builder, n int) {
	for range n {
		b.WriteByte(' ')
	}
}

func (l *listText) reset() {
	l.text.Reset()
	l.open, l.last = l.open[:0], Marker{}
}
