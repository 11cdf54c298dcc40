package console

import (
	"html"
	"strings"
)

// The sequences that a terminal reads as styles.
const (
	styleMark  = "\x1b[1;33m"
	styleBold  = "\x1b[1m"
	styleFaint = "\x1b[2m"
	styleReset = "\x1b[0m"
)

// Bold makes text bold where the output shows colours.
func (c *Console) Bold(text string) string { return c.style(styleBold, text) }

// Faint makes text faint where the output shows colours.
func (c *Console) Faint(text string) string { return c.style(styleFaint, text) }

func (c *Console) style(code, text string) string {
	text = oneLine(text)
	if !c.color || text == "" {
		return text
	}
	return code + text + styleReset
}

// Snippet turns a snippet of HTML-escaped text with <mark> into a line for the
// output: marked words stand out, in colour or between asterisks.
func (c *Console) Snippet(snippet string) string {
	open, closing := "*", "*"
	if c.color {
		open, closing = styleMark, styleReset
	}
	var line strings.Builder
	for {
		before, rest, found := strings.Cut(snippet, "<mark>")
		line.WriteString(collapse(before))
		if !found {
			return strings.TrimSpace(line.String())
		}
		marked, after, _ := strings.Cut(rest, "</mark>")
		line.WriteString(open + collapse(marked) + closing)
		snippet = after
	}
}

// collapse unescapes and makes one line; spaces at both ends, which part words
// from marks, stay as one.
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

// Wrap breaks a line into lines of at most the output's width, or 100 columns,
// each behind indent. Styles are not counted exactly: a line may end early.
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
