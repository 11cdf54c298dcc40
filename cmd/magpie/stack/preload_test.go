package stack_test

import (
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/wire"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A process that starts loads what was searched last, unless it shares the collections
// with others.
func TestPreloadingCanBeLeftOut(t *testing.T) {
	t.Parallel()
	s := start(t)
	connector := s.connector()
	s.upload(connector, map[string]string{"keys.md": "# Rotate the key\n\nThe signing key is rotated once a year.\n"})
	s.watchOverWebSocket(s.startSync(connector))
	s.graphql(&struct{}{}, `{ search(input: {query: "signing key"}) { total } }`, nil)
	testkit.WaitFor(t, "the search in the query log", func() bool { return s.app.Queries.Written() == 1 })
	for preload, want := range map[bool]int{true: 1, false: 0} {
		c := *s.app.Config
		c.SearchPreload = preload
		app, err := wire.Open(t.Context(), &c, s.app.Log)
		if err != nil {
			t.Fatal(err)
		}
		app.Warm(t.Context())
		if got := app.Search.Resident().Collections; got != want {
			t.Errorf("with %t there are %d collections in memory, not %d", preload, got, want)
		}
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
}
