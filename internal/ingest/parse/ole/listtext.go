package ole

import (
	"strconv"
	"strings"
)

// marker is what stands before an item of a list.
type marker struct {
	// ordered tells that items are counted, number is the item's.
	ordered bool
	number  int
	// label is the number as it is shown where Markdown has no such numbers: "(a)", "iv.", "2.3".
	label string
}

func (m marker) String() string {
	switch {
	case m.label != "":
		return "- " + m.label + " "
	case m.ordered:
		return strconv.Itoa(m.number) + ". "
	}
	return "- "
}

// listText collects the items of one list as Markdown. The zero value is empty.
type listText struct {
	text strings.Builder
	open []openItem // from the outermost
	last marker     // of the outermost level
}

// openItem is an item that others may be nested in.
type openItem struct{ level, inner int }

// begins tells whether an item starts a list of its own rather than going on with this one: the numbers start again, or
// counted items follow others.
func (l *listText) begins(level int, m marker) bool {
	if len(l.open) == 0 || level > l.open[0].level {
		return false
	}
	return m.ordered != l.last.ordered || m.ordered && m.number <= l.last.number
}

// item appends an item. Levels count from 0; those that are left out do not indent.
func (l *listText) item(level int, m marker, text string) {
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
	if m.ordered && m.label == "" {
		inner = indent + len(lead)
	}
	l.open = append(l.open, openItem{level: level, inner: inner})
	for i, part := range strings.Split(text, "\n") {
		if l.text.Len() > 0 {
			l.text.WriteByte('\n')
		}
		if i == 0 {
			l.text.WriteString(strings.Repeat(" ", indent) + lead + part)
		} else {
			l.text.WriteString(strings.Repeat(" ", inner) + part)
		}
	}
}

func (l *listText) reset() {
	l.text.Reset()
	l.open, l.last = l.open[:0], marker{}
}
