package postgres_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// outgrow makes the tenant's collection too large for exact search and builds its
// indexes.
func (f *fixture) outgrow(id tenant) {
	f.Helper()
	f.exec("update search_settings set exact_passages = 100")
	if err := index.BuildIndexes(f.Context(), f.owner, id.collection); err != nil {
		f.Fatal(err)
	}
	f.exec("analyze passage_index")
}

func TestTheIndexOfLexemesFindsTheSameAsAScan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{FullScan: 10, LookupBudget: 1200})
	random := rand.New(rand.NewPCG(23, 24))
	id, other := f.tenant(), f.tenant()
	for d := range 120 {
		for _, tenant := range []tenant{id, other} {
			texts := make([]string, 5)
			for i := range texts {
				for range 8 {
					texts[i] += fmt.Sprintf("w%02d ", int(random.ExpFloat64()*10))
				}
			}
			f.put(tenant, tenant.record(random, fmt.Sprint(d), "Title", texts...))
		}
	}
	f.outgrow(other)
	type answer struct {
		passages    []uuid.UUID
		frequencies []int
	}
	ask := func() (answers []answer) {
		t.Helper()
		for n := range 20 {
			terms := []string{fmt.Sprintf("w%02d", n), fmt.Sprintf("w%02d", 2*n), "nowhere"}
			s := f.open(id, nil)
			var a answer
			for _, c := range f.candidates(s, &rank.Request{Words: words(terms...), TopLexical: 1000}) {
				a.passages = append(a.passages, c.Passage)
			}
			slices.SortFunc(a.passages, func(x, y uuid.UUID) int { return slices.Compare(x[:], y[:]) })
			var err error
			if a.frequencies, err = s.DocumentFrequencies(t.Context(), terms); err != nil {
				t.Fatal(err)
			}
			s.Close(t.Context())
			answers = append(answers, a)
		}
		return answers
	}
	before := ask()
	f.outgrow(id)
	f.exec("delete from collection_terms") // the stored counts
	total := 0
	for n, after := range ask() {
		total += len(after.passages)
		if !slices.Equal(after.passages, before[n].passages) {
			t.Errorf("query %d finds %d passages with the index, not the same as the %d without", n, len(after.passages), len(before[n].passages))
		}
		if !slices.Equal(after.frequencies, before[n].frequencies) {
			t.Errorf("frequencies of query %d = %d with the index, want %d", n, after.frequencies, before[n].frequencies)
		}
	}
	if total == 0 {
		t.Error("no passage was found")
	}
	// The functions must use the index as often as they are written to.
	tx, err := f.owner.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.Background()) }()
	if _, err = tx.Exec(t.Context(), "select set_config('magpie.workspace', $1, true)", id.workspace.String()); err != nil {
		t.Fatal(err)
	}
	for statement, want := range map[string]int{
		"magpie_passages($1, $2, '{}', '{}', null, null, 'words', 'w01', null, 100)":  1,
		"magpie_frequencies($1, $2, '{w01,w02,w03}', '{w01,w02,w03}', 100)":           3,
		`magpie_complete($1, $2, '{"language": "en"}', 'w0:*', 'w0', false, 100, 10)`: 1,
	} {
		var before, after, rows int
		scans := fmt.Sprintf("select pg_stat_get_xact_numscans('passage_index_lexemes_%x'::regclass)", id.collection[:])
		if err := tx.QueryRow(t.Context(), scans).Scan(&before); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), "select count(*) from "+statement, id.workspace, id.collection).Scan(&rows); err != nil {
			t.Fatal(statement, err)
		}
		if err := tx.QueryRow(t.Context(), scans).Scan(&after); err != nil {
			t.Fatal(err)
		}
		if after-before != want || rows == 0 {
			t.Errorf("%s scans the index of lexemes %d times for %d rows, want %d scans", statement, after-before, rows, want)
		}
	}
}

func TestTheVectorIndexFindsAlmostTheSameAsAScan(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{FullScan: 10})
	random := rand.New(rand.NewPCG(21, 22))
	id := f.tenant()
	for d := range 600 {
		r := id.record(random, fmt.Sprint(d), "Title", "a", "b", "c", "d", "e")
		r.Version, r.Section = fmt.Sprint("v", d%200), []string{"even", "odd"}[d%2]
		f.put(id, r)
	}
	f.outgrow(id)
	all := f.oracle(id)
	for name, filter := range map[string]rank.Filter{
		"all": {}, "half of them": *in(rank.FacetSection, "odd"), "one document in 200": *in(rank.FacetVersion, "v7"),
	} {
		selected := all.selected(&filter)
		matched, expected := 0, 0
		for range 20 {
			r := &rank.Request{Vector: unit(random), TopSimilar: 20}
			_, over := selected.best(20, func(e *entry) float64 { return e.similarity(r.Vector) })
			expected += len(over)
			s := f.open(id, &filter)
			for _, c := range f.candidates(s, r) {
				if over[c.Passage] {
					matched++
				}
			}
			s.Close(t.Context())
		}
		if expected == 0 || matched*100 < expected*97 {
			t.Errorf("%s: %d of %d passages are found, want 97 %%", name, matched, expected)
		}
	}
}

func TestSimilarPassagesAreReadByOneScanOfTheVectorIndex(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(21, 22))
	id := f.tenant()
	for d := range 50 {
		f.put(id, id.record(random, fmt.Sprint(d), "Title", "a", "b", "c", "d", "e"))
	}
	f.outgrow(id)
	for filter, want := range map[string]int{`{}`: 20, `{"language": "en"}`: 20, `{"language": "de"}`: 0, `{"readers": [], "excluded": "'a'"}`: 20} {
		tx, err := f.owner.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var rows, before, after int
		scans := "select pg_stat_get_xact_numscans($1::regclass)"
		vectors := fmt.Sprintf("passage_index_vectors_%x", id.collection[:])
		if err := tx.QueryRow(t.Context(), scans, vectors).Scan(&before); err != nil {
			t.Fatal(err)
		}
		if _, err = tx.Exec(t.Context(), "select set_config('magpie.workspace', $1, true)", id.workspace.String()); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), `select count(*) from magpie_passages($1, $2, $3, '{}', 'test', $4::real[]::halfvec, 'near', null, null, 20)`,
			id.workspace, id.collection, filter, unit(random)).Scan(&rows); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRow(t.Context(), scans, vectors).Scan(&after); err != nil {
			t.Fatal(err)
		}
		if rows != want || after != before+1 {
			t.Errorf("%s: %d passages in %d scans of the vector index, want %d in one", filter, rows, after-before, want)
		}
		_ = tx.Rollback(context.Background())
	}
}

func TestCommonWordsOfALargeCollectionOnlyAddToScores(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{FullScan: 1})
	random := rand.New(rand.NewPCG(23, 24))
	id := f.tenant()
	for i := range 600 {
		text := fmt.Sprintf("otter water passage%d", i)
		if i%100 == 0 {
			text += " walrus"
		}
		if i%15 == 7 {
			text += " heron"
		}
		f.put(id, id.record(random, fmt.Sprint(i), "Title", text))
	}
	count := func() int {
		s := f.openWith(postgres.New(f.db.Pool, postgres.Options{LookupBudget: 320, FullScan: 1}), id, nil)
		defer s.Close(t.Context())
		return len(f.candidates(s, &rank.Request{Words: words("heron", "otter"), AverageBody: 3, TopLexical: 600}))
	}
	if got := count(); got != 600 {
		t.Errorf("%d passages are found without indexes, want 600: the budget is doubled", got)
	}
	f.outgrow(id)
	if got := count(); got != 40 {
		t.Errorf("%d passages are found with indexes, want the 40 of the rare word", got)
	}
	frugal := postgres.New(f.db.Pool, postgres.Options{LookupBudget: 50, FullScan: 1})
	for _, terms := range [][]string{{"otter", "walrus"}, {"water", "otter", "walrus"}, {"walrus"}, {"seal"}} {
		r := &rank.Request{Words: words(terms...), AverageBody: 3, TopLexical: 6}
		find := func(tier *postgres.Tier) (passages []uuid.UUID) {
			s := f.openWith(tier, id, nil)
			defer s.Close(t.Context())
			for _, c := range f.candidates(s, r) {
				passages = append(passages, c.Passage)
			}
			slices.SortFunc(passages, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
			return passages
		}
		if want, got := find(f.tier), find(frugal); !slices.Equal(got, want) {
			t.Errorf("%q: %d passages are found with a small budget, not the same as the %d with a large one", terms, len(got), len(want))
		}
	}
	// A phrase of common words is looked up together with a rare word.
	phrase := &rank.Filter{Phrases: []rank.Phrase{{{"otter"}, {"water"}}}}
	s := f.openWith(frugal, id, phrase)
	if found := f.candidates(s, &rank.Request{Words: words("passage7", "otter", "water"), AverageBody: 3, TopLexical: 6}); len(found) != 6 {
		t.Errorf("a phrase and a rare word find %d passages, want 6", len(found))
	}
	s.Close(t.Context())
	// Without a rare word, passages with several of the words are found.
	s = f.openWith(frugal, id, nil)
	if found := f.candidates(s, &rank.Request{Words: words("otter", "water"), AverageBody: 3, TopLexical: 6}); len(found) != 6 {
		t.Errorf("common words find %d passages, want 6", len(found))
	}
}
