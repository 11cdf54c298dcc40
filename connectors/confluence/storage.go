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
	maxDepth = 150     // deeper elements become children of the deepest allowed
	maxNodes = 500_000 // of one page; the rest is left out
)

// node is an element, or a text when it has no name.
type node struct {
	name     string
	attr     map[string]string
	text     string
	children []*node
}

// readStorage makes a tree of a page's storage format. It never fails.
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
			return root // there is no other error than the end
		case html.TextToken:
			top().children = append(top().children, &node{text: textOf(tokens)})
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
			for at := len(stack) - 1; at > 0; at-- {
				if stack[at].name == string(name) {
					stack = stack[:at]
					break
				}
			}
		}
	}
	return root
}

// textOf is a text as it reads. In CDATA nothing stands for something else.
func textOf(tokens *html.Tokenizer) string {
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

// child is the first child element of a name, nil when there is none.
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

// parameter is a macro's parameter of a name, "" for the one without.
func (n *node) parameter(name string) string {
	for _, c := range n.children {
		if (c.name == "ac:parameter" || c.name == "ac:default-parameter") && c.attr["ac:name"] == name {
			return strings.TrimSpace(c.plain())
		}
	}
	return ""
}

// plain is all the text below a node, as it is.
func (n *node) plain() string {
	var b strings.Builder
	n.writePlain(&b)
	return b.String()
}

func (n *node) writePlain(b *strings.Builder) {
	b.WriteString(n.text)
	for _, c := range n.children {
		c.writePlain(b)
	}
}

// find returns the first element of a name below a node, nil when there is none.
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
