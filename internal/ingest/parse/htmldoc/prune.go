package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropNamed removes the elements whose names say that they are not part of the text: widgets, if they are small, and
// asides, unless they hold much text of their own.
func (x *extractor) dropNamed(node *html.Node, total wordCount, insideMain bool) {
	for child := node.FirstChild; child != nil && x.ok(); child = child.NextSibling {
		s, known := x.spans[child]
		if !known || s.from == s.to {
			continue
		}
		m := x.words(s)
		if m.words*10 < total.words*3 || m.linkDensity() > linkDense && m.words*2 < total.words {
			names := nameKinds(child)
			if x.isAside(child, names, m, insideMain) && !x.containsMain(child) {
				x.dropElement(child)
				continue
			}
		}
		x.dropNamed(child, total, insideMain || isMain(child))
	}
}

func isMain(node *html.Node) bool {
	return node.DataAtom == atom.Main || node.DataAtom == atom.Article || strings.EqualFold(attributeOf(node, "role"), "main")
}

func (x *extractor) isAside(node *html.Node, names int, m wordCount, insideMain bool) bool {
	if node.DataAtom == atom.Form && m.words < maxWidgetWords && hasTextField(node) {
		return true
	}
	switch {
	case names&namedWidget != 0:
		return m.words <= maxWidgetWords || m.linkDensity() > linkDense
	case names&namedAside == 0 || names&namedContent != 0:
		return node.DataAtom == atom.Footer && m.linkDensity() > linkDense
	case m.linkDensity() > linkDense:
		return true
	case insideMain:
		return false
	}
	return node.DataAtom == atom.Aside || m.linkDensity() > 1.0/3 || m.words <= maxWidgetWords/2 ||
		nameKinds(&html.Node{Attr: []html.Attribute{{Key: "id", Val: attributeOf(node, "id")}}})&namedAside != 0
}

// hasTextField reports whether a form has a field to write into, such as one for a search, a comment or an address.
func hasTextField(form *html.Node) bool {
	for n := range form.Descendants() {
		switch n.DataAtom {
		case atom.Textarea:
			return true
		case atom.Input:
			switch strings.ToLower(attributeOf(n, "type")) {
			case "", "text", "search", "email", "password", "url":
				return true
			}
		}
	}
	return false
}

// containsMain reports whether an element encloses the main part or the title of the page.
func (x *extractor) containsMain(node *html.Node) bool {
	if x.page.topHeading != nil && isWithin(x.page.topHeading, node) {
		return true
	}
	for _, part := range x.page.mains {
		if isWithin(part, node) {
			return true
		}
	}
	return len(x.page.articles) == 1 && isWithin(x.page.articles[0], node)
}

// markedPart returns the element that the page marks as its main part, or nil if there is none with enough text. The
// second result reports whether an element of HTML marks it, not only a name.
func (x *extractor) markedPart() (*html.Node, bool) {
	whole := x.keptWords(x.page.body).unlinked()
	share := func(node *html.Node) float64 {
		if whole == 0 {
			return 0
		}
		return float64(x.keptWords(node).unlinked()) / float64(whole)
	}
	for _, candidates := range [][]*html.Node{x.remaining(x.page.mains), x.remaining(x.page.articles), x.remaining(x.page.bodies)} {
		if len(candidates) != 1 || share(candidates[0]) < minMarkedShare {
			continue
		}
		root := candidates[0]
		for _, article := range x.remaining(x.page.articles) {
			if len(x.page.articles) == 1 && isWithin(article, root) && share(article) >= 0.8*share(root) {
				root = article
			}
		}
		return root, true
	}
	var best *html.Node
	for _, node := range x.remaining(x.page.namedParts) {
		if share(node) >= minNamedShare && (best == nil || isWithin(node, best)) {
			best = node
		}
	}
	return best, false
}

// remaining returns the elements that have not been removed.
func (x *extractor) remaining(nodes []*html.Node) []*html.Node {
	var kept []*html.Node
	for _, node := range nodes {
		if s, found := x.spans[node]; found && s.from < s.to && !x.dropped[node] {
			kept = append(kept, node)
		}
	}
	return kept
}

// classify decides which blocks are content. It returns how many words of content stand before each block, and in all.
func (x *extractor) classify() []int {
	var before wordCount // of the previous block that has not been removed
	last := -1
	decide := func(i int, after wordCount) {
		block := &x.blocks[i]
		block.isContent = block.isFixed || isContent(before, block.wordCount, after)
		before = block.wordCount
	}
	for i := range x.blocks {
		if x.blocks[i].dropped {
			continue
		}
		if last >= 0 {
			decide(last, x.blocks[i].wordCount)
		}
		last = i
	}
	if last >= 0 {
		decide(last, wordCount{})
	}
	sums := make([]int, len(x.blocks)+1)
	for i := range x.blocks {
		sums[i+1] = sums[i]
		if x.blocks[i].isContent && x.blocks[i].heading == 0 {
			sums[i+1] += x.blocks[i].words
		}
	}
	return sums
}

// isContent decides by number of words and link density, with the tree of Kohlschütter, Fankhauser and Nejdl (2010),
// figure 3.
func isContent(before, block, after wordCount) bool {
	switch {
	case block.linkDensity() > 1.0/3:
		return false
	case before.linkDensity() <= 0.555556:
		return block.words > 16 || after.words > 15 || before.words > 4
	}
	return block.words > 40 || after.words > 17
}

// dropEdges removes the boilerplate before and after the innermost element with nearly all content.
func (x *extractor) dropEdges() {
	sums := x.classify()
	whole := sums[len(x.blocks)]
	if whole < minContentWords {
		return
	}
	core := x.spans[x.page.body]
	for node := x.page.body; node != nil; {
		var next *html.Node
		for child := node.FirstChild; child != nil; child = child.NextSibling {
			if s, known := x.spans[child]; known && float64(sums[s.to]-sums[s.from]) >= coreShare*float64(whole) {
				next, core = child, s
				break
			}
		}
		node = next
	}
	x.dropBefore(core.from)
	x.dropAfter(core.to)
}

// isBoilerplate reports whether a block consists of links, or is a short text among links.
func (x *extractor) isBoilerplate(i int) bool {
	block := &x.blocks[i]
	return !block.isContent && (block.linkDensity() > 0 || block.words <= maxLabelWords)
}

// maxLabelWords is how long the label of a menu may be.
const maxLabelWords = 4

// isLabelled reports whether a block follows a label of its own.
func (x *extractor) isLabelled(i int) bool {
	if i == 0 {
		return false
	}
	label := &x.blocks[i-1]
	return label.heading == 0 && label.words <= maxLabelWords && label.linked == 0 && !label.dropped && label.first.Parent == x.blocks[i].first.Parent
}

// dropBefore removes the boilerplate before the content. A label or a heading is removed with the links below it.
func (x *extractor) dropBefore(end int) {
	last := -1 // the previous block that has not been removed
	for i := range end {
		switch block := &x.blocks[i]; {
		case block.dropped:
			continue
		case block.heading == 0 && x.isBoilerplate(i):
			x.drop(i)
			if last >= 0 && x.blocks[last].heading != 1 && x.blocks[last].words <= maxLabelWords {
				x.drop(last)
				last = -1
			}
		default:
			last = i
		}
	}
}

// dropAfter removes the boilerplate after the content, except below a heading, where further reading may be. A list of
// links with a label stays too.
func (x *extractor) dropAfter(begin int) {
	headed := false
	for i := begin; i < len(x.blocks); i++ {
		switch block := &x.blocks[i]; {
		case block.dropped:
		case block.heading > 0:
			headed = true
		case !headed && x.isBoilerplate(i) && !x.isLabelled(i):
			x.drop(i)
		}
	}
}

// dropPageLabels removes blocks that are labels of the page, not of its content.
func (x *extractor) dropPageLabels() {
	for i := range x.blocks {
		block := &x.blocks[i]
		if !block.dropped && !block.isFixed && block.heading == 0 && block.words <= 6 && isPageLabel(textOf(block)) {
			x.drop(i)
		}
	}
}

// dropTablesOfContents removes lists of links to headings of the same page.
func (x *extractor) dropTablesOfContents(node *html.Node) {
	for child := node.FirstChild; child != nil && x.ok(); child = child.NextSibling {
		s, known := x.spans[child]
		if !known || s.from == s.to || x.dropped[child] {
			continue
		}
		m := x.words(s)
		if m.linkDensity() > 0.8 && x.isTableOfContents(child) {
			x.dropElement(x.withLabel(child, m))
			continue
		}
		x.dropTablesOfContents(child)
	}
}

// withLabel returns the element around a table of contents that holds nothing else but its title.
func (x *extractor) withLabel(node *html.Node, m wordCount) *html.Node {
	const label = 6
	for range 3 {
		parent := node.Parent
		if parent == nil || parent == x.page.body || isMain(parent) {
			return node
		}
		if s, known := x.spans[parent]; !known || x.words(s).words > m.words+label {
			return node
		}
		node = parent
	}
	return node
}

// maxOtherLinks is how many links of a table of contents may lead elsewhere.
const maxOtherLinks = 100

func (x *extractor) isTableOfContents(node *html.Node) bool {
	links, found := 0, 0
	for n := range node.Descendants() {
		if n.DataAtom != atom.A {
			continue
		}
		if href := attributeOf(n, "href"); href != "" {
			links++
			if len(href) > 1 && href[0] == '#' && x.page.targets[href[1:]] {
				found++
			}
			if links-found > maxOtherLinks {
				return false
			}
		}
	}
	return links >= 3 && found*5 >= links*4
}
