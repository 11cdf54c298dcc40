package document

import "strings"

// A Link is a link in the text.
type Link struct {
	// Text is the linked text in Markdown. URL is as in the file, and may be relative.
	Text string `json:"text"`
	URL  string `json:"url"`
	// Page is the page of the link, 0 in formats without pages.
	Page int `json:"page,omitempty"`
}

// Links returns the links of the document in reading order, which are [text](url) in its Markdown. Images are left out.
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

// closing returns the index of the parenthesis that closes the one before the text, or -1 if there is none on its line.
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

// The longest parts of a link, in bytes.
const (
	maxLinkText = 1000
	maxURL      = 4096
)

// opening returns the index of the bracket that the one after the text closes, or -1.
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
