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

// xmlProse turns a document of prose into blocks.
type xmlProse struct {
	ctx     context.Context
	anchors document.Anchors
	meta    map[string]any
	lang    string
	docType string
	titles  map[string]string // of sections, by their ids
	blocks  []document.Block
	line    strings.Builder // inline text since the last block
	notes   *[]string       // footnotes
	level   int             // how deep sections are nested
	steps   int
	err     error
}

func (w *xmlProse) draft() *document.Draft {
	return &document.Draft{Blocks: w.blocks, Meta: w.meta, Language: w.lang, Prose: true, DocType: w.docType, Extra: make(map[string]any)}
}

func (w *xmlProse) alive() bool {
	w.steps++
	if w.err == nil && w.steps%512 == 0 && w.ctx.Err() != nil {
		w.err = fmt.Errorf("parse XML: %w", w.ctx.Err())
	}
	return w.err == nil
}

// document reads a whole document.
func (w *xmlProse) document(root *xmlNode) {
	w.lang = root.attr("lang")
	w.titles = make(map[string]string)
	w.survey(root)
	var notes []string
	w.notes = &notes
	w.element(root)
	w.flush()
	for i, text := range notes {
		w.emit(document.Block{Kind: document.Paragraph, Text: "[" + strconv.Itoa(i+1) + "] " + text})
	}
}

// survey finds the titles that cross references name.
func (w *xmlProse) survey(node *xmlNode) {
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
		w.survey(child)
	}
}

func (w *xmlProse) emit(block document.Block) {
	w.flush()
	if !block.Blank() {
		w.blocks = append(w.blocks, block)
	}
}

// flush ends the paragraph of the inline text so far.
func (w *xmlProse) flush() {
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
func (w *xmlProse) read(node *xmlNode) []document.Block {
	inner := xmlProse{ctx: w.ctx, anchors: w.anchors, meta: w.meta, titles: w.titles, notes: w.notes, level: w.level, steps: w.steps, err: w.err}
	inner.children(node)
	inner.flush()
	w.steps, w.err = inner.steps, inner.err
	return inner.blocks
}

func (w *xmlProse) children(node *xmlNode) {
	mixed := node.mixed()
	for _, child := range node.children {
		if !w.alive() {
			return
		}
		switch kind := xmlKind(child.name); {
		case child.name == "":
			w.line.WriteString(unnamed(child.text))
		case child.name == "ref" && child.child("mixed-citation", "element-citation", "nlm-citation") != nil:
			w.block(child)
		case kind == xmlInline, kind == xmlFootnote, mixed && (kind == xmlTitle || kind == xmlImage),
			kind == xmlBlock && mixed && !isProseName(child.name) && !child.holdsBlocks():
			w.writeInline(&w.line, child, true, 0)
			if !mixed {
				w.line.WriteByte(' ')
			}
		default:
			w.element(child)
		}
	}
}

// holdsBlocks reports an element with block elements directly inside.
func (n *xmlNode) holdsBlocks() bool {
	for _, child := range n.children {
		if child.name != "" && xmlKind(child.name) != xmlInline && xmlKind(child.name) != xmlSkipped && (isProseName(child.name) || xmlKind(child.name) != xmlBlock) {
			return true
		}
	}
	return false
}

// element reads one block element.
func (w *xmlProse) element(node *xmlNode) {
	switch xmlKind(node.name) {
	case xmlSkipped:
	case xmlSection:
		w.flush()
		w.level++
		w.children(node)
		w.flush()
		w.level--
	case xmlTitle:
		w.title(node, "")
	case xmlCodeBlock:
		w.code(node)
	case xmlList:
		w.list(node)
	case xmlTerms:
		w.terms(node)
	case xmlTable:
		w.table(node)
	case xmlNote:
		w.note(node)
	case xmlQuote:
		w.flush()
		compose.Quote(w.read(node), w.emit)
	case xmlImage:
		w.image(node)
	case xmlInfo:
		w.info(node)
	case xmlFootnote:
		w.writeInline(&w.line, node, true, 0)
	case xmlQuestion:
		w.question(node)
	case xmlNames:
		w.flush()
		w.heading(min(max(w.level, 1), 6), strings.TrimRight(node.child("refname").line()+" — "+node.child("refpurpose").line(), " —"), node.attr("id"))
	default:
		w.block(node)
	}
}

// maxRecord is how long the text of an element without text of its own may be to be put on one line.
const maxRecord = 200

// block reads an element of which nothing is known: a paragraph, or whatever holds paragraphs.
func (w *xmlProse) block(node *xmlNode) {
	w.flush()
	if child := node.child("title", "caption", "head"); child != nil && (node.name == "figure" || node.name == "fig" || node.name == "example" ||
		node.name == "formalpara" || node.name == "informalfigure" || node.name == "equation" || node.name == "bibliodiv" || node.name == "boxed-text") {
		w.caption(child)
		w.without(node, child)
		return
	}
	if !node.mixed() && node.isRecord() {
		if text := node.joined(); len(text) <= maxRecord {
			w.emit(document.Block{Kind: document.Paragraph, Text: text})
			return
		}
	}
	w.children(node)
	w.flush()
}

// without reads the children of an element but one.
func (w *xmlProse) without(node, left *xmlNode) {
	rest := xmlNode{name: node.name, attrs: node.attrs, children: make([]*xmlNode, 0, len(node.children))}
	for _, child := range node.children {
		if child != left {
			rest.children = append(rest.children, child)
		}
	}
	w.children(&rest)
	w.flush()
}

// isRecord reports an element with several elements in it, all of which hold text alone and none of which is known.
func (n *xmlNode) isRecord() bool {
	elements := 0
	for _, child := range n.children {
		if child.name == "" {
			continue
		}
		if elements++; xmlKind(child.name) != xmlBlock && xmlKind(child.name) != xmlInline || isProseName(child.name) || child.mixed() || !child.isRecord() && len(child.children) > 1 {
			return false
		}
	}
	return elements > 1 || elements == 0 && len(n.children) == 1
}

// joined returns the texts of an element with blanks between.
func (n *xmlNode) joined() string {
	var b strings.Builder
	var write func(node *xmlNode)
	write = func(node *xmlNode) {
		b.WriteString(node.text)
		for _, child := range node.children {
			write(child)
		}
		b.WriteByte(' ')
	}
	write(n)
	return strings.Join(strings.Fields(unnamed(b.String())), " ")
}

// caption emits the title of something that is no section.
func (w *xmlProse) caption(node *xmlNode) {
	w.flush()
	w.emit(document.Block{Kind: document.Paragraph, Text: inline.FoldBreaks(w.inline(node))})
}

// title emits the title of a section.
func (w *xmlProse) title(node *xmlNode, id string) {
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

func (w *xmlProse) heading(level int, text, id string) {
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

func (w *xmlProse) code(node *xmlNode) {
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
	w.emit(document.Block{Kind: document.Code, Language: strings.ToLower(language), Text: strings.Trim(compose.Dedent(strings.Trim(unnamed(b.String()), "\n")), "\n")})
}

// note emits a text that is set apart as a quotation under its label.
func (w *xmlProse) note(node *xmlNode) {
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

// image keeps the text for those who do not see a picture.
func (w *xmlProse) image(node *xmlNode) {
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

func (w *xmlProse) question(node *xmlNode) {
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
