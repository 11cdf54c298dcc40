package search_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"magpie/internal/search"
)

const demo = "../../testdata/demo"

type demoQuestion struct {
	Query    string  `json:"query"`
	Path     *string `json:"path"`
	Language string  `json:"language"`
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

func TestDemoQuality(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	paths := f.addFolder(id, demo, "docs")
	var golden strings.Builder
	for _, q := range demoQuestions(t) {
		r := f.search(id, search.Query{Text: q.Query, Limit: 100})
		top := 0.0
		if len(r.Hits) > 0 {
			top = r.Hits[0].Score
		}
		rank, score := 0, 0.0
		if q.Path != nil {
			seen := map[string]bool{}
			for _, h := range r.Hits {
				seen[paths[h.Document]] = true
				if paths[h.Document] == *q.Path {
					rank, score = len(seen), h.Score
					break
				}
			}
		}
		fmt.Fprintf(&golden, "%2d %.2f %.2f %s\n", rank, score, top, q.Query)
	}
	t.Log("\n" + golden.String())
}
