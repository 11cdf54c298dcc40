package wordmodel

import (
	"strconv"
	"strings"
)

// HeadingKey returns a heading in the form by which entries of a table of contents are compared with it: without its number, in
// lower case.
func HeadingKey(text string) string {
	first, rest, found := strings.Cut(text, " ")
	if _, err := strconv.Atoi(strings.ReplaceAll(strings.TrimRight(first, ".)"), ".", "")); err == nil && found {
		text = rest
	}
	return strings.ToLower(strings.TrimSpace(text))
}

// TrimPageNumber removes the page number at the end of an entry of a table of contents, as in "3.2 Storage … 17".
func TrimPageNumber(text string) string {
	at := strings.LastIndexByte(text, ' ')
	if at < 0 || strings.Trim(text[at+1:], "0123456789ivxlcIVXLC") != "" {
		return text
	}
	return strings.TrimRight(text[:at], " .…")
}

// PageNumberMark stands for a page number in the text of a header or footer.
const PageNumberMark = '\uE000'

// MaxPageLabelLetters is how many letters the words around a page number may have: "Page of".
const MaxPageLabelLetters = 14

// HeaderLines returns the lines of a header or footer without page numbers and the words around them. Tabs separate the parts of
// a line.
func HeaderLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		var kept []string
		for part := range strings.SplitSeq(line, "\t") {
			if strings.ContainsRune(part, PageNumberMark) {
				part = strings.ReplaceAll(part, string(PageNumberMark), " ")
				if CountLetters(part) <= MaxPageLabelLetters {
					continue
				}
			}
			if part = strings.Join(strings.Fields(part), " "); part != "" {
				kept = append(kept, part)
			}
		}
		if len(kept) > 0 {
			lines = append(lines, strings.Join(kept, " "))
		}
	}
	return lines
}

// CountLetters returns the number of letters and digits in a text.
func CountLetters(text string) int {
	n := 0
	for _, r := range text {
		if IsWordRune(r) {
			n++
		}
	}
	return n
}
