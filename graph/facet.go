package graph

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// checkSurface refuses the inputs of a search that the public surface does not have.
func checkSurface(ctx context.Context, in *model.SearchInput) error {
	v, ok := viewer.From(ctx)
	if !ok || v.Surface != viewer.SurfacePublic {
		return nil
	}
	if in.Facets != nil && !isPublicFacets(in.Facets) || in.Explain != nil && *in.Explain || !isPublicFilters(in.Filters) {
		return apierr.New(apierr.Forbidden, "Session required for these facets, their filters and explanations")
	}
	return nil
}

// isPublicFilters reports whether keys may filter so.
func isPublicFilters(f *model.SearchFilters) bool {
	return f == nil || f.Sections == nil && f.Versions == nil && f.Languages == nil && f.Sources == nil && f.Connectors == nil &&
		f.Collections == nil && f.ChangedFrom == nil && f.ChangedUntil == nil
}

// isPublicFacets reports whether keys may ask for the facets: those by what their results
// show, too. They are named.
func isPublicFacets(in *model.FacetsInput) bool {
	return in.Fields != nil && !slices.ContainsFunc(in.Fields, func(f model.SearchField) bool {
		return f == model.SearchFieldCollection || f == model.SearchFieldConnector
	})
}

func (r *Resolver) searchFacets(ctx context.Context, in model.SearchFacetsInput) ([]*model.SearchFacet, error) {
	query, err := r.searchQuery(model.SearchInput{Query: orZero(in.Query), MinScore: in.MinScore, Prefix: in.Prefix, Filters: in.Filters, Facets: in.Facets})
	if err != nil {
		return nil, err
	}
	if query.Facets == nil {
		if query.Facets, err = facetQuery(model.FacetsInput{}); err != nil {
			return nil, err
		}
	}
	scope, err := searchScope(ctx, in.Collection, &query)
	if err != nil {
		return nil, err
	}
	count := r.Search.Facets
	if in.Query == nil {
		count = r.Search.DocumentFacets
	}
	facets, err := count(ctx, scope, query)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	return r.searchFacetModels(ctx, facets)
}

// facetQuery translates an input. All fields are counted if it names none.
func facetQuery(in model.FacetsInput) (*search.FacetQuery, error) {
	out := &search.FacetQuery{Values: orDefault(in.First, search.DefaultFacetValues)}
	fields := in.Fields
	if fields == nil {
		fields = model.AllSearchField
	}
	seen := make(map[model.SearchField]bool)
	for _, field := range fields {
		if !seen[field] {
			seen[field] = true
			out.Fields = append(out.Fields, search.Field(strings.ToLower(string(field))))
		}
	}
	for i, text := range in.Ranges {
		parsed, ok := parseRange(text)
		if !ok {
			return nil, apierr.Invalid(fmt.Sprintf("ranges[%d]", i), "must be a span such as 2026-01-01/2026-02-01 or ../2025-01-01")
		}
		out.Ranges = append(out.Ranges, parsed)
	}
	return out, nil
}

// parseRange parses an interval of two days or times with a slash between them. One of the
// two may be two dots for an open end (ISO 8601-2).
func parseRange(text string) (search.Range, bool) {
	from, until, ok := strings.Cut(text, "/")
	if !ok {
		return search.Range{}, false
	}
	out := search.Range{Name: text}
	for _, end := range []struct {
		text string
		to   *time.Time
	}{{from, &out.From}, {until, &out.Until}} {
		if end.text == ".." {
			continue
		}
		at, err := time.Parse(time.DateOnly, end.text)
		if err != nil {
			if at, err = time.Parse(time.RFC3339, end.text); err != nil {
				return search.Range{}, false
			}
		}
		*end.to = at.UTC()
	}
	return out, out.Valid()
}

// searchFacetModels translates facets. Collections and connectors are labelled by their
// names, which are read with the viewer's rights.
func (r *Resolver) searchFacetModels(ctx context.Context, facets []search.Facet) ([]*model.SearchFacet, error) {
	out := make([]*model.SearchFacet, len(facets))
	for i, f := range facets {
		names, err := r.facetNames(ctx, f)
		if err != nil {
			return nil, err
		}
		values := make([]*model.SearchFacetValue, len(f.Values))
		for j, v := range f.Values {
			value := &model.SearchFacetValue{Value: v.Value, Label: v.Value, Count: v.Count, Selected: v.Selected}
			if name := names[v.Value]; name != "" {
				value.Label = name
			}
			if f.Field == search.FieldDate {
				value.From, value.Until = moment(v.Range.From), moment(v.Range.Until)
			}
			values[j] = value
		}
		out[i] = &model.SearchFacet{
			Name: model.SearchField(strings.ToUpper(string(f.Field))), Documents: f.Documents, Missing: f.Missing,
			Distinct: f.Distinct, OtherCount: f.Other, Values: values,
		}
	}
	return out, nil
}

// facetNames returns the names of the collections or connectors that are the values of a
// facet, by id. It is empty for other facets.
func (r *Resolver) facetNames(ctx context.Context, f search.Facet) (map[string]string, error) {
	names := make(map[string]string)
	if f.Field != search.FieldCollection && f.Field != search.FieldConnector {
		return names, nil
	}
	ids := make([]uuid.UUID, 0, len(f.Values))
	for _, v := range f.Values {
		if id, err := uuid.Parse(v.Value); err == nil {
			ids = append(ids, id)
		}
	}
	if f.Field == search.FieldCollection {
		found, err := r.loadCollectionNames(ctx, ids)
		for id, name := range found {
			names[id.String()] = name
		}
		return names, err
	}
	rows, err := r.client(ctx).Connector.Query().Where(connector.IDIn(ids...)).Select(connector.FieldID, connector.FieldName).All(ctx)
	for _, row := range rows {
		names[row.ID.String()] = row.Name
	}
	return names, err
}

func (r *Resolver) searchSuggestions(ctx context.Context, prefix string, limit *int, named *uuid.UUID) ([]*model.SearchSuggestion, error) {
	query := search.Query{Text: prefix, Limit: orDefault(limit, search.DefaultSuggestions)}
	scope, err := searchScope(ctx, named, &query)
	if err != nil {
		return nil, err
	}
	suggestions, err := r.Search.Suggest(ctx, scope, query)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	out := make([]*model.SearchSuggestion, len(suggestions))
	for i, s := range suggestions {
		out[i] = &model.SearchSuggestion{Text: s.Title, DocumentID: s.Document, CollectionID: s.Collection}
	}
	return out, nil
}

func (r *Resolver) completions(ctx context.Context, typed string, limit *int, named *uuid.UUID, filters *model.SearchFilters) (*model.SearchCompletions, error) {
	if err := checkSurface(ctx, &model.SearchInput{Filters: filters}); err != nil {
		return nil, err
	}
	query := search.Query{Text: typed, Limit: orDefault(limit, search.DefaultSuggestions), Admit: r.meteredTyping}
	if filters != nil {
		var err error
		if query.Filters, err = searchFilters(*filters); err != nil {
			return nil, err
		}
	}
	scope, err := searchScope(ctx, named, &query)
	if err != nil {
		return nil, err
	}
	found, err := r.Search.Complete(ctx, scope, query)
	if err != nil {
		return nil, searchError(ctx, err)
	}
	out := &model.SearchCompletions{Completions: found.Completions, Titles: make([]*model.SearchTitle, len(found.Titles))}
	for i, t := range found.Titles {
		out.Titles[i] = &model.SearchTitle{Title: t.Title, DocumentID: t.Document, URL: nilIfZero(t.URL)}
	}
	return out, nil
}
