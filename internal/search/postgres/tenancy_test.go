package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/store"
)

func TestACollectionOfAnotherWorkspaceIsEmpty(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(1, 1))
	mine, theirs := f.tenant(), f.tenant()
	f.put(mine, mine.record(random, "a", "Otters", "otter"))
	f.put(theirs, theirs.record(random, "a", "Otters", "otter"))
	r := &rank.Request{Words: words("otter"), TopLexical: 10, Vector: unit(random), TopSimilar: 10}
	if found := f.candidates(f.open(theirs, nil), r); len(found) != 1 {
		t.Fatalf("a source of the owning workspace finds %d passages, want 1", len(found))
	}
	s, err := f.tier.Open(t.Context(), mine.workspace, index.State{Collection: theirs.collection, Model: model}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close(t.Context())
	if n, err := s.Statistics(t.Context()); err != nil || n != (rank.Statistics{}) {
		t.Errorf("statistics: %+v, %v", n, err)
	}
	if n, err := s.DocumentFrequencies(t.Context(), []string{"otter"}); err != nil || n[0] != 0 {
		t.Errorf("frequencies: %v, %v", n, err)
	}
	if found := f.candidates(s, r); len(found) != 0 {
		t.Errorf("candidates: %+v", found)
	}
	if c, err := s.Background(t.Context(), r.Vector); err != nil || c.SampleSize != 0 {
		t.Errorf("background: %+v, %v", c, err)
	}
	if found, err := s.Complete(t.Context(), "o", 10); err != nil || len(found) != 0 {
		t.Errorf("completions: %q, %v", found, err)
	}
	facets, err := s.Facets(t.Context(), &rank.FacetRequest{Facets: []rank.Facet{rank.FacetSection, rank.FacetTag}, Ranges: []rank.Range{{}}})
	if err != nil || facets.Documents+facets.Undated+facets.Ranges[0]+len(facets.Values[rank.FacetSection])+len(facets.Values[rank.FacetTag]) != 0 {
		t.Errorf("facets: %+v, %v", facets, err)
	}
}

// TestTheFunctionsAreBoundToTheWorkspace calls the database functions as a faulty
// application might.
func TestTheFunctionsAreBoundToTheWorkspace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, postgres.Options{})
	random := rand.New(rand.NewPCG(1, 1))
	mine, theirs := f.tenant(), f.tenant()
	for i := range 3 { // so that no row of mine has the place of theirs, whatever partitions the collections are in
		f.put(theirs, theirs.record(random, fmt.Sprint("before", i), "Otters", "otter"))
	}
	document := f.put(theirs, theirs.record(random, "a", "Otters", "otter"))
	f.put(mine, mine.record(random, "a", "Otters", "otter"))
	var tid string
	if err := f.owner.QueryRow(t.Context(), "select ctid::text from passage_index where document_id = $1", document).Scan(&tid); err != nil {
		t.Fatal(err)
	}
	passages := func(way string) string {
		return `select count(*) from magpie_passages($1, $2, '{}', '{otter}', 'test', '[1,0,0,0,0,0,0,0]', '` + way + `', 'otter', array['` + document.String() + `'::uuid], 100)`
	}
	calls := map[string]string{
		"words":         passages("words"),
		"near":          passages("near"),
		"scan":          passages("scan"),
		"documents":     passages("documents"),
		"filtered":      "select coalesce(sum(passages), 0) from magpie_filtered($1, $2, '{}', 100)",
		"frequencies":   "select coalesce(sum(passages), 0) from magpie_frequencies($1, $2, '{otter}', '{otter}', 100)",
		"lexemes":       "select count(*) from magpie_lexemes($1, $2, array['" + tid + "'::tid])",
		"hits":          "select count(*) from magpie_hits($1, $2, array['" + tid + "'::tid], '{otter}', 'test', '[1,0,0,0,0,0,0,0]')",
		"embeddings":    "select count(*) from magpie_embeddings($1, $2, 'test', array['" + tid + "'::tid])",
		"vectors":       "select count(*) from magpie_vectors($1, $2, 'test', 100)",
		"complete":      "select count(*) from magpie_complete($1, $2, '{}', 'o:*', 'o', false, 100, 100)",
		"complete, all": "select count(*) from magpie_complete($1, $2, '{}', 'o:*', 'o', true, 100, 100)",
		"facets":        "select count(*) from magpie_facets($1, $2, '{}', null, '{0,1,2,3,4,5,6}', '{null}', '{null}')",
	}
	ask := func(sql, setting string, workspace, collection uuid.UUID) (n int, err error) {
		t.Helper()
		tx, err := f.db.Pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = tx.Rollback(context.Background()) }()
		var role string
		if err := tx.QueryRow(t.Context(), "select current_user from set_config('magpie.workspace', $1, true)", setting).Scan(&role); err != nil {
			t.Fatal(err)
		}
		if role != store.AppRole {
			t.Fatalf("the application's role is %s, want %s", role, store.AppRole)
		}
		err = tx.QueryRow(t.Context(), sql, workspace, collection).Scan(&n)
		return n, err
	}
	for name, sql := range calls {
		if n, err := ask(sql, theirs.workspace.String(), theirs.workspace, theirs.collection); err != nil || n == 0 {
			t.Errorf("%s: own collection: %d, %v", name, n, err)
		}
		if n, err := ask(sql, mine.workspace.String(), mine.workspace, theirs.collection); err != nil || n != 0 {
			t.Errorf("%s: another workspace's collection: %d, %v", name, n, err)
		}
		for _, c := range []struct {
			setting   string
			workspace uuid.UUID
		}{{mine.workspace.String(), theirs.workspace}, {"", theirs.workspace}, {mine.workspace.String(), uuid.Nil}} {
			n, err := ask(sql, c.setting, c.workspace, theirs.collection)
			var denied *pgconn.PgError
			if !errors.As(err, &denied) || denied.Code != "42501" {
				t.Errorf("%s: workspace %s while set to %q: %d, %v", name, c.workspace, c.setting, n, err)
			}
		}
	}
	// Row ids and documents of another workspace select nothing.
	for _, name := range []string{"hits", "documents", "lexemes", "embeddings"} {
		if n, err := ask(calls[name], mine.workspace.String(), mine.workspace, mine.collection); err != nil || n != 0 {
			t.Errorf("%s: another workspace's passages in the own collection: %d, %v", name, n, err)
		}
	}
	for _, internal := range []string{"magpie_reach($1, $2)", "magpie_live('{}') || $1::text || $2::text", "magpie_spoken('{}') || $1::text || $2::text"} {
		_, err := ask("select length(("+internal+")::text)", mine.workspace.String(), mine.workspace, mine.collection)
		var denied *pgconn.PgError
		if !errors.As(err, &denied) || denied.Code != "42501" {
			t.Errorf("%s: %v", internal, err)
		}
	}
}
