package search_test

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// TestHowToBackUpEtcdFindsTheBackupPage searches operators' pages of etcd's documentation
// in three versions. Passages about the preparation of an upgrade, which say to back up,
// come before the one that says how.
func TestHowToBackUpEtcdFindsTheBackupPage(t *testing.T) {
	t.Parallel()
	const base = "../../../shared/corpora/etcd-docs"
	if _, err := os.Stat(base); errors.Is(err, os.ErrNotExist) {
		t.Skip("the shared corpora are not beside this checkout")
	}
	f := newFixture(t)
	id := f.tenant()
	paths := map[uuid.UUID]string{}
	for _, version := range []string{"v3.4", "v3.5", "v3.6"} {
		for _, folder := range []string{"op-guide", "upgrades"} {
			maps.Copy(paths, f.addFolder(id, base, version+"/"+folder))
		}
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		results, err := e.Search(t.Context(), id.scope, search.Query{Text: "how to back up etcd", Collapse: true, Limit: 10, MinScore: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		page := slices.IndexFunc(results.Hits, func(h search.Hit) bool {
			return paths[h.Document] == "v3.6/op-guide/maintenance.md" && slices.Equal(h.Headings, []string{"Snapshot backup"})
		})
		if page < 0 {
			t.Errorf("%s: the backup page is not found", name)
		} else if d := results.Hits[page].Duplicates; d == nil || !slices.Equal(d.Versions, []string{"v3.5", "v3.4"}) {
			t.Errorf("%s: the backup page stands for %+v", name, d)
		}
		shown := map[string]string{} // paths by text
		for _, h := range results.Hits {
			text, path := strings.Join(strings.Fields(h.Text), " "), paths[h.Document]
			if shown[text] != "" || h.Version != "v3.6" {
				t.Errorf("%s: %s %q is shown, and %q", name, path, h.Headings, shown[text])
			}
			shown[text] = path
		}
	}
}
