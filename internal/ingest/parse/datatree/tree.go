package datatree

import (
	"fmt"
	"strings"
)

// Kind is the type of a value.
type Kind uint8

// The kinds of values. Those before Array are scalars.
const (
	Null Kind = iota
	Bool
	Number
	String
	// Numbers is an array that holds only numbers, or only such arrays. Its text is that of the file.
	Numbers
	Array
	Object
)

// Node is a value in a Tree.
type Node struct {
	Kind Kind
	// First is the index of the first member or element, Next that of the following sibling. Zero means none, since the
	// root is no child.
	First, Next int32
	// Key is the name of a member. Text is a string without escapes, a number as it is written, or true or false.
	Key, Text string
}

// Scalar reports whether the value contains no other values.
func (n *Node) Scalar() bool { return n.Kind < Array }

// Tree is a list of values. Each value follows its parent, and the root is the first.
type Tree []Node

// MaxValues is the most values that a file may have. A value takes about fifty bytes.
const MaxValues = 2 << 20

// Each calls visit for each member or element of a value until visit returns false.
func (t Tree) Each(at int32, visit func(child int32) bool) {
	for child := t[at].First; child != 0 && visit(child); {
		child = t[child].Next
	}
}

// Members calls visit for each member or element of a value. The index -1 stands for a missing value, which has none.
func (t Tree) Members(at int32, visit func(child int32)) {
	if at < 0 {
		return
	}
	t.Each(at, func(child int32) bool {
		visit(child)
		return true
	})
}

// Get returns the index of a member of an object, or -1 if there is none.
func (t Tree) Get(at int32, key string) int32 {
	found := int32(-1)
	if at >= 0 && t[at].Kind == Object {
		t.Each(at, func(child int32) bool {
			if t[child].Key == key {
				found = child
			}
			return found < 0
		})
	}
	return found
}

// TextOf returns the text of a scalar member of an object, or "" if there is none.
func (t Tree) TextOf(at int32, key string) string {
	if child := t.Get(at, key); child >= 0 && t[child].Scalar() && t[child].Kind != Null {
		return t[child].Text
	}
	return ""
}

// HasScalar reports whether the tree contains any scalar.
func (t Tree) HasScalar() bool {
	for i := range t {
		if t[i].Scalar() {
			return true
		}
	}
	return false
}

// ScalarText returns a scalar as text. Arrays of numbers get a blank after each comma.
func (t Tree) ScalarText(at int32) string {
	node := &t[at]
	if node.Kind != Numbers {
		return strings.TrimSpace(node.Text)
	}
	text := strings.Join(strings.Fields(node.Text), "")
	if strings.Count(text, "[") == 1 {
		text = strings.Trim(text, "[],")
	}
	return strings.ReplaceAll(text, ",", ", ")
}

// Compact returns a value on one line, and reports whether it fits into limit bytes. If it does not fit, the text is cut off.
func (t Tree) Compact(at int32, limit int) (text string, fits bool) {
	var b strings.Builder
	fits = t.writeCompact(&b, at, limit, 0)
	return b.String(), fits
}

func (t Tree) writeCompact(b *strings.Builder, at int32, limit, depth int) bool {
	const maxDepth = 8
	node := &t[at]
	if node.Scalar() {
		b.WriteString(strings.Join(strings.Fields(t.ScalarText(at)), " "))
		return b.Len() <= limit
	}
	if depth > maxDepth {
		return false
	}
	bracket := node.Kind == Object && depth > 0
	if bracket {
		b.WriteByte('{')
	}
	fits, first := true, true
	t.Each(at, func(child int32) bool {
		if !first {
			b.WriteString(", ")
		}
		first = false
		if node.Kind == Object {
			b.WriteString(t[child].Key)
			b.WriteString(": ")
		}
		fits = t.writeCompact(b, child, limit, depth+1) && b.Len() <= limit
		return fits
	})
	if bracket {
		b.WriteByte('}')
	}
	return fits
}

// JSON returns a value as indented JSON, and reports whether it fits into limit bytes. If it does not fit, the text is cut
// off.
func (t Tree) JSON(at int32, limit int) (text string, fits bool) {
	var b strings.Builder
	fits = t.writeJSON(&b, at, 0, limit)
	return b.String(), fits
}

func (t Tree) writeJSON(b *strings.Builder, at int32, depth, limit int) bool {
	const maxIndent = 40
	node := &t[at]
	indent := strings.Repeat("  ", min(depth, maxIndent))
	switch node.Kind {
	case String:
		fmt.Fprintf(b, "%q", node.Text)
	case Null:
		b.WriteString("null")
	case Bool, Number, Numbers:
		b.WriteString(node.Text)
	case Array, Object:
		brackets := "[]"
		if node.Kind == Object {
			brackets = "{}"
		}
		b.WriteByte(brackets[0])
		first, fits := true, true
		t.Each(at, func(child int32) bool {
			if !first {
				b.WriteByte(',')
			}
			first = false
			b.WriteString("\n" + indent + "  ")
			if node.Kind == Object {
				fmt.Fprintf(b, "%q: ", t[child].Key)
			}
			fits = t.writeJSON(b, child, depth+1, limit)
			return fits
		})
		if !first {
			b.WriteString("\n" + indent)
		}
		b.WriteByte(brackets[1])
		if !fits {
			return false
		}
	}
	return b.Len() <= limit
}
