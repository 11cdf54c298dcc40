package search

import (
	"log/slog"

	"github.com/magpie-search/magpie/internal/tracing"
)

// endSearch ends the span of a search. It has nothing of the query's text or filters.
func endSearch(span *tracing.Span, q *Query, r *Results, err error) {
	if span == nil {
		return
	}
	span.Set(slog.Int("magpie.search.limit", q.Limit), slog.Int("magpie.search.offset", q.Offset), slog.Bool("magpie.search.facets", q.Facets != nil))
	if r != nil {
		span.Set(slog.Int("magpie.search.total", r.Total), slog.Int("magpie.search.hits", len(r.Hits)), slog.Int("magpie.search.passages", r.Passages))
	}
	span.End(err)
}
