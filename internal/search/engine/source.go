package engine

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/resident"
)

// Stored is a collection in PostgreSQL during one search, through one filter.
type Stored interface {
	rank.Source
	// CandidatesOf is Candidates with a choice from the given passages only, as far as the
	// filter selects them.
	CandidatesOf(ctx context.Context, r *rank.Request, passages []uuid.UUID) ([]rank.Candidate, error)
}

// A Source is a collection whose candidates the backend and the overlay find. PostgreSQL
// decides which of them the filter selects, scores them, and answers everything else.
type Source struct {
	Stored
	collection *Collection
	filter     *rank.Filter
	overlay    *resident.View // nil for none
}

var _ rank.Source = (*Source)(nil)

// Source returns the collection through a filter, which must be that of stored.
func (c *Collection) Source(stored Stored, f *rank.Filter) *Source {
	s := &Source{Stored: stored, collection: c, filter: f}
	if s.filter == nil {
		s.filter = &rank.Filter{}
	}
	if c.overlay != nil {
		s.overlay = c.overlay.View(f)
	}
	return s
}

// Candidates implements rank.Source. If the backend fails, PostgreSQL finds the candidates,
// too.
func (s *Source) Candidates(ctx context.Context, r *rank.Request) ([]rank.Candidate, error) {
	if (r.TopLexical == 0 || len(r.Words) == 0) && (r.TopSimilar == 0 || len(r.Vector) == 0) {
		return s.Stored.Candidates(ctx, r)
	}
	t := s.collection.tier
	t.searches.Add(1)
	if t.isPaused(s.collection.class) {
		t.fallbacks.Add(1)
		return s.Stored.Candidates(ctx, r)
	}
	call, _, ok := t.breaker.Allow()
	if !ok {
		t.fallbacks.Add(1)
		return s.Stored.Candidates(ctx, r)
	}
	passages, answers, err := s.find(ctx, r)
	switch {
	case err == nil:
		call.Succeed()
		if s.passesTooMuch(answers) {
			t.fallbacks.Add(1)
			return s.Stored.Candidates(ctx, r)
		}
		short, err := s.lacks(ctx, answers)
		if err != nil {
			return nil, err
		}
		if short {
			t.doubts.Add(1)
			t.fallbacks.Add(1)
			return s.Stored.Candidates(ctx, r)
		}
		return s.CandidatesOf(ctx, r, passages)
	case ctx.Err() != nil:
		call.Abandon()
		return nil, ctx.Err()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		call.Timeout()
	case errors.Is(err, ErrUnavailable):
		call.Fail(0)
	default: // the backend can be reached: it is the class that cannot be searched
		call.Succeed()
		t.pause(s.collection.class)
	}
	t.failures.Add(1)
	t.fallbacks.Add(1)
	t.opt.Log.WarnContext(ctx, "the search engine failed; PostgreSQL answers", slog.String("class", s.collection.class), slog.Any("error", err))
	return s.Stored.Candidates(ctx, r)
}

// find returns the passages that the backend and the overlay find, and how many of them
// each query may have found.
func (s *Source) find(ctx context.Context, r *rank.Request) ([]uuid.UUID, []answer, error) {
	bounded, cancel := context.WithTimeout(ctx, s.collection.tier.opt.Timeout)
	defer cancel()
	var queries []*Query
	if len(r.Words) > 0 && r.TopLexical > 0 {
		queries = append(queries, &Query{Terms: termsOf(r.Words), Limit: depth(r.TopLexical), Filter: s.filter})
	}
	if len(r.Vector) > 0 && r.TopSimilar > 0 {
		queries = append(queries, &Query{Vector: r.Vector, Limit: depth(r.TopSimilar), Filter: s.filter})
	}
	found := make([][]Found, len(queries))
	errs := make([]error, len(queries))
	var wait sync.WaitGroup
	for i, q := range queries {
		wait.Go(func() { found[i], errs[i] = s.collection.tier.backend.Search(bounded, s.collection.class, q) })
	}
	passages, err := s.newer(ctx, r)
	wait.Wait()
	if err != nil {
		return nil, nil, err
	}
	newer := len(passages)
	answers := make([]answer, len(queries))
	for i := range queries {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		answers[i] = answer{queries[i], newer + len(found[i])}
		for _, f := range found[i] {
			passages = append(passages, f.Passage)
		}
	}
	slices.SortFunc(passages, func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(passages), answers, nil
}

// newer returns the passages that the overlay finds.
func (s *Source) newer(ctx context.Context, r *rank.Request) ([]uuid.UUID, error) {
	if s.overlay == nil {
		return nil, nil
	}
	request := *r
	request.Rescore, request.Buffers, request.MatchWords = nil, nil, 0
	candidates, err := s.overlay.Candidates(ctx, &request)
	if err != nil {
		return nil, err
	}
	passages := make([]uuid.UUID, len(candidates))
	for i := range candidates {
		passages[i] = candidates[i].Passage
	}
	return passages, nil
}

// depth returns how many passages the backend is asked for so that n remain: some of those
// that it finds are older versions, and it orders passages by statistics of its shards.
func depth(n int) int { return n + n/4 }

// maxTerms is the largest number of terms of a query. Those of the words with the least
// weights are left out.
const maxTerms = 64

// termsOf returns the terms of the words, those of the heaviest words first.
func termsOf(words []rank.Word) []string {
	order := slices.Clone(words)
	slices.SortStableFunc(order, func(a, b rank.Word) int {
		switch {
		case a.Weight > b.Weight:
			return -1
		case a.Weight < b.Weight:
			return 1
		}
		return 0
	})
	var terms []string
	for _, w := range order {
		terms = append(terms, w.Terms...)
	}
	return terms[:min(len(terms), maxTerms)]
}
