package search

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/tracing"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxAttempts is the number of attempts to answer a query whose results are replaced
// between ranking and reading them. The last attempt uses the stored tier alone, in one
// transaction, where that cannot happen.
const maxAttempts = 4

// Search returns the passages in scope that answer the query, best first. It sees every
// write that ended before it began. Of a sync that is still running it sees whole
// documents only. A collection of the scope that does not exist has no results. Errors are
// apierr errors for a query that is not valid.
func (e *Engine) Search(ctx context.Context, scope viewer.Scope, q Query) (results *Results, err error) {
	start := time.Now()
	ctx, span := tracing.Start(ctx, "search")
	defer func() { endSearch(span, &q, results, err) }()
	if err := q.Validate(); err != nil {
		return nil, err
	}
	q.setDefaultRanges()
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
	for attempt := 1; ; attempt++ {
		var complete bool
		var only uuid.UUID
		err := e.inTurn(ctx, scope, func(ctx context.Context) error {
			states, err := e.admit(ctx, scope, &q, attempt == 1)
			if err != nil {
				return err
			}
			only = onlyCollection(scope, states, &q)
			return e.readers.Do(ctx, func(ctx context.Context) (err error) {
				opt := openOptions{current: attempt > 1, storedOnly: attempt == maxAttempts}
				results, complete, err = e.attempt(ctx, scope, states, &q, question, opt)
				return err
			})
		})
		if err != nil {
			return nil, fmt.Errorf("search: %w", readable(err))
		}
		if complete || attempt == maxAttempts {
			results.Collection, results.Took = only, time.Since(start)
			return results, nil
		}
	}
}

// admit reads the states of the collections of a query. At the first attempt it charges
// the query.
func (e *Engine) admit(ctx context.Context, scope viewer.Scope, q *Query, isFirst bool) (_ []index.State, err error) {
	ctx, span := tracing.Start(ctx, "search admit")
	defer func() { span.End(err) }()
	states, err := e.states(ctx, scope, q)
	if err == nil && isFirst && q.Admit != nil {
		err = q.Admit(ctx)
	}
	span.Set(slog.Int("magpie.search.collections", len(states)))
	return states, err
}

// attempt ranks the passages of the collections with the given states and reads the page of
// results. complete reports whether all of them could be read.
func (e *Engine) attempt(ctx context.Context, scope viewer.Scope, states []index.State, q *Query, question *rank.Question, opt openOptions) (_ *Results, complete bool, err error) {
	passes := q.passes(e.analyzer, question)
	opt.allCollections = anyUnbounded(passes)
	opening, span := tracing.Start(ctx, "search open")
	s, err := e.open(opening, scope, states, q, question, opt)
	span.End(err)
	if err != nil {
		return nil, false, err
	}
	defer s.close(ctx)
	spelling, span := tracing.Start(ctx, "search respell")
	respelling, err := s.respell(spelling, question)
	span.End(err)
	if err != nil {
		return nil, false, err
	}
	if respelling.Question != question {
		question = respelling.Question
		passes = q.passes(e.analyzer, question)
	}
	verify, err := verifies(ctx)
	if err != nil {
		return nil, false, err
	}
	limit := e.rankLimit(q)
	if verify {
		limit = 0 // others take the places of results that are hidden
	}
	scoring, span := tracing.Start(ctx, "search rank")
	ranking, err := e.ranker.Search(scoring, s.parts, question, rank.Options{MinScore: q.MinScore, Lenient: q.Lenient, Now: q.unixNow(), Limit: limit, Explain: q.Explain})
	span.End(err)
	if err != nil {
		return nil, false, fmt.Errorf("rank: %w", err)
	}
	groups, err := s.grouping(ctx, q, ranking.Results)
	if err != nil {
		return nil, false, err
	}
	results := &Results{
		Total: ranking.Total, LexicalOnly: s.lexicalOnly, Corrected: respelling.Corrected, DidYouMean: respelling.Meant,
		Words: ranking.Words, Passages: ranking.Query.Passages,
	}
	ranked := ranking.Results
	counted := ranked // by facets
	if verify {
		v, err := verified(ctx, ranked, e.needed(q), &groups)
		if err != nil {
			return nil, false, err
		}
		counted = slices.DeleteFunc(slices.Clone(ranked), func(r rank.Result) bool { return v.hidden[r.Document] })
		results.Total -= len(ranked) - len(counted)
		ranked, results.Unverified = v.shown, v.unanswered
	}
	all, duplicates := groups.editions.collapse(counted)
	if results.Total -= len(counted) - len(all); verify {
		ranked, duplicates = groups.editions.collapse(ranked)
	} else {
		ranked = all
	}
	hits := make(map[uuid.UUID]*Hit)
	if e.opt.Reranker != nil && len(ranked) > 0 {
		if ranked, results.RerankFailed, err = s.rerank(ctx, q, question.Text(), ranked, hits); err != nil {
			return nil, false, err
		}
		if results.Total = len(ranked); !verify {
			all, counted = ranked, groups.editions.expand(ranked)
		}
	}
	if groups.distinct {
		results.Total = len(groups.first(all))
		ranked = groups.first(ranked)
	}
	page := ranked[min(q.Offset, len(ranked)):]
	page = page[:min(q.Limit, len(page))]
	reading, span := tracing.Start(ctx, "search texts")
	err = s.read(reading, page, hits)
	if span.End(err); err != nil {
		return nil, false, err
	}
	complete = true
	results.Hits = make([]Hit, 0, len(page))
	_, span = tracing.Start(ctx, "search snippets")
	excerpter := e.excerpter(ranking.Terms, q.Highlight)
	for _, r := range page {
		h := hits[r.Passage]
		if h == nil {
			complete = false
			continue
		}
		h.Score = r.Score
		h.excerpt(excerpter)
		h.Explanation, h.Duplicates = s.explanation(&r), duplicates[r.Passage]
		results.Hits = append(results.Hits, *h)
	}
	span.End(nil)
	if q.Facets != nil && (complete || opt.storedOnly) {
		counting, span := tracing.Start(ctx, "search facets")
		results.Facets, err = s.countFacets(counting, q, counted, passes)
		if span.End(err); err != nil {
			return nil, false, err
		}
	}
	return results, complete, nil
}

// needed returns the number of results that may be shown to somebody: those up to the end
// of the page, or that a reranker reads.
func (e *Engine) needed(q *Query) int {
	if e.opt.Reranker != nil {
		return max(q.Offset+q.Limit, rerankDepth)
	}
	return q.Offset + q.Limit
}

// rankLimit returns the number of results that the ranker must return: those up to the
// end of the page. Facets, groups, duplicates and reranking need all of them, for which it returns 0.
func (e *Engine) rankLimit(q *Query) int {
	if q.Facets != nil || q.Distinct != "" || q.Collapse || e.opt.Reranker != nil {
		return 0
	}
	return min(q.Offset, rank.PoolSize) + q.Limit
}

// excerpter returns an excerpter for snippets in HTML that show the terms.
func (e *Engine) excerpter(terms []string, highlight bool) *analysis.Excerpter {
	before, after := "<mark>", "</mark>"
	if !highlight {
		before, after = "", ""
	}
	return e.analyzer.Excerpter(analysis.Marks{Terms: terms}, e.opt.SnippetRunes, before, after)
}

// readable turns errors of the database into errors that callers can act on.
func readable(err error) error {
	var unreachable *pgconn.ConnectError
	if errors.As(err, &unreachable) {
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database cannot be reached; try again.", Cause: err}
	}
	var p *pgconn.PgError
	if !errors.As(err, &p) {
		return err
	}
	switch {
	case p.Code == "57014": // query_canceled
		return &apierr.Error{Code: apierr.Unavailable, Message: "The search took too long; narrow it with filters.", Cause: err}
	case strings.HasPrefix(p.Code, "57P0"): // shutdown
		return &apierr.Error{Code: apierr.Unavailable, Message: "The database is restarting; try again.", Cause: err}
	default:
		return err
	}
}
