package rtf

import (
	"bytes"
	"strconv"
	"strings"
)

// maxLevels is how many levels a list has.
const maxLevels = 9

// marker is what stands before an item of a list.
type marker struct {
	// ordered tells that items are counted, number is the item's.
	ordered bool
	number  int
	// label is the number as it is shown where Markdown has none like it: "a)", "iv.", "2.3".
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

// markerOf reads the text that a word processor left for those that know no lists: a bullet, or a number with what stands
// around it.
func markerOf(text string) marker {
	text = words(text)
	if text == "o" || !strings.ContainsFunc(text, isWordRune) {
		return marker{} // o is how Courier draws a circle
	}
	bare := strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(text, "("), "."), ")")
	if number, err := strconv.Atoi(bare); err == nil && number >= 0 && number < 1e6 && len(text)-len(bare) <= 1 {
		return marker{ordered: true, number: number}
	}
	return marker{ordered: true, label: text}
}

// typedMarker reads a marker that stands in the text of a paragraph, with a tab behind it, and returns how many bytes they
// take: programs that know no lists write them so.
func typedMarker(text []byte) (m marker, size int, found bool) {
	tab := bytes.IndexByte(text, '\t')
	if tab < 0 || tab > maxTypedMarker {
		return marker{}, 0, false
	}
	switch lead := strings.TrimSpace(string(text[:tab])); lead {
	case "•", "◦", "▪", "‣", "·", "–", "—", "-", "*", "o", "■", "□", "●", "○", "\u2011":
		return marker{}, tab + 1, true
	default:
		m = markerOf(lead)
		last := lead[max(len(lead)-1, 0):]
		return m, tab + 1, m.ordered && (last == "." || last == ")")
	}
}

// maxTypedMarker is how long a marker in the text may be, in bytes.
const maxTypedMarker = 10

// list is the text of one list as Markdown.
type list struct {
	text strings.Builder
	open []openItem // from the outermost
	last marker     // of the outermost level
}

// openItem is an item that others may be nested in; inner is where their markers stand.
type openItem struct{ level, inner int }

// begins tells whether an item starts a list of its own: items are counted where they were not before, or the numbers
// start again.
func (l *list) begins(level int, m marker) bool {
	if len(l.open) == 0 || level > l.open[0].level {
		return false
	}
	return m.ordered != l.last.ordered || m.ordered && m.label == "" && m.number <= l.last.number
}

// item appends an item. Levels count from 0; those that are left out do not indent.
func (l *list) item(level int, m marker, text string) {
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
	if l.text.Len() > 0 {
		l.text.WriteByte('\n')
	}
	l.text.WriteString(strings.Repeat(" ", indent))
	l.text.WriteString(lead)
	l.text.WriteString(strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", inner)))
}

// Formats of numbers (the values of \levelnfc) that have a meaning here.
const (
	formatUpperRoman  = 1
	formatLowerRoman  = 2
	formatUpperLetter = 3
	formatLowerLetter = 4
	formatBullet      = 23
	formatNone        = 255
)

// listDefinition is an entry of the table of lists.
type listDefinition struct {
	levels [maxLevels]listLevel
	known  int // how many levels are defined
	counts [maxLevels]int
}

type listLevel struct{ format, start int }

// next counts an item of a level, for files whose items have no text of their own. It is false where the level has no
// marker.
func (d *listDefinition) next(level int) (marker, bool) {
	level = min(max(level, 0), maxLevels-1)
	of := d.levels[level]
	switch {
	case level >= d.known || of.format == formatBullet:
		return marker{}, true
	case of.format == formatNone:
		return marker{}, false
	}
	d.counts[level]++
	for deeper := level + 1; deeper < maxLevels; deeper++ {
		d.counts[deeper] = 0
	}
	number := d.counts[level] + max(of.start, 1) - 1
	switch of.format {
	case formatUpperLetter, formatLowerLetter:
		if number <= 26 {
			return marker{ordered: true, label: cased(string(rune('a'+number-1)), of.format == formatUpperLetter) + "."}, true //nolint:gosec // at most 26
		}
	case formatUpperRoman, formatLowerRoman:
		if number < 40 {
			return marker{ordered: true, label: cased(roman(number), of.format == formatUpperRoman) + "."}, true
		}
	}
	return marker{ordered: true, number: number}, true
}

func cased(text string, upper bool) string {
	if upper {
		return strings.ToUpper(text)
	}
	return text
}

// roman writes a number below 40.
func roman(number int) string {
	text := strings.Repeat("x", number/10)
	switch number %= 10; number {
	case 9:
		return text + "ix"
	case 4:
		return text + "iv"
	}
	return text + strings.Repeat("v", number/5) + strings.Repeat("i", number%5)
}
