package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// wordParagraph reads a paragraph that a word processor wrote as a title or a list item, which only its class or style
// shows. It reports whether the paragraph was one.
func (w *walker) wordParagraph(node *html.Node) bool {
	class := attributeOf(node, "class")
	switch {
	case strings.HasPrefix(class, "MsoTitle"):
		w.heading(node, 1)
		return true
	case strings.HasPrefix(class, "MsoToc") && !w.keepAll:
		return true // the entries are the headings
	case !isWordItem(node):
		return false
	}
	if w.dropped == nil {
		w.dropped = make(map[*html.Node]bool)
	}
	var b strings.Builder
	for item := node; isWordItem(item) && w.ok(); item = nextElement(item) {
		w.dropped[item] = true
		w.wordItem(&b, item)
	}
	w.emit(document.Block{Kind: document.List, Text: compose.Dedent(strings.TrimRight(b.String(), "\n"))})
	return true
}

// wordItem writes a list item. Its marker is a text that programs which know lists must ignore.
func (w *walker) wordItem(b *strings.Builder, item *html.Node) {
	marker := ""
	for n := range item.Descendants() {
		if n.DataAtom == atom.Span && strings.Contains(strings.ReplaceAll(attributeOf(n, "style"), " ", ""), "mso-list:Ignore") {
			marker = strings.Join(strings.Fields(rawText(n)), " ")
			w.dropped[n] = true
			break
		}
	}
	text := inline.FoldBreaks(w.inline(item))
	if text == "" {
		return
	}
	lead := strings.Repeat("  ", wordLevel(attributeOf(item, "style"))-1)
	if number := strings.TrimRight(marker, ".)"); number != "" && len(number) < 10 && strings.Trim(number, "0123456789") == "" {
		lead += number + ". "
	} else {
		lead += "- "
	}
	b.WriteString(lead + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", len(lead))) + "\n")
}

// wordLevel returns the level of a list item from a style such as "mso-list:l0 level2 lfo1".
func wordLevel(style string) int {
	if at := strings.Index(style, " level"); at >= 0 && at+6 < len(style) && '1' <= style[at+6] && style[at+6] <= '9' {
		return int(style[at+6] - '0')
	}
	return 1
}

func isWordItem(node *html.Node) bool {
	if node == nil || node.DataAtom != atom.P {
		return false
	}
	style := attributeOf(node, "style")
	return strings.Contains(style, "mso-list") && !strings.Contains(style, "mso-list:none") && !strings.Contains(style, "mso-list: none")
}

func nextElement(node *html.Node) *html.Node {
	for n := node.NextSibling; n != nil; n = n.NextSibling {
		if n.Type == html.ElementNode {
			return n
		}
	}
	return nil
}
