package analysis_test

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
)

// found is what a search shows: a question's terms and its ten best passages.
type found struct {
	marks    analysis.Marks
	passages []passage
}

type passage struct{ text, language string }

// lines reads the values of a file in testdata/judged, one a line.
func lines[T any](tb testing.TB, name string) []T {
	tb.Helper()
	file, err := os.Open("../../testdata/judged/" + name)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var all []T
	read := bufio.NewScanner(file)
	read.Buffer(nil, 1<<20)
	for read.Scan() {
		var v T
		if err := json.Unmarshal(read.Bytes(), &v); err != nil {
			tb.Fatal(err)
		}
		all = append(all, v)
	}
	if err := read.Err(); err != nil {
		tb.Fatal(err)
	}
	return all
}

type judged struct {
	Text     string
	Metadata struct{ Language string }
}

// documentation is the pages of a manual in passages of some 1,500 bytes.
func documentation(tb testing.TB) []passage {
	tb.Helper()
	var all []passage
	for _, page := range lines[judged](tb, "corpus.jsonl") {
		var b strings.Builder
		for paragraph := range strings.SplitSeq(page.Text, "\n\n") {
			if b.Len() > 0 && b.Len()+len(paragraph) > 2000 {
				all = append(all, passage{b.String(), page.Metadata.Language})
				b.Reset()
			}
			b.WriteString(paragraph + "\n\n")
		}
		if b.Len() >= 1000 || len(all) == 0 {
			all = append(all, passage{b.String(), page.Metadata.Language})
		}
	}
	return all
}

// searches answers questions about the documentation by the passages that have most of their terms.
func searches(tb testing.TB, a *analysis.Analyzer) []found {
	tb.Helper()
	passages := documentation(tb)
	terms := make([]map[string]bool, len(passages))
	for i, p := range passages {
		terms[i] = map[string]bool{}
		for _, token := range a.Tokens(p.text, p.language) {
			terms[i][token.Term] = true
		}
	}
	var all []found
	for _, question := range lines[judged](tb, "queries.jsonl") {
		q := a.Parse(question.Text, "en", "de")
		s := found{marks: q.Marks()}
		order := make([]int, len(passages))
		shared := make([]int, len(passages))
		for i := range order {
			order[i] = i
			for _, term := range s.marks.Terms {
				if terms[i][term] {
					shared[i]++
				}
			}
		}
		slices.SortStableFunc(order, func(x, y int) int { return shared[y] - shared[x] })
		for _, i := range order[:10] {
			s.passages = append(s.passages, passages[i])
		}
		all = append(all, s)
	}
	return all
}

// BenchmarkExcerpt reports what the ten snippets of a search cost.
func BenchmarkExcerpt(b *testing.B) {
	for _, c := range []struct {
		name     string
		analyzer *analysis.Analyzer
	}{{"cached", analysis.New()}, {"uncached", new(analysis.Analyzer)}} {
		b.Run(c.name, func(b *testing.B) {
			all := searches(b, c.analyzer)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s := &all[i%len(all)]
				e := c.analyzer.Excerpter(s.marks, 320, "<mark>", "</mark>")
				for _, p := range s.passages {
					e.Excerpt(p.text, p.language)
				}
			}
		})
	}
}
