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

// Shares of the words of a page by which the extractor decides.
const (
	// trustMarked is the least share of the words outside links that makes the element which the page itself calls its main
	// part the content; trustNamed that for an element that only its class names or its id call so.
	trustMarked, trustNamed = 0.25, 0.7
	// holdsContent is the share of the content that the innermost element around it holds.
	holdsContent = 0.9
	// fairShare is the least share of the words outside links that may be kept; below it, more of the page is.
	fairShare = 0.4
	// linkDense is from which share of its words in links on a part of a page leads elsewhere.
	linkDense = 0.5
	// enoughContent is how many words of content there must be to tell the edges of a page from it.
	enoughContent = 50
	// gadgetWords is the longest part of a page that its name alone takes out of the middle of the content.
	gadgetWords = 80
)

// extraction is what the main content of a page is taken to be.
type extraction struct {
	root    *html.Node   // what is read
	before  []*html.Node // what is read before it: the title above it
	dropped map[*html.Node]bool
	framed  bool // navigation, page header and footer are read too
}

// extract finds the main content of a page. What HTML has elements and roles for (navigation, page header and footer), what
// is hidden and what class names call breadcrumbs, share bars or consent to cookies is left out first. The content is then
// the part that the page marks as such (main, article, articleBody and the names that generators use). Where it marks none,
// the page is taken as a sequence of blocks of text, each of which is content or boilerplate by how many of its words are
// in links, how many words it has, and the same of its neighbours: the decision tree over shallow text features of
// Kohlschütter, Fankhauser and Nejdl, "Boilerplate Detection using Shallow Text Features" (WSDM 2010), section 4. The
// innermost element with nearly all of the content plays the part of the top candidate in Arc90's Readability; boilerplate
// is only taken away before and after it, since text in the middle of content that has no neighbours like it is more often
// a short answer than a menu. In the end what is kept must be a fair share of the text outside links; else the page is
// read with less left out.
func extract(ctx context.Context, page *pageSurvey) (*extraction, error) {
	x := &extractor{ctx: ctx, page: page, dropped: make(map[*html.Node]bool), spans: make(map[*html.Node]span)}
	x.visit(page.body, nil)
	if x.err != nil {
		return nil, x.err
	}
	total := x.sum(span{0, len(x.blocks)})
	if total.words >= enoughContent {
		x.dropNamed(page.body, total, false)
	}
	named := maps.Clone(x.dropped)
	root, marked := x.marked()
	if root == nil {
		root = page.body
		x.dropEdges()
	}
	x.dropFurniture()
	x.dropContents(page.body)
	kept := x.kept(root)
	switch {
	case kept.words == 0, !marked && float64(kept.free()) < fairShare*float64(total.free()):
		root, x.dropped, kept = page.body, nil, total
	case !marked && kept.words < enoughContent && 2*kept.words < total.words:
		root, x.dropped = page.body, named // the links are the content
	}
	chosen := &extraction{root: root, dropped: x.dropped}
	if kept.words < fewWords {
		// What is called navigation or page header is all there is.
		chosen.framed = true
	}
	if root != page.body && !holds(root, atom.H1) && page.topHeading != nil && !within(page.topHeading, root) {
		chosen.before = []*html.Node{page.topHeading}
	} else if root == page.body && page.topHeading != nil && inPageHeader(page.topHeading) && !chosen.framed {
		chosen.before = []*html.Node{page.topHeading}
	}
	return chosen, nil
}

// measure counts words.
type measure struct{ words, linked int }

func (m measure) free() int { return m.words - m.linked }

func (m measure) density() float64 {
	if m.words == 0 {
		return 0
	}
	return float64(m.linked) / float64(m.words)
}

// span is a range of blocks.
type span struct{ from, to int }

// pageBlock is a piece of text without block elements inside it, or a list, table, heading or code as a whole.
type pageBlock struct {
	measure
	first, last *html.Node // siblings
	heading     int        // its level, 0 for other text
	fixed       bool       // code and tables with data, which are content whatever they count
	content     bool
	gone        bool // left out
}

// extractor holds the text of a page as a sequence of blocks.
type extractor struct {
	ctx     context.Context
	page    *pageSurvey
	blocks  []pageBlock
	sums    []measure // of the blocks before each
	spans   map[*html.Node]span
	dropped map[*html.Node]bool
	steps   int
	err     error
}

func (x *extractor) alive() bool {
	x.steps++
	if x.err == nil && x.steps%1024 == 0 && x.ctx.Err() != nil {
		x.err = fmt.Errorf("parse HTML: %w", x.ctx.Err())
	}
	return x.err == nil
}

// visit cuts what is in an element into blocks; run is the block of inline text that is open.
func (x *extractor) visit(node *html.Node, run *pageBlock) {
	begin := len(x.blocks)
	flush := func() {
		if run != nil && run.words > 0 {
			x.blocks = append(x.blocks, *run)
		}
		run = nil
	}
	for child := node.FirstChild; child != nil && x.alive(); child = child.NextSibling {
		if child.Type != html.TextNode && child.Type != html.ElementNode || child.Type == html.ElementNode && x.leftOut(child) {
			continue
		}
		kind := x.kindOf(child)
		if kind == inlineBlock {
			counted := x.count(child, false)
			if run == nil {
				run = &pageBlock{first: child}
			}
			run.last = child
			run.words += counted.words
			run.linked += counted.linked
			continue
		}
		flush()
		if kind == openBlock {
			x.visit(child, nil)
			continue
		}
		block := pageBlock{measure: x.count(child, false), first: child, last: child, fixed: kind == fixedBlock}
		if kind == headingBlock {
			block.heading = headingLevel(child)
		}
		from := len(x.blocks)
		if block.words > 0 || block.fixed {
			x.blocks = append(x.blocks, block)
		}
		x.spans[child] = span{from, len(x.blocks)}
	}
	flush()
	x.spans[node] = span{begin, len(x.blocks)}
}

// Kinds of nodes for the extractor.
const (
	openBlock = iota // looked into
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
		if holdsHeading(node) || node.DataAtom == atom.Dl && !isPlain(node) {
			return openBlock
		}
		return wholeBlock
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return headingBlock
	case atom.Pre, atom.Math, atom.Figure:
		return fixedBlock
	case atom.Table:
		if hasNames(node) {
			return fixedBlock
		}
		return openBlock
	}
	if isInlineElement(node.DataAtom) || node.DataAtom == 0 && node.FirstChild != nil {
		if holdsBlock(node) {
			return openBlock
		}
		return inlineBlock
	}
	return openBlock
}

func headingLevel(node *html.Node) int { return int(node.Data[1] - '0') }

// isPlain reports a list without paragraphs, code and tables in it.
func isPlain(list *html.Node) bool {
	for n := range list.Descendants() {
		switch n.DataAtom {
		case atom.P, atom.Pre, atom.Table:
			return false
		}
	}
	return true
}

// hasNames reports a table with cells that name a row or column.
func hasNames(table *html.Node) bool {
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

// leftOut reports what is no text of the page anyway.
func (x *extractor) leftOut(node *html.Node) bool {
	return isSkipped(node) || isConcealed(node) || isFrame(node)
}

// count counts the words below a node, and those in links.
func (x *extractor) count(node *html.Node, inLink bool) measure {
	if node.Type == html.TextNode {
		words := inline.CountWords(node.Data)
		if inLink {
			return measure{words, words}
		}
		return measure{words, 0}
	}
	if node.Type != html.ElementNode || x.leftOut(node) || isGadget(node) || !x.alive() {
		return measure{}
	}
	inLink = inLink || node.DataAtom == atom.A && attributeOf(node, "href") != ""
	var m measure
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

// sum returns the words of a range of blocks.
func (x *extractor) sum(s span) measure {
	if x.sums == nil {
		x.sums = make([]measure, len(x.blocks)+1)
		for i := range x.blocks {
			x.sums[i+1] = measure{x.sums[i].words + x.blocks[i].words, x.sums[i].linked + x.blocks[i].linked}
		}
	}
	return measure{x.sums[s.to].words - x.sums[s.from].words, x.sums[s.to].linked - x.sums[s.from].linked}
}

// kept returns the words that a walk over the root would find.
func (x *extractor) kept(root *html.Node) measure {
	s, found := x.spans[root]
	if !found {
		return measure{}
	}
	var m measure
	for i := s.from; i < s.to; i++ {
		if !x.blocks[i].gone {
			m.words += x.blocks[i].words
			m.linked += x.blocks[i].linked
		}
	}
	return m
}

// drop leaves out a block.
func (x *extractor) drop(i int) {
	block := &x.blocks[i]
	block.gone = true
	for node := block.first; node != nil; node = node.NextSibling {
		x.dropped[node] = true
		if node == block.last {
			return
		}
	}
}

// dropElement leaves out an element with all blocks in it.
func (x *extractor) dropElement(node *html.Node) {
	x.dropped[node] = true
	s := x.spans[node]
	for i := s.from; i < s.to; i++ {
		x.blocks[i].gone = true
	}
}

func holds(root *html.Node, kind atom.Atom) bool {
	for n := range root.Descendants() {
		if n.DataAtom == kind {
			return true
		}
	}
	return false
}

func within(node, root *html.Node) bool {
	for ; node != nil; node = node.Parent {
		if node == root {
			return true
		}
	}
	return false
}

func inPageHeader(node *html.Node) bool {
	for parent := node.Parent; parent != nil; parent = parent.Parent {
		if parent.DataAtom == atom.Header && isFrame(parent) {
			return true
		}
	}
	return false
}

// textOf returns the text of a block of a few words.
func textOf(block *pageBlock) string {
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
