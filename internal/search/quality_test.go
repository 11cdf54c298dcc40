package search_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const demo = "../../testdata/demo"

type demoQuestion struct {
	Query string  `json:"query"`
	Path  *string `json:"path"` // of the page that answers, nil if there is none
}

func demoQuestions(t testing.TB) []demoQuestion {
	t.Helper()
	file, err := os.Open(demo + "/questions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []demoQuestion
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var q demoQuestion
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		all = append(all, q)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// rankOf returns the place of a page among the documents of the results, from 1, and its
// best score; zeros if it has no result.
func rankOf(r *search.Results, paths map[uuid.UUID]string, path string) (rank int, score float64) {
	seen := make(map[uuid.UUID]bool)
	for _, h := range r.Hits {
		seen[h.Document] = true
		if paths[h.Document] == path {
			return len(seen), h.Score
		}
	}
	return 0, 0
}

// The golden file of the demo questions is reviewed when it changes. The test also checks
// the shares of questions that the scores promise.
func TestDemoQuality(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	paths := f.addFolder(id, demo, "docs")
	var table strings.Builder
	table.WriteString("# place of the right page among the documents found, its score; for questions without an answer the best score\n")
	var answered, first, firstKept, kept, without, silent int
	for _, q := range demoQuestions(t) {
		// A fixed day keeps freshness from changing the scores.
		now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
		everything := f.search(id, search.Query{Text: q.Query, Limit: 100, Now: now})
		confident := f.search(id, search.Query{Text: q.Query, Limit: 100, MinScore: 0.5, Now: now})
		if q.Path == nil {
			without++
			if confident.Total == 0 {
				silent++
			}
			fmt.Fprintf(&table, " - %.2f  %s\n", everything.Hits[0].Score, q.Query)
			continue
		}
		answered++
		rank, score := rankOf(everything, paths, *q.Path)
		if rank == 1 {
			first++
		}
		if place, _ := rankOf(confident, paths, *q.Path); place > 0 {
			kept++
			if rank == 1 {
				firstKept++
			}
		}
		fmt.Fprintf(&table, "%2d %.2f  %s\n", rank, score, q.Query)
	}
	fmt.Fprintf(&table, "# right page first %d of %d; at 0.5: kept %d of %d, nothing for %d of %d without an answer\n",
		first, answered, kept, answered, silent, without)
	// These questions avoid the words of their pages on purpose. A score is the share of
	// such results that are right: a right page that is first is kept, and a page far
	// behind a wrong one is not.
	if first*100 < answered*75 {
		t.Errorf("the right page is first for only %d of %d questions", first, answered)
	}
	if firstKept*100 < first*85 {
		t.Errorf("at 0.5 only %d of %d right pages that are first are kept", firstKept, first)
	}
	if silent*100 < without*95 {
		t.Errorf("at 0.5 only %d of %d questions without an answer find nothing", silent, without)
	}
	const golden = "testdata/demo-quality.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != table.String() {
		t.Errorf("the ranking differs from %s; review it and run the test with -update:\n%s", golden, difference(string(want), table.String()))
	}
}

// difference returns the lines that changed.
func difference(want, got string) string {
	old := make(map[string]bool)
	for _, line := range strings.Split(want, "\n") {
		old[line] = true
	}
	var b strings.Builder
	for _, line := range strings.Split(got, "\n") {
		if !old[line] {
			b.WriteString("now: " + line + "\n")
		}
		delete(old, line)
	}
	for line := range old {
		b.WriteString("was: " + line + "\n")
	}
	return b.String()
}

func TestTitlesFindTheirPageFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	titles := f.strings(`select distinct title from documents`)
	wrong := 0
	for _, title := range titles {
		r := f.search(id, search.Query{Text: title, MinScore: 0.5})
		if len(r.Hits) == 0 || r.Hits[0].Title != title {
			wrong++
			t.Errorf("%q is not found first", title)
		}
	}
	if len(titles) < 40 {
		t.Errorf("the demonstration has %d titles, want at least 40", len(titles))
	}
	for _, query := range []string{"Getting started", "getting started", "Erste Schritte"} {
		r := f.search(id, search.Query{Text: query, MinScore: 0.5})
		if len(r.Hits) == 0 || !strings.EqualFold(r.Hits[0].Title, query) {
			t.Errorf("%q is not found first", query)
			continue
		}
		for _, version := range []string{"v1.0", "v2.0"} {
			r := f.search(id, search.Query{Text: query, MinScore: 0.5, Filters: search.Filters{Version: version}})
			if len(r.Hits) == 0 || !strings.EqualFold(r.Hits[0].Title, query) || r.Hits[0].Version != version {
				t.Errorf("%q of %s is not found first", query, version)
			}
		}
	}
}

func TestHeadingsFindTheirPassageFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	headings := f.strings(`select min(h) from (select p.headings[array_upper(p.headings, 1)] as h from passages p join passage_index i on i.passage_id = p.id and i.path_words >= 0) p where h is not null
		and h not in (select title from documents) group by lower(h) having count(*) = 1`)
	right := 0
	for _, heading := range headings {
		r := f.search(id, search.Query{Text: heading, MinScore: 0.5, Limit: 1})
		if len(r.Hits) == 1 && len(r.Hits[0].Headings) > 0 && r.Hits[0].Headings[len(r.Hits[0].Headings)-1] == heading {
			right++
		} else if len(r.Hits) == 1 {
			t.Logf("%q finds %q of %q first", heading, r.Hits[0].Headings, r.Hits[0].Title)
		} else {
			t.Logf("%q finds nothing", heading)
		}
	}
	t.Logf("%d of %d", right, len(headings))
	if len(headings) < 100 || right*100 < len(headings)*95 {
		t.Errorf("%d of %d headings find their passage first, want 95 %%", right, len(headings))
	}
}
