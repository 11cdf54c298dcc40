package search_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search"
)

// TestBothTiersFindTheSame compares the results of the demonstration's questions.
func TestBothTiersFindTheSame(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, filters := range map[string]search.Filters{
		"all":        {},
		"version":    {Version: "v2.0"},
		"German":     {Language: "de"},
		"no version": {Version: "v9"},
	} {
		matched, expected := 0, 0
		for _, q := range demoQuestions(t) {
			query := search.Query{Text: q.Query, Limit: 10, Filters: filters, Facets: allFacets()}
			resident := f.search(id, query)
			other, err := stored.Search(t.Context(), id.scope, query)
			if err != nil {
				t.Fatal(err)
			}
			found := make(map[uuid.UUID]bool)
			for _, h := range other.Hits {
				found[h.Passage] = true
			}
			for _, h := range resident.Hits {
				expected++
				if found[h.Passage] {
					matched++
				}
			}
			if filters.Version == "v9" && len(resident.Hits)+len(other.Hits) > 0 {
				t.Errorf("%q finds a version that does not exist", q.Query)
			}
		}
		if matched*10 < expected*9 {
			t.Errorf("%s: the stored tier has %d of %d results of the resident tier, want 90 %%", name, matched, expected)
		} else {
			t.Logf("%s: overlap %d of %d", name, matched, expected)
		}
	}
	if stats := f.engine.Resident(); stats.Collections != 1 || stats.Bytes == 0 || stats.Failures > 0 {
		t.Errorf("the collection is not resident: %+v", stats)
	}
	if stats := stored.Resident(); stats.Collections != 0 {
		t.Errorf("an engine without memory has resident collections: %+v", stats)
	}
}

func TestSearchAsYouType(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "The kubernetes operator restores backups.", nil)
	f.add(id, "b", "A kubelet runs on every node.", nil)
	f.add(id, "c", "Otters swim.", nil)
	for query, want := range map[string]int{"kube": 2, "kuber": 1, "otters swi": 1, "every no": 1} {
		r := f.search(id, search.Query{Text: query, MinScore: 0.3, AsYouType: true})
		if r.Total != want {
			t.Errorf("AsYouType(%q) finds %d passages, want %d", query, r.Total, want)
		}
	}
}

func TestPhrasesAndExclusionsFilter(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a", "The alpha beta release is out.", nil)
	f.add(id, "b", "The beta alpha release is out.", nil)
	f.add(id, "c", "Alpha particles and beta particles.", nil)
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for query, want := range map[string]string{
			`"alpha beta"`:         "a",
			`alpha -particles`:     "ab",
			`alpha -"alpha beta"`:  "bc",
			`"alpha beta" -beta`:   "",
			`particles "beta part`: "abc", // an unclosed quote
		} {
			r, err := e.Search(t.Context(), id.scope, search.Query{Text: query, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, h := range r.Hits {
				found[strings.TrimPrefix(h.URL, "https://docs.example/")] = true
			}
			got := ""
			for _, title := range []string{"a", "b", "c"} {
				if found[title] {
					got += title
				}
			}
			if got != want {
				t.Errorf("%s: %s finds %q, want %q", name, query, got, want)
			}
		}
	}
}

func TestPagesThatLeadElsewhereSinkBelowText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "old.md", "# Rotating certificates\n\nRotating certificates has moved to [rotating certificates of a cluster](new.md).\n", nil)
	f.add(id, "list.md", "# Security\n\n## See also\n\n- [Rotating certificates](new.md)\n- [Rotating certificates of clients](client.md)\n", nil)
	f.add(id, "new.md", "# Certificates\n\nCertificates expire after a year. Rotating them needs no restart: put the new files beside the old ones and send a signal.\n", nil)
	f.add(id, "other.md", "# Backups\n\nBackups are taken every night.\n", nil)
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		r, err := engine.Search(t.Context(), id.scope, search.Query{Text: "how does rotating certificates work", Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Hits) < 3 || r.Hits[0].Title != "Certificates" {
			t.Errorf("%s: %d results, first %+v", name, len(r.Hits), r.Hits[0])
		}
	}
}
