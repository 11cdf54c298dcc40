package rest

// WrapCursor exports wrapCursor.
var WrapCursor = wrapCursor

// AppendEvent exports appendEvent.
var AppendEvent = appendEvent

// Parts returns the keys and values of an object, or the items of an array.
func Parts(raw []byte) (keys []string, values [][]byte, err error) {
	found, err := parts(raw, 0)
	for _, p := range found {
		keys, values = append(keys, string(p.key)), append(values, p.value)
	}
	return keys, values, err
}
