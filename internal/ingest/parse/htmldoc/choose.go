package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// dropNamed leaves out the elements whose names tell that they are not the text of the page: small ones that are never part
// of a text, and, unless they hold much text of their own, those that are mostly beside it.
func (x *extractor) dropNamed(node *html.Node, total measure, inside bool) {
	for child := node.FirstChild; child != nil && x.alive(); child = child.NextSibling {
		s, known := x.spans[child]
		if !known || s.from == s.to {
			continue
		}
		m := x.sum(s)
		if m.words*10 < total.words*3 || m.density() > linkDense && m.words*2 < total.words {
			names := namesOf(child)
			if x.isBeside(child, names, m, inside) && !x.holdsMain(child) {
				x.dropElement(child)
				continue
			}
		}
		x.dropNamed(child, total, inside || isMain(child))
	}
}

func isMain(node *html.Node) bool {
	return node.DataAtom == atom.Main || node.DataAtom == atom.Article || strings.EqualFold(attributeOf(node, "role"), "main")
}

func (x *extractor) isBeside(node *html.Node, names int, m measure, inside bool) bool {
	if node.DataAtom == atom.Form && m.words < gadgetWords && asksText(node) {
		return true
	}
	switch {
	case names&namedGadget != 0:
		return m.words <= gadgetWords || m.density() > linkDense
	case names&namedBeside == 0 || names&namedContent != 0:
		return node.DataAtom == atom.Footer && m.density() > linkDense
	case m.density() > linkDense:
		return true
	case inside:
		return false
	}
	return node.DataAtom == atom.Aside || m.density() > 1.0/3 || m.words <= gadgetWords/2 ||
		namesOf(&html.Node{Attr: []html.Attribute{{Key: "id", Val: attributeOf(node, "id")}}})&namedBeside != 0
}

// asksText reports a form for a search, a comment or an address: one with a field to write into.
func asksText(form *html.Node) bool {
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

// holdsMain reports an element around the main part or the title of the page.
func (x *extractor) holdsMain(node *html.Node) bool {
	if x.page.topHeading != nil && within(x.page.topHeading, node) {
		return true
	}
	for _, part := range x.page.mains {
		if within(part, node) {
			return true
		}
	}
	return len(x.page.articles) == 1 && within(x.page.articles[0], node)
}

// marked returns the element that the page calls its main part, nil where there is none or too little text in it. The second
// result tells an element that HTML has for this from one that only a name does.
func (x *extractor) marked() (*html.Node, bool) {
	whole := x.kept(x.page.body).free()
	share := func(node *html.Node) float64 {
		if whole == 0 {
			return 0
		}
		return float64(x.kept(node).free()) / float64(whole)
	}
	for _, candidates := range [][]*html.Node{x.seen(x.page.mains), x.seen(x.page.articles), x.seen(x.page.bodies)} {
		if len(candidates) != 1 || share(candidates[0]) < trustMarked {
			continue
		}
		root := candidates[0]
		for _, article := range x.seen(x.page.articles) {
			if len(x.page.articles) == 1 && within(article, root) && share(article) >= 0.8*share(root) {
				root = article
			}
		}
		return root, true
	}
	var best *html.Node
	for _, node := range x.seen(x.page.named) {
		if share(node) >= trustNamed && (best == nil || within(node, best)) {
			best = node
		}
	}
	return best, false
}

// seen returns the elements that are not left out.
func (x *extractor) seen(nodes []*html.Node) []*html.Node {
	var kept []*html.Node
	for _, node := range nodes {
		if s, found := x.spans[node]; found && s.from < s.to && !x.dropped[node] {
			kept = append(kept, node)
		}
	}
	return kept
}

// classify decides which blocks are content, and returns how many words of content are before each block and in all.
func (x *extractor) classify() []int {
	var before measure // of the block before, of those that are not left out
	last := -1
	decide := func(i int, after measure) {
		block := &x.blocks[i]
		block.content = block.fixed || isContent(before, block.measure, after)
		before = block.measure
	}
	for i := range x.blocks {
		if x.blocks[i].gone {
			continue
		}
		if last >= 0 {
			decide(last, x.blocks[i].measure)
		}
		last = i
	}
	if last >= 0 {
		decide(last, measure{})
	}
	sums := make([]int, len(x.blocks)+1)
	for i := range x.blocks {
		sums[i+1] = sums[i]
		if x.blocks[i].content && x.blocks[i].heading == 0 {
			sums[i+1] += x.blocks[i].words
		}
	}
	return sums
}

// isContent is the decision tree by number of words and link density of Kohlschütter, Fankhauser and Nejdl (2010), figure 3.
func isContent(before, block, after measure) bool {
	switch {
	case block.density() > 1.0/3:
		return false
	case before.density() <= 0.555556:
		return block.words > 16 || after.words > 15 || before.words > 4
	}
	return block.words > 40 || after.words > 17
}

// dropEdges leaves out the boilerplate before and after the innermost element with nearly all content.
func (x *extractor) dropEdges() {
	sums := x.classify()
	whole := sums[len(x.blocks)]
	if whole < enoughContent {
		return
	}
	core := x.spans[x.page.body]
	for node := x.page.body; node != nil; {
		var next *html.Node
		for child := node.FirstChild; child != nil; child = child.NextSibling {
			if s, known := x.spans[child]; known && float64(sums[s.to]-sums[s.from]) >= holdsContent*float64(whole) {
				next, core = child, s
				break
			}
		}
		node = next
	}
	x.dropBefore(core.from)
	x.dropAfter(core.to)
}

// isBoilerplate reports a block at the edge of a page that is links, or a short text with nothing but links beside it.
func (x *extractor) isBoilerplate(i int) bool {
	block := &x.blocks[i]
	return !block.content && (block.density() > 0 || block.words <= labelWords)
}

// labelWords is how long the label of a menu is.
const labelWords = 4

// isLabelled reports a block right after a label of its own.
func (x *extractor) isLabelled(i int) bool {
	if i == 0 {
		return false
	}
	label := &x.blocks[i-1]
	return label.heading == 0 && label.words <= labelWords && label.linked == 0 && !label.gone && label.first.Parent == x.blocks[i].first.Parent
}

// dropBefore leaves out the boilerplate before the content. A label or a heading goes with the links under it.
func (x *extractor) dropBefore(end int) {
	last := -1 // the block before that is not left out
	for i := range end {
		switch block := &x.blocks[i]; {
		case block.gone:
			continue
		case block.heading == 0 && x.isBoilerplate(i):
			x.drop(i)
			if last >= 0 && x.blocks[last].heading != 1 && x.blocks[last].words <= labelWords {
				x.drop(last)
				last = -1
			}
		default:
			last = i
		}
	}
}

// dropAfter leaves out the boilerplate after the content, but for what stands under a heading of its own: that may be
// the further reading. A list of links under a label stays too.
func (x *extractor) dropAfter(begin int) {
	headed := false
	for i := begin; i < len(x.blocks); i++ {
		switch block := &x.blocks[i]; {
		case block.gone:
		case block.heading > 0:
			headed = true
		case !headed && x.isBoilerplate(i) && !x.isLabelled(i):
			x.drop(i)
		}
	}
}

// dropFurniture leaves out the labels of the page among the blocks.
func (x *extractor) dropFurniture() {
	for i := range x.blocks {
		block := &x.blocks[i]
		if !block.gone && !block.fixed && block.heading == 0 && block.words <= 6 && isFurniture(textOf(block)) {
			x.drop(i)
		}
	}
}

// dropContents leaves out tables of contents whose entries all lead to headings of the page itself.
func (x *extractor) dropContents(node *html.Node) {
	for child := node.FirstChild; child != nil && x.alive(); child = child.NextSibling {
		s, known := x.spans[child]
		if !known || s.from == s.to || x.dropped[child] {
			continue
		}
		m := x.sum(s)
		if m.density() > 0.8 && x.leadsToHeadings(child) {
			x.dropElement(x.withLabel(child, m))
			continue
		}
		x.dropContents(child)
	}
}

// withLabel returns the element around a table of contents that holds nothing else but its title.
func (x *extractor) withLabel(node *html.Node, m measure) *html.Node {
	const label = 6
	for range 3 {
		parent := node.Parent
		if parent == nil || parent == x.page.body || isMain(parent) {
			return node
		}
		if s, known := x.spans[parent]; !known || x.sum(s).words > m.words+label {
			return node
		}
		node = parent
	}
	return node
}

// maxElsewhere is how many links of a table of contents may lead elsewhere.
const maxElsewhere = 100

func (x *extractor) leadsToHeadings(node *html.Node) bool {
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
			if links-found > maxElsewhere {
				return false
			}
		}
	}
	return links >= 3 && found*5 >= links*4
}
