package htmldoc

import (
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxShort is how many words of content a short page has.
	maxShort = 2 * minContentWords
	// leastSentence is how many words a sentence has, leastClause those of one without a full stop.
	leastSentence, leastClause = 4, 8
)

// keepSentences keeps the sentences of a short page that has no others: what is beside a few names and links, such as the
// slogan in its header, is its text.
func (x *extractor) keepSentences(main *mainContent) {
	if x.keptWords(main.root).words >= maxShort {
		return
	}
	s := x.spans[main.root]
	for i := s.from; i < s.to; i++ {
		if b := &x.blocks[i]; !b.dropped && b.words >= leastSentence && endsSentence(b) {
			return
		}
	}
	var found []*html.Node
	keep := func(b *textBlock) {
		if !isSentence(b) {
			return
		}
		isLeftOut := !isWithin(b.first, main.root)
		for node := b.first.Parent; node != nil; node = node.Parent {
			isLeftOut = isLeftOut || x.dropped[node] || isChrome(node) && !main.keepChrome
		}
		for node := b.first; node != nil; node = node.NextSibling {
			if isLeftOut {
				found = append(found, node)
			}
			delete(main.dropped, node)
			if node == b.last {
				break
			}
		}
	}
	for _, header := range pageHeaders(x.page.body) {
		inner := &extractor{ctx: x.ctx, page: x.page, dropped: make(map[*html.Node]bool), spans: make(map[*html.Node]span)}
		inner.collectBlocks(header, nil)
		for i := range inner.blocks {
			keep(&inner.blocks[i])
		}
	}
	for i := range x.blocks {
		if b := &x.blocks[i]; b.dropped || i < s.from || i >= s.to {
			keep(b)
		}
	}
	main.before = append(main.before, slices.DeleteFunc(found, func(n *html.Node) bool { return slices.Contains(main.before, n) })...)
}

// pageHeaders returns the headers of a page that are left out.
func pageHeaders(body *html.Node) []*html.Node {
	var headers []*html.Node
	for node := range body.Descendants() {
		if node.Type == html.ElementNode && (node.DataAtom == atom.Header || strings.EqualFold(attributeOf(node, "role"), "banner")) &&
			isChrome(node) && len(headers) < maxMarkedElements {
			headers = append(headers, node)
		}
	}
	return headers
}

// isSentence reports whether a block may be a sentence of the page's text.
func isSentence(b *textBlock) bool {
	if b.heading > 0 || b.isFixed || b.unlinked() < leastSentence || b.linkDensity() > 1.0/3 || b.words < leastClause && !endsSentence(b) {
		return false
	}
	text := strings.ToLower(textOf(b))
	if isPageLabel(text) || strings.Contains(text, "©") || strings.Contains(text, "copyright") || strings.Contains(text, "rights reserved") {
		return false
	}
	for node := b.first; node != nil; node = node.Parent {
		if node.DataAtom == atom.Form || node.DataAtom == atom.Footer || node.Type == html.ElementNode && nameKinds(node)&namedWidget != 0 {
			return false
		}
	}
	return true
}

// endsSentence reports whether a block ends with the mark of a sentence.
func endsSentence(b *textBlock) bool {
	text := strings.TrimRight(strings.TrimSpace(textOf(b)), "\"'”’»)]")
	for _, mark := range []string{".", "!", "?", "…", "。", "！", "？", "।", "؟", "۔"} {
		if strings.HasSuffix(text, mark) {
			return true
		}
	}
	return false
}
