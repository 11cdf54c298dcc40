// Package adf renders the Atlassian Document Format, a tree of nodes in JSON, as
// Markdown. Unknown nodes keep their text.
package adf

import (
	"encoding/json"
	"strings"
	"time"
)

// Bounds of a document. Further nodes are left out, deeper ones as well.
const (
	maxDepth = 100
	maxNodes = 200_000
	maxCells = 50 // columns of a table
	maxBytes = 8 << 20
)

// A node is a node of the document.
type node struct {
	Type    string
	Text    string
	Attrs   attributes
	Marks   []mark
	Content []node
}

type mark struct {
	Type  string
	Attrs attributes
}

// attributes are the attributes of a node or mark, which are strings, numbers and
// flags. Others are ignored.
type attributes map[string]any

// UnmarshalJSON implements [json.Unmarshaler].
func (a *attributes) UnmarshalJSON(text []byte) error {
	values := map[string]any{}
	if json.Unmarshal(text, &values) == nil {
		*a = values
	}
	return nil
}

func (a attributes) text(name string) string {
	text, _ := a[name].(string)
	return text
}

func (a attributes) number(name string) int {
	number, _ := a[name].(float64)
	return int(max(min(number, 1e6), -1e6))
}

// UnmarshalJSON implements [json.Unmarshaler]. A part of an unexpected type is
// ignored.
func (n *node) UnmarshalJSON(text []byte) error {
	var parts struct {
		Type, Text, Attrs, Marks, Content json.RawMessage
	}
	if json.Unmarshal(text, &parts) != nil {
		return nil
	}
	_ = json.Unmarshal(parts.Type, &n.Type)
	_ = json.Unmarshal(parts.Text, &n.Text)
	_ = json.Unmarshal(parts.Attrs, &n.Attrs)
	_ = json.Unmarshal(parts.Marks, &n.Marks)
	if json.Unmarshal(parts.Content, &n.Content) != nil {
		n.Content = nil
	}
	return nil
}

// Markdown renders a document. A JSON string is returned as it is, and anything
// that is no document, or a larger one than Jira allows, is "".
func Markdown(document []byte) string {
	if len(document) > maxBytes {
		return ""
	}
	var text string
	if json.Unmarshal(document, &text) == nil {
		return text
	}
	if nesting(document) > maxNesting {
		return ""
	}
	var root node
	if json.Unmarshal(document, &root) != nil {
		return ""
	}
	r := &renderer{nodes: maxNodes}
	return strings.Join(r.blocks(root.children(), 0), "\n\n")
}

// maxNesting is the depth of brackets that is decoded. A node takes two: its own
// and that of the list around it.
const maxNesting = 4 * maxDepth

// nesting returns the depth of the brackets of a JSON text.
func nesting(text []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// children returns the content of the root, which is the root itself if it is no
// document.
func (n node) children() []node {
	if n.Type == "doc" || n.Type == "" {
		return n.Content
	}
	return []node{n}
}

// date formats the attribute timestamp of a date, in milliseconds, as a day.
func date(a attributes) string {
	var milliseconds int64
	switch value := a["timestamp"].(type) {
	case float64:
		if value > -1e15 && value < 1e15 {
			milliseconds = int64(value)
		}
	case string:
		if json.Unmarshal([]byte(value), &milliseconds) != nil {
			return value
		}
	}
	day := time.UnixMilli(milliseconds).UTC()
	if milliseconds == 0 || day.Year() < 0 || day.Year() > 9999 {
		return ""
	}
	return day.Format(time.DateOnly)
}
