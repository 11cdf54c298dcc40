package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"magpie/internal/index"
	"magpie/internal/ingest/chunk"
	"magpie/internal/search"
	"magpie/internal/search/analysis"
)

// crowd stores documents of made-up words, no two of which are alike, so that
// only vectors bring the passages for which no word matches.
func (f *fixture) crowd(id tenant, documents, passages int) {
	f.Helper()
	random := rand.New(rand.NewPCG(5, 5))
	vocabulary := make([]string, 4000)
	for i := range vocabulary {
		var b strings.Builder
		for range 3 + random.IntN(3) {
			b.WriteByte("bdfgklmnprstvz"[random.IntN(14)])
			b.WriteByte("aeiou"[random.IntN(5)])
		}
		vocabulary[i] = b.String()
	}
	for d := range documents {
		r := f.record(id, fmt.Sprint("doc", d), "placeholder", nil)
		r.Passages, r.Version = nil, fmt.Sprint("v", d%200)
		r.Section = []string{"even", "odd"}[d%2]
		var texts []string
		for p := range passages {
			words := make([]string, 40)
			for i := range words {
				// Documents prefer a part of the vocabulary, as real ones do.
				words[i] = vocabulary[(d*13+int(random.ExpFloat64()*150))%len(vocabulary)]
			}
			texts = append(texts, strings.Join(words, " "))
			r.Passages = append(r.Passages, chunk.Passage{Ordinal: p, Text: texts[p]})
		}
		vectors, err := f.models.Default().Embed(f.Context(), texts, 0)
		if err != nil {
			f.Fatal(err)
		}
		r.Vectors = vectors
		f.put(id, r)
	}
}

func TestTheVectorIndexFindsWhatAnExactScanFinds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	f.crowd(id, 800, 5)
	texts := f.strings("select body from passages order by id limit 40")
	var questions []string
	for _, text := range texts {
		// Parts of words, which match no lexeme and still look alike to the embedder.
		var halves []string
		for _, w := range strings.Fields(text)[:12] {
			halves = append(halves, w[:len(w)-1])
		}
		questions = append(questions, strings.Join(halves, " "))
	}
	filters := map[string]search.Filters{
		"all":                 {},
		"half of them":        {Section: "odd"},
		"one document in 200": {Version: "v7"},
	}
	ask := func(name string) [][]uuid.UUID {
		t.Helper()
		found := make([][]uuid.UUID, len(questions))
		for i, q := range questions {
			for _, h := range f.search(id, search.Query{Text: q, Limit: 20, Filters: filters[name]}).Hits {
				found[i] = append(found[i], h.Passage)
			}
		}
		return found
	}
	exact := map[string][][]uuid.UUID{}
	for name := range filters {
		exact[name] = ask(name)
	}
	f.exec("update search_settings set exact_passages = 100")
	if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil {
		t.Fatal(err)
	}
	for name := range filters {
		if name == "one document in 200" {
			// 20 passages are left: they are scanned, whatever the size of the collection.
			f.uses(t, id, "v7", false)
		}
		matched, wanted := 0, 0
		for i, got := range ask(name) {
			want := make(map[uuid.UUID]bool)
			for _, p := range exact[name][i] {
				want[p] = true
			}
			wanted += len(want)
			for _, p := range got {
				if want[p] {
					matched++
				}
			}
		}
		if wanted < len(questions)*10 || matched*100 < wanted*95 {
			t.Errorf("%s: %d of %d are found by the index", name, matched, wanted)
		} else {
			t.Logf("%s: recall %.3f", name, float64(matched)/float64(wanted))
		}
	}
	f.uses(t, id, "", true)
}

// uses checks whether the look-up of similar passages walks the collection's index.
func (f *fixture) uses(t *testing.T, id tenant, version string, want bool) {
	t.Helper()
	tx, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err := tx.Exec(t.Context(), "select set_config('magpie.workspace', $1, true)", id.workspace.String()); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), `select count(*) from magpie_candidates($1, array[$2::uuid], 'builtin-hash-384',
			(select embedding from passage_index limit 1), null, null, null, nullif($3, ''), null, null, null, null, null, 1000)`,
		id.workspace, id.collection, version); err != nil {
		t.Fatal(err)
	}
	var scans int
	if err := tx.QueryRow(t.Context(), "select pg_stat_get_xact_numscans($1::regclass)",
		fmt.Sprintf("passage_index_vectors_%x", id.collection[:])).Scan(&scans); err != nil {
		t.Fatal(err)
	}
	if (scans > 0) != want {
		t.Errorf("the vector index is walked %d times; walking it is expected: %v", scans, want)
	}
}

func TestCommonWordsOfALargeCollectionOnlyScore(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	for i := range 600 {
		text := fmt.Sprintf("Otters and water, passage %d.", i)
		if i%100 == 0 {
			text += " The walrus comes too."
		}
		f.add(id, fmt.Sprint(i), text, nil)
	}
	ask := func(e *search.Engine) (found []string) {
		t.Helper()
		for _, q := range []string{"otters walrus", "water and otters with a walrus", "otters water", "walrus", "seals"} {
			r, err := e.Search(t.Context(), id.scope, search.Query{Text: q, Limit: 6, MinScore: 0.3})
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range r.Hits {
				found = append(found, fmt.Sprintf("%s: %s %.1f", q, h.Title, h.Score))
			}
		}
		return found
	}
	want := ask(f.engine)
	f.exec("update search_settings set exact_passages = 100")
	if err := index.BuildVectorIndex(t.Context(), f.owner, id.collection); err != nil {
		t.Fatal(err)
	}
	frugal := search.New(f.db.Pool, analysis.New(), f.models, search.Options{LookUps: 50})
	if diff := cmp.Diff(want, ask(frugal)); diff != "" {
		t.Errorf("with few look-ups other passages come first (-all +few):\n%s", diff)
	}
}
