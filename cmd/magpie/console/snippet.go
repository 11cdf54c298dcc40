package console

import (
	"html"
	"strings"
)

// Escape sequences of styles.
const (
	styleMark  = "\x1b[1;33m"
	styleBold  = "\x1b[1m"
	styleFaint = "\x1b[2m"
	styleReset = "\x1b[0m"
)

// Bold returns text in bold if the output has colours.
func (c *Console) Bold(text string) string { return c.style(styleBold, text) }

// Faint returns faint text if the output has colours.
func (c *Console) Faint(text string) string { return c.style(styleFaint, text) }

func (c *Console) style(code, text string) string {
	text = oneLine(text)
	if !c.color || text == "" {
		return text
	}
	return code + text + styleReset
}

// Snippet converts a snippet, which is HTML-escaped text with <mark>, to a line.
// Marked words are coloured or between asterisks.
func (c *Console) Snippet(snippet string) string {
	open, closing := "*", "*"
	if c.color {
		open, closing = styleMark, styleReset
	}
	var line strings.Builder
	for {
		before, after, found := strings.Cut(snippet, "<mark>")
		line.WriteString(collapse(before))
		if !found {
			return strings.TrimSpace(line.String())
		}
		marked, after, _ := strings.Cut(after, "</mark>")
		line.WriteString(open + collapse(marked) + closing)
		snippet = after
	}
}

// collapse unescapes a text and collapses white space. One space at either end stays,
// since it separates words from marks.
func collapse(text string) string {
	text = oneLine(html.UnescapeString(text))
	words := strings.Join(strings.Fields(text), " ")
	if words == "" {
		if text != "" {
			return " "
		}
		return ""
	}
	if strings.HasPrefix(text, " ") {
		words = " " + words
	}
	if strings.HasSuffix(text, " ") {
		words += " "
	}
	return words
}

// Wrap wraps a line at the width of the output, or at 100 columns, and indents each
// line. Escape sequences count as characters, so lines with styles may be shorter.
func (c *Console) Wrap(line, indent string) string {
	columns := 100
	if c.outWidth > 0 {
		columns = min(c.outWidth, 120)
	}
	columns = max(columns-len(indent), 20)
	var out strings.Builder
	length := 0
	for word := range strings.FieldsSeq(line) {
		size := len([]rune(word))
		switch {
		case length == 0:
			out.WriteString(indent)
		case length+1+size > columns:
			out.WriteString("\n" + indent)
			length = 0
		default:
			out.WriteByte(' ')
			length++
		}
		out.WriteString(word)
		length += size
	}
	return out.String()
}
