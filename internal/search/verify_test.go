package search_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A source is a verifier that hides documents and counts what it is asked.
type source struct {
	fixedPrincipals
	hidden     map[uuid.UUID]bool
	unanswered bool
	asked      *atomic.Int64
	largest    *atomic.Int64
}

func (s source) Verifies(context.Context, uuid.UUID) (bool, error) { return true, nil }

func (s source) HiddenNow(_ context.Context, _ uuid.UUID, email string, documents []uuid.UUID) (viewer.Verdict, error) {
	verdict := viewer.Verdict{Hidden: map[uuid.UUID]bool{}, Unanswered: s.unanswered}
	s.asked.Add(int64(len(documents)))
	s.largest.Store(max(s.largest.Load(), int64(len(documents))))
	for _, id := range documents {
		if s.hidden[id] || s.unanswered || email != "somebody@example.com" {
			verdict.Hidden[id] = true
		}
	}
	return verdict, nil
}

func TestResultsAreVerifiedWithTheSource(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.tenant()
	hidden := map[uuid.UUID]bool{}
	var all []uuid.UUID
	for n := range 60 {
		path := fmt.Sprintf("%02d.md", n)
		document := f.add(id, path, fmt.Sprintf("# Otters\n\nOf otters in %d.", n), func(r *index.Record) { r.Title, r.Readers = "Otters "+path, []string{"group:staff"} })
		all = append(all, document)
		if n%3 != 0 {
			hidden[document] = true
		}
	}
	stored := newEngine(t, f.db, analysis.New(), f.models, search.Options{Memory: -1})
	as := func(s source) context.Context {
		s.fixedPrincipals, s.asked, s.largest = fixedPrincipals{"group:staff"}, &atomic.Int64{}, &atomic.Int64{}
		v := viewer.Viewer{Workspace: uuid.New(), Kind: viewer.KindSession, Email: "Somebody@example.com", Verified: true, AllCollections: true}
		return viewer.WithPrincipals(viewer.With(t.Context(), v), s)
	}
	for name, engine := range map[string]*search.Engine{"resident": f.engine, "stored": stored} {
		seen := map[uuid.UUID]bool{}
		for offset := 0; offset < 30; offset += 8 {
			r, err := engine.Search(as(source{hidden: hidden}), id.scope, search.Query{Text: "otters", Limit: 8, Offset: offset})
			if err != nil {
				t.Fatal(err)
			}
			if want := min(8, max(20-offset, 0)); len(r.Hits) != want || r.Unverified {
				t.Errorf("%s: the page at %d has %d hits, want %d", name, offset, len(r.Hits), want)
			}
			for _, h := range r.Hits {
				if hidden[h.Document] || seen[h.Document] {
					t.Errorf("%s: the page at %d has %s, hidden %v", name, offset, h.Title, hidden[h.Document])
				}
				seen[h.Document] = true
			}
		}
		r, err := engine.Search(as(source{hidden: hidden}), id.scope, search.Query{Text: "otters", Limit: 30, Facets: allFacets()})
		if err != nil || len(r.Hits) != 20 || r.Total != 20 || r.Facets[0].Documents != 20 {
			t.Errorf("%s: all results are %d of %d, %v", name, len(r.Hits), r.Total, err)
		}
		titles, err := engine.Suggest(as(source{hidden: hidden}), id.scope, search.Query{Text: "otters", Limit: 10})
		if err != nil || len(titles) == 0 || slices.ContainsFunc(titles, func(s search.Suggestion) bool { return hidden[s.Document] }) {
			t.Errorf("%s: the suggestions are %+v, %v", name, titles, err)
		}
		r, err = engine.Search(as(source{unanswered: true}), id.scope, search.Query{Text: "otters", Limit: 5})
		if err != nil || len(r.Hits) != 0 || !r.Unverified || len(r.Warnings()) != 1 {
			t.Errorf("%s: without an answer, the results are %+v, %v", name, r, err)
		}
		if r, err := engine.Search(viewerWith(t, nil), id.scope, search.Query{Text: "otters", Limit: 60}); err != nil || len(r.Hits) != 60 {
			t.Errorf("%s: Magpie finds %d, %v", name, len(r.Hits), err)
		}
	}
	// Texts are read only if the source lets the person read them.
	ctx := as(source{hidden: hidden})
	for n, document := range all[:4] {
		_, err := f.index.Content(ctx, id.scope, document)
		if isHidden := apierr.From(err).Code == apierr.CodeNotFound; err != nil && !isHidden || isHidden != hidden[document] {
			t.Errorf("the content of document %d: %v", n, err)
		}
	}
	texts, err := f.index.Texts(ctx, id.scope, all, false)
	if err != nil || len(texts) != 20 {
		t.Errorf("%d texts, %v", len(texts), err)
	}
	passages, err := f.index.Passages(ctx, id.scope, all, index.PassageRange{After: -1, First: 5})
	if err != nil || len(passages) != 20 {
		t.Errorf("the passages of %d documents, %v", len(passages), err)
	}
}
