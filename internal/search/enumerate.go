package search

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/postgres"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Facets counts documents within scope by the fields that the query asks for.
// With a text they are those of the passages that a search would find, before a
// reranker rates them; without one, all that the filters leave. Limit, Offset
// and Highlight of the query do not matter. Errors are those of Search.
func (e *Engine) Facets(ctx context.Context, scope viewer.Scope, q Query) ([]Facet, error) {
	whole := q.Text == ""
	q.Limit, q.Offset = 1, 0
	if q = q.complete(); q.Facets == nil {
		return []Facet{}, nil
	}
	if whole {
		q.Text = "*" // is checked, and not looked at
	}
	if err := q.check(); err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("count facets: %w", err)
	}
	var facets []Facet
	if whole {
		facets, err = e.countAll(ctx, scope, workspace, &q)
	} else {
		facets, err = e.countFound(ctx, scope, workspace, &q)
	}
	if err != nil {
		return nil, fmt.Errorf("count facets: %w", readable(err))
	}
	return facets, nil
}

func (e *Engine) countFound(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query) ([]Facet, error) {
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
	passes := q.passes(question)
	reach, err := e.open(ctx, scope, workspace, q, question, how{wide: wide(passes)})
	if err != nil {
		return nil, err
	}
	defer reach.close(ctx)
	var ranked []rank.Ranked
	if len(passes) > 0 && passes[0].filter == nil {
		found, err := e.ranker.Search(ctx, reach.parts, question, rank.Options{Least: q.MinScore, Now: start(q)})
		if err != nil {
			return nil, fmt.Errorf("search for facets: %w", err)
		}
		ranked = found.Ranked
	}
	return reach.count(ctx, q, question, ranked, passes)
}

// countAll counts one collection after the other, so that however many are not
// in memory one connection is enough.
func (e *Engine) countAll(ctx context.Context, scope viewer.Scope, workspace uuid.UUID, q *Query) ([]Facet, error) {
	readers, err := readersOf(ctx)
	if err != nil {
		return nil, err
	}
	states, err := e.store.States(ctx, scope)
	if err != nil {
		return nil, fmt.Errorf("find collections: %w", err)
	}
	passes := q.passes(nil)
	for _, p := range passes {
		if p.filter == nil {
			p.filter = q.Filters.filter()
		}
	}
	for _, state := range q.Filters.chosen(states, wide(passes)) {
		snapshot, err := e.snapshot(ctx, scope, state)
		if err != nil {
			return nil, err
		}
		m := member{state: state, snapshot: snapshot, readers: readers}
		if snapshot == nil {
			err = e.withStored(ctx, workspace, state, func(s *postgres.Source) error {
				m.stored = s
				return m.countAll(ctx, q, passes)
			})
		} else {
			err = m.countAll(ctx, q, passes)
		}
		if err != nil {
			return nil, err
		}
	}
	return q.facets(passes), nil
}

// countAll counts a collection's documents for every pass that looks at it.
func (m *member) countAll(ctx context.Context, q *Query, passes []*pass) error {
	for _, p := range passes {
		if !p.wide && !q.Filters.includes(m.state.Collection) {
			continue
		}
		part, err := m.through(ctx, p.filter)
		if err != nil {
			return err
		}
		counts, err := part.Source.Facets(ctx, &p.request)
		if err != nil {
			return fmt.Errorf("count a collection: %w", err)
		}
		p.add(m.state.Collection, counts)
	}
	return nil
}

// withStored opens a collection in PostgreSQL while do runs.
func (e *Engine) withStored(ctx context.Context, workspace uuid.UUID, state index.State, do func(*postgres.Source) error) error {
	if err := e.permits.Acquire(ctx, 1); err != nil {
		return fmt.Errorf("wait for a connection: %w", err)
	}
	defer e.permits.Release(1)
	source, err := e.tier.Open(ctx, workspace, state, nil)
	if err != nil {
		return fmt.Errorf("open a collection: %w", err)
	}
	defer source.Close(ctx)
	return do(source)
}
