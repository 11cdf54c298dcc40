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

// Bounds of a tree. A document with more elements is kept as code. Deeper elements are not part of the tree, but their
// text is.
const (
	maxElements = 1 << 19
	maxDepth    = 500
)

var errTooLarge = errors.New("the document has too many elements")

// Read reads an XML document. Feeds, outlines, site maps and drawings are read as such, and documents of prose
// (DocBook, DITA, JATS, TEI and others with elements of these names) by their structure. Everything else is data and
// kept as code.
//
// A document is prose if at least half of its letters are in elements that are named like paragraphs, titles or cells,
// or in elements with mixed content. Entities of a document type definition are not expanded.
func Read(ctx context.Context, in document.Text) (*document.Draft, error) {
	root, err := parseTree(ctx, in.Text)
	switch syntax := (*xmlscan.SyntaxError)(nil); {
	case errors.As(err, &syntax), errors.Is(err, errTooLarge):
		draft, codeErr := readCode(ctx, in)
		if codeErr == nil {
			draft.Extra["structure_error"] = safetext.TruncateBytes(err.Error(), 200)
		}
		return draft, codeErr
	case err != nil:
		return nil, err
	}
	w := writer{ctx: ctx, anchors: make(document.Anchors), meta: make(map[string]any)}
	switch root.name {
	case "html":
		return htmldoc.Read(ctx, in)
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
		return readCode(ctx, in)
	}
	w.readProse(root)
	if w.err != nil {
		return nil, w.err
	}
	return w.draft(), nil
}

// readCode keeps a document as code.
func readCode(ctx context.Context, in document.Text) (*document.Draft, error) {
	in.Language, in.DocType = "xml", "config"
	draft, err := code.Read(ctx, in)
	if err == nil {
		draft.Title = in.Name // not its first element
	}
	return draft, err
}

// element is an element, or a text if it has no name.
type element struct {
	name     string // in lower case, without prefix
	attrs    []xmlscan.Attr
	children []*element
	text     string
}

// parseTree parses a document into a tree.
func parseTree(ctx context.Context, text string) (*element, error) {
	if rest, found := strings.CutPrefix(strings.TrimLeft(text, " \t\n"), "<?xml"); found {
		// The text is UTF-8 already, whatever the declaration says.
		_, text, _ = strings.Cut(rest, "?>")
	}
	scanner := xmlscan.New(strings.NewReader(text))
	top := &element{}
	open := []*element{top}
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
		if nodes > 2*maxElements {
			return nil, errTooLarge
		}
		last := open[len(open)-1]
		switch kind {
		case xmlscan.Start:
			if len(open) > maxDepth {
				open = append(open, last) // the text of deeper elements belongs to the deepest one in the tree
				continue
			}
			node := &element{name: strings.ToLower(scanner.Name())}
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
				last.children = append(last.children, &element{text: scanner.Text()})
			}
		}
	}
}

func (n *element) attr(names ...string) string {
	for _, name := range names {
		for i := range n.attrs {
			if strings.EqualFold(n.attrs[i].Name, name) && n.attrs[i].Value != "" {
				return n.attrs[i].Value
			}
		}
	}
	return ""
}

// child returns the first child with one of the names, or nil.
func (n *element) child(names ...string) *element {
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

// find returns the first descendant with a name, or nil.
func (n *element) find(name string) *element {
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

// raw returns all text below an element.
func (n *element) raw() string {
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

func (n *element) writeRaw(b *strings.Builder) {
	b.WriteString(n.text)
	for _, child := range n.children {
		child.writeRaw(b)
	}
}

// line returns all text below an element on one line.
func (n *element) line() string { return strings.Join(strings.Fields(expandEntities(n.raw())), " ") }

// expandEntities expands the entities of HTML, which a document type may define. The scanner has expanded those of XML.
func expandEntities(text string) string {
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

// isMixed reports whether an element has mixed content.
func (n *element) isMixed() bool {
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

// isProse reports whether a document is prose, not data.
func isProse(root *element) bool {
	switch root.name {
	case "stylesheet", "transform", "schema", "definitions", "project", "plist", "grammar", "xliff", "root", "resources", "kml", "gpx":
		return false
	}
	var all, prose, paragraphs int
	var count func(node *element, inProse bool)
	count = func(node *element, inProse bool) {
		if node.name == "" {
			letters := len(strings.TrimSpace(node.text))
			all += letters
			if inProse {
				prose += letters
			}
			return
		}
		if kind := kindOf(node.name); kind == kindCode || kind == kindSkipped {
			return
		}
		if named := isProseName(node.name); named || node.isMixed() {
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

// isProseName reports whether a name is that of an element with running text.
func isProseName(name string) bool {
	switch name {
	case "p", "para", "simpara", "formalpara", "title", "subtitle", "head", "shortdesc", "abstract", "t", "listitem", "li", "item", "entry", "td", "th",
		"dd", "dt", "note", "cmd", "info", "section-title", "article-title", "h1", "h2", "h3", "refpurpose", "verse", "l", "blockquote", "caption",
		"figcaption", "footnote", "quote", "question", "answer", "paragraph", "bodytext":
		return true
	}
	return false
}
