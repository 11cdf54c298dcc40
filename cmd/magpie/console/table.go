package console

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

const (
	// gap is between two columns.
	gap = 2
	// leastColumn is the width below which no column is cut.
	leastColumn = 8
)

// Table prints rows in aligned columns. Without rows it prints the text empty. On a
// terminal the widest cells are cut, so that each row has one line; the first column,
// which names the row, stays whole. Elsewhere every cell is whole.
func (c *Console) Table(header []string, rows [][]string, empty string) {
	if len(rows) == 0 {
		c.Note("%s", empty)
		return
	}
	lines := append([][]string{header}, rows...)
	widths := make([]int, len(header))
	for _, line := range lines {
		for i, cell := range line {
			line[i] = oneLine(cell)
			widths[i] = max(widths[i], columnsOf(line[i]))
		}
	}
	if c.outWidth > 0 {
		fit(widths, header, c.outWidth)
	}
	for _, line := range lines {
		var out strings.Builder
		for i, cell := range line {
			cell = shorten(cell, widths[i])
			out.WriteString(cell)
			if i < len(line)-1 {
				out.WriteString(strings.Repeat(" ", widths[i]-columnsOf(cell)+gap))
			}
		}
		c.Printf("%s\n", out.String())
	}
}

// fit reduces the widest columns, except for the first, until a row has at most a number
// of columns. A column is not reduced below its header and leastColumn.
func fit(widths []int, header []string, most int) {
	for {
		total := gap * (len(widths) - 1)
		for _, w := range widths {
			total += w
		}
		if total <= most {
			return
		}
		widest := -1
		for i, w := range widths {
			if i > 0 && w > max(leastColumn, columnsOf(header[i])) && (widest < 0 || w > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return // the terminal is too narrow
		}
		widths[widest]--
	}
}

// shorten cuts a text to a number of columns, with an ellipsis at the end.
func shorten(text string, most int) string {
	if columnsOf(text) <= most {
		return text
	}
	used := 0
	for at, r := range text {
		w := runeColumns(r)
		if used+w > most-1 {
			return text[:at] + "…"
		}
		used += w
	}
	return text
}

// columnsOf returns the number of columns of a text on a terminal.
func columnsOf(text string) int {
	total := 0
	for _, r := range text {
		total += runeColumns(r)
	}
	return total
}

// runeColumns returns 2 for East Asian wide characters, 0 for marks that combine with
// the character before, and 1 for others.
func runeColumns(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r < 0x1100:
		return 1
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}
