package wordmodel

import (
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
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

// RepeatedContents returns the indexes of the blocks that only repeat a heading. The argument is the indexes of the blocks of a table
// of contents. Its title is among the result if the entry after it is.
func RepeatedContents(blocks []document.Block, contents []int) map[int]bool {
	const maxTitle = 60
	if len(contents) == 0 {
		return nil
	}
	headings := make(map[string]bool)
	for i := range blocks {
		if blocks[i].Kind == document.Heading {
			headings[HeadingKey(blocks[i].Text)] = true
		}
	}
	repeated := make(map[int]bool)
	title := -1 // the first entry that repeats no heading
	for _, i := range contents {
		text := blocks[i].Text
		switch {
		case headings[HeadingKey(text)], headings[HeadingKey(TrimPageNumber(text))]:
			repeated[i] = true
		case title < 0 && len(repeated) == 0:
			title = i
		}
	}
	if title >= 0 && repeated[title+1] && len(blocks[title].Text) < maxTitle {
		repeated[title] = true
	}
	return repeated
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
