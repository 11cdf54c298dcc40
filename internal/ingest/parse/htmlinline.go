package parse

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// inline returns the text of an inline element as Markdown: links and code are kept as such. Blanks are as in the source;
// a line break is a zero byte.
func (w *htmlWalker) inline(node *html.Node) string {
	var b strings.Builder
	w.writeInline(&b, node, true)
	return b.String()
}

// plain returns the text of an element without Markdown.
func (w *htmlWalker) plain(node *html.Node) string {
	var b strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&b, child, false)
	}
	return b.String()
}

func (w *htmlWalker) writeInline(b *strings.Builder, node *html.Node, marked bool) {
	if !w.alive() {
		return
	}
	switch {
	case node.Type == html.TextNode:
		b.WriteString(node.Data)
		return
	case node.Type != html.ElementNode || isHidden(node):
		return
	}
	switch node.DataAtom {
	case atom.Br:
		b.WriteByte(0)
	case atom.Img:
		b.WriteString(attributeOf(node, "alt"))
	case atom.Input:
		if attributeOf(node, "type") != "hidden" && attributeOf(node, "type") != "checkbox" {
			b.WriteString(attributeOf(node, "value"))
		}
	case atom.Code, atom.Kbd, atom.Samp, atom.Tt:
		text := strings.Join(strings.Fields(rawText(node)), " ")
		if marked && text != "" && !strings.Contains(text, "`") {
			text = "`" + text + "`"
		}
		b.WriteString(text)
	case atom.A:
		w.writeLink(b, node, marked)
	default:
		inline := isInlineElement(node.DataAtom)
		if !inline {
			b.WriteByte(' ')
		}
		for child := node.FirstChild; child != nil; child = child.NextSibling {
			w.writeInline(b, child, marked)
		}
		if !inline {
			b.WriteByte(' ')
		}
	}
}

func (w *htmlWalker) writeLink(b *strings.Builder, node *html.Node, marked bool) {
	var label strings.Builder
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		w.writeInline(&label, child, marked)
	}
	text := strings.ReplaceAll(label.String(), "\x00", " ")
	href := strings.TrimSpace(attributeOf(node, "href"))
	trimmed := strings.TrimSpace(text)
	switch {
	case isPermalink(node, trimmed):
	case !marked || href == "" || trimmed == "" || strings.HasPrefix(strings.ToLower(href), "javascript:") || len(href) > 1000:
		b.WriteString(text)
	default:
		before, after := "", ""
		if text[0] != trimmed[0] {
			before = " "
		}
		if text[len(text)-1] != trimmed[len(trimmed)-1] {
			after = " "
		}
		b.WriteString(before + "[" + trimmed + "](" + strings.NewReplacer(" ", "%20", "(", "%28", ")", "%29").Replace(href) + ")" + after)
	}
}

// isPermalink recognises the sign beside a heading that links to the heading itself.
func isPermalink(node *html.Node, text string) bool {
	switch text {
	case "¶", "#", "§", "🔗", "":
		return strings.HasPrefix(attributeOf(node, "href"), "#")
	}
	return false
}

// rawText returns all text below a node as it is.
func rawText(node *html.Node) string {
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

func attributeOf(node *html.Node, name string) string {
	for i := range node.Attr {
		if node.Attr[i].Key == name && node.Attr[i].Namespace == "" {
			return strings.TrimSpace(node.Attr[i].Val)
		}
	}
	return ""
}

func firstElement(node *html.Node) *html.Node {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.ElementNode {
			return child
		}
	}
	return nil
}

// firstID returns the id or name of an anchor inside a heading.
func firstID(node *html.Node) string {
	for n := range node.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		if id := attributeOf(n, "id"); id != "" {
			return id
		}
		if name := attributeOf(n, "name"); n.DataAtom == atom.A && name != "" {
			return name
		}
	}
	return ""
}

// codeLanguageOf reads the language of code from the class names in use: language-go, lang-go, highlight-source-go.
func codeLanguageOf(pre *html.Node) string {
	nodes := []*html.Node{pre, firstElement(pre), pre.Parent}
	if pre.Parent != nil {
		nodes = append(nodes, pre.Parent.Parent)
	}
	for _, node := range nodes {
		if node == nil {
			continue
		}
		for _, name := range []string{"data-lang", "data-language"} {
			if value := attributeOf(node, name); value != "" && len(value) < 30 {
				return strings.ToLower(value)
			}
		}
		for _, class := range strings.Fields(attributeOf(node, "class")) {
			for _, prefix := range []string{"language-", "lang-", "highlight-source-", "highlight-"} {
				if language, found := strings.CutPrefix(class, prefix); found && language != "" && len(language) < 30 {
					return strings.ToLower(language)
				}
			}
		}
	}
	return ""
}

// isHidden reports elements whose text nobody sees.
func isHidden(node *html.Node) bool {
	switch node.DataAtom {
	case atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Head, atom.Iframe, atom.Object, atom.Embed, atom.Canvas,
		atom.Svg, atom.Math, atom.Video, atom.Audio, atom.Select, atom.Datalist, atom.Dialog:
		return node.DataAtom != atom.Math
	}
	for i := range node.Attr {
		if node.Attr[i].Key == "hidden" {
			return true
		}
	}
	return false
}

// isFrame reports the parts of a page that repeat from page to page.
func isFrame(node *html.Node) bool {
	switch node.DataAtom {
	case atom.Nav:
		return true
	case atom.Header, atom.Footer:
		for parent := node.Parent; parent != nil; parent = parent.Parent {
			switch parent.DataAtom {
			case atom.Main, atom.Article, atom.Section, atom.Blockquote:
				return false
			}
		}
		return true
	}
	switch strings.ToLower(attributeOf(node, "role")) {
	case "navigation", "search", "banner", "contentinfo":
		return true
	}
	return false
}
