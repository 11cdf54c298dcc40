package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// urql and Apollo Client ask by the hash of a query, send the query when it is not known,
// and need the hash only from then on. All but Apollo Client as it is by default do it with GET.
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
	for client, method := range map[string]string{"urql": "GET", "apollo": "GET", "apollo by default": "POST"} {
		want := []string{method + " hash PERSISTED_QUERY_NOT_FOUND", "query", "result OWNER", method + " hash", "result OWNER"}
		if !slices.Equal(seen[client], want) {
			t.Errorf("%s: %q, want %q", client, seen[client], want)
		}
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}
