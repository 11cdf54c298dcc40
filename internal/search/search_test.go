package search_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestAPassageIsFoundOnceItIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	if r := f.search(id, search.Query{Text: "tide tables"}); r.Total != 0 || r.Hits == nil || len(r.Hits) != 0 {
		t.Errorf("Search of an empty collection = %+v", r)
	}
	content := "---\ntitle: Tides\nsection: sea\nversion: v1\nlanguage: en\ntags: [moon, water]\ntype: guide\n---\n# Tides\n\n## Reading tide tables\n\nHigh water comes twice a day.\n"
	document := f.add(id, "sea/tides.md", content, func(r *index.Record) {
		r.UpdatedAt = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
		r.Metadata = map[string]any{"depth": 7.5}
		r.Pages = 3
		r.Passages[0].Page = 2
	})
	r := f.search(id, search.Query{Text: "tide tables", MinScore: 0.5})
	if len(r.Hits) != 1 || r.Total != 1 || r.Took <= 0 || r.LexicalOnly {
		t.Fatalf("Search() = %+v", r)
	}
	h := r.Hits[0]
	if h.Document != document || h.Collection != id.collection || h.Passage == uuid.Nil || h.Title != "Tides" || h.Section != "sea" ||
		h.Version != "v1" || h.Language != "en" || h.DocType != "guide" || !slices.Equal(h.Tags, []string{"moon", "water"}) ||
		!slices.Equal(h.Headings, []string{"Reading tide tables"}) || h.CollectionName != "Docs" || h.Source != "file_upload" ||
		h.URL != "https://docs.example/sea/tides.md#page=2" || h.Text != "High water comes twice a day." ||
		h.Snippet != h.Text || h.Page != 2 || h.Metadata["depth"] != 7.5 ||
		!h.UpdatedAt.Equal(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)) || h.Score < 0.5 || h.Score > 1 {
		t.Errorf("the hit is %+v", h)
	}
}

func TestDeletedAndUnfinishedDocumentsAreNotFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	total := func() int { return f.search(id, search.Query{Text: "walrus"}).Total }
	document := f.add(id, "a.md", "A walrus on the ice.", nil)
	f.add(id, "b.md", "Penguins live elsewhere.", nil)
	if total() != 2 {
		t.Fatalf("found %d passages, want 2", total())
	}
	if _, err := f.index.SoftDelete(t.Context(), id.scope, index.Fence{}, []uuid.UUID{document}); err != nil {
		t.Fatal(err)
	}
	if r := f.search(id, search.Query{Text: "walrus"}); r.Total != 1 || r.Hits[0].Document == document {
		t.Errorf("a deleted document is found: %+v", r)
	}
	if _, err := f.index.Restore(t.Context(), id.scope, index.Fence{}, []uuid.UUID{document}); err != nil {
		t.Fatal(err)
	}
	if total() != 2 {
		t.Error("a restored document is not found")
	}
	// The old version stays searchable after a failed sync.
	f.exec("update documents set status = 'FAILED', failure = 'broke' where id = $1", document)
	if total() != 2 {
		t.Error("the old version of a failed document is not found")
	}
	f.exec(`insert into documents (id, created_at, updated_at, workspace_id, source_id, path, title, status, collection_id, connector_id)
		values (gen_random_uuid(), now(), now(), $1, 'never', 'never', 'walrus', 'FAILED', $2, $3)`, id.workspace, id.collection, id.connector)
	if total() != 2 {
		t.Error("a document that was never indexed is found")
	}
	f.exec("delete from documents where id = $1", document)
	if total() != 1 {
		t.Error("a document that does not exist is found")
	}
}

func TestInvalidQueriesAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for field, q := range map[string]search.Query{
		"query":      {Text: " \n\t\u3000", Limit: 10},
		"limit":      {Text: "x", Limit: 0},
		"limit ":     {Text: "x", Limit: 101},
		"offset":     {Text: "x", Limit: 10, Offset: -1},
		"minScore":   {Text: "x", Limit: 10, MinScore: 1.01},
		"minScore ":  {Text: "x", Limit: 10, MinScore: -0.01},
		"minScore  ": {Text: "x", Limit: 10, MinScore: math.NaN()},
	} {
		_, err := f.engine.Search(t.Context(), id.scope, q)
		if e := apierr.From(err); e.Code != apierr.InvalidRequest || e.Field != strings.TrimSpace(field) {
			t.Errorf("%s: error %v", field, err)
		}
	}
	if _, err := f.engine.Search(t.Context(), viewer.Scope{}, search.Query{Text: "x", Limit: 10}); !errors.Is(err, viewer.ErrNoScope) {
		t.Errorf("the zero scope: error %v, want ErrNoScope", err)
	}
}

func FuzzQueryText(f *testing.F) {
	x := newFixture(f)
	id := x.tenant()
	x.add(id, "a.md", "Some text about c++ and it's 'quotes' in back\\slashes: /etc/app.conf, kv.rangefeed.enabled & more.", nil)
	for _, text := range []string{
		"'", "\\", "''", "a\x00b", "\xff\xfe", "!", "& | !", "(", ":*", "#", "'); drop table documents; --", "…", "👍🏽", "数据库", "ß", "the",
		"what is the", "it's", `back\slashes`, strings.Repeat("word ", 5000), strings.Repeat("x", 100_000), strings.Repeat("ab-", 3000),
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q := search.Query{Text: text, Limit: 5, Highlight: true, Filters: search.Filters{Language: "en"}}
		if strings.TrimSpace(text) == "" {
			return
		}
		for range 2 {
			r, err := x.engine.Search(t.Context(), id.scope, q)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			for _, h := range r.Hits {
				if !utf8.ValidString(h.Snippet) || !(h.Score >= 0 && h.Score <= 1) {
					t.Errorf("%q: snippet %q, score %v", text, h.Snippet, h.Score)
				}
			}
			q.Filters = search.Filters{}
		}
	})
}

func TestSignsAndIdentifiersAreFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "Some text about c++ and it's 'quotes' in back\\slashes: /etc/app.conf, kv.rangefeed.enabled & more.", nil)
	for _, text := range []string{"c++", "/etc/app.conf", "kv.rangefeed.enabled", "rangefeed", "quotes"} {
		if r := f.search(id, search.Query{Text: text, MinScore: 0.5}); r.Total != 1 {
			t.Errorf("%q finds %d passages, want 1", text, r.Total)
		}
	}
}

func TestACanceledSearchDoesNotAffectLaterOnes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "Otters here", nil)
	for i := range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
		_, err := f.engine.Search(ctx, id.scope, search.Query{Text: "otters", Limit: 1})
		cancel()
		if err != nil && apierr.From(err).Code != apierr.Unavailable {
			t.Errorf("error %v, want none or one with code unavailable", err)
		}
		if r := f.search(id, search.Query{Text: "otters"}); r.Total != 1 {
			t.Errorf("the next search finds %d passages, want 1", r.Total)
		}
	}
}

func TestSnippetsAreEscapedAndMarked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "a.md", "Embedded `<script>alert(\"x\" & 'y')</script>` is shown, scripts are never run.", nil)
	r := f.search(id, search.Query{Text: "script", Highlight: true})
	want := "Embedded &lt;<mark>script</mark>&gt;alert(&#34;x&#34; &amp; &#39;y&#39;)&lt;/<mark>script</mark>&gt; is shown, <mark>scripts</mark> are never run."
	if r.Hits[0].Snippet != want {
		t.Errorf("Snippet = %s, want %s", r.Hits[0].Snippet, want)
	}
	if !strings.Contains(r.Hits[0].Text, "<script>") {
		t.Errorf("Text is not raw: %s", r.Hits[0].Text)
	}
	r = f.search(id, search.Query{Text: "script"})
	if s := r.Hits[0].Snippet; strings.Contains(s, "<") || !strings.Contains(s, "&lt;script&gt;") {
		t.Errorf("Snippet without highlights = %s", s)
	}
	f.add(id, "b.md", strings.Repeat("Words before it. ", 40)+"Here stands the walrus. "+strings.Repeat("Words after it. ", 10), nil)
	s := f.search(id, search.Query{Text: "walrus", Highlight: true, MinScore: 0.5}).Hits[0].Snippet
	if !strings.Contains(s, "<mark>walrus</mark>") || len(s) > 400 || !strings.HasPrefix(s, "Words before it. ") || !strings.HasSuffix(s, "after it.") {
		t.Errorf("Snippet of a long text = %s", s)
	}
}

func TestURLsHaveAnchorsOrPages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for name, c := range map[string]struct {
		address, anchor, want string
		page                  int
	}{
		"anchorone":   {"https://x.example/p", "part", "https://x.example/p#part", 0},
		"anchortwo":   {"https://x.example/p#top", "part", "https://x.example/p#top", 0},
		"anchorthree": {"https://x.example/p", "", "https://x.example/p", 0},
		"anchorfour":  {"", "part", "", 0},
		"anchorfive":  {"https://x.example/p.pdf", "part", "https://x.example/p.pdf#page=7", 7},
	} {
		f.add(id, name, "Text about "+name, func(r *index.Record) { r.URL, r.Passages[0].Anchor, r.Passages[0].Page = c.address, c.anchor, c.page })
		if got := f.search(id, search.Query{Text: name}).Hits[0].URL; got != c.want {
			t.Errorf("%s: URL = %q, want %q", name, got, c.want)
		}
	}
}

func TestPagesAndTotalsAreStable(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for i := range 120 {
		f.add(id, fmt.Sprint(i), fmt.Sprintf("The same words about otters in every document, number %d.", i%3), nil)
	}
	q := search.Query{Text: "otters words", Limit: 100}
	whole := f.search(id, q)
	if whole.Total != 120 || len(whole.Hits) != 100 {
		t.Fatalf("%d hits, total %d, want 100 and 120", len(whole.Hits), whole.Total)
	}
	var paged []uuid.UUID
	for offset := 0; offset < 130; offset += 7 {
		r := f.search(id, search.Query{Text: q.Text, Limit: 7, Offset: offset})
		if r.Total != whole.Total {
			t.Errorf("Total at offset %d = %d, want %d", offset, r.Total, whole.Total)
		}
		for _, h := range r.Hits {
			paged = append(paged, h.Passage)
		}
	}
	if len(paged) != 120 {
		t.Fatalf("the pages hold %d passages, want 120", len(paged))
	}
	seen := make(map[uuid.UUID]bool)
	for i, p := range paged {
		if seen[p] {
			t.Errorf("%s is on two pages", p)
		}
		seen[p] = true
		if i < len(whole.Hits) && whole.Hits[i].Passage != p {
			t.Errorf("place %d differs between page sizes", i)
		}
	}
	for i := 1; i < len(whole.Hits); i++ {
		a, b := whole.Hits[i-1], whole.Hits[i]
		if a.Score < b.Score || a.Score == b.Score && slices.Compare(a.Passage[:], b.Passage[:]) >= 0 {
			t.Errorf("places %d and %d are out of order", i-1, i)
		}
	}
}

func TestADocumentHasAtMostThreeResults(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	var page strings.Builder
	page.WriteString("# Otters\n")
	for i := range 8 {
		fmt.Fprintf(&page, "\n## Otters %d\n\nOtters swim. %s\n", i, strings.Repeat("More about otters. ", 40))
	}
	long := f.add(id, "long.md", page.String(), nil)
	short := f.add(id, "short.md", "# Water\n\nOtters are seen near water.\n", nil)
	count := func(r *search.Results) map[uuid.UUID]int {
		n := make(map[uuid.UUID]int)
		for _, h := range r.Hits {
			n[h.Document]++
		}
		return n
	}
	capped := f.search(id, search.Query{Text: "otters", MinScore: 0.1})
	if n := count(capped); n[long] != 3 || n[short] != 1 || capped.Total != 4 {
		t.Errorf("with a minimum score: %v, total %d", n, capped.Total)
	}
	if beyond := f.search(id, search.Query{Text: "otters", MinScore: 0.1, Offset: 4}); len(beyond.Hits) != 0 || beyond.Total != 4 {
		t.Errorf("the limit applies to a page instead of the list: %+v", beyond)
	}
	everything := f.search(id, search.Query{Text: "otters"})
	if n := count(everything); n[long] != 8 || n[short] != 1 || everything.Total != 9 {
		t.Errorf("without a minimum score: %v, total %d", n, everything.Total)
	}
}

func TestMinScoreFilters(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.addFolder(id, demo, "docs")
	everything := f.search(id, search.Query{Text: "rotate the signing key", Limit: 100})
	previous := math.MaxInt
	for _, minScore := range []float64{0, 0.05, 0.3, 0.5, 0.7, 0.95, 1} {
		r := f.search(id, search.Query{Text: "rotate the signing key", Limit: 100, MinScore: minScore})
		for _, h := range r.Hits {
			if h.Score < minScore {
				t.Errorf("MinScore %v: a hit has the score %v", minScore, h.Score)
			}
		}
		if r.Total > previous {
			t.Errorf("MinScore %v: Total = %d, want at most the %d of a lower MinScore", minScore, r.Total, previous)
		}
		previous = r.Total
	}
	var stored int
	if err := f.owner.QueryRow(t.Context(), "select count(*) from passage_index").Scan(&stored); err != nil {
		t.Fatal(err)
	}
	if everything.Total != min(stored, rank.PoolSize) {
		t.Errorf("MinScore 0 finds %d of %d passages", everything.Total, stored)
	}
}

func TestThePoolIsBounded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for i := range 11 {
		r := f.record(id, fmt.Sprint(i), "otters and water", nil)
		passage, v := r.Passages[0], r.Vectors[0]
		for j := range 120 {
			passage.Ordinal = j
			if j > 0 {
				r.Passages, r.Vectors = append(r.Passages, passage), append(r.Vectors, v)
			}
		}
		f.put(id, r)
	}
	r := f.search(id, search.Query{Text: "otters", Limit: 10, Offset: 995})
	if r.Total != rank.PoolSize || len(r.Hits) != 5 {
		t.Errorf("Total of 1320 passages = %d, %d hits at offset 995", r.Total, len(r.Hits))
	}
}

func TestSearchesSeeOneVersionOfADocumentThatChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	versions := make([]*index.Record, 2)
	for v := range versions {
		versions[v] = f.record(id, "page.md", fmt.Sprintf("# Page\n\n## One\n\nOtters of version %[1]d. %[2]s\n\n## Two\n\nMore otters of version %[1]d. %[2]s\n",
			v, strings.Repeat("Filling text. ", 60)), nil)
		versions[v].Title = fmt.Sprint("Page ", v)
		if len(versions[v].Passages) != 2 {
			t.Fatalf("%d passages, want 2", len(versions[v].Passages))
		}
	}
	f.put(id, versions[0])
	stop := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				if _, err := f.index.Put(t.Context(), id.scope, index.Fence{}, versions[i%2]); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for range 150 {
		r := f.search(id, search.Query{Text: "otters"})
		if len(r.Hits) != 2 {
			t.Fatalf("%d hits during an update, want 2", len(r.Hits))
		}
		for _, h := range r.Hits {
			if !strings.Contains(h.Text, "version "+strings.TrimPrefix(h.Title, "Page ")) || h.Title != r.Hits[0].Title {
				t.Fatalf("the hit of %q has the text of another version: %q", h.Title, h.Text[:40])
			}
		}
	}
	close(stop)
	group.Wait()
}

func TestTheSectionThatMatchesIsShown(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.add(id, "cloud.md", "# Cloud\n\n## Settings\n\nSome short settings.\n\n### Region\n\nThe region is chosen once and for all.\n\n"+
		"### Retention\n\n| Plan | Backups |\n| --- | --- |\n| basic | thirty days |\n\n### Pause\n\nAn idle cluster pauses overnight.\n", nil)
	for query, want := range map[string]struct{ headings, fragment, snippet string }{
		"short settings":    {"Settings", "settings", "Some short settings."},
		"region chosen":     {"Settings/Region", "region", "The region is chosen once and for all."},
		"backups of thirty": {"Settings/Retention", "retention", "Plan · Backups\nbasic · thirty days"},
		"idle pause":        {"Settings/Pause", "pause", "An idle cluster pauses overnight."},
	} {
		for range 2 { // the second time from the cache
			r := f.search(id, search.Query{Text: query})
			if len(r.Hits) != 1 {
				t.Fatalf("%q has %d results", query, len(r.Hits))
			}
			h := r.Hits[0]
			if got := strings.Join(h.Headings, "/"); got != want.headings || h.URL != "https://docs.example/cloud.md#"+want.fragment || h.Snippet != want.snippet {
				t.Errorf("%q shows %q, %q, %q", query, got, h.URL, h.Snippet)
			}
		}
	}
}

// TestARepeatedSearchHasTheSameScores asks again seconds later: freshness counts hours.
func TestARepeatedSearchHasTheSameScores(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	now := time.Date(2026, 3, 1, 12, 10, 0, 0, time.UTC)
	f.add(id, "old.md", "The lighthouse is lit at dusk.", func(r *index.Record) { r.UpdatedAt = now.AddDate(0, -3, 0) })
	f.add(id, "new.md", "The lighthouse is lit at dusk, and dark at dawn.", func(r *index.Record) { r.UpdatedAt = now.AddDate(0, 0, -3) })
	score := func(at time.Time) float64 {
		results := f.search(id, search.Query{Text: "lighthouse at dusk", Now: at})
		if len(results.Hits) != 2 {
			t.Fatalf("%d results", len(results.Hits))
		}
		return results.Hits[1].Score
	}
	if first, again := score(now), score(now.Add(49*time.Minute)); first != again {
		t.Errorf("scores of %v and %v within an hour", first, again)
	}
	if first, later := score(now), score(now.AddDate(0, 1, 0)); later == first {
		t.Errorf("a score of %v, and a month later of %v", first, later)
	}
}
