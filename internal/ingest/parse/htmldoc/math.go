package htmldoc

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// mathText returns a formula in TeX between dollar signs if the page has it, or else the text of its parts.
func mathText(node *html.Node) string {
	tex := attributeOf(node, "alttext")
	for n := range node.Descendants() {
		if n.Type == html.ElementNode && strings.EqualFold(n.Data, "annotation") && strings.Contains(attributeOf(n, "encoding"), "tex") {
			tex = rawText(n)
			break
		}
	}
	if tex = strings.Join(strings.Fields(tex), " "); tex != "" {
		return texSpan(tex, attributeOf(node, "display") == "block")
	}
	var b strings.Builder
	writeFormula(&b, node)
	return strings.Join(strings.Fields(b.String()), " ")
}

// writeFormula writes the parts of a formula, with fractions and powers as people type them.
func writeFormula(b *strings.Builder, node *html.Node) {
	sign := ""
	switch node.Data {
	case "mfrac":
		sign = "/"
	case "msup", "mover":
		sign = "^"
	case "msub", "munder":
		sign = "_"
	case "msqrt", "mroot":
		b.WriteString("√")
	case "annotation", "annotation-xml":
		return
	}
	parts := 0
	for child := node.FirstChild; child != nil; child = child.NextSibling {
		switch child.Type {
		case html.TextNode:
			b.WriteString(strings.TrimSpace(child.Data))
		case html.ElementNode:
			if parts > 0 {
				b.WriteString(sign)
			}
			parts++
			group := sign != "" && child.Data == "mrow"
			if group {
				b.WriteByte('(')
			}
			writeFormula(b, child)
			if group {
				b.WriteByte(')')
			}
		}
	}
}

func texSpan(tex string, display bool) string {
	if strings.HasPrefix(tex, `{\displaystyle `) && strings.HasSuffix(tex, "}") {
		tex = strings.TrimSpace(tex[len(`{\displaystyle `) : len(tex)-1])
	}
	if display {
		return "$$" + tex + "$$"
	}
	return "$" + tex + "$"
}

// isMathScript reports whether a script element holds a formula for MathJax.
func isMathScript(node *html.Node) bool {
	return node.DataAtom == atom.Script && strings.HasPrefix(attributeOf(node, "type"), "math/tex")
}

func scriptMath(node *html.Node) string {
	return texSpan(strings.Join(strings.Fields(rawText(node)), " "), strings.Contains(attributeOf(node, "type"), "display"))
}
