package htmldoc

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// Thresholds of the extractor, most of them shares of the words of a page.
const (
	// minMarkedShare is the least share of unlinked words in an element that the page marks as its main part.
	// minNamedShare is that of an element that only its name marks.
	minMarkedShare, minNamedShare = 0.25, 0.7
	// coreShare is the share of the content that the innermost element around it holds.
	coreShare = 0.9
	// minKeptShare is the least share of unlinked words to keep. Below it, more of the page is kept.
	minKeptShare = 0.4
	// linkDense is the link density from which on a part of a page is navigation.
	linkDense = 0.5
	// minContentWords is how many words of content it takes to find the edges of a page.
	minContentWords = 50
	// maxWidgetWords is the longest part of a page that its name alone removes from the middle of the content.
	maxWidgetWords = 80
)

// mainContent is the main content of a page.
type mainContent struct {
	root       *html.Node   // element to read
	before     []*html.Node // nodes to read first: a title above the root
	dropped    map[*html.Node]bool
	keepChrome bool // whether to read navigation, page header and footer too
}

// extract finds the main content of a page.
//
// It first removes the elements and roles that HTML has for navigation, page header and footer, hidden elements, and
// breadcrumbs, share bars and cookie consent by their class names. The content is then the part that the page marks as
// such: main, article, articleBody, or a name that site generators use.
//
// If the page marks none, it is cut into blocks of text. Each block is content or boilerplate by its number of words,
// its link density, and those of its neighbours: the decision tree over shallow text features of Kohlschütter,
// Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM 2010), section 4. The innermost
// element with nearly all content corresponds to the top candidate of Arc90's Readability. Boilerplate is removed only
// before and after it, since a short text in the middle of content is more often an answer than a menu.
//
// If the result is too small a share of the unlinked text, less is removed. The only sentences of a short page are kept.
func extract(ctx context.Context, page *pageSurvey) (*mainContent, error) {
	x := &extractor{ctx: ctx, page: page, dropped: make(map[*html.Node]bool), spans: make(map[*html.Node]span)}
	x.collectBlocks(page.body, nil)
	if x.err != nil {
		return nil, x.err
	}
	total := x.words(span{0, len(x.blocks)})
	if total.words >= minContentWords {
		x.dropNamed(page.body, total, false)
	}
	withoutNamed := maps.Clone(x.dropped)
	root, isMarked := x.markedPart()
	if root == nil {
		root = page.body
		x.dropEdges()
	}
	x.dropPageLabels()
	x.dropTablesOfContents(page.body)
	kept := x.keptWords(root)
	switch {
	case kept.words == 0, !isMarked && float64(kept.unlinked()) < minKeptShare*float64(total.unlinked()):
		root, x.dropped, kept = page.body, nil, total
	case !isMarked && kept.words < minContentWords && 2*kept.words < total.words:
		root, x.dropped = page.body, withoutNamed // the links are the content
	}
	main := &mainContent{root: root, dropped: x.dropped}
	if kept.words < minWords {
		// All text is in what looks like navigation or the page header.
		main.keepChrome = true
	}
	if root != page.body && !contains(root, atom.H1) && page.topHeading != nil && !isWithin(page.topHeading, root) {
		main.before = []*html.Node{page.topHeading}
	} else if root == page.body && page.topHeading != nil && inPageHeader(page.topHeading) && !main.keepChrome {
		main.before = []*html.Node{page.topHeading}
	}
	x.keepSentences(main)
	if x.err != nil {
		return nil, x.err
	}
	return main, nil
}

// wordCount counts words, and those in links.
type wordCount struct{ words, linked int }

func (m wordCount) unlinked() int { return m.words - m.linked }

func (m wordCount) linkDensity() float64 {
	if m.words == 0 {
		return 0
	}
	return float64(m.linked) / float64(m.words)
}

// span is a range of blocks.
type span struct{ from, to int }

// textBlock is a piece of text without block elements inside, or a whole list, table, heading or block of code.
type textBlock struct {
	wordCount
	first, last *html.Node // siblings
	heading     int        // heading level, 0 for other text
	isFixed     bool       // code and data tables, which are always content
	isContent   bool
	dropped     bool // removed from the page
}

// extractor holds the text of a page as a sequence of blocks.
type extractor struct {
	ctx     context.Context
	page    *pageSurvey
	blocks  []textBlock
	sums    []wordCount // words before each block
	spans   map[*html.Node]span
	dropped map[*html.Node]bool
	steps   int
	err     error
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (x *extractor) ok() bool {
	x.steps++
	if x.err == nil && x.steps%1024 == 0 && x.ctx.Err() != nil {
		x.err = fmt.Errorf("parse HTML: %w", x.ctx.Err())
	}
	return x.err == nil
}

// collectBlocks cuts the content of an element into blocks. The run is the open block of inline text.
func (x *extractor) collectBlocks(node *html.Node, run *textBlock) {
	begin := len(x.blocks)
	flush := func() {
		if run != nil && run.words > 0 {
			x.blocks = append(x.blocks, *run)
		}
		run = nil
	}
	for child := node.FirstChild; child != nil && x.ok(); child = child.NextSibling {
		if child.Type != html.TextNode && child.Type != html.ElementNode || child.Type == html.ElementNode && x.isLeftOut(child) {
			continue
		}
		kind := x.kindOf(child)
		if kind == inlineBlock {
			counted := x.count(child, false)
			if run == nil {
				run = &textBlock{first: child}
			}
			run.last = child
			run.words += counted.words
			run.linked += counted.linked
			continue
		}
		flush()
		if kind == containerBlock {
			x.collectBlocks(child, nil)
			continue
		}
		block := textBlock{wordCount: x.count(child, false), first: child, last: child, isFixed: kind == fixedBlock}
		if kind == headingBlock {
			block.heading = headingLevel(child)
		}
		from := len(x.blocks)
		if block.words > 0 || block.isFixed {
			x.blocks = append(x.blocks, block)
		}
		x.spans[child] = span{from, len(x.blocks)}
	}
	flush()
	x.spans[node] = span{begin, len(x.blocks)}
}

// Kinds of nodes.
const (
	containerBlock = iota // with blocks inside
	inlineBlock
	wholeBlock
	headingBlock
	fixedBlock
)

func (x *extractor) kindOf(node *html.Node) int {
	if node.Type == html.TextNode {
		return inlineBlock
	}
	switch node.DataAtom {
	case atom.Ul, atom.Ol, atom.Menu, atom.Dl, atom.P:
		if containsHeading(node) || node.DataAtom == atom.Dl && !isPlain(node) {
			return containerBlock
		}
		return wholeBlock
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return headingBlock
	case atom.Pre, atom.Math, atom.Figure:
		return fixedBlock
	case atom.Table:
		if hasHeaderCells(node) {
			return fixedBlock
		}
		return containerBlock
	}
	if isInlineElement(node.DataAtom) || node.DataAtom == 0 && node.FirstChild != nil {
		if containsBlock(node) {
			return containerBlock
		}
		return inlineBlock
	}
	return containerBlock
}

func headingLevel(node *html.Node) int { return int(node.Data[1] - '0') }

// isPlain reports whether a list contains no paragraphs, code and tables.
func isPlain(list *html.Node) bool {
	for n := range list.Descendants() {
		switch n.DataAtom {
		case atom.P, atom.Pre, atom.Table:
			return false
		}
	}
	return true
}

// hasHeaderCells reports whether a table has cells that name a row or a column.
func hasHeaderCells(table *html.Node) bool {
	seen := 0
	for n := range table.Descendants() {
		if n.DataAtom == atom.Th || n.DataAtom == atom.Thead || n.DataAtom == atom.Caption {
			return true
		}
		if seen++; seen > 10*maxLookahead {
			return false
		}
	}
	return false
}

// isLeftOut reports whether an element is never text of the page.
func (x *extractor) isLeftOut(node *html.Node) bool {
	return isSkipped(node) || isHidden(node) || isChrome(node)
}

// count counts the words below a node.
func (x *extractor) count(node *html.Node, inLink bool) wordCount {
	if node.Type == html.TextNode {
		words := inline.CountWords(node.Data)
		if inLink {
			return wordCount{words, words}
		}
		return wordCount{words, 0}
	}
	if node.Type != html.ElementNode || x.isLeftOut(node) || isWidget(node) || !x.ok() {
		return wordCount{}
	}
	inLink = inLink || node.DataAtom == atom.A && attributeOf(node, "href") != ""
	var m wordCount
	if node.DataAtom == atom.Img {
		m.words = inline.CountWords(attributeOf(node, "alt"))
		if inLink {
			m.linked = m.words
		}
	}
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		inner := x.count(child, inLink)
		m.words += inner.words
		m.linked += inner.linked
	}
	return m
}

// words returns the words of a range of blocks.
func (x *extractor) words(s span) wordCount {
	if x.sums == nil {
		x.sums = make([]wordCount, len(x.blocks)+1)
		for i := range x.blocks {
			x.sums[i+1] = wordCount{x.sums[i].words + x.blocks[i].words, x.sums[i].linked + x.blocks[i].linked}
		}
	}
	return wordCount{x.sums[s.to].words - x.sums[s.from].words, x.sums[s.to].linked - x.sums[s.from].linked}
}

// keptWords returns the words below an element that have not been removed.
func (x *extractor) keptWords(root *html.Node) wordCount {
	s, found := x.spans[root]
	if !found {
		return wordCount{}
	}
	var m wordCount
	for i := s.from; i < s.to; i++ {
		if !x.blocks[i].dropped {
			m.words += x.blocks[i].words
			m.linked += x.blocks[i].linked
		}
	}
	return m
}

// drop removes a block.
func (x *extractor) drop(i int) {
	block := &x.blocks[i]
	block.dropped = true
	for node := block.first; node != nil; node = node.NextSibling {
		x.dropped[node] = true
		if node == block.last {
			return
		}
	}
}

// dropElement removes an element with all its blocks.
func (x *extractor) dropElement(node *html.Node) {
	x.dropped[node] = true
	s := x.spans[node]
	for i := s.from; i < s.to; i++ {
		x.blocks[i].dropped = true
	}
}

func contains(root *html.Node, kind atom.Atom) bool {
	for n := range root.Descendants() {
		if n.DataAtom == kind {
			return true
		}
	}
	return false
}

func isWithin(node, root *html.Node) bool {
	for ; node != nil; node = node.Parent {
		if node == root {
			return true
		}
	}
	return false
}

func inPageHeader(node *html.Node) bool {
	for parent := node.Parent; parent != nil; parent = parent.Parent {
		if parent.DataAtom == atom.Header && isChrome(parent) {
			return true
		}
	}
	return false
}

// textOf returns the text of a block.
func textOf(block *textBlock) string {
	var b strings.Builder
	for node := block.first; node != nil; node = node.NextSibling {
		if node.Type == html.TextNode {
			b.WriteString(node.Data)
		} else {
			b.WriteString(rawText(node))
		}
		if node == block.last {
			break
		}
	}
	return b.String()
}
