package graph

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) search(ctx context.Context, in model.SearchInput) (*model.SearchResults, error) {
	if err := checkSurface(ctx, &in); err != nil {
		return nil, err
	}
	query, err := r.searchQuery(in)
	if err != nil {
		return nil, err
	}
	scope, err := searchScope(ctx, in.Collection, &query)
	if err != nil {
		return nil, err
	}
	query.Admit = r.metered
	if query.AsYouType {
		query.Admit = r.meteredTyping
	}
	found, err := r.Search.Search(ctx, scope, query)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	r.logSearch(ctx, query, found)
	out := &model.SearchResults{
		Results: make([]*model.SearchResult, len(found.Hits)), Total: found.Total,
		Limit: query.Limit, Offset: query.Offset, TookMs: float64(found.Took.Microseconds()) / 1000,
		DidYouMean: nilIfZero(found.DidYouMean), Corrected: make([]*model.SearchCorrection, len(found.Corrected)),
		Warnings: append([]string{}, found.Warnings()...),
	}
	for i, c := range found.Corrected {
		out.Corrected[i] = &model.SearchCorrection{From: c.From, To: c.To}
	}
	for i, h := range found.Hits {
		out.Results[i] = searchResult(h)
	}
	if query.Facets != nil {
		out.Facets, err = r.searchFacetModels(ctx, found.Facets)
		out.Counts = out.Facets
	}
	return out, err
}

// searchQuery translates an input. The query's own rules are checked by Search.
func (r *Resolver) searchQuery(in model.SearchInput) (q search.Query, err error) {
	q = search.Query{
		Text: in.Query, Limit: orDefault(in.Limit, search.DefaultLimit), Offset: orZero(in.Offset),
		MinScore: orDefault(in.MinScore, r.MinScore), Highlight: orZero(in.Highlight), AsYouType: orZero(in.Prefix), Explain: orZero(in.Explain),
		Distinct: orZero(in.Distinct),
	}
	q.Collapse = orDefault(in.Collapse, q.Distinct == "" || q.Distinct == search.DistinctDocument)
	q.Lenient = q.AsYouType && in.MinScore == nil
	if in.Filters != nil {
		if q.Filters, err = searchFilters(*in.Filters); err != nil {
			return q, err
		}
	}
	if in.Facets != nil {
		q.Facets, err = facetQuery(*in.Facets)
	}
	return q, err
}

func orDefault[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

func searchFilters(in model.SearchFilters) (search.Filters, error) {
	f := search.Filters{
		Section: orZero(in.Section), Version: orZero(in.Version), Language: languageCode(orZero(in.Language)),
		Tags: in.Tags, DocTypes: in.DocTypes,
		Sections: in.Sections, Versions: in.Versions, Sources: in.Sources, Connectors: in.Connectors, Collections: in.Collections,
		From: orZero(in.ChangedFrom), Until: orZero(in.ChangedUntil),
	}
	for _, tag := range in.Languages {
		f.Languages = append(f.Languages, languageCode(tag))
	}
	var err error
	if f.After, err = date("filters.date_after", in.DateAfter); err != nil {
		return f, err
	}
	f.Before, err = date("filters.date_before", in.DateBefore)
	return f, err
}

// languageCode returns the language code of a tag as documents have it: en for EN and
// en-US.
func languageCode(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if end := strings.IndexAny(tag, "-_"); end > 0 {
		tag = tag[:end]
	}
	return tag
}

func date(field string, text *string) (time.Time, error) {
	if text == nil || *text == "" {
		return time.Time{}, nil
	}
	day, err := time.Parse(time.DateOnly, *text)
	if err != nil {
		return time.Time{}, apierr.Invalid(field, "must be a date such as 2026-01-31")
	}
	return day, nil
}

// searchScope returns the scope of a search in a named collection, or without one, and
// sets the query's collection.
func searchScope(ctx context.Context, named *uuid.UUID, q *search.Query) (scope viewer.Scope, err error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return viewer.Scope{}, viewer.ErrNoViewer
	}
	if q.Collection = named; named != nil {
		return v.Scope()
	}
	scope, q.DefaultToOldest, err = v.DefaultScope()
	return scope, err
}

// searchError translates an error of a search. The error does not reveal to a key whether
// a collection outside its scope exists.
func searchError(ctx context.Context, err error) error {
	if !errors.Is(err, search.ErrNoCollection) {
		return err
	}
	if v, _ := viewer.From(ctx); v.Kind == viewer.KindKey {
		return viewer.ErrOutOfScope
	}
	return apierr.NotFound("Collection")
}

func searchResult(h search.Hit) *model.SearchResult {
	out := &model.SearchResult{
		ID: h.Passage, DocumentID: h.Document, Title: h.Title, URL: nilIfZero(h.URL), Snippet: h.Snippet, Score: h.Score,
		Section: nilIfZero(h.Section), Version: nilIfZero(h.Version), Tags: append([]string{}, h.Tags...),
		DocType: nilIfZero(h.DocType), Language: nilIfZero(h.Language),
		Collection: h.CollectionName, CollectionID: h.Collection, Source: h.Source,
		HeadingPath: append([]string{}, h.Headings...), Metadata: h.Metadata, UpdatedAt: moment(h.UpdatedAt),
		Explanation: searchExplanation(h.Collection, h.Explanation),
	}
	if d := h.Duplicates; d != nil {
		out.Duplicates = &model.SearchDuplicates{Count: d.Count, Versions: append([]string{}, d.Versions...)}
	}
	if out.Metadata == nil {
		out.Metadata = map[string]any{}
	}
	return out
}
