package htmldoc

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// maxElements is from how many tags on no tree is built of a page.
const maxElements = 1 << 20

var errTooManyElements = errors.New("the page has too many elements")

// Read reads a web page: its main content, see extraction. The body of a mail and a chapter of a book have no frame
// around their text: of these everything is kept that can be seen.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	found := &document.Draft{Meta: make(map[string]any), Prose: true, Extra: make(map[string]any)}
	source := closedElements(r.Text)
	var root *html.Node
	err := errTooManyElements
	if strings.Count(source, "<") <= maxElements {
		root, err = html.Parse(strings.NewReader(source))
	}
	if err != nil {
		// The tree builder also refuses elements nested hundreds deep. Their text can still be read.
		found.Extra["structure_error"] = safetext.TruncateBytes(err.Error(), 200)
		found.Blocks, err = htmlTokens(ctx, source)
		return found, err
	}
	page := surveyPage(root)
	page.describe(found)
	w := htmlWalker{ctx: ctx, anchors: make(document.Anchors), base: page.base}
	if err := w.page(page, isWhole(r, page)); err != nil {
		return nil, err
	}
	w.unseenAnswers(page.data)
	if w.err != nil {
		return nil, w.err
	}
	found.Blocks = w.blocks
	return found, nil
}

// isWhole reports what is no page of a site: the body of a mail, and the chapters of books, which are the XHTML files that
// speak of EPUB.
func isWhole(r document.Text, page *pageSurvey) bool {
	return r.Name == "body.html" || strings.HasPrefix(r.MediaType, "application/xhtml+xml") || page.book
}

// page reads a page. Where the extractor leaves hardly anything, more and more of the page is read.
func (w *htmlWalker) page(page *pageSurvey, whole bool) error {
	w.whole = whole
	if !whole {
		chosen, err := extract(w.ctx, page)
		if err != nil {
			return err
		}
		w.dropped, w.framed = chosen.dropped, chosen.framed
		for _, node := range chosen.before {
			w.node(node, 0)
		}
		w.flow(chosen.root)
	} else {
		w.flow(page.body)
	}
	w.flush()
	if w.err == nil && len(w.blocks) == 0 {
		w.dropped, w.framed, w.whole, w.concealed = nil, true, true, true
		w.flow(page.body)
		w.flush()
	}
	if w.err == nil && wordsOf(w.blocks) < fewWords {
		w.fallbacks(page)
	}
	return w.err
}

// fewWords is how little text makes a page whose text is somewhere else: in frames, or in what is shown without scripts.
const fewWords = 20

func wordsOf(blocks []document.Block) int {
	words := 0
	for i := range blocks {
		words += inline.CountWords(blocks[i].Text)
		if blocks[i].Kind == document.Table {
			words += fewWords
		}
	}
	return words
}

// fallbacks reads what a page has for readers without scripts or frames, and where its frames lead.
func (w *htmlWalker) fallbacks(page *pageSurvey) {
	var frames compose.List
	frames.Emit = w.emit
	for _, node := range page.fallback {
		switch node.DataAtom {
		case atom.Frame:
			name := attributeOf(node, "title")
			if name == "" {
				name = attributeOf(node, "name")
			}
			if link := w.link(name, attributeOf(node, "src")); link != "" {
				frames.Lines("- ", 2, strings.Join(strings.Fields(link), " "))
			}
		case atom.Noscript, atom.Noframes:
			frames.Flush()
			w.blocks = append(w.blocks, Fragment(w.ctx, rawText(node), w.anchors)...)
		}
	}
	frames.Flush()
}

// Fragment reads a piece of HTML inside another document.
func Fragment(ctx context.Context, raw string, taken document.Anchors) []document.Block {
	var nodes []*html.Node
	err := errTooManyElements
	if strings.Count(raw, "<") <= maxElements {
		body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
		nodes, err = html.ParseFragment(strings.NewReader(raw), body)
	}
	if err != nil {
		blocks, err := htmlTokens(ctx, raw)
		if err != nil {
			return nil
		}
		return blocks
	}
	w := htmlWalker{ctx: ctx, anchors: taken, whole: true}
	for _, node := range nodes {
		w.node(node, 0)
	}
	w.flush()
	return w.blocks
}

// htmlTokens reads only the text of a page, one paragraph for each element that is no inline element.
func htmlTokens(ctx context.Context, raw string) ([]document.Block, error) {
	var blocks []document.Block
	var b strings.Builder
	flush := func() {
		if text := strings.Join(strings.Fields(b.String()), " "); text != "" {
			blocks = append(blocks, document.Block{Kind: document.Paragraph, Text: text})
		}
		b.Reset()
	}
	skipping := 0
	tokens := html.NewTokenizer(strings.NewReader(raw))
	for step := 0; ; step++ {
		if step%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse HTML: %w", ctx.Err())
		}
		kind := tokens.Next()
		if kind == html.ErrorToken {
			flush()
			return blocks, nil
		}
		token := tokens.Token()
		switch kind {
		case html.TextToken:
			if skipping == 0 {
				b.WriteString(token.Data)
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			if token.DataAtom == atom.Script || token.DataAtom == atom.Style {
				skipping = 0
				if kind == html.StartTagToken {
					skipping = 1
				}
			}
			if !isInlineElement(token.DataAtom) {
				flush()
			}
		case html.CommentToken, html.DoctypeToken, html.ErrorToken:
		}
	}
}

// htmlWalker turns elements into blocks. Text that stands between block elements is collected into paragraphs.
type htmlWalker struct {
	ctx     context.Context
	anchors document.Anchors
	base    *url.URL // links are relative to it, where the page names it
	// whole tells that nothing is left out as the frame of a page, framed that its navigation is no frame, concealed that
	// what is hidden is shown.
	whole, framed, concealed bool
	dropped                  map[*html.Node]bool // what the extractor leaves out
	blocks                   []document.Block
	line                     strings.Builder // inline text since the last block
	pending                  string          // id of an element before a heading that has none itself
	level                    int             // of the last heading
	steps                    int
	err                      error
}

// inner makes a walker for what stands inside an element that becomes one block.
func (w *htmlWalker) inner() *htmlWalker {
	return &htmlWalker{
		ctx: w.ctx, anchors: w.anchors, base: w.base, whole: true, concealed: w.concealed, dropped: w.dropped, level: w.level,
		steps: w.steps, err: w.err,
	}
}

// read returns the blocks inside an element.
func (w *htmlWalker) read(node *html.Node, depth int) []document.Block {
	inner := w.inner()
	inner.children(node, depth+1)
	inner.flush()
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

func (w *htmlWalker) alive() bool {
	w.steps++
	if w.err == nil && w.steps%512 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse HTML: %w", w.ctx.Err())
	}
	return w.err == nil
}

func (w *htmlWalker) flow(node *html.Node) { w.children(node, 0) }

func (w *htmlWalker) children(node *html.Node, depth int) {
	for child := node.FirstChild; child != nil && w.alive(); child = child.NextSibling {
		w.node(child, depth)
	}
}

// flush ends the paragraph of the inline text so far.
func (w *htmlWalker) flush() {
	if w.line.Len() == 0 {
		return
	}
	text := inline.FoldBreaks(w.line.String())
	w.line.Reset()
	if text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

func (w *htmlWalker) emit(block document.Block) {
	w.flush()
	if !block.Blank() {
		w.blocks = append(w.blocks, block)
	}
}

// leftOut reports what gives no text.
func (w *htmlWalker) leftOut(node *html.Node) bool {
	return node.Type != html.ElementNode || isSkipped(node) || !w.concealed && isConcealed(node) || !w.whole && !w.framed && isFrame(node)
}

// node handles one node of the flow.
func (w *htmlWalker) node(node *html.Node, depth int) {
	switch {
	case w.dropped[node]:
		return
	case node.Type == html.TextNode:
		w.line.WriteString(node.Data)
		return
	case isMathScript(node):
		w.line.WriteString(scriptMath(node))
		return
	case w.leftOut(node):
		return
	}
	switch node.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(node, int(node.Data[1]-'0'))
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(node, depth)
	case atom.Dl:
		w.definitions(node, depth)
	case atom.Table:
		w.table(node, depth)
	case atom.Pre, atom.Listing, atom.Xmp, atom.Plaintext:
		w.emit(document.Block{Kind: document.Code, Language: codeLanguageOf(node), Text: codeText(node)})
	case atom.Blockquote:
		w.flush()
		compose.Quote(w.read(node, depth), w.emit)
	case atom.Br:
		w.line.WriteByte(0)
	case atom.A, atom.Span:
		w.remember(node)
		w.inlineOrFlow(node, depth)
	case atom.P:
		w.paragraph(node, depth)
	case atom.Figure:
		w.figure(node, depth)
	default:
		if isInlineElement(node.DataAtom) || node.DataAtom == 0 {
			w.inlineOrFlow(node, depth)
			return
		}
		if level := headingRole(node); level > 0 {
			w.heading(node, level)
			return
		}
		w.remember(node)
		w.flush()
		if isAdmonition(node) {
			w.admonition(node, depth)
			return
		}
		w.children(node, depth+1)
		w.flush()
	}
}

// isAdmonition reports the boxes in which generators set notes and warnings apart.
func isAdmonition(node *html.Node) bool {
	if node.DataAtom != atom.Div && node.DataAtom != atom.Aside {
		return false
	}
	for class := range strings.FieldsSeq(attributeOf(node, "class")) {
		switch class {
		case "admonition", "admonitionblock", "markdown-alert", "theme-admonition", "callout":
			return true
		}
	}
	return false
}

// admonition gives a quotation; a label of a few words at its beginning is made bold, as readers of other formats do.
func (w *htmlWalker) admonition(node *html.Node, depth int) {
	const label = 3
	blocks := w.read(node, depth)
	if len(blocks) > 1 && blocks[0].Kind == document.Paragraph && inline.CountWords(blocks[0].Text) <= label && !strings.Contains(blocks[0].Text, "](") {
		blocks = compose.Titled(strings.TrimRight(strings.Join(strings.Fields(blocks[0].Text), " "), ":"), blocks[1:])
	}
	compose.Quote(blocks, w.emit)
}

// inlineOrFlow handles an element that stands in a line, or that holds blocks against its nature: a card that is one link,
// a button that opens a section, an element of a kind of its own.
func (w *htmlWalker) inlineOrFlow(node *html.Node, depth int) {
	if holdsBlock(node) {
		w.flush()
		w.children(node, depth+1)
		w.flush()
		return
	}
	if node.DataAtom == atom.Code && w.line.Len() == 0 && isCodeBlock(node) {
		w.emit(document.Block{Kind: document.Code, Language: codeLanguageOf(node), Text: codeText(node)})
		return
	}
	w.writeInline(&w.line, node, true)
}

// paragraph handles a p element; those that a word processor wrote may be titles and items of lists.
func (w *htmlWalker) paragraph(node *html.Node, depth int) {
	w.remember(node)
	w.flush()
	if w.wordParagraph(node) {
		return
	}
	w.children(node, depth+1)
	w.flush()
}

// remember keeps the id of a section, or of an empty anchor, which is the anchor of its heading in many pages.
func (w *htmlWalker) remember(node *html.Node) {
	switch node.DataAtom {
	case atom.Section, atom.Div, atom.Article:
		if id := attributeOf(node, "id"); id != "" {
			w.pending = id
		}
	case atom.A, atom.Span:
		if node.FirstChild == nil || strings.TrimSpace(rawText(node)) == "" {
			if id := ownID(node); id != "" {
				w.pending = id
			}
			return
		}
		w.pending = ""
	case atom.P:
		w.pending = ""
	}
}

// headingRole returns the level of an element that is a heading by its role, 0 for others.
func headingRole(node *html.Node) int {
	if !strings.EqualFold(attributeOf(node, "role"), "heading") {
		return 0
	}
	if level := attributeOf(node, "aria-level"); len(level) == 1 && "1" <= level && level <= "6" {
		return int(level[0] - '0')
	}
	return 2
}

func (w *htmlWalker) heading(node *html.Node, level int) {
	text := headingText(inline.FoldBreaks(w.plain(node)))
	id := ownID(node)
	if id == "" {
		id = firstID(node)
	}
	if id == "" && w.leads(node) {
		id = w.pending
	}
	w.pending = ""
	if text == "" {
		return
	}
	if len(text) > compose.MaxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	w.level = level
	w.emit(document.Block{Kind: document.Heading, Level: level, Text: text, Anchor: w.anchors.Take(id, text)})
}

// leads reports a heading before which nothing stands in its section but the anchor that was met last.
func (w *htmlWalker) leads(node *html.Node) bool {
	for before := node.PrevSibling; before != nil; before = before.PrevSibling {
		switch {
		case before.Type == html.CommentNode, before.Type == html.TextNode && strings.TrimSpace(before.Data) == "":
		case before.Type == html.ElementNode && (before.DataAtom == atom.A || before.DataAtom == atom.Span || before.DataAtom == atom.P):
			return ownID(before) == w.pending || firstID(before) == w.pending
		default:
			return false
		}
	}
	return true
}

// headingText takes away what generators put beside a heading.
func headingText(text string) string {
	return strings.TrimSpace(strings.TrimRight(strings.ReplaceAll(text, "\n", " "), "¶#§🔗 \u200b\uf0c1"))
}

// figure handles a picture with its caption, which often says the same as its text for those who do not see it.
func (w *htmlWalker) figure(node *html.Node, depth int) {
	w.flush()
	before := len(w.blocks)
	w.children(node, depth+1)
	w.flush()
	last := len(w.blocks) - 1
	if last > before && w.blocks[last].Kind == document.Paragraph && w.blocks[last-1].Kind == document.Paragraph &&
		strings.Contains(w.blocks[last].Text, w.blocks[last-1].Text) {
		w.blocks[last-1] = w.blocks[last]
		w.blocks = w.blocks[:last]
	}
}
