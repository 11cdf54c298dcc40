package markdown

import (
	"context"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/frontmatter"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/ingest/parse/sitetemplate"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Read reads Markdown (CommonMark with GitHub's tables) and MDX, with front matter. The inline structure is left
// as it is written, but for HTML and the marks of site generators.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	meta, body, problem := frontmatter.Cut(r.Text)
	found := &document.Draft{Meta: meta, Prose: true, Extra: make(map[string]any)}
	var err error
	if problem != nil {
		found.Extra["front_matter_error"] = safetext.TruncateBytes(problem.Error(), 300)
	}
	found.Blocks, err = Fragment(ctx, sitetemplate.Strip(body, r.Format == "mdx"), make(document.Anchors))
	if err != nil {
		return nil, err
	}
	return found, nil
}

// Fragment returns the blocks of a piece of Markdown inside another document; its footnotes come last. The anchors are
// those of the whole document.
func Fragment(ctx context.Context, text string, anchors document.Anchors) ([]document.Block, error) {
	w := markdownWalker{ctx: ctx, anchors: anchors, notes: &markdownNotes{}}
	w.notes.survey(text)
	w.parse(text, 0)
	for _, note := range w.notes.texts {
		w.emit(document.Block{Kind: document.Paragraph, Text: note})
	}
	return w.blocks, w.err
}

// markdownWalker turns a syntax tree into blocks.
type markdownWalker struct {
	ctx        context.Context
	source     []byte
	references parser.Context
	linked     bool // whether the text defines links by name
	expanded   int  // bytes of the targets that names of links were replaced by
	anchors    document.Anchors
	notes      *markdownNotes
	blocks     []document.Block
	steps      int
	err        error
}

// parse reads a text that stands so deep in others.
func (w *markdownWalker) parse(body string, depth int) {
	w.source = []byte(breakWideTables(breakDefinitions(flatten(body))))
	w.references = parser.NewContext()
	root := markdownParser().Parse(text.NewReader(w.source), parser.WithContext(w.references))
	w.linked = len(w.references.References()) > 0
	w.children(root, depth)
}

// maxExpansion is how many bytes of targets a short text may get for the names of links.
const maxExpansion = 1 << 20

// maxDefinitions is how many definitions of links may follow each other: a parser moves those that are left each time it
// has read one.
const maxDefinitions = 200

// breakDefinitions puts an empty line into long lists of definitions of links, which changes nothing in what they mean.
func breakDefinitions(body string) string {
	if strings.Count(body, "]:") <= maxDefinitions {
		return body
	}
	var b strings.Builder
	b.Grow(len(body) + len(body)/maxDefinitions)
	run := 0
	for line := range strings.Lines(body) {
		name, target, found := strings.Cut(strings.TrimLeft(line, " "), "]:")
		if !found || !strings.HasPrefix(name, "[") || strings.TrimSpace(target) == "" {
			run = 0
		} else if run++; run%maxDefinitions == 0 {
			b.WriteByte('\n')
		}
		b.WriteString(line)
	}
	return b.String()
}

// flatten takes away the nesting of lines that open more quotes or lists than anyone writes: a parser spends time on
// each level for each line.
func flatten(body string) string {
	deep := func(line string) bool {
		marks := 0
		for i := range len(line) {
			switch line[i] {
			case ' ', '\t':
			case '>', '-', '*', '+':
				if marks++; marks > compose.MaxNesting {
					return true
				}
			case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			case '.', ')':
				if i == 0 || line[i-1] < '0' || line[i-1] > '9' || i+1 < len(line) && line[i+1] != ' ' && line[i+1] != '\t' && line[i+1] != '\n' {
					return false
				}
				if marks++; marks > compose.MaxNesting {
					return true
				}
			default:
				return i > 40*compose.MaxNesting
			}
		}
		return false
	}
	found := false
	for line := range strings.Lines(body) {
		if deep(line) {
			found = true
			break
		}
	}
	if !found {
		return body
	}
	var b strings.Builder
	b.Grow(len(body))
	for line := range strings.Lines(body) {
		if deep(line) && strings.Trim(line, "-* \t\n") != "" {
			line = strings.TrimLeft(line, " \t>-*+")
			if digits := len(line) - len(strings.TrimLeft(line, "0123456789")); digits > 0 {
				line = line[:digits] + "\\" + line[digits:] // a number that begins no list
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// breakWideTables takes the line under the header away from tables with more cells than anyone writes, which leaves their
// text: a parser makes every cell of every row, those that are missing too.
func breakWideTables(body string) string {
	const most = 1 << 19
	if strings.Count(body, "|") == 0 {
		return body
	}
	var out []byte
	copied, at := 0, 0
	columns, start, end, rows := 0, 0, 0, 0 // of the table that may be open
	check := func() {
		if columns > 0 && (columns > document.MaxColumns || columns*rows > most) {
			out = append(append(out, body[copied:start]...), "\\\n"...)
			copied = end
		}
		columns = 0
	}
	for line := range strings.Lines(body) {
		bars := 0
		if strings.Contains(line, "-") && strings.Trim(line, "|-: \t\n>") == "" {
			bars = strings.Count(line, "|") + 1
		}
		switch {
		case columns > 0 && strings.TrimSpace(line) == "":
			check()
		case columns > 0:
			rows++
		case bars > 1:
			columns, start, end, rows = bars, at, at+len(line), 1
		}
		at += len(line)
	}
	check()
	if copied == 0 {
		return body
	}
	return string(append(out, body[copied:]...))
}

func (w *markdownWalker) alive() bool {
	w.steps++
	if w.err == nil && w.steps%256 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse Markdown: %w", w.ctx.Err())
	}
	return w.err == nil
}

func (w *markdownWalker) children(node ast.Node, depth int) {
	for child := node.FirstChild(); child != nil && w.alive(); child = child.NextSibling() {
		w.block(child, depth)
	}
}

func (w *markdownWalker) emit(block document.Block) { w.blocks = append(w.blocks, block) }

func (w *markdownWalker) block(node ast.Node, depth int) {
	switch node := node.(type) {
	case *ast.Heading:
		w.heading(node)
	case *ast.Paragraph, *ast.TextBlock:
		if text := w.prose(node); !isMarker(text) {
			w.emit(document.Block{Kind: document.Paragraph, Text: text})
		}
	case *ast.FencedCodeBlock:
		info := ""
		if node.Info != nil {
			info = string(node.Info.Value(w.source))
		}
		if code := w.lines(node); !w.directive(info, code, depth) {
			w.emit(document.Block{Kind: document.Code, Language: inline.FenceLanguage(info), Text: strings.Trim(code, "\n")})
		}
	case *markdownFormula:
		w.emit(document.Block{Kind: document.Paragraph, Text: strings.TrimSpace(w.lines(node))})
	case *markdownNote:
		w.note(node, depth)
	case *markdownAside:
		w.aside(node, depth)
	case *extast.DefinitionList:
		w.definitions(node, depth)
	case *ast.CodeBlock:
		w.emit(document.Block{Kind: document.Code, Text: strings.Trim(w.lines(node), "\n")})
	case *ast.HTMLBlock:
		raw := w.lines(node)
		if node.HasClosure() {
			raw += string(node.ClosureLine.Value(w.source))
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

// lines returns the source lines of a block without the marks of what it stands in.
func (w *markdownWalker) lines(node ast.Node) string {
	segments := node.Lines()
	if segments == nil {
		return ""
	}
	var b strings.Builder
	for i := range segments.Len() {
		segment := segments.At(i)
		b.Write(segment.Value(w.source))
	}
	return b.String()
}

func (w *markdownWalker) prose(node ast.Node) string {
	raw := w.lines(node)
	if w.linked {
		raw = w.resolve(raw)
	}
	return strings.TrimSpace(inline.FromHTML(w.tidy(raw)))
}

func (w *markdownWalker) heading(node *ast.Heading) {
	raw := strings.TrimSpace(w.lines(node))
	raw, id := headingID(raw)
	if w.linked {
		raw = w.resolve(raw)
	}
	raw = w.tidy(raw)
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

// headingID takes {#id} or {: #id} off the end of a heading.
func headingID(raw string) (title, id string) {
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

func (w *markdownWalker) html(raw string) {
	found := htmldoc.Fragment(w.ctx, raw, w.anchors)
	w.blocks = append(w.blocks, found...)
}

// quote gives one block for the text of a quotation; code and tables in it stay blocks of their own.
func (w *markdownWalker) quote(node ast.Node, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Quote, Text: inline.FromHTML(w.deepText(node))})
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
func (w *markdownWalker) inner(node ast.Node, depth int) []document.Block {
	inner := markdownWalker{
		ctx: w.ctx, source: w.source, references: w.references, linked: w.linked, anchors: w.anchors, notes: w.notes, steps: w.steps, err: w.err,
	}
	inner.children(node, depth+1)
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

// note keeps a footnote for the end of the file.
func (w *markdownWalker) note(node *markdownNote, depth int) {
	for i, block := range compose.Labelled("["+node.label+"] ", w.inner(node, depth)) {
		switch {
		case block.Kind == document.Code || block.Kind == document.Table:
			w.emit(block)
		case i == 0:
			w.notes.texts = append(w.notes.texts, block.Text)
		default:
			w.notes.texts[len(w.notes.texts)-1] += "\n" + block.Text
		}
	}
}

// aside emits a text that is set apart as a quotation under its label, and a tab under its title.
func (w *markdownWalker) aside(node *markdownAside, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Quote, Text: inline.FromHTML(w.deepText(node))})
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
func (w *markdownWalker) definitions(node ast.Node, depth int) {
	if depth >= compose.MaxNesting {
		w.emit(document.Block{Kind: document.Paragraph, Text: inline.FromHTML(w.deepText(node))})
		return
	}
	items := compose.List{Emit: w.emit}
	var terms []string
	for child := node.FirstChild(); child != nil && w.alive(); child = child.NextSibling() {
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

// deepText returns the text of all there is below a node.
func (w *markdownWalker) deepText(node ast.Node) string {
	var parts []string
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering && n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			parts = append(parts, strings.TrimRight(w.lines(n), "\n"))
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(parts, "\n")
}

func (w *markdownWalker) table(node *extast.Table) {
	var header []string
	var rows [][]string
	for row := node.FirstChild(); row != nil && w.alive(); row = row.NextSibling() {
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

// resolve writes links by name as links by target, since a passage does not hold the definition.
func (w *markdownWalker) resolve(raw string) string {
	if !strings.Contains(raw, "[") {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		switch raw[i] {
		case '`':
			n := inline.SpanLength(raw[i:])
			b.WriteString(raw[i : i+n])
			i += n
			continue
		case '\\':
			n := min(2, len(raw)-i)
			b.WriteString(raw[i : i+n])
			i += n
			continue
		case '[':
			if link, n := w.named(raw[i:]); n > 0 {
				b.WriteString(link)
				i += n
				continue
			}
		}
		b.WriteByte(raw[i])
		i++
	}
	return b.String()
}

// named returns [label](target) for the [label][name], [label][] or [label] that raw starts with.
func (w *markdownWalker) named(raw string) (string, int) {
	end := inline.ClosingBracket(raw, '[', ']')
	if end <= 1 {
		return "", 0
	}
	label, name, n := raw[1:end], raw[1:end], end+1
	if n < len(raw) && raw[n] == '(' {
		return "", 0
	}
	if n < len(raw) && raw[n] == '[' {
		if stop := inline.ClosingBracket(raw[n:], '[', ']'); stop > 0 {
			if stop > 1 {
				name = raw[n+1 : n+stop]
			}
			n += stop + 1
		}
	}
	reference, found := w.references.Reference(util.ToLinkReference([]byte(name)))
	if !found {
		return "", 0
	}
	target := inline.EscapeTarget(string(reference.Destination()))
	if w.expanded += len(target); w.expanded > maxExpansion+4*len(w.source) {
		return "", 0 // the text stays as it is written
	}
	return "[" + label + "](" + target + ")", n
}
