package graph_test

import (
	"testing"

	"github.com/google/uuid"
)

// Every root field refuses ids of another kind, of no row, and malformed ones.
func TestWrongIDsAreRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	tried := 0
	for name, try := range trials(ada) {
		for variable, right := range try.variables {
			list, isList := right.([]any)
			if isList {
				right = list[0]
			}
			id, ok := right.(uuid.UUID)
			if !ok {
				continue
			}
			other := ada.document
			if id == ada.document {
				other = ada.collection
			}
			for what, value := range map[string]any{"the nil UUID": uuid.Nil, "the last UUID": uuid.Max, "another kind": other, "no UUID": "zz"} {
				if what == "another kind" && (name == "Query.node" || name == "Query.nodes") {
					continue // they take every kind
				}
				variables := map[string]any{}
				for k, v := range try.variables {
					variables[k] = v
				}
				if variables[variable] = value; isList {
					variables[variable] = []any{value}
				}
				got := h.ask(t, ada.viewer, try.query, variables)
				tried++
				switch code := got.code(); {
				case what == "no UUID" && code != "invalid_request" && code != "not_found",
					what != "no UUID" && code != try.code && code != "not_found":
					t.Errorf("%s with %s: the code is %q: %s", name, what, code, got.body)
				}
			}
		}
	}
	t.Logf("%d calls", tried)
}
