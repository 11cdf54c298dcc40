package search_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
)

// backup is a text of more than 32 words about a version.
func backup(version string) string {
	return "Before an upgrade of the lighthouse server to " + version + ", take a snapshot of its data with the snapshot command, " +
		"copy the file to another machine, and check the hash of the copy. The server keeps running while the snapshot is written. " +
		"Restore the snapshot into an empty directory, start one member from it, and add the others one after another."
}

// shown are the results of a search as path, version and duplicates.
func (f *fixture) shown(ctx context.Context, e *search.Engine, id tenant, q search.Query) []string {
	f.Helper()
	if q.Limit == 0 {
		q.Limit = 20
	}
	if q.MinScore == 0 {
		q.MinScore = 0.01
	}
	results, err := e.Search(ctx, id.scope, q)
	if err != nil {
		f.Fatal(err)
	}
	if results.Total != len(results.Hits) {
		f.Errorf("%q: a total of %d, and %d results", q.Text, results.Total, len(results.Hits))
	}
	out := []string{}
	for _, h := range results.Hits {
		line := strings.TrimSpace(h.Title + " " + h.Version)
		if d := h.Duplicates; d != nil {
			line += fmt.Sprintf(" +%d %v", d.Count, d.Versions)
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

func TestResultsThatRepeatEachOtherAreShownOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	of := func(title, version string) func(*index.Record) {
		return func(r *index.Record) { r.Title, r.Version = title, version }
	}
	for _, v := range []string{"v1.9", "v2.0", "v1.10"} {
		f.add(id, v+"/backup.md", "# Backup\n\n"+backup(v), of("Backup", v))
		f.add(id, v+"/upgrade.md", "# Upgrade\n\nStop the lighthouse, install "+v+", start it, and see that the snapshot of the week is complete.", of("Upgrade", v))
		f.add(id, v+"/note.md", "# Note\n\nThe harbour master keeps the lamp.", of("Note", v))
	}
	// Copies, records of one form, and a short text in two places, without versions.
	tide := strings.ReplaceAll(backup("the new release"), "lighthouse", "tide")
	f.add(id, "a/tide.md", "# Tide\n\n"+tide, of("Tide", ""))
	f.add(id, "b/tide.md", "# Tide\n\n"+tide, of("Tide copy", ""))
	for _, day := range []string{"Monday", "Tuesday"} {
		f.add(id, day+".md", "# Report\n\n"+strings.ReplaceAll(backup(day), "lighthouse", "ferry"), of("Report", ""))
		f.add(id, "crane"+day+".md", "# Crane\n\nThe crane stands idle.", of("Crane", ""))
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	version := func(v string) search.Filters { return search.Filters{Version: v} }
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for _, x := range []struct {
			query search.Query
			want  string
		}{
			{search.Query{Text: `"lighthouse server" snapshot backup`, Collapse: true}, "Backup v2.0 +2 [v1.10 v1.9]"},
			{search.Query{Text: `"lighthouse server" 1.10 snapshot`, Collapse: true}, "Backup v1.10 +2 [v2.0 v1.9]"},
			{search.Query{Text: "lighthouse of the snapshot", Collapse: true, Filters: version("v1.9")}, "Backup v1.9|Upgrade v1.9"},
			{search.Query{Text: "lighthouse snapshot", Collapse: true, Filters: search.Filters{Versions: []string{"v1.9", "v1.10"}}},
				"Backup v1.10 +1 [v1.9]|Upgrade v1.10 +1 [v1.9]"},
			{search.Query{Text: `"lighthouse server"`}, "Backup v1.10|Backup v1.9|Backup v2.0"},
			{search.Query{Text: `"install"`, Collapse: true, Distinct: search.DistinctDocument}, "Upgrade v2.0 +2 [v1.10 v1.9]"},
			{search.Query{Text: "harbour lamp", Collapse: true}, "Note v2.0 +2 [v1.10 v1.9]"},
			{search.Query{Text: `"tide server"`, Collapse: true}, "Tide +1 []"},
			{search.Query{Text: `"ferry server"`, Collapse: true}, "Report|Report"},
			{search.Query{Text: `"crane stands"`, Collapse: true}, "Crane|Crane"},
		} {
			if got := strings.Join(f.shown(t.Context(), e, id, x.query), "|"); got != x.want {
				t.Errorf("%s: %q, collapse %v: %s, want %s", name, x.query.Text, x.query.Collapse, got, x.want)
			}
		}
		everything := search.Query{Text: "lighthouse snapshot", Collapse: true, Limit: 100}
		if results, err := e.Search(t.Context(), id.scope, everything); err != nil || slices.ContainsFunc(results.Hits, func(h search.Hit) bool { return h.Duplicates != nil }) {
			t.Errorf("%s: with a minimum of 0, candidates are left out: %v", name, err)
		}
		q := search.Query{Text: "lighthouse snapshot", Collapse: true, Limit: 10, MinScore: 0.01, Facets: &search.FacetQuery{Fields: []search.Field{search.FieldVersion}, Values: 10}}
		results, err := e.Search(t.Context(), id.scope, q)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(results.Facets[0].Values); n != 3 {
			t.Errorf("%s: the facet has %d versions", name, n)
		}
	}
}

// TestNearlyTheSameTextIsMostlyTheSameWords changes words of a text in its next version.
func TestNearlyTheSameTextIsMostlyTheSameWords(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	text := backup("the new release")
	few := strings.NewReplacer("another machine", "another computer", "an empty directory", "an empty folder", "one after another", "one by one").Replace(text)
	other := strings.ReplaceAll(text, "machine", "ship") // no copy of the text under the other title
	words := strings.Fields(other)
	for i := range words {
		if i%2 == 1 && words[i] != "snapshot" && words[i] != "lighthouse" {
			words[i] = fmt.Sprintf("word%c%c", 'a'+i%26, 'a'+i/2%26)
		}
	}
	for title, bodies := range map[string][]string{"Few": {text, few}, "Half": {other, strings.Join(words, " ")}} {
		for i, version := range []string{"1.0", "2.0"} {
			f.add(id, title+version+".md", "# "+title+"\n\n"+bodies[i], func(r *index.Record) { r.Title, r.Version = title, version })
		}
	}
	want := "Few 2.0 +1 [1.0]|Half 1.0|Half 2.0"
	if got := strings.Join(f.shown(t.Context(), f.engine, id, search.Query{Text: "lighthouse snapshot", Collapse: true}), "|"); got != want {
		t.Errorf("shown are %s, want %s", got, want)
	}
}

// TestAHiddenVersionIsNeitherShownNorCounted asks as somebody who may not read the newest.
func TestAHiddenVersionIsNeitherShownNorCounted(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for _, v := range []string{"1.0", "2.0", "3.0"} {
		f.add(id, v+".md", "# Backup\n\n"+backup(v), func(r *index.Record) {
			r.Title, r.Version = "Backup", v
			if v == "3.0" {
				r.Readers = []string{"user:ada"}
			}
		})
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	for name, e := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		for _, x := range []struct {
			readers []string
			want    string
		}{{[]string{"user:ada"}, "Backup 3.0 +2 [2.0 1.0]"}, {[]string{"user:eve"}, "Backup 2.0 +1 [1.0]"}} {
			ctx := viewerWith(t, x.readers)
			if got := strings.Join(f.shown(ctx, e, id, search.Query{Text: "lighthouse snapshot", Collapse: true}), "|"); got != x.want {
				t.Errorf("%s: %v see %s, want %s", name, x.readers, got, x.want)
			}
		}
	}
}

// TestADocumentThatIsLeftOutStandsAsRepeated asks why an old version is not found.
func TestADocumentThatIsLeftOutStandsAsRepeated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	documents := map[string]uuid.UUID{}
	for _, v := range []string{"1.0", "2.0"} {
		documents[v] = f.add(id, v+".md", "# Backup\n\n"+backup(v), func(r *index.Record) { r.Title, r.Version = "Backup", v })
	}
	for _, x := range []struct {
		version  string
		collapse bool
		filters  search.Filters
		repeated bool
	}{{"1.0", true, search.Filters{}, true}, {"2.0", true, search.Filters{}, false}, {"1.0", false, search.Filters{}, false}, {"1.0", true, search.Filters{Version: "1.0"}, false}} {
		q := search.Query{Text: "lighthouse snapshot", Limit: 10, MinScore: 0.01, Collapse: x.collapse, Filters: x.filters}
		s, err := f.engine.Standing(t.Context(), id.scope, q, documents[x.version], id.collection)
		if err != nil || s.Repeated != x.repeated || (s.Rank == 0) != x.repeated {
			t.Errorf("%s with collapse %v stands at %+v, %v", x.version, x.collapse, s, err)
		}
	}
}
