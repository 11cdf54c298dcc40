package ooxml

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
type openItem struct{ level, indent, inner int }

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
	if l.text.Len() > 0 {
		l.text.WriteByte('\n')
	}
	lead := m.String()
	inner := indent + 2
	if m.ordered && m.label == "" {
		inner = indent + len(lead)
	}
	l.open = append(l.open, openItem{level: level, indent: indent, inner: inner})
	first := true
	for part := range strings.SplitSeq(text, "\n") {
		if !first {
			l.text.WriteByte('\n')
			writeBlanks(&l.text, inner)
		} else {
			writeBlanks(&l.text, indent)
			l.text.WriteString(lead)
		}
		first = false
		l.text.WriteString(part)
	}
}

func writeBlanks(b *strings.Builder, n int) {
	for range n {
		b.WriteByte(' ')
	}
}

func (l *listText) reset() {
	l.text.Reset()
	l.open, l.last = l.open[:0], marker{}
}

// numberText writes a number in one of the formats of lists (ST_NumberFormat, ECMA-376 part 1, 17.18.59), those that
// have no other meaning here as a decimal number.
func numberText(format string, n int) string {
	switch format {
	case "lowerLetter", "upperLetter":
		return cased(letters(n), format == "upperLetter")
	case "lowerRoman", "upperRoman":
		return cased(roman(n), format == "upperRoman")
	case "decimalZero":
		if n >= 0 && n < 10 {
			return "0" + strconv.Itoa(n)
		}
	case "ordinal":
		return strconv.Itoa(n) + ordinalSuffix(n)
	case "none", "bullet":
		return ""
	}
	return strconv.Itoa(n)
}

func cased(text string, upper bool) string {
	if upper {
		return strings.ToUpper(text)
	}
	return text
}

// letters counts a, b, … z, aa, bb, as word processors do.
func letters(n int) string {
	if n < 1 || n > 26*8 {
		return strconv.Itoa(n)
	}
	letter := 'a' + rune((n-1)%26)
	return strings.Repeat(string(letter), (n-1)/26+1)
}

func roman(n int) string {
	if n < 1 || n > 3999 {
		return strconv.Itoa(n)
	}
	var b strings.Builder
	for i, value := range [...]int{1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1} {
		for n >= value {
			b.WriteString([...]string{"m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"}[i])
			n -= value
		}
	}
	return b.String()
}

func ordinalSuffix(n int) string {
	if n%100 >= 11 && n%100 <= 13 {
		return "th"
	}
	switch n % 10 {
	case 1:
		return "st"
	case 2:
		return "nd"
	case 3:
		return "rd"
	}
	return "th"
}
