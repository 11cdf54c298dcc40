package parse

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"magpie/internal/ingest/document"
)

// maxElements is from how many tags on no tree is built of a page.
const maxElements = 1 << 20

var errTooManyElements = errors.New("the page has too many elements")

// readHTML reads a web page: its main part where it marks one, else all of its body without navigation, page header and
// footer.
func readHTML(ctx context.Context, r request) (*document.Draft, error) {
	found := &document.Draft{Meta: make(map[string]any), Prose: true, Extra: make(map[string]any)}
	w := htmlWalker{ctx: ctx, anchors: make(document.Anchors)}
	var root *html.Node
	err := errTooManyElements
	if strings.Count(r.text, "<") <= maxElements {
		root, err = html.Parse(strings.NewReader(r.text))
	}
	if err != nil {
		// The tree builder also refuses elements nested hundreds deep. Their text can still be read.
		found.Extra["structure_error"] = document.Truncate(err.Error(), 200)
		found.Blocks, err = htmlTokens(ctx, r.text)
		return found, err
	}
	page := surveyPage(root)
	page.describe(found)
	w.flow(page.content())
	w.flush()
	if w.err != nil {
		return nil, w.err
	}
	found.Blocks = w.blocks
	return found, nil
}

// htmlFragment reads a piece of HTML inside Markdown.
func htmlFragment(ctx context.Context, raw string, taken document.Anchors) []document.Block {
	body := &html.Node{Type: html.ElementNode, Data: "body", DataAtom: atom.Body}
	nodes, err := html.ParseFragment(strings.NewReader(raw), body)
	if err != nil {
		blocks, err := htmlTokens(ctx, raw)
		if err != nil {
			return nil
		}
		return blocks
	}
	w := htmlWalker{ctx: ctx, anchors: taken, fragment: true}
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

func isInlineElement(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.B, atom.Cite, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp, atom.Small,
		atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Var, atom.Font, atom.Time, atom.Wbr, atom.Label, atom.Del, atom.Ins,
		atom.Bdi, atom.Bdo, atom.Dfn, atom.Data, atom.Tt, atom.Strike, atom.Big, atom.Img, atom.Input, atom.Button, atom.Br:
		return true
	}
	return false
}

// htmlWalker turns elements into blocks. Text that stands between block elements is collected into paragraphs.
type htmlWalker struct {
	ctx      context.Context
	anchors  document.Anchors
	fragment bool // inside Markdown: nothing is left out as the page's frame
	blocks   []document.Block
	line     strings.Builder // inline text since the last block
	pending  string          // id of an element before a heading that has none itself
	steps    int
	err      error
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
	text := squeeze(w.line.String())
	w.line.Reset()
	if text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

// squeeze folds blanks and keeps the line breaks that <br> stands for.
func squeeze(text string) string {
	lines := strings.Split(text, "\x00")
	kept := lines[:0]
	for _, line := range lines {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (w *htmlWalker) emit(block document.Block) {
	w.flush()
	if !block.Blank() {
		w.blocks = append(w.blocks, block)
	}
}

// node handles one node of the flow.
func (w *htmlWalker) node(node *html.Node, depth int) {
	if node.Type == html.TextNode {
		w.line.WriteString(node.Data)
		return
	}
	if node.Type != html.ElementNode || isHidden(node) || !w.fragment && isFrame(node) {
		return
	}
	switch node.DataAtom {
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		w.heading(node)
	case atom.Ul, atom.Ol, atom.Menu:
		w.list(node, depth)
	case atom.Table:
		w.table(node, depth)
	case atom.Pre, atom.Textarea, atom.Listing, atom.Xmp:
		w.emit(document.Block{Kind: document.Code, Language: codeLanguageOf(node), Text: strings.Trim(rawText(node), "\n")})
	case atom.Blockquote:
		w.quote(node, depth)
	case atom.Br:
		w.line.WriteByte(0)
	case atom.Dt, atom.Summary, atom.Figcaption, atom.Caption:
		w.flush()
		w.children(node, depth+1)
		w.flush()
	default:
		switch {
		case isInlineElement(node.DataAtom):
			w.line.WriteString(w.inline(node))
		default:
			w.remember(node)
			w.flush()
			w.children(node, depth+1)
			w.flush()
		}
	}
}

// remember keeps the id of a section, which is the anchor of its heading in many pages.
func (w *htmlWalker) remember(node *html.Node) {
	if id := attributeOf(node, "id"); id != "" && (node.DataAtom == atom.Section || node.DataAtom == atom.Div || node.DataAtom == atom.Article) {
		w.pending = id
	}
}

func (w *htmlWalker) heading(node *html.Node) {
	text := strings.TrimRight(squeeze(w.plain(node)), "¶# \u200b")
	id := attributeOf(node, "id")
	if id == "" {
		id = firstID(node)
	}
	if id == "" && node.Parent != nil && firstElement(node.Parent) == node {
		id = w.pending
	}
	w.pending = ""
	if text == "" {
		return
	}
	text = strings.ReplaceAll(text, "\n", " ")
	if len(text) > maxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	w.emit(document.Block{Kind: document.Heading, Level: int(node.Data[1] - '0'), Text: text, Anchor: w.anchors.Take(id, text)})
}

func (w *htmlWalker) quote(node *html.Node, depth int) {
	w.flush()
	inner := htmlWalker{ctx: w.ctx, anchors: w.anchors, fragment: true, steps: w.steps}
	inner.children(node, depth+1)
	inner.flush()
	w.steps, w.err = inner.steps, errors.Join(w.err, inner.err)
	var parts []string
	for i := range inner.blocks {
		switch block := inner.blocks[i]; block.Kind {
		case document.Paragraph, document.List, document.Quote:
			parts = append(parts, block.Markdown())
		case document.Heading, document.Code, document.Table:
			w.emit(document.Block{Kind: document.Quote, Text: strings.Join(parts, "\n\n")})
			parts = nil
			w.emit(block)
		}
	}
	w.emit(document.Block{Kind: document.Quote, Text: strings.Join(parts, "\n\n")})
}
