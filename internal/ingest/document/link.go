package document

import "strings"

// Link is a link that stands in the text.
type Link struct {
	// Text is what is linked, in Markdown; URL as the file has it, so it may be relative.
	Text string `json:"text"`
	URL  string `json:"url"`
	// Page is where it stands, 0 where the format has no pages.
	Page int `json:"page,omitempty"`
}

// Links returns the links of the document in reading order: those that its Markdown writes as [text](url), images left
// out.
func (d *Document) Links() []Link {
	var links []Link
	for i := range d.Blocks {
		block := &d.Blocks[i]
		if block.Kind == Code {
			continue
		}
		links = appendLinks(links, block.Text, block.Page)
		for _, cell := range block.Header {
			links = appendLinks(links, cell, block.Page)
		}
		for _, row := range block.Rows {
			for _, cell := range row {
				links = appendLinks(links, cell, block.Page)
			}
		}
	}
	return links
}

func appendLinks(links []Link, text string, page int) []Link {
	for {
		at := strings.Index(text, "](")
		if at < 0 {
			return links
		}
		url := text[at+2:]
		end := closing(url)
		open := opening(text[:at])
		if end >= 0 && open >= 0 && (open == 0 || text[open-1] != '!') {
			target, _, _ := strings.Cut(url[:end], " ")
			if target = strings.Trim(target, "<>"); target != "" {
				links = append(links, Link{Text: text[open+1 : at], URL: target, Page: page})
			}
		}
		text = url
	}
}

// closing returns where the parenthesis is closed that stands before the text, -1 when it is not on its line.
func closing(text string) int {
	depth := 0
	for i := range min(len(text), maxURL) {
		switch text[i] {
		case '\n':
			return -1
		case '(':
			depth++
		case ')':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// How far the brackets of a link are looked for.
const (
	maxLinkText = 1000
	maxURL      = 4096
)

// opening returns where the bracket is opened that stands after the text, -1 when there is none.
func opening(text string) int {
	depth := 0
	for i := len(text) - 1; i >= max(0, len(text)-maxLinkText); i-- {
		switch text[i] {
		case ']':
			depth++
		case '[':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}
