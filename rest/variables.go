package rest

import (
	"strings"
)

// variables are the variables of an operation, nested like its input objects.
type variables map[string]any

// set sets the value at a dotted path and creates the objects on the way.
func (v variables) set(path string, value any) {
	at := map[string]any(v)
	parts := strings.Split(path, ".")
	for _, name := range parts[:len(parts)-1] {
		inner, ok := at[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			at[name] = inner
		}
		at = inner
	}
	at[parts[len(parts)-1]] = value
}

// get returns the value at a dotted path, or nil.
func (v variables) get(path string) any {
	var at any = map[string]any(v)
	for name := range strings.SplitSeq(path, ".") {
		inner, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = inner[name]
	}
	return at
}
