package mail

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
)

// markupText returns the text of markup, with line breaks at block elements. It is for pages that the HTML reader
// rejects, and for older markup of mails.
func markupText(markup string) string {
	var b strings.Builder
	skipped := 0
	tokens := html.NewTokenizer(strings.NewReader(markup))
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			return b.String()
		case html.TextToken:
			if skipped == 0 {
				b.WriteString(html.UnescapeString(string(tokens.Raw())))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, _ := tokens.TagName()
			switch atom.Lookup(name) {
			case atom.Script, atom.Style, atom.Head, atom.Title:
				skipped = 0
				if kind == html.StartTagToken {
					skipped = 1
				}
			case atom.P, atom.Div, atom.Tr, atom.Li, atom.Blockquote, atom.Pre, atom.Table, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
				b.WriteString("\n\n")
			case atom.Br:
				b.WriteByte('\n')
			case atom.Td, atom.Th:
				b.WriteByte(' ')
			}
		case html.CommentToken, html.DoctypeToken:
		}
	}
}

// references returns the ids of the files that a page shows.
func references(page []byte) map[string]bool {
	found := make(map[string]bool)
	text := string(page)
	for len(found) < 10_000 {
		at := strings.Index(text, "cid:")
		if at < 0 {
			break
		}
		text = text[at+len("cid:"):]
		end := strings.IndexAny(text[:min(len(text), 500)], "\"'<>) \t\r\n")
		if end > 0 {
			found[string(unescape(text[:end]))] = true
		}
	}
	return found
}

// letters counts the letters and digits of a text outside of URLs, to compare the content of two texts.
func letters(text string) int {
	n := 0
	for word := range strings.FieldsSeq(text) {
		if strings.Contains(word, "://") || strings.HasPrefix(word, "[cid:") {
			continue
		}
		for _, r := range word {
			if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r > 0xBF {
				n++
			}
		}
	}
	return n
}

// blockLetters counts the letters and digits of blocks.
func blockLetters(blocks []document.Block) int {
	n := 0
	for i := range blocks {
		n += letters(withoutTargets(blocks[i].Text))
		for _, cell := range blocks[i].Header {
			n += letters(withoutTargets(cell))
		}
		for _, row := range blocks[i].Rows {
			for _, cell := range row {
				n += letters(withoutTargets(cell))
			}
		}
	}
	return n
}

// withoutTargets separates the texts of links from their addresses, which letters ignores.
func withoutTargets(text string) string { return strings.ReplaceAll(text, "](", "] ") }
