package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// urql and Apollo Client ask by the hash of a query with GET, send the query when it is
// not known, and need the hash only from then on.
func TestPersistedQueriesOfUrqlAndApollo(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	out, err := node(t, "persisted.mjs", s.url+"/graphql", s.token).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	seen := map[string][]string{}
	for line := range bytes.Lines(out) {
		var l struct {
			Client, Method, Code, Role, Error string
			Query                             bool
			Status                            int
		}
		must(t, json.Unmarshal(line, &l))
		switch {
		case l.Method == "":
			seen[l.Client] = append(seen[l.Client], strings.TrimSpace("result "+l.Role+" "+l.Error))
		case l.Query:
			seen[l.Client] = append(seen[l.Client], "query")
		default:
			seen[l.Client] = append(seen[l.Client], strings.TrimSpace(fmt.Sprint(l.Method, " hash ", l.Code)))
		}
	}
	for _, client := range []string{"urql", "apollo"} {
		want := []string{"GET hash PERSISTED_QUERY_NOT_FOUND", "query", "result OWNER", "GET hash", "result OWNER"}
		if !slices.Equal(seen[client], want) {
			t.Errorf("%s: %q, want %q", client, seen[client], want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
