package confluence

import (
	"bytes"
	"strings"

	"golang.org/x/net/html"
)

// The storage format is XHTML in pieces, with elements of the prefixes ac: and
// ri: and with CDATA. What people and apps wrote into it over the years is not
// always well-formed, so it is read with the tokenizer of HTML, which takes
// anything, and made a tree here, of bounded depth.

const (
	maxDepth = 150     // deeper elements are children of the deepest allowed one
	maxNodes = 500_000 // of one page; further nodes are left out
)

// A node is an element or, without a name, a text.
type node struct {
	name     string
	attr     map[string]string
	text     string
	children []*node
}

// readStorage parses a page's storage format. It never fails.
func readStorage(source string) *node {
	root := &node{name: "#root"}
	stack := []*node{root}
	top := func() *node { return stack[len(stack)-1] }
	tokens := html.NewTokenizer(strings.NewReader(source))
	tokens.AllowCDATA(true)
	for count := 0; count < maxNodes; count++ {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken:
			return root // the only error is the end
		case html.TextToken:
			top().children = append(top().children, &node{text: tokenText(tokens)})
		case html.StartTagToken, html.SelfClosingTagToken:
			tokens.NextIsNotRawText()
			name, more := tokens.TagName()
			element := &node{name: string(name)}
			for more {
				var key, value []byte
				key, value, more = tokens.TagAttr()
				if element.attr == nil {
					element.attr = make(map[string]string)
				}
				element.attr[string(key)] = string(value)
			}
			top().children = append(top().children, element)
			if kind == html.StartTagToken && !isVoid(element.name) && len(stack) < maxDepth {
				stack = append(stack, element)
			}
		case html.EndTagToken:
			name, _ := tokens.TagName()
			for i := len(stack) - 1; i > 0; i-- {
				if stack[i].name == string(name) {
					stack = stack[:i]
					break
				}
			}
		}
	}
	return root
}

// tokenText returns the text of a token. Entities are not resolved in CDATA.
func tokenText(tokens *html.Tokenizer) string {
	if raw := tokens.Raw(); bytes.HasPrefix(raw, []byte("<![CDATA[")) {
		return string(bytes.TrimSuffix(raw[len("<![CDATA["):], []byte("]]>")))
	}
	return string(tokens.Text())
}

func isVoid(name string) bool {
	switch name {
	case "br", "hr", "img", "col", "wbr", "input", "meta", "link", "area", "base", "embed", "source", "track", "param":
		return true
	}
	return false
}

// child returns the first child element with one of the names, or nil.
func (n *node) child(names ...string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		for _, name := range names {
			if c.name == name {
				return c
			}
		}
	}
	return nil
}

// parameter returns a macro's parameter, or "".
func (n *node) parameter(name string) string {
	for _, c := range n.children {
		if (c.name == "ac:parameter" || c.name == "ac:default-parameter") && c.attr["ac:name"] == name {
			return strings.TrimSpace(c.plainText())
		}
	}
	return ""
}

// plainText returns all text below a node.
func (n *node) plainText() string {
	var b strings.Builder
	n.writePlainText(&b)
	return b.String()
}

func (n *node) writePlainText(b *strings.Builder) {
	b.WriteString(n.text)
	for _, c := range n.children {
		c.writePlainText(b)
	}
}

// find returns the first element with a name below a node, or nil.
func (n *node) find(name string) *node {
	if n == nil {
		return nil
	}
	for _, c := range n.children {
		if c.name == name {
			return c
		}
		if found := c.find(name); found != nil {
			return found
		}
	}
	return nil
}
