package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

func isInlineElement(a atom.Atom) bool {
	switch a {
	case atom.A, atom.Abbr, atom.Acronym, atom.B, atom.Cite, atom.Code, atom.Em, atom.I, atom.Kbd, atom.Mark, atom.Q, atom.S, atom.Samp,
		atom.Small, atom.Span, atom.Strong, atom.Sub, atom.Sup, atom.U, atom.Var, atom.Font, atom.Time, atom.Wbr, atom.Label, atom.Del,
		atom.Ins, atom.Bdi, atom.Bdo, atom.Dfn, atom.Data, atom.Tt, atom.Strike, atom.Big, atom.Img, atom.Input, atom.Button, atom.Br,
		atom.Ruby, atom.Rb, atom.Rt, atom.Rp, atom.Rtc, atom.Math, atom.Nobr, atom.Output, atom.Picture, atom.Source, atom.Select, atom.Textarea:
		return true
	}
	return false
}

// maxLookahead bounds the search for blocks inside an inline element.
const maxLookahead = 64

// containsBlock reports whether an inline element contains block elements.
func containsBlock(node *html.Node) bool {
	seen := 0
	for n := range node.Descendants() {
		if n.Type == html.ElementNode && n.DataAtom != 0 && !isInlineElement(n.DataAtom) && !isSkipped(n) && n.Namespace == "" {
			return true
		}
		if seen++; seen > maxLookahead {
			return false
		}
	}
	return false
}

// plain returns the text of an element without Markdown.
func (w *walker) plain(node *html.Node) string {
	var b strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&b, child, false)
	}
	return b.String()
}

// inline returns the text of an element as Markdown.
func (w *walker) inline(node *html.Node) string {
	var b strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&b, child, true)
	}
	return b.String()
}

// writeInline writes an inline element, as Markdown if markup is set. White space is as in the source; a line break is
// a NUL character.
func (w *walker) writeInline(b *strings.Builder, node *html.Node, markup bool) {
	if !w.ok() {
		return
	}
	switch {
	case node.Type == html.TextNode:
		b.WriteString(node.Data)
		return
	case w.dropped[node]:
		return
	case isMathScript(node):
		b.WriteString(scriptMath(node))
		return
	case node.Type != html.ElementNode || isSkipped(node) || !w.keepHidden && isHidden(node) || isWidget(node):
		return
	}
	switch node.DataAtom {
	case atom.Br:
		b.WriteByte(0)
	case atom.Img:
		b.WriteString(attributeOf(node, "alt"))
	case atom.Input:
		w.writeInput(b, node)
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		text := strings.Join(strings.Fields(rawText(node)), " ")
		if markup {
			if strings.HasSuffix(b.String(), "`") {
				b.WriteByte(' ') // adjacent spans would merge
			}
			text = inline.CodeSpan(text)
		}
		b.WriteString(text)
	case atom.A:
		w.writeLink(b, node, markup)
	case atom.Math:
		b.WriteString(mathText(node))
	case atom.Rt:
		w.writeRuby(b, node)
	case atom.Rp:
	case atom.Sup:
		w.writeSuperscript(b, node, markup)
	case atom.Del, atom.S, atom.Strike:
		w.writeMarked(b, node, markup, "~~")
	case atom.Q:
		b.WriteString("“")
		w.writeChildren(b, node, markup)
		b.WriteString("”")
	default:
		isInline := isInlineElement(node.DataAtom) || node.DataAtom == 0
		if !isInline {
			b.WriteByte(' ')
		}
		w.writeChildren(b, node, markup)
		if !isInline {
			b.WriteByte(' ')
		}
	}
}

func (w *walker) writeChildren(b *strings.Builder, node *html.Node, markup bool) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(b, child, markup)
	}
}

// writeMarked writes an element between Markdown marks, which must touch its text.
func (w *walker) writeMarked(b *strings.Builder, node *html.Node, markup bool, mark string) {
	var inner strings.Builder
	w.writeChildren(&inner, node, markup)
	text := inner.String()
	trimmed := strings.TrimSpace(text)
	if !markup || trimmed == "" || strings.ContainsAny(trimmed, "\x00~") {
		b.WriteString(text)
		return
	}
	start := strings.Index(text, trimmed)
	b.WriteString(text[:start] + mark + trimmed + mark + text[start+len(trimmed):])
}

// writeInput writes the value that an input element shows, or a checkbox.
func (w *walker) writeInput(b *strings.Builder, node *html.Node) {
	switch strings.ToLower(attributeOf(node, "type")) {
	case "hidden", "submit", "button", "reset", "image", "search", "radio", "password", "file":
	case "checkbox":
		if node.Parent != nil && (node.Parent.DataAtom == atom.Li || hasAncestor(node, atom.Li)) {
			if _, checked := lookupAttribute(node, "checked"); checked {
				b.WriteString("[x] ")
			} else {
				b.WriteString("[ ] ")
			}
		}
	default:
		b.WriteString(attributeOf(node, "value"))
	}
}

func (w *walker) writeLink(b *strings.Builder, node *html.Node, markup bool) {
	var label strings.Builder
	w.writeChildren(&label, node, markup)
	text := strings.ReplaceAll(label.String(), "\x00", " ")
	trimmed := strings.TrimSpace(text)
	href := attributeOf(node, "href")
	switch {
	case isPermalink(node, trimmed):
	case !markup || href == "" || trimmed == "" || strings.Contains(trimmed, "]("):
		b.WriteString(text)
	default:
		before, after := "", ""
		if text[0] != trimmed[0] {
			before = " "
		}
		if text[len(text)-1] != trimmed[len(trimmed)-1] {
			after = " "
		}
		b.WriteString(before + w.link(trimmed, href) + after)
	}
}

// link returns a link. Its target is made absolute if the page declares a base.
func (w *walker) link(label, href string) string {
	if w.base != nil && href != "" && href[0] != '#' && !strings.Contains(href, "://") && !inline.IsScriptURL(href) && len(href) <= inline.MaxTarget {
		if target, err := w.base.Parse(href); err == nil {
			href = target.String()
		}
	}
	return inline.Link(label, href)
}

// isPermalink reports whether a link is the sign beside a heading that links to the heading.
func isPermalink(node *html.Node, text string) bool {
	switch text {
	case "¶", "#", "§", "🔗", "", "\u200b", "\uf0c1":
		return strings.HasPrefix(attributeOf(node, "href"), "#")
	}
	return false
}

// writeRuby writes the reading of characters in parentheses.
func (w *walker) writeRuby(b *strings.Builder, node *html.Node) {
	var inner strings.Builder
	w.writeChildren(&inner, node, false)
	if text := strings.TrimSpace(inner.String()); text != "" {
		b.WriteString("(" + text + ")")
	}
}

// writeSuperscript writes superscript text: a footnote number in brackets, digits as superscript digits, since 10³ is
// not 103.
func (w *walker) writeSuperscript(b *strings.Builder, node *html.Node, markup bool) {
	var inner strings.Builder
	w.writeChildren(&inner, node, markup)
	text := strings.TrimSpace(inner.String())
	switch link := firstElement(node); {
	case link != nil && link.DataAtom == atom.A && strings.HasPrefix(attributeOf(link, "href"), "#"):
		if text != "" && strings.Trim(text, "0123456789*†‡") == "" {
			text = "[" + text + "]"
		}
		b.WriteString(text)
	default:
		b.WriteString(inline.Superscript(inner.String()))
	}
}

// rawText returns all text below a node.
func rawText(node *html.Node) string {
	if child := node.FirstChild; child != nil && child == node.LastChild && child.Type == html.TextNode {
		return child.Data
	}
	var b strings.Builder
	for n := range node.Descendants() {
		switch {
		case n.Type == html.TextNode:
			b.WriteString(n.Data)
		case n.DataAtom == atom.Br:
			b.WriteByte('\n')
		}
	}
	return b.String()
}

func lookupAttribute(node *html.Node, name string) (string, bool) {
	for i := range node.Attr {
		if node.Attr[i].Key == name && node.Attr[i].Namespace == "" {
			return strings.TrimSpace(node.Attr[i].Val), true
		}
	}
	return "", false
}

func attributeOf(node *html.Node, name string) string {
	value, _ := lookupAttribute(node, name)
	return value
}

func firstElement(node *html.Node) *html.Node {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			return child
		}
	}
	return nil
}

// ownID returns the id of an element, or the name of an anchor.
func ownID(node *html.Node) string {
	if id := attributeOf(node, "id"); id != "" {
		return id
	}
	if node.DataAtom == atom.A {
		return attributeOf(node, "name")
	}
	return ""
}

// firstID returns the first id inside a heading, or the target of a permalink in it.
func firstID(node *html.Node) string {
	link := ""
	for n := range node.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id := ownID(n); id != "" {
			return id
		}
		if href := attributeOf(n, "href"); link == "" && n.DataAtom == atom.A && len(href) > 1 && href[0] == '#' {
			link = href[1:]
		}
	}
	return link
}
