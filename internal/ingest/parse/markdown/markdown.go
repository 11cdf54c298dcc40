package markdown

import (
	"context"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/frontmatter"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/ingest/parse/sitetemplate"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads Markdown and MDX with front matter. Inline markup stays as it is, except HTML and the markup of site
// generators.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	meta, body, problem := frontmatter.Cut(in.Text)
	draft := &document.Draft{Meta: meta, Prose: true, Extra: make(map[string]any)}
	var err error
	if problem != nil {
		draft.Extra["front_matter_error"] = safetext.TruncateBytes(problem.Error(), 300)
	}
	draft.Blocks, err = Fragment(ctx, sitetemplate.Strip(body, in.Format == "mdx"), make(document.Anchors))
	if err != nil {
		return nil, err
	}
	return draft, nil
}

// Fragment returns the blocks of a piece of Markdown inside another document, with its footnotes last. The anchors are
// those of the whole document.
func Fragment(ctx context.Context, text string, anchors document.Anchors) ([]document.Block, error) {
	w := walker{ctx: ctx, anchors: anchors, footnotes: &footnotes{}}
	w.footnotes.collectLabels(text)
	w.parse(text, 0)
	for _, note := range w.footnotes.texts {
		w.emit(document.Block{Kind: document.Paragraph, Text: note})
	}
	return w.blocks, w.err
}

// walker turns a syntax tree into blocks.
type walker struct {
	ctx           context.Context
	content       []byte
	references    parser.Context
	hasReferences bool // whether the text defines link references
	expandedBytes int  // bytes of targets that replaced references
	anchors       document.Anchors
	footnotes     *footnotes
	blocks        []document.Block
	steps         int
	err           error
}

// parse reads a text that is nested depth levels deep.
func (w *walker) parse(body string, depth int) {
	w.content = []byte(breakWideTables(breakDefinitions(flattenNesting(body))))
	w.references = parser.NewContext()
	root := newParser().Parse(text.NewReader(w.content), parser.WithContext(w.references))
	w.hasReferences = len(w.references.References()) > 0
	w.children(root, depth)
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (w *walker) ok() bool {
	w.steps++
	if w.err == nil && w.steps%256 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse Markdown: %w", w.ctx.Err())
	}
	return w.err == nil
}

func (w *walker) children(node ast.Node, depth int) {
	for child := node.FirstChild(); child != nil && w.ok(); child = child.NextSibling() {
		w.block(child, depth)
	}
}

func (w *walker) emit(block document.Block) { w.blocks = append(w.blocks, block) }

func (w *walker) block(node ast.Node, depth int) {
	switch node := node.(type) {
	case *ast.Heading:
		w.heading(node)
	case *ast.Paragraph, *ast.TextBlock:
		if text := w.prose(node); !isTableOfContents(text) {
			w.emit(document.Block{Kind: document.Paragraph, Text: text})
		}
	case *ast.FencedCodeBlock:
		info := ""
		if node.Info != nil {
			info = string(node.Info.Value(w.content))
		}
		if code := w.source(node); !w.directive(info, code, depth) {
			w.emit(document.Block{Kind: document.Code, Language: inline.FenceLanguage(info), Text: strings.Trim(code, "\n")})
		}
	case *formula:
		w.emit(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(w.source(node))})
	case *footnote:
		w.footnote(node, depth)
	case *admonition:
		w.admonition(node, depth)
	case *extast.DefinitionList:
		w.definitions(node, depth)
	case *ast.CodeBlock:
		w.emit(document.Block{Kind: document.Code, Text: strings.Trim(w.source(node), "\n")})
	case *ast.HTMLBlock:
		raw := w.source(node)
		if node.HasClosure() {
			raw += string(node.ClosureLine.Value(w.content))
		}
		w.html(raw)
	case *ast.Blockquote:
		w.quote(node, depth)
	case *ast.List:
		w.list(node, depth)
	case *extast.Table:
		w.table(node)
	case *ast.ThematicBreak, *ast.LinkReferenceDefinition:
	default:
		w.children(node, depth+1)
	}
}

// source returns the source lines of a block without the markers of the blocks around it.
func (w *walker) source(node ast.Node) string {
	segments := node.Lines()
	if segments == nil {
		return ""
	}
	var b strings.Builder
	for i := range segments.Len() {
		segment := segments.At(i)
		b.Write(segment.Value(w.content))
	}
	return b.String()
}

func (w *walker) prose(node ast.Node) string {
	raw := w.source(node)
	if w.hasReferences {
		raw = w.resolveReferences(raw)
	}
	return strings.TrimSpace(inline.FromHTML(w.cleanInline(raw)))
}

func (w *walker) heading(node *ast.Heading) {
	raw := strings.TrimSpace(w.source(node))
	raw, id := cutID(raw)
	if w.hasReferences {
		raw = w.resolveReferences(raw)
	}
	raw = w.cleanInline(raw)
	if len(raw) > compose.MaxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(inline.FromHTML(raw))})
		return
	}
	title := inline.PlainText(raw)
	if title == "" {
		return
	}
	w.emit(document.Block{Kind: document.Heading, Level: node.Level, Text: title, Anchor: w.anchors.Take(id, title)})
}

// cutID cuts {#id} or {: #id} off the end of a heading.
func cutID(raw string) (title, id string) {
	if !strings.HasSuffix(raw, "}") {
		return raw, ""
	}
	start := strings.LastIndexByte(raw, '{')
	if start < 0 {
		return raw, ""
	}
	for _, word := range strings.Fields(strings.TrimPrefix(raw[start+1:len(raw)-1], ":")) {
		switch {
		case word[0] == '#' && len(word) > 1:
			id = word[1:]
		case word[0] == '.' || strings.Contains(word, "="):
		default:
			return raw, ""
		}
	}
	return strings.TrimSpace(raw[:start]), id
}

func (w *walker) html(raw string) {
	found := htmldoc.Fragment(w.ctx, raw, w.anchors)
	w.blocks = append(w.blocks, found...)
}

// quote emits the text of a quotation. Code and tables in it stay blocks of their own.
func (w *walker) quote(node ast.Node, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Quote, Text: inline.FromHTML(w.flatText(node))})
		return
	}
	blocks := w.inner(node, depth)
	if len(blocks) > 0 && blocks[0].Kind == document.Paragraph {
		if label, rest, found := strings.Cut(strings.TrimPrefix(blocks[0].Text, "[!"), "]"); found && compose.AdmonitionLabel(strings.ToUpper(label)) != "" &&
			strings.HasPrefix(blocks[0].Text, "[!") {
			blocks[0].Text = strings.TrimSpace(rest)
			if blocks[0].Text == "" {
				blocks = blocks[1:]
			}
			blocks = compose.Titled(compose.AdmonitionLabel(strings.ToUpper(label)), blocks)
		}
	}
	compose.Quote(blocks, w.emit)
}

// inner returns the blocks inside a block.
func (w *walker) inner(node ast.Node, depth int) []document.Block {
	inner := walker{
		ctx: w.ctx, content: w.content, references: w.references, hasReferences: w.hasReferences, anchors: w.anchors, footnotes: w.footnotes, steps: w.steps, err: w.err,
	}
	inner.children(node, depth+1)
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

// footnote keeps a footnote for the end of the file.
func (w *walker) footnote(node *footnote, depth int) {
	for i, block := range compose.Labelled("["+node.label+"] ", w.inner(node, depth)) {
		switch {
		case block.Kind == document.Code || block.Kind == document.Table:
			w.emit(block)
		case i == 0:
			w.footnotes.texts = append(w.footnotes.texts, block.Text)
		default:
			w.footnotes.texts[len(w.footnotes.texts)-1] += "\n" + block.Text
		}
	}
}

// admonition emits an admonition as a quotation with a label, and a tab below its title.
func (w *walker) admonition(node *admonition, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Quote, Text: inline.FromHTML(w.flatText(node))})
		return
	}
	blocks := w.inner(node, depth)
	if !node.tab {
		compose.Quote(compose.Titled(inline.PlainText(node.label), blocks), w.emit)
		return
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: "**" + inline.PlainText(node.label) + "**"})
	w.emitAll(blocks)
}

// definitions emits a list of "term: meaning".
func (w *walker) definitions(node ast.Node, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Paragraph, Text: inline.FromHTML(w.flatText(node))})
		return
	}
	items := compose.List{Emit: w.emit}
	var terms []string
	for child := node.FirstChild(); child != nil && w.ok(); child = child.NextSibling() {
		if _, isTerm := child.(*extast.DefinitionTerm); isTerm {
			terms = append(terms, w.prose(child))
			continue
		}
		blocks := w.inner(child, depth)
		if len(terms) > 0 {
			blocks = compose.Labelled(strings.Join(terms, ", ")+": ", blocks)
			terms = nil
			items.Item("- ", 0, blocks)
			continue
		}
		items.Item("  ", 0, blocks)
	}
	items.Flush()
}

// flatText returns the source of all blocks below a node.
func (w *walker) flatText(node ast.Node) string {
	var parts []string
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			parts = append(parts, strings.TrimRight(w.source(n), "\n"))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(parts, "\n")
}

func (w *walker) table(node *extast.Table) {
	var header []string
	var rows [][]string
	for row := node.FirstChild(); row != nil && w.ok(); row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			cells = append(cells, w.prose(cell))
		}
		if _, isHeader := row.(*extast.TableHeader); isHeader {
			header = cells
		} else {
			rows = append(rows, cells)
		}
	}
	w.emit(document.NewTable(header, rows))
}
