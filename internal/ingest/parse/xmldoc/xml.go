package xmldoc

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/code"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/ingest/parse/xmlscan"
	"github.com/magpie-search/magpie/internal/safetext"
)

// Bounds of an XML document of which a tree is built: one with more elements is kept as code, deeper elements are no elements
// of the tree.
const (
	maxXMLNodes = 1 << 19
	maxXMLDepth = 500
)

var errXMLTooLarge = errors.New("the document has too many elements")

// Read reads an XML document: feeds, outlines, site maps and drawings as what they are, documents of prose (DocBook, DITA,
// JATS, TEI and others with elements of these names) by their structure, and everything else, which is data, as code, whole.
// A document counts as prose when at least half of its letters stand in elements that are named like paragraphs, titles and
// cells are, or in elements that hold both text and elements. Entities that a document type defines are left as they stand.
func Read(ctx context.Context, r document.Text) (*document.Draft, error) {
	root, err := xmlTree(ctx, r.Text)
	switch syntax := (*xmlscan.SyntaxError)(nil); {
	case errors.As(err, &syntax), errors.Is(err, errXMLTooLarge):
		found, codeErr := xmlCode(ctx, r)
		if codeErr == nil {
			found.Extra["structure_error"] = safetext.TruncateBytes(err.Error(), 200)
		}
		return found, codeErr
	case err != nil:
		return nil, err
	}
	w := xmlProse{ctx: ctx, anchors: make(document.Anchors), meta: make(map[string]any)}
	switch root.name {
	case "html":
		return htmldoc.Read(ctx, r)
	case "rss", "feed", "rdf":
		if root.name != "rdf" || root.child("channel") != nil {
			w.feed(root)
			return w.draft(), w.err
		}
	case "opml":
		w.outline(root)
		return w.draft(), w.err
	case "map", "bookmap":
		if root.find("topicref") != nil || root.name == "bookmap" {
			w.outline(root)
			return w.draft(), w.err
		}
	case "urlset", "sitemapindex":
		w.siteMap(root)
		return w.draft(), w.err
	case "svg":
		w.drawing(root)
		return w.draft(), w.err
	}
	if !isProse(root) {
		return xmlCode(ctx, r)
	}
	w.document(root)
	if w.err != nil {
		return nil, w.err
	}
	return w.draft(), nil
}

// xmlCode keeps a document as code.
func xmlCode(ctx context.Context, r document.Text) (*document.Draft, error) {
	r.Language, r.DocType = "xml", "config"
	found, err := code.Read(ctx, r)
	if err == nil {
		found.Title = r.Name // not its first element
	}
	return found, err
}

// xmlNode is an element, or a text where it has no name.
type xmlNode struct {
	name     string // in lower case, without prefix
	attrs    []xmlscan.Attr
	children []*xmlNode
	text     string
}

// xmlTree reads a document into a tree.
func xmlTree(ctx context.Context, text string) (*xmlNode, error) {
	if rest, found := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "<?xml"); found {
		// The text is UTF-8 already, whatever the declaration says.
		_, text, _ = strings.Cut(rest, "?>")
	}
	scanner := xmlscan.New(strings.NewReader(text))
	top := &xmlNode{}
	open := []*xmlNode{top}
	for nodes := 0; ; {
		kind, err := scanner.Next()
		if errors.Is(err, io.EOF) {
			return top.children[0], nil
		}
		if err != nil {
			return nil, fmt.Errorf("parse XML: %w", err)
		}
		if nodes++; nodes%1024 == 0 && ctx.Err() != nil {
			return nil, fmt.Errorf("parse XML: %w", ctx.Err())
		}
		if nodes > 2*maxXMLNodes {
			return nil, errXMLTooLarge
		}
		last := open[len(open)-1]
		switch kind {
		case xmlscan.Start:
			if len(open) > maxXMLDepth {
				open = append(open, last) // the text of what is deeper belongs to the element at the limit
				continue
			}
			node := &xmlNode{name: strings.ToLower(scanner.Name())}
			if attrs := scanner.Attrs(); len(attrs) > 0 {
				node.attrs = append(make([]xmlscan.Attr, 0, len(attrs)), attrs...)
			}
			last.children = append(last.children, node)
			open = append(open, node)
		case xmlscan.End:
			open = open[:len(open)-1]
		case xmlscan.Text:
			if n := len(last.children); n > 0 && last.children[n-1].name == "" {
				last.children[n-1].text += scanner.Text()
			} else {
				last.children = append(last.children, &xmlNode{text: scanner.Text()})
			}
		}
	}
}

func (n *xmlNode) attr(names ...string) string {
	for _, name := range names {
		for i := range n.attrs {
			if strings.EqualFold(n.attrs[i].Name, name) && n.attrs[i].Value != "" {
				return n.attrs[i].Value
			}
		}
	}
	return ""
}

// child returns the first child of one of the names, nil where there is none.
func (n *xmlNode) child(names ...string) *xmlNode {
	if n == nil {
		return nil
	}
	for _, name := range names {
		for _, child := range n.children {
			if child.name == name {
				return child
			}
		}
	}
	return nil
}

// find returns the first element of a name below a node.
func (n *xmlNode) find(name string) *xmlNode {
	for _, child := range n.children {
		if child.name == name {
			return child
		}
		if found := child.find(name); found != nil {
			return found
		}
	}
	return nil
}

// raw returns all text below a node.
func (n *xmlNode) raw() string {
	if n == nil {
		return ""
	}
	if len(n.children) == 0 {
		return n.text
	}
	var b strings.Builder
	n.writeRaw(&b)
	return b.String()
}

func (n *xmlNode) writeRaw(b *strings.Builder) {
	b.WriteString(n.text)
	for _, child := range n.children {
		child.writeRaw(b)
	}
}

// line returns all text below a node on one line.
func (n *xmlNode) line() string { return strings.Join(strings.Fields(unnamed(n.raw())), " ") }

// unnamed replaces the entities of HTML that a document type would define. Those that XML itself has are replaced already.
func unnamed(text string) string {
	if !strings.Contains(text, "&") {
		return text
	}
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '&')
		if at < 0 {
			b.WriteString(text)
			return b.String()
		}
		n := inline.EntityLength(text[at:])
		b.WriteString(text[:at])
		switch entity := text[at : at+n]; entity {
		case "&amp;", "&lt;", "&gt;", "&quot;", "&apos;", "&":
			b.WriteString(entity)
		default:
			b.WriteString(strings.ReplaceAll(html.UnescapeString(entity), "\u00a0", " "))
		}
		text = text[at+n:]
	}
}

// mixed reports an element with text of its own beside elements.
func (n *xmlNode) mixed() bool {
	text, elements := false, false
	for _, child := range n.children {
		if child.name != "" {
			elements = true
		} else if strings.TrimSpace(child.text) != "" {
			text = true
		}
	}
	return text && elements
}

// isProse decides between prose and data.
func isProse(root *xmlNode) bool {
	switch root.name {
	case "stylesheet", "transform", "schema", "definitions", "project", "plist", "grammar", "xliff", "root", "resources", "kml", "gpx":
		return false
	}
	var all, prose, paragraphs int
	var count func(node *xmlNode, inProse bool)
	count = func(node *xmlNode, inProse bool) {
		if node.name == "" {
			letters := len(strings.TrimSpace(node.text))
			all += letters
			if inProse {
				prose += letters
			}
			return
		}
		if kind := xmlKind(node.name); kind == xmlCodeBlock || kind == xmlSkipped {
			return
		}
		if named := isProseName(node.name); named || node.mixed() {
			inProse = true
			if named {
				paragraphs++
			}
		}
		for _, child := range node.children {
			count(child, inProse)
		}
	}
	count(root, false)
	return paragraphs > 0 && prose*2 >= all && prose > 0
}

// isProseName reports the names of elements that hold running text in the formats for documents.
func isProseName(name string) bool {
	switch name {
	case "p", "para", "simpara", "formalpara", "title", "subtitle", "head", "shortdesc", "abstract", "t", "listitem", "li", "item", "entry", "td", "th",
		"dd", "dt", "note", "cmd", "info", "section-title", "article-title", "h1", "h2", "h3", "refpurpose", "verse", "l", "blockquote", "caption",
		"figcaption", "footnote", "quote", "question", "answer", "paragraph", "bodytext":
		return true
	}
	return false
}
