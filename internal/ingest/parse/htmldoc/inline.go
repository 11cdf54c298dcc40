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

// maxLookahead bounds how many nodes are looked at to tell whether an inline element holds blocks.
const maxLookahead = 64

// holdsBlock reports an inline element with block elements in it.
func holdsBlock(node *html.Node) bool {
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
func (w *htmlWalker) plain(node *html.Node) string {
	var b strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&b, child, false)
	}
	return b.String()
}

// inline returns the text of an element as Markdown.
func (w *htmlWalker) inline(node *html.Node) string {
	var b strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&b, child, true)
	}
	return b.String()
}

// writeInline writes an inline element, marked as Markdown: links and code are kept as such. Blanks are as in the source; a
// line break is a zero byte.
func (w *htmlWalker) writeInline(b *strings.Builder, node *html.Node, marked bool) {
	if !w.alive() {
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
	case node.Type != html.ElementNode || isSkipped(node) || !w.concealed && isConcealed(node) || isGadget(node):
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
		if marked {
			if strings.HasSuffix(b.String(), "`") {
				b.WriteByte(' ') // two spans beside each other would be one
			}
			text = inline.CodeSpan(text)
		}
		b.WriteString(text)
	case atom.A:
		w.writeLink(b, node, marked)
	case atom.Math:
		b.WriteString(mathText(node))
	case atom.Rt:
		w.writeRuby(b, node)
	case atom.Rp:
	case atom.Sup:
		w.writeRaised(b, node, marked)
	case atom.Del, atom.S, atom.Strike:
		w.wrap(b, node, marked, "~~")
	case atom.Q:
		b.WriteString("“")
		w.writeChildren(b, node, marked)
		b.WriteString("”")
	default:
		isInline := isInlineElement(node.DataAtom) || node.DataAtom == 0
		if !isInline {
			b.WriteByte(' ')
		}
		w.writeChildren(b, node, marked)
		if !isInline {
			b.WriteByte(' ')
		}
	}
}

func (w *htmlWalker) writeChildren(b *strings.Builder, node *html.Node, marked bool) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(b, child, marked)
	}
}

// wrap writes an element between Markdown marks, which stand beside its text and not beside blanks.
func (w *htmlWalker) wrap(b *strings.Builder, node *html.Node, marked bool, mark string) {
	var inner strings.Builder
	w.writeChildren(&inner, node, marked)
	text := inner.String()
	trimmed := strings.TrimSpace(text)
	if !marked || trimmed == "" || strings.ContainsAny(trimmed, "\x00~") {
		b.WriteString(text)
		return
	}
	start := strings.Index(text, trimmed)
	b.WriteString(text[:start] + mark + trimmed + mark + text[start+len(trimmed):])
}

// writeInput writes the value that an input shows; a box is ticked or not.
func (w *htmlWalker) writeInput(b *strings.Builder, node *html.Node) {
	switch strings.ToLower(attributeOf(node, "type")) {
	case "hidden", "submit", "button", "reset", "image", "search", "radio", "password", "file":
	case "checkbox":
		if node.Parent != nil && (node.Parent.DataAtom == atom.Li || inside(node, atom.Li)) {
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

func (w *htmlWalker) writeLink(b *strings.Builder, node *html.Node, marked bool) {
	var label strings.Builder
	w.writeChildren(&label, node, marked)
	text := strings.ReplaceAll(label.String(), "\x00", " ")
	trimmed := strings.TrimSpace(text)
	href := attributeOf(node, "href")
	switch {
	case isPermalink(node, trimmed):
	case !marked || href == "" || trimmed == "" || strings.Contains(trimmed, "]("):
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

// link makes a link, its target made absolute where the page has a base.
func (w *htmlWalker) link(label, href string) string {
	if w.base != nil && href != "" && href[0] != '#' && !strings.Contains(href, "://") && !inline.IsScriptURL(href) && len(href) <= inline.MaxTarget {
		if target, err := w.base.Parse(href); err == nil {
			href = target.String()
		}
	}
	return inline.Link(label, href)
}

// isPermalink recognises the sign beside a heading that links to the heading itself.
func isPermalink(node *html.Node, text string) bool {
	switch text {
	case "¶", "#", "§", "🔗", "", "\u200b", "\uf0c1":
		return strings.HasPrefix(attributeOf(node, "href"), "#")
	}
	return false
}

// writeRuby writes the reading of characters in parentheses after them.
func (w *htmlWalker) writeRuby(b *strings.Builder, node *html.Node) {
	var inner strings.Builder
	w.writeChildren(&inner, node, false)
	if text := strings.TrimSpace(inner.String()); text != "" {
		b.WriteString("(" + text + ")")
	}
}

// writeRaised writes raised text: the number of a note in brackets, digits as the raised digits that there are, so that
// 10³ is not 103.
func (w *htmlWalker) writeRaised(b *strings.Builder, node *html.Node, marked bool) {
	var inner strings.Builder
	w.writeChildren(&inner, node, marked)
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

// rawText returns all text below a node as it is.
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

// firstID returns the id or name of an anchor inside a heading, or the place a sign in it links to.
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
