package search_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	stack, urls := migratedCluster(t)
	pooler := testkit.PgBouncer(t, stack, 4)
	const mode = "&default_query_exec_mode=cache_describe"
	for _, c := range []struct{ url, want string }{
		{pooler.DatabaseURL, "default_query_exec_mode=cache_describe"},
		{pooler.DatabaseURL + mode, "alter role \"" + testkit.ClusterLogin + "\" set role"},
	} {
		_, err := store.Open(t.Context(), c.url, 2)
		if !errors.As(err, new(*store.Mismatch)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want an error with %q", err, c.want)
		}
	}
	admin, err := pgx.Connect(t.Context(), urls.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close(t.Context()) }()
	if _, err := admin.Exec(t.Context(), "alter role "+testkit.ClusterLogin+" set role = magpie_app"); err != nil {
		t.Fatal(err)
	}
	// Its connections to the server begin with the setting. There are far fewer than those of
	// the fixture's pools: a search of one stored collection needs one at a time.
	urls.AppURL = testkit.PgBouncer(t, stack, 2).DatabaseURL + mode
	f := fixtureAt(t, urls)
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	tenants := []tenant{f.tenant(), f.tenant()}
	words := []string{"heron", "egret", "stork", "crane", "ibis", "bittern"}
	var working sync.WaitGroup
	for worker, word := range words {
		id := tenants[worker%2]
		working.Go(func() {
			for n := range 5 {
				f.add(id, fmt.Sprintf("%s-%d.md", word, n), text(word), nil)
				for _, engine := range []*search.Engine{f.engine, stored} {
					results, err := engine.Search(t.Context(), id.scope, search.Query{Text: word, Limit: 50, Distinct: search.DistinctDocument})
					if err != nil {
						t.Error(err)
						return
					}
					found := 0 // others are similar
					for _, h := range results.Hits {
						if h.Title == "About "+word {
							found++
						}
					}
					if found != n+1 {
						t.Errorf("%s: %d hits, want %d", word, found, n+1)
					}
				}
				var role string
				if err := f.db.Pool.QueryRow(t.Context(), "select current_user").Scan(&role); err != nil || role != store.AppRole {
					t.Errorf("a connection has the role %q, %v", role, err)
				}
				if n, err := f.db.Ent.Workspace.Query().Count(t.Context()); err == nil && n > 0 {
					t.Errorf("%d workspaces are seen without a viewer", n)
				}
			}
		})
	}
	working.Wait()
	for i, id := range tenants {
		for _, engine := range []*search.Engine{f.engine, stored} {
			results, err := engine.Search(t.Context(), id.scope, search.Query{Text: words[1-i], Limit: 50})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range results.Hits {
				if h.Collection != id.collection {
					t.Errorf("a document of another workspace was found: %s", h.Title)
				}
			}
		}
	}
}
