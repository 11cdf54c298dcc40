package search

import (
	"context"
	"fmt"
	"runtime"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Facets counts the documents of a query's results, before a reranker scores them. Limit,
// Offset, Highlight and Admit of the query are not used. Errors are those of Search.
func (e *Engine) Facets(ctx context.Context, scope viewer.Scope, q Query) ([]Facet, error) {
	if err := validateText("query", q.Text); err != nil {
		return nil, err
	}
	return e.facets(ctx, scope, q, e.countResults)
}

// DocumentFacets counts all documents that the filters select. Of the query it uses Filters,
// Facets, Now, Collection and DefaultToOldest. Errors are those of Search.
func (e *Engine) DocumentFacets(ctx context.Context, scope viewer.Scope, q Query) ([]Facet, error) {
	return e.facets(ctx, scope, q, e.countDocuments)
}

func (e *Engine) facets(ctx context.Context, scope viewer.Scope, q Query, count func(context.Context, viewer.Scope, *Query) ([]Facet, error)) ([]Facet, error) {
	if err := validateMinScore(q.MinScore); err != nil {
		return nil, err
	}
	if err := q.Facets.validate(); err != nil {
		return nil, err
	}
	if q.Facets == nil {
		return []Facet{}, nil
	}
	q.setDefaultRanges()
	var facets []Facet
	err := e.inTurn(ctx, scope, func(ctx context.Context) error {
		return e.readers.Do(ctx, func(ctx context.Context) (err error) {
			facets, err = count(ctx, scope, &q)
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("count facets: %w", readable(err))
	}
	return facets, nil
}

// countResults counts the documents of the query's results.
func (e *Engine) countResults(ctx context.Context, scope viewer.Scope, q *Query) ([]Facet, error) {
	states, err := e.states(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
	passes := q.passes(e.analyzer, question)
	s, err := e.open(ctx, scope, states, q, question, openOptions{allCollections: anyUnbounded(passes)})
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	respelling, err := s.respell(ctx, question)
	if err != nil {
		return nil, err
	}
	if respelling.Question != question {
		question = respelling.Question
		passes = q.passes(e.analyzer, question)
	}
	var ranked []rank.Result
	if len(passes) > 0 && passes[0].filter == nil {
		ranking, err := e.ranker.Search(ctx, s.parts, question, rank.Options{MinScore: q.MinScore, Lenient: q.Lenient, Now: q.unixNow()})
		if err != nil {
			return nil, fmt.Errorf("rank: %w", err)
		}
		ranked = ranking.Results
	}
	return s.countFacets(ctx, q, ranked, passes)
}

// countFacets runs the passes. ranked are the results of the search itself. Resident
// collections are counted concurrently; stored ones share a connection.
func (s *searcher) countFacets(ctx context.Context, q *Query, ranked []rank.Result, passes []*facetPass) ([]Facet, error) {
	group, ctx := errgroup.WithContext(ctx)
	if group.SetLimit(runtime.GOMAXPROCS(0)); len(s.sources) > 0 {
		group.SetLimit(1)
	}
	for _, p := range passes {
		group.Go(func() error { return s.runPass(ctx, q, ranked, p) })
	}
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("count facets: %w", err)
	}
	return q.facets(passes), nil
}

// runPass counts the documents of the results under the filter of a pass.
func (s *searcher) runPass(ctx context.Context, q *Query, ranked []rank.Result, p *facetPass) error {
	parts := s.parts
	if p.filter != nil {
		collections := s.collections
		if !p.unbounded {
			collections = collections[:len(s.parts)]
		}
		parts = make([]rank.Part, len(collections))
		for i := range collections {
			var err error
			if parts[i], err = collections[i].filtered(ctx, p.filter); err != nil {
				return err
			}
		}
		ranking, err := s.engine.ranker.Search(ctx, parts, p.question, rank.Options{MinScore: q.MinScore, Lenient: q.Lenient, Now: q.unixNow()})
		if err != nil {
			return fmt.Errorf("rank: %w", err)
		}
		ranked = ranking.Results
	}
	passages := make([][]rank.Candidate, len(parts)) // one of each document
	seen := make(map[uuid.UUID]bool, len(ranked))
	for i := range ranked {
		if part := ranked[i].Part; !seen[ranked[i].Document] {
			seen[ranked[i].Document] = true
			passages[part] = append(passages[part], ranked[i].Candidate)
		}
	}
	for i := range parts {
		if len(passages[i]) == 0 {
			continue
		}
		p.request.Passages = passages[i]
		counts, err := parts[i].Source.Facets(ctx, &p.request)
		if err != nil {
			return err
		}
		p.add(s.collections[i].state.Collection, counts)
	}
	return nil
}

// countDocuments counts the documents that the filters select, one collection after the
// other, so that it needs one connection however many collections are stored.
func (e *Engine) countDocuments(ctx context.Context, scope viewer.Scope, q *Query) ([]Facet, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, err
	}
	readers, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	states, err := e.states(ctx, scope, q)
	if err != nil {
		return nil, err
	}
	passes := q.passes(e.analyzer, nil)
	for _, p := range passes {
		if p.filter == nil {
			p.filter = q.Filters.filter()
		}
	}
	for _, state := range states {
		if !q.Filters.includes(state.Collection) && !anyUnbounded(passes) {
			continue
		}
		c := openCollection{state: state, readers: readers}
		isResident, err := e.openResident(ctx, scope, &c)
		if err != nil {
			return nil, err
		}
		if isResident {
			err = c.count(ctx, q, passes)
		} else {
			err = e.withSource(ctx, workspace, state, func(source *postgres.Source) error {
				c.source = source
				return c.count(ctx, q, passes)
			})
		}
		if err != nil {
			return nil, err
		}
	}
	return q.facets(passes), nil
}

// count counts the documents of a collection for every pass that includes it.
func (c *openCollection) count(ctx context.Context, q *Query, passes []*facetPass) error {
	for _, p := range passes {
		if !p.unbounded && !q.Filters.includes(c.state.Collection) {
			continue
		}
		part, err := c.filtered(ctx, p.filter)
		if err != nil {
			return err
		}
		counts, err := part.Source.Facets(ctx, &p.request)
		if err != nil {
			return err
		}
		p.add(c.state.Collection, counts)
	}
	return nil
}

// withSource calls f with a stored collection.
func (e *Engine) withSource(ctx context.Context, workspace uuid.UUID, state index.State, f func(*postgres.Source) error) error {
	if err := e.connections.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for a connection: %w", err)
	}
	defer e.connections.Release(1)
	source, err := e.stored.Open(ctx, workspace, state, nil)
	if err != nil {
		return err
	}
	defer source.Close(ctx)
	return f(source)
}
