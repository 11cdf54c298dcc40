package xmldoc

import (
	"strings"

	"github.com/magpie-search/magpie/internal/ingest/document"
	"github.com/magpie-search/magpie/internal/ingest/parse/charset"
	"github.com/magpie-search/magpie/internal/ingest/parse/compose"
	"github.com/magpie-search/magpie/internal/ingest/parse/htmldoc"
	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
	"github.com/magpie-search/magpie/internal/safetext"
)

// feed reads an RSS or Atom feed: a heading for each entry, then its date, author, address and text.
func (w *writer) feed(root *element) {
	channel := root
	if found := root.child("channel"); found != nil {
		channel = found
	}
	w.docType = "feed"
	title := channel.child("title").line()
	w.fact("title", title)
	w.fact("description", channel.child("description", "subtitle", "tagline").line())
	w.fact("author", person(channel.child("managingeditor", "author", "creator")))
	w.fact("updated", channel.child("lastbuilddate", "updated", "modified", "pubdate", "date").line())
	w.fact("url", linkOf(channel))
	w.language = channel.child("language").line()
	if w.language == "" {
		w.language = root.attr("lang")
	}
	w.heading(1, title, "")
	for _, text := range []string{channel.child("description", "subtitle", "tagline").line()} {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
	}
	for _, parent := range []*element{channel, root} {
		for _, child := range parent.children {
			if (child.name == "item" || child.name == "entry") && w.ok() {
				w.entry(child)
			}
		}
		if channel == root {
			break
		}
	}
}

// person returns the name of a person.
func person(node *element) string {
	if node == nil {
		return ""
	}
	if name := node.child("name"); name != nil {
		return name.line()
	}
	return node.line()
}

// linkOf returns the address of a feed or an entry.
func linkOf(node *element) string {
	address := ""
	for _, child := range node.children {
		if child.name != "link" {
			continue
		}
		target := child.attr("href")
		if target == "" {
			target = child.line()
		}
		if rel := child.attr("rel"); target != "" && (rel == "" || rel == "alternate") {
			return target
		} else if address == "" && rel != "self" && rel != "edit" && rel != "enclosure" {
			address = target
		}
	}
	if address == "" {
		if id := node.child("guid", "id").line(); strings.HasPrefix(id, "http") {
			address = id
		}
	}
	return address
}

func (w *writer) entry(node *element) {
	address := linkOf(node)
	title := strings.Join(strings.Fields(inline.PlainText(compose.Cell(w.fragment(node.child("title"))))), " ")
	if title == "" {
		title = address
	}
	if title == "" {
		title = "Entry"
	}
	w.heading(2, safetext.TruncateBytes(title, compose.MaxHeading), "")
	var facts []string
	for _, fact := range []string{
		node.child("pubdate", "published", "date", "updated", "issued", "modified").line(), person(node.child("creator", "author")), address,
	} {
		if fact != "" {
			facts = append(facts, fact)
		}
	}
	w.emit(document.Block{Kind: document.Paragraph, Text: strings.Join(facts, " · ")})
	content := node.child("encoded", "content", "description", "summary")
	for _, block := range w.fragment(content) {
		if block.Kind == document.Heading {
			block.Level = min(block.Level+2, 6)
		}
		w.emit(block)
	}
}

// fragment reads the HTML in an element, which may be escaped.
func (w *writer) fragment(node *element) []document.Block {
	if node == nil {
		return nil
	}
	for _, child := range node.children {
		if child.name != "" {
			return w.read(node)
		}
	}
	return htmldoc.Fragment(w.ctx, node.raw(), w.anchors)
}

// outline reads the entries of OPML and DITA maps as a nested list.
func (w *writer) outline(root *element) {
	head := root.child("head")
	title := head.child("title").line()
	if title == "" {
		title = root.child("title", "booktitle").line()
	}
	if title == "" {
		title = root.attr("title")
	}
	w.fact("title", title)
	w.fact("author", head.child("ownername").line())
	w.fact("created", head.child("datecreated").line())
	w.fact("updated", head.child("datemodified").line())
	w.language = root.attr("lang")
	w.heading(1, title, "")
	items := compose.List{Emit: w.emit}
	var visit func(node *element, depth int)
	visit = func(node *element, depth int) {
		for _, child := range node.children {
			if child.name == "" || !w.ok() {
				continue
			}
			label := outlineLabel(child)
			target := child.attr("htmlUrl", "url", "xmlUrl", "href")
			if label == "" {
				label = target
			}
			indent := 2 * min(depth, compose.MaxNesting)
			switch {
			case label != "" && child.name != "title" && child.name != "head" && child.name != "topicmeta":
				items.Lines(strings.Repeat(" ", indent)+"- ", indent+2, strings.Join(strings.Fields(inline.Link(label, target)), " "))
				if note := child.attr("_note"); note != "" {
					items.Lines(strings.Repeat(" ", indent+2), indent+2, strings.TrimSpace(charset.Clean(note)))
				}
				visit(child, depth+1)
			case child.name != "head" && child.name != "topicmeta" && child.name != "title":
				visit(child, depth)
			}
		}
	}
	visit(root, 0)
	items.Flush()
}

// outlineLabel returns the label of an entry.
func outlineLabel(node *element) string {
	if text := strings.Join(strings.Fields(node.attr("text", "title", "navtitle")), " "); text != "" {
		return text
	}
	return node.child("topicmeta").child("navtitle", "linktext").line()
}

// siteMap reads the addresses of a site.
func (w *writer) siteMap(root *element) {
	w.docType = "data"
	items := compose.List{Emit: w.emit}
	for _, entry := range root.children {
		if address := entry.child("loc").line(); address != "" && w.ok() {
			if changed := entry.child("lastmod").line(); changed != "" {
				address += " (" + changed + ")"
			}
			items.Lines("- ", 2, address)
		}
	}
	items.Flush()
}

// minDrawingWords is how many words make a drawing readable. Icons have only a name.
const minDrawingWords = 3

// drawing reads the title, the description and the labels of an SVG drawing.
func (w *writer) drawing(root *element) {
	w.language = root.attr("lang")
	title := root.child("title").line()
	words := 0
	var texts []string
	var visit func(node *element)
	visit = func(node *element) {
		switch node.name {
		case "text", "desc", "foreignobject", "p", "div":
			if text := strings.Join(strings.Fields(node.joinedText()), " "); text != "" {
				texts = append(texts, text)
				words += inline.CountWords(text)
			}
			return
		case "style", "script", "metadata", "defs":
			return
		}
		for _, child := range node.children {
			visit(child)
		}
	}
	visit(root)
	if words+inline.CountWords(title) < minDrawingWords {
		return
	}
	w.heading(1, title, "")
	for _, text := range texts {
		w.emit(document.Block{Kind: document.Paragraph, Text: text})
	}
}
