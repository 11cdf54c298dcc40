package parse

// jsonKind says what a value is.
type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonBool
	jsonNumber
	jsonString
	// jsonNumbers is an array of numbers, or of such arrays; its text is as the file has it.
	jsonNumbers
	jsonArray
	jsonObject
)

// jsonNode is a value in a tree of values, which refers to others by their place in it.
type jsonNode struct {
	kind jsonKind
	// first is the first member or element, next the one after this; 0 is none, since the root is nobody's child.
	first, next int32
	// key is the name of a member; text a string without its escapes, a number as it is written, or true or false.
	key, text string
}

// jsonTree is what a JSON or YAML file says. Values stand after those they are in.
type jsonTree []jsonNode

// scalar reports values that have no others in them.
func (n *jsonNode) scalar() bool { return n.kind < jsonArray }

// each calls visit for the members or elements of a value until it returns false.
func (t jsonTree) each(at int32, visit func(child int32) bool) {
	for child := t[at].first; child != 0 && visit(child); {
		child = t[child].next
	}
}

// get returns the member of an object, or -1.
func (t jsonTree) get(at int32, key string) int32 {
	found := int32(-1)
	if at >= 0 && t[at].kind == jsonObject {
		t.each(at, func(child int32) bool {
			if t[child].key == key {
				found = child
			}
			return found < 0
		})
	}
	return found
}

// textOf returns the text of a scalar member of an object, "" when there is none.
func (t jsonTree) textOf(at int32, key string) string {
	if child := t.get(at, key); child >= 0 && t[child].scalar() && t[child].kind != jsonNull {
		return t[child].text
	}
	return ""
}

// maxValues is how many values a file may have: each takes about fifty bytes.
const maxValues = 2 << 20
