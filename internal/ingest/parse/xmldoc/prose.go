package xmldoc

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// writer turns a document of prose into blocks.
type writer struct {
	ctx       context.Context
	anchors   document.Anchors
	meta      map[string]any
	language  string
	docType   string
	titles    map[string]string // of sections, by id
	blocks    []document.Block
	line      strings.Builder // inline text since the last block
	footnotes *[]string       // shared by nested writers
	level     int             // nesting of sections
	steps     int
	err       error
}

func (w *writer) draft() *document.Draft {
	return &document.Draft{Blocks: w.blocks, Meta: w.meta, Language: w.language, Prose: true, DocType: w.docType, Extra: make(map[string]any)}
}

// ok reports whether reading may go on. It checks the context in regular intervals.
func (w *writer) ok() bool {
	w.steps++
	if w.err == nil && w.steps%512 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse XML: %w", w.ctx.Err())
	}
	return w.err == nil
}

// readProse reads a whole document.
func (w *writer) readProse(root *element) {
	w.language = root.attr("lang")
	w.titles = make(map[string]string)
	w.collectTitles(root)
	var notes []string
	w.footnotes = &notes
	w.readElement(root)
	w.flush()
	for i, text := range notes {
		w.emit(document.Block{Kind: document.Paragraph, Text: "[" + strconv.Itoa(i+1) + "] " + text})
	}
}

// collectTitles finds the titles that cross references may name.
func (w *writer) collectTitles(node *element) {
	if id := node.attr("id"); id != "" && len(w.titles) < compose.MaxNames {
		title := node.child("title", "head", "refnamediv", "name")
		if title == nil {
			title = node.child("info").child("title")
		}
		if title != nil {
			w.titles[id] = safetext.TruncateBytes(title.line(), 500)
		}
	}
	for _, child := range node.children {
		w.collectTitles(child)
	}
}

func (w *writer) emit(block document.Block) {
	w.flush()
	if !block.Blank() {
		w.blocks = append(w.blocks, block)
	}
}

// flush ends the paragraph of the inline text so far.
func (w *writer) flush() {
	if w.line.Len() == 0 {
		return
	}
	text := inline.FoldBreaks(w.line.String())
	w.line.Reset()
	if text != "" {
		w.blocks = append(w.blocks, document.Block{Kind: document.Paragraph, Text: text})
	}
}

// read returns the blocks inside an element.
func (w *writer) read(node *element) []document.Block {
	inner := writer{ctx: w.ctx, anchors: w.anchors, meta: w.meta, titles: w.titles, footnotes: w.footnotes, level: w.level, steps: w.steps, err: w.err}
	inner.children(node)
	inner.flush()
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

func (w *writer) children(node *element) {
	mixed := node.isMixed()
	for _, child := range node.children {
		if !w.ok() {
			return
		}
		switch kind := kindOf(child.name); {
		case child.name == "":
			w.line.WriteString(expandEntities(child.text))
		case child.name == "ref" && child.child("mixed-citation", "element-citation", "nlm-citation") != nil:
			w.block(child)
		case kind == kindInline, kind == kindFootnote, mixed && (kind == kindTitle || kind == kindImage),
			kind == kindBlock && mixed && !isProseName(child.name) && !child.hasBlocks():
			w.writeInline(&w.line, child, true, 0)
			if !mixed {
				w.line.WriteByte(' ')
			}
		default:
			w.readElement(child)
		}
	}
}

// hasBlocks reports whether an element has block elements as children.
func (n *element) hasBlocks() bool {
	for _, child := range n.children {
		if child.name != "" && kindOf(child.name) != kindInline && kindOf(child.name) != kindSkipped && (isProseName(child.name) || kindOf(child.name) != kindBlock) {
			return true
		}
	}
	return false
}

// readElement reads a block element.
func (w *writer) readElement(node *element) {
	switch kindOf(node.name) {
	case kindSkipped:
	case kindSection:
		w.flush()
		w.level++
		w.children(node)
		w.flush()
		w.level--
	case kindTitle:
		w.title(node, "")
	case kindCode:
		w.code(node)
	case kindList:
		w.list(node)
	case kindTerms:
		w.terms(node)
	case kindTable:
		w.table(node)
	case kindAdmonition:
		w.admonition(node)
	case kindQuote:
		w.flush()
		compose.Quote(w.read(node), w.emit)
	case kindImage:
		w.image(node)
	case kindInfo:
		w.info(node)
	case kindFootnote:
		w.writeInline(&w.line, node, true, 0)
	case kindQuestion:
		w.question(node)
	case kindNames:
		w.flush()
		w.heading(min(max(w.level, 1), 6), strings.TrimRight(node.child("refname").line()+" — "+node.child("refpurpose").line(), " —"), node.attr("id"))
	default:
		w.block(node)
	}
}

// maxRecordBytes is how long a record may be to become one line.
const maxRecordBytes = 200

// block reads an element of no particular kind: a paragraph, or a container of paragraphs.
func (w *writer) block(node *element) {
	w.flush()
	if child := node.child("title", "caption", "head"); child != nil && (node.name == "figure" || node.name == "fig" || node.name == "example" ||
		node.name == "formalpara" || node.name == "informalfigure" || node.name == "equation" || node.name == "bibliodiv" || node.name == "boxed-text") {
		w.caption(child)
		w.childrenExcept(node, child)
		return
	}
	if !node.isMixed() && node.isRecord() {
		if text := node.joinedText(); len(text) <= maxRecordBytes {
			w.emit(document.Block{Kind: document.Paragraph, Text: text})
			return
		}
	}
	w.children(node)
	w.flush()
}

// childrenExcept reads the children of an element, except one.
func (w *writer) childrenExcept(node, left *element) {
	rest := element{name: node.name, attrs: node.attrs, children: make([]*element, 0, len(node.children))}
	for _, child := range node.children {
		if child != left {
			rest.children = append(rest.children, child)
		}
	}
	w.children(&rest)
	w.flush()
}

// isRecord reports whether an element has several children that hold only text and have no particular kind.
func (n *element) isRecord() bool {
	elements := 0
	for _, child := range n.children {
		if child.name == "" {
			continue
		}
		if elements++; kindOf(child.name) != kindBlock && kindOf(child.name) != kindInline || isProseName(child.name) || child.isMixed() || !child.isRecord() && len(child.children) > 1 {
			return false
		}
	}
	return elements > 1 || elements == 0 && len(n.children) == 1
}

// joinedText returns the texts of an element, separated by blanks.
func (n *element) joinedText() string {
	var b strings.Builder
	var write func(node *element)
	write = func(node *element) {
		b.WriteString(node.text)
		for _, child := range node.children {
			write(child)
		}
		b.WriteByte(' ')
	}
	write(n)
	return strings.Join(strings.Fields(expandEntities(b.String())), " ")
}

// caption emits the title of an element that is no section.
func (w *writer) caption(node *element) {
	w.flush()
	w.emit(document.Block{Kind: document.Paragraph, Text: inline.FoldBreaks(w.inline(node))})
}

// title emits the title of a section.
func (w *writer) title(node *element, id string) {
	w.flush()
	level := max(w.level, 1)
	if len(node.name) == 2 && node.name[0] == 'h' && '1' <= node.name[1] && node.name[1] <= '6' {
		level = int(node.name[1] - '0')
	}
	if id == "" {
		id = node.attr("id")
	}
	w.heading(level, strings.Join(strings.Fields(w.plain(node)), " "), id)
}

func (w *writer) heading(level int, text, id string) {
	if text == "" {
		return
	}
	if len(text) > compose.MaxHeading {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
		return
	}
	if _, known := w.meta["title"]; !known && w.meta != nil && len(w.blocks) == 0 {
		w.meta["title"] = text
	}
	w.emit(document.Block{Kind: document.Heading, Level: min(level, 6), Text: text, Anchor: w.anchors.Take(id, text)})
}

func (w *writer) code(node *element) {
	w.flush()
	if caption := node.child("title", "caption"); caption != nil {
		w.caption(caption)
	}
	language := node.attr("language", "lang")
	if class := node.attr("outputclass", "class"); language == "" {
		if language = inline.ClassLanguage(class); language == "" && inline.IsLanguageName(class) && !strings.Contains(class, " ") {
			language = class
		}
	}
	if kind := node.attr("type"); language == "" && node.name == "sourcecode" && inline.IsLanguageName(kind) {
		language = kind
	}
	var b strings.Builder
	for _, child := range node.children {
		if child.name != "title" && child.name != "co" && child.name != "areaspec" {
			child.writeRaw(&b)
		}
	}
	w.emit(document.Block{Kind: document.Code, Language: strings.ToLower(language), Text: strings.Trim(compose.Dedent(strings.Trim(expandEntities(b.String()), "\n")), "\n")})
}

// admonition emits an admonition as a quotation with a label.
func (w *writer) admonition(node *element) {
	w.flush()
	label := node.name
	if kind := node.attr("type"); kind != "" && kind != "other" && len(kind) < 20 {
		label = kind
	}
	label = strings.ToUpper(label[:1]) + label[1:]
	if title := node.child("title"); title != nil {
		if text := title.line(); text != "" && !strings.EqualFold(text, label) {
			label += ": " + text
		}
		rest := *node
		rest.children = nil
		for _, child := range node.children {
			if child != title {
				rest.children = append(rest.children, child)
			}
		}
		node = &rest
	}
	compose.Quote(compose.Titled(label, w.read(node)), w.emit)
}

// image emits the alternative text and the caption of an image.
func (w *writer) image(node *element) {
	w.flush()
	text := ""
	for _, name := range []string{"textobject", "alt", "alt-text", "long-desc"} {
		if found := node.find(name); found != nil && text == "" {
			text = found.line()
		}
	}
	if text == "" {
		text = node.attr("alt")
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: strings.Join(strings.Fields(text), " ")})
	if caption := node.find("caption"); caption != nil {
		w.blocks = append(w.blocks, w.read(caption)...)
	}
}

func (w *writer) question(node *element) {
	w.flush()
	for _, child := range node.children {
		switch child.name {
		case "":
		case "question":
			w.emit(document.Block{Kind: document.Paragraph, Text: "**" + compose.Cell(w.read(child)) + "**"})
		default:
			w.children(child)
			w.flush()
		}
	}
}
