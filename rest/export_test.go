package rest

// WrapCursor exports wrapCursor.
var WrapCursor = wrapCursor

// WireName returns the REST name of an input of a route's operation.
func WireName(method, pattern, name string) string {
	for _, r := range newTable() {
		if r.Method == method && r.Pattern == pattern {
			return wireName(r.fields, name)
		}
	}
	return "no such route"
}

// AppendEvent exports appendEvent.
var AppendEvent = appendEvent
