package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/magpie-search/magpie/internal/ingest/parse/inline"
)

// codeText returns the text of a block of code without line numbers and buttons.
func codeText(node *html.Node) string {
	var b strings.Builder
	writeCode(&b, node)
	return strings.Trim(strings.ReplaceAll(b.String(), "\u00a0", " "), "\n")
}

// writeCode writes code as a browser shows it: elements that are shown as lines become lines.
func writeCode(b *strings.Builder, node *html.Node) {
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
			continue
		}
		if child.Type != html.ElementNode || isLineNumber(child) || isWidget(child) || isSkipped(child) {
			continue
		}
		switch child.DataAtom {
		case atom.Br:
			b.WriteByte('\n')
		case atom.Div, atom.P, atom.Li, atom.Tr, atom.Ol, atom.Ul, atom.Table, atom.Tbody, atom.Pre:
			breakLine(b)
			writeCode(b, child)
			breakLine(b)
		case atom.Span, atom.Code:
			if isLine(child) || child.DataAtom == atom.Code && node.DataAtom == atom.Pre {
				breakLine(b)
			}
			writeCode(b, child)
			if isLine(child) && child.NextSibling != nil && child.NextSibling.Type == html.ElementNode {
				breakLine(b)
			}
		case atom.Img:
			b.WriteString(attributeOf(child, "alt"))
		default:
			writeCode(b, child)
		}
	}
}

func breakLine(b *strings.Builder) {
	if text := b.String(); text != "" && text[len(text)-1] != '\n' {
		b.WriteByte('\n')
	}
}

// isLine reports whether an element is a line of code of a syntax highlighter.
func isLine(node *html.Node) bool {
	for class := range strings.FieldsSeq(attributeOf(node, "class")) {
		switch class {
		case "line", "token-line", "code-line", "view-line", "cl":
			return true
		}
	}
	return false
}

// isLineNumber reports whether an element is a line number of a syntax highlighter.
func isLineNumber(node *html.Node) bool {
	for class := range strings.FieldsSeq(attributeOf(node, "class")) {
		switch class {
		case "lineno", "linenos", "linenum", "linenumber", "line-number", "line-numbers-rows", "lnt", "ln", "gutter", "rouge-gutter", "blob-num",
			"hljs-ln-numbers", "react-syntax-highlighter-line-number", "linenodiv", "lineNumber", "line-no", "CodeMirror-linenumber", "gl":
			return true
		}
	}
	_, numbered := lookupAttribute(node, "data-line-number")
	return numbered && node.DataAtom == atom.Td && node.FirstChild == nil
}

// codeTable returns the element with the code if a table shows code beside its line numbers, or nil.
func codeTable(table *html.Node) *html.Node {
	numbers := false
	var code *html.Node
	for node := range table.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch node.DataAtom {
		case atom.Td, atom.Th, atom.Pre, atom.Div, atom.Span:
			if isLineNumber(node) {
				numbers = true
				continue
			}
			if node.DataAtom != atom.Td {
				continue
			}
			for class := range strings.FieldsSeq(attributeOf(node, "class")) {
				switch class {
				case "code", "rouge-code":
					code = node
				case "lntd", "blob-code", "hljs-ln-code":
					code = table
				}
			}
		case atom.Table:
			return nil
		}
	}
	if !numbers {
		return nil
	}
	return code
}

// innerCode returns the pre element inside an element, or the element itself.
func innerCode(node *html.Node) *html.Node {
	for n := range node.Descendants() {
		if n.DataAtom == atom.Pre && !isLineNumber(n) {
			return n
		}
	}
	return node
}

// isCodeBlock reports whether a code element is a block: it has several lines and no siblings.
func isCodeBlock(node *html.Node) bool {
	for n := range node.Descendants() {
		if n.DataAtom == atom.Br || n.Type == html.TextNode && strings.Contains(strings.Trim(n.Data, "\n"), "\n") && strings.Contains(attributeOf(node, "class"), "lang") {
			return isOnlyChild(node)
		}
	}
	return false
}

func isOnlyChild(node *html.Node) bool {
	for _, next := range []func(*html.Node) *html.Node{
		func(n *html.Node) *html.Node { return n.NextSibling }, func(n *html.Node) *html.Node { return n.PrevSibling },
	} {
		for n := next(node); n != nil; n = next(n) {
			if n.Type == html.ElementNode || n.Type == html.TextNode && strings.TrimSpace(n.Data) != "" {
				return false
			}
		}
	}
	return true
}

// codeLanguage returns the language of code from the usual class names and attributes: language-go, lang-go,
// highlight-source-go, brush: go, sourceCode go, data-lang.
func codeLanguage(pre *html.Node) string {
	nodes := make([]*html.Node, 0, 5)
	for node, n := pre, 0; node != nil && n < 3; node, n = node.Parent, n+1 {
		nodes = append(nodes, node)
	}
	seen := 0
	for n := range pre.Descendants() {
		if n.DataAtom == atom.Code {
			nodes = append(nodes, n)
			break
		}
		if seen++; seen > maxLookahead {
			break
		}
	}
	for _, node := range nodes {
		for _, name := range []string{"data-lang", "data-language", "data-code-language"} {
			if value := attributeOf(node, name); inline.IsLanguageName(value) {
				return strings.ToLower(value)
			}
		}
		if language := inline.ClassLanguage(attributeOf(node, "class")); language != "" {
			return language
		}
	}
	return ""
}
