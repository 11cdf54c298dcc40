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

// maxElements is how many tags a page may have if a tree is built of it.
const maxElements = 1 << 20

var errTooManyElements = errors.New("the page has too many elements")

// Read reads the main content of a web page, as extract finds it. The body of a mail and the chapter of a book have no
// navigation around them: all their visible text is kept.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	draft := &document.Draft{Meta: make(map[string]any), Prose: true, Extra: make(map[string]any)}
	source := closeElements(in.Text)
	var root *html.Node
	err := errTooManyElements
	if strings.Count(source, "<") <= maxElements {
		root, err = html.Parse(strings.NewReader(source))
	}
	if err != nil {
		// The tree builder also refuses elements nested hundreds deep. Their text can still be read.
		draft.Extra["structure_error"] = safetext.TruncateBytes(err.Error(), 200)
		draft.Blocks, err = readTokens(ctx, source)
		return draft, err
	}
	page := surveyPage(root)
	page.describe(draft)
	w := walker{ctx: ctx, anchors: make(document.Anchors), base: page.base}
	if err := w.page(page, isBodyOrChapter(in, page)); err != nil {
		return nil, err
	}
	w.missingAnswers(page.data)
	if w.err != nil {
		return nil, w.err
	}
	draft.Blocks = w.blocks
	return draft, nil
}

// isBodyOrChapter reports whether a file is no page of a site: the body of a mail, or the chapter of a book, which is
// an XHTML file that declares the namespace of EPUB.
func isBodyOrChapter(in document.Text, page *pageSurvey) bool {
	return in.Name == "body.html" || strings.HasPrefix(in.MediaType, "application/xhtml+xml") || page.isChapter
}

// page reads a page. If the extractor leaves hardly any text, more and more of the page is read.
func (w *walker) page(page *pageSurvey, keepAll bool) error {
	w.keepAll = keepAll
	if !keepAll {
		main, err := extract(w.ctx, page)
		if err != nil {
			return err
		}
		w.dropped, w.keepChrome = main.dropped, main.keepChrome
		for i, node := range main.before {
			w.node(node, 0)
			if i+1 == len(main.before) || main.before[i+1] != node.NextSibling {
				w.flush()
			}
		}
		w.readFlow(main.root)
	} else {
		w.readFlow(page.body)
	}
	w.flush()
	if w.err == nil && len(w.blocks) == 0 {
		w.dropped, w.keepChrome, w.keepAll, w.keepHidden = nil, true, true, true
		w.readFlow(page.body)
		w.flush()
	}
	if w.err == nil && countWords(w.blocks) < minWords {
		w.fallbacks(page)
	}
	return w.err
}

// minWords is how few words make it likely that the text of a page is somewhere else: in frames, or in fallbacks for
// browsers without scripts.
const minWords = 20

func countWords(blocks []document.Block) int {
	words := 0
	for i := range blocks {
		words += inline.CountWords(blocks[i].Text)
		if blocks[i].Kind == document.Table {
			words += minWords
		}
	}
	return words
}

// fallbacks reads the fallbacks of a page for browsers without scripts or frames, and the links to its frames.
func (w *walker) fallbacks(page *pageSurvey) {
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

// Fragment returns the blocks of a piece of HTML inside another document. The anchors are those of the whole document.
func Fragment(ctx context.Context, raw string, anchors document.Anchors) []document.Block {
	var nodes []*html.Node
	err := errTooManyElements
	if strings.Count(raw, "<") <= maxElements {
		body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
		nodes, err = html.ParseFragment(strings.NewReader(raw), body)
	}
	if err != nil {
		blocks, err := readTokens(ctx, raw)
		if err != nil {
			return nil
		}
		return blocks
	}
	w := walker{ctx: ctx, anchors: anchors, keepAll: true}
	for _, node := range nodes {
		w.node(node, 0)
	}
	w.flush()
	return w.blocks
}

// readTokens reads only the text of a page: a paragraph for each element that is not an inline element.
func readTokens(ctx context.Context, raw string) ([]document.Block, error) {
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

// walker turns elements into blocks. Text between block elements is collected into paragraphs.
type walker struct {
	ctx     context.Context
	anchors document.Anchors
	base    *url.URL // base of links, nil if the page declares none
	// keepAll turns off the removal of boilerplate, keepChrome keeps navigation, and keepHidden keeps hidden elements.
	keepAll, keepChrome, keepHidden bool
	dropped                         map[*html.Node]bool // nodes that the extractor removed
	blocks                          []document.Block
	line                            strings.Builder // inline text since the last block
	pendingID                       string          // id of an element before a heading without one
	level                           int             // of the last heading
	steps                           int
	err                             error
}

// inner returns a walker for the content of an element that becomes one block.
func (w *walker) inner() *walker {
	return &walker{
		ctx: w.ctx, anchors: w.anchors, base: w.base, keepAll: true, keepHidden: w.keepHidden, dropped: w.dropped, level: w.level,
		steps: w.steps, err: w.err,
	}
}

// read returns the blocks inside an element.
func (w *walker) read(node *html.Node, depth int) []document.Block {
	inner := w.inner()
	inner.children(node, depth+1)
	inner.flush()
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (w *walker) ok() bool {
	w.steps++
	if w.err == nil && w.steps%512 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse HTML: %w", w.ctx.Err())
	}
	return w.err == nil
}

func (w *walker) readFlow(node *html.Node) { w.children(node, 0) }

func (w *walker) children(node *html.Node, depth int) {
	for child := node.FirstChild; child != nil && w.ok(); child = child.NextSibling {
		w.node(child, depth)
	}
}

// flush ends the paragraph of the pending inline text.
func (w *walker) flush() {
	if w.line.Len() == 0 {
		return
	}
	text := inline.FoldBreaks(w.line.String())
	w.line.Reset()
	if text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

func (w *walker) emit(block document.Block) {
	w.flush()
	if !block.Blank() {
		w.blocks = append(w.blocks, block)
	}
}

// isLeftOut reports whether the text of a node is not read.
func (w *walker) isLeftOut(node *html.Node) bool {
	return node.Type != html.ElementNode || isSkipped(node) || !w.keepHidden && isHidden(node) || !w.keepAll && !w.keepChrome && isChrome(node)
}

// node reads a node.
func (w *walker) node(node *html.Node, depth int) {
	switch {
	case w.dropped[node]:
		return
	case node.Type == html.TextNode:
		w.line.WriteString(node.Data)
		return
	case isMathScript(node):
		w.line.WriteString(scriptMath(node))
		return
	case w.isLeftOut(node):
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
		w.emit(document.Block{Kind: document.Code, Language: codeLanguage(node), Text: codeText(node)})
	case atom.Blockquote:
		w.flush()
		compose.Quote(w.read(node, depth), w.emit)
	case atom.Br:
		w.line.WriteByte(0)
	case atom.A, atom.Span:
		w.rememberID(node)
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
		w.rememberID(node)
		w.flush()
		if isAdmonition(node) {
			w.admonition(node, depth)
			return
		}
		w.children(node, depth+1)
		w.flush()
	}
}

// isAdmonition reports whether an element is a box in which site generators put notes and warnings.
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

// admonition emits an admonition as a quotation. A label of a few words at its beginning becomes bold.
func (w *walker) admonition(node *html.Node, depth int) {
	const label = 3
	blocks := w.read(node, depth)
	if len(blocks) > 1 && blocks[0].Kind == document.Paragraph && inline.CountWords(blocks[0].Text) <= label && !strings.Contains(blocks[0].Text, "](") {
		blocks = compose.Titled(strings.TrimRight(strings.Join(strings.Fields(blocks[0].Text), " "), ":"), blocks[1:])
	}
	compose.Quote(blocks, w.emit)
}

// inlineOrFlow reads an element that is either inline or, against the rules, contains blocks: a card that is one link,
// a button that opens a section, or a custom element.
func (w *walker) inlineOrFlow(node *html.Node, depth int) {
	if containsBlock(node) {
		w.flush()
		w.children(node, depth+1)
		w.flush()
		return
	}
	if node.DataAtom == atom.Code && w.line.Len() == 0 && isCodeBlock(node) {
		w.emit(document.Block{Kind: document.Code, Language: codeLanguage(node), Text: codeText(node)})
		return
	}
	w.writeInline(&w.line, node, true)
}

// paragraph reads a p element. Word processors also write titles and list items as such.
func (w *walker) paragraph(node *html.Node, depth int) {
	w.rememberID(node)
	w.flush()
	if w.wordParagraph(node) {
		return
	}
	w.children(node, depth+1)
	w.flush()
}

// rememberID keeps the id of a section or an empty anchor. In many pages it is the anchor of the heading that follows.
func (w *walker) rememberID(node *html.Node) {
	switch node.DataAtom {
	case atom.Section, atom.Div, atom.Article:
		if id := attributeOf(node, "id"); id != "" {
			w.pendingID = id
		}
	case atom.A, atom.Span:
		if node.FirstChild == nil || strings.TrimSpace(rawText(node)) == "" {
			if id := ownID(node); id != "" {
				w.pendingID = id
			}
			return
		}
		w.pendingID = ""
	case atom.P:
		w.pendingID = ""
	}
}

// headingRole returns the level of an element whose role is heading, or 0.
func headingRole(node *html.Node) int {
	if !strings.EqualFold(attributeOf(node, "role"), "heading") {
		return 0
	}
	if level := attributeOf(node, "aria-level"); len(level) == 1 && "1" <= level && level <= "6" {
		return int(level[0] - '0')
	}
	return 2
}

func (w *walker) heading(node *html.Node, level int) {
	text := headingText(inline.FoldBreaks(w.plain(node)))
	id := ownID(node)
	if id == "" {
		id = firstID(node)
	}
	if id == "" && w.isFirstInSection(node) {
		id = w.pendingID
	}
	w.pendingID = ""
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

// isFirstInSection reports whether only the remembered anchor stands before a heading in its section.
func (w *walker) isFirstInSection(node *html.Node) bool {
	for before := node.PrevSibling; before != nil; before = before.PrevSibling {
		switch {
		case before.Type == html.CommentNode, before.Type == html.TextNode && strings.TrimSpace(before.Data) == "":
		case before.Type == html.ElementNode && (before.DataAtom == atom.A || before.DataAtom == atom.Span || before.DataAtom == atom.P):
			return ownID(before) == w.pendingID || firstID(before) == w.pendingID
		default:
			return false
		}
	}
	return true
}

// headingText returns the text of a heading without the signs that site generators add.
func headingText(text string) string {
	return strings.TrimSpace(strings.TrimRight(strings.ReplaceAll(text, "\n", " "), "¶#§🔗 \u200b\uf0c1"))
}

// figure reads a picture with its caption. The caption often repeats the alternative text.
func (w *walker) figure(node *html.Node, depth int) {
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
