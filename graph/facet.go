package graph

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// dashboardOnly refuses what the public surface has no words for.
func dashboardOnly(ctx context.Context, in *model.SearchInput) error {
	v, ok := viewer.From(ctx)
	if !ok || v.Surface != viewer.SurfacePublic {
		return nil
	}
	f := in.Filters
	if in.Facets != nil || in.Prefix != nil && *in.Prefix ||
		f != nil && (f.Sections != nil || f.Versions != nil || f.Languages != nil || f.Sources != nil || f.Connectors != nil ||
			f.Collections != nil || f.ChangedFrom != nil || f.ChangedUntil != nil) {
		return apierr.New(apierr.Forbidden, "Session required for facets and their filters")
	}
	return nil
}

// chosenCollections checks the collections that filters select.
func (r *Resolver) chosenCollections(ctx context.Context, in *model.SearchFilters) error {
	if in == nil {
		return nil
	}
	for _, id := range in.Collections {
		if _, err := r.searchScope(ctx, &id); err != nil {
			return err
		}
	}
	return nil
}

func (r *Resolver) searchFacets(ctx context.Context, in model.SearchFacetsInput) ([]*model.SearchFacet, error) {
	query := search.Query{MinScore: r.MinScore, AsYouType: in.Prefix != nil && *in.Prefix}
	if in.Query != nil {
		if query.Text = *in.Query; strings.TrimSpace(query.Text) == "" {
			return nil, apierr.Invalid("query", "must not be blank")
		}
	}
	if in.MinScore != nil {
		query.MinScore = *in.MinScore
	}
	var err error
	if in.Filters != nil {
		if query.Filters, err = searchFilters(*in.Filters); err != nil {
			return nil, err
		}
	}
	facets := in.Facets
	if facets == nil {
		facets = &model.FacetsInput{}
	}
	if query.Facets, err = facetQuery(facets); err != nil {
		return nil, err
	}
	reach, err := r.searchScope(ctx, in.Collection)
	if err != nil {
		return nil, err
	}
	if err := r.chosenCollections(ctx, in.Filters); err != nil {
		return nil, err
	}
	counted, err := r.Search.Facets(ctx, reach, query)
	if err != nil {
		return nil, err
	}
	return r.labelled(ctx, counted)
}

// facetQuery is what an input asks for.
func facetQuery(in *model.FacetsInput) (*search.FacetQuery, error) {
	if in == nil {
		return nil, nil //nolint:nilnil // nothing is asked for
	}
	out := &search.FacetQuery{Values: 20}
	if in.First != nil {
		if out.Values = *in.First; out.Values < 1 || out.Values > search.MaxFacetValues {
			return nil, apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", search.MaxFacetValues))
		}
	}
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
		one, ok := dateRange(text)
		if !ok {
			return nil, apierr.Invalid(fmt.Sprintf("ranges[%d]", i), "must be a span such as 2026-01-01/2026-02-01 or ../2025-01-01")
		}
		out.Ranges = append(out.Ranges, one)
	}
	return out, nil
}

// dateRange reads two days or moments with a slash between them, of which one
// may be two dots, in the manner of ISO 8601-2.
func dateRange(text string) (search.Range, bool) {
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
	return out, (!out.From.IsZero() || !out.Until.IsZero()) && (out.Until.IsZero() || out.From.Before(out.Until))
}

// labelled are facets with the names of collections and connectors, which are
// read with the caller's rights.
func (r *Resolver) labelled(ctx context.Context, facets []search.Facet) ([]*model.SearchFacet, error) {
	out := make([]*model.SearchFacet, len(facets))
	for i, f := range facets {
		names, err := r.namesOf(ctx, f)
		if err != nil {
			return nil, err
		}
		values := make([]*model.SearchFacetValue, len(f.Values))
		for j, v := range f.Values {
			one := &model.SearchFacetValue{Value: v.Value, Label: v.Value, Count: v.Count, Selected: v.Selected}
			if name := names[v.Value]; name != "" {
				one.Label = name
			}
			if f.Field == search.FieldDate {
				one.From, one.Until = momentOrNil(v.Range.From), momentOrNil(v.Range.Until)
			}
			values[j] = one
		}
		out[i] = &model.SearchFacet{
			Name: model.SearchField(strings.ToUpper(string(f.Field))), Documents: f.Documents, Missing: f.Missing,
			Distinct: f.Distinct, OtherCount: f.Other, Values: values,
		}
	}
	return out, nil
}

func momentOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// namesOf are the names of a facet's values that are ids, by id.
func (r *Resolver) namesOf(ctx context.Context, f search.Facet) (map[string]string, error) {
	if f.Field != search.FieldCollection && f.Field != search.FieldConnector {
		return nil, nil //nolint:nilnil // reading a nil map finds nothing
	}
	ids := make([]uuid.UUID, 0, len(f.Values))
	for _, v := range f.Values {
		if id, err := uuid.Parse(v.Value); err == nil {
			ids = append(ids, id)
		}
	}
	names := make(map[string]string, len(ids))
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

// The bounds of suggestions.
const (
	suggestionsUsual = 8
	suggestionsMost  = 20
)

func (r *Resolver) searchSuggestions(ctx context.Context, prefix string, limit *int, named *uuid.UUID) ([]*model.SearchSuggestion, error) {
	n := suggestionsUsual
	if limit != nil {
		n = *limit
	}
	if n < 1 || n > suggestionsMost {
		return nil, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", suggestionsMost))
	}
	if strings.TrimSpace(prefix) == "" {
		return nil, apierr.Invalid("prefix", "must not be blank")
	}
	reach, err := r.searchScope(ctx, named)
	if err != nil {
		return nil, err
	}
	found, err := r.Search.Suggest(ctx, reach, prefix, n, search.Filters{})
	if err != nil {
		return nil, err
	}
	out := make([]*model.SearchSuggestion, len(found))
	for i, s := range found {
		out[i] = &model.SearchSuggestion{Text: s.Title, DocumentID: s.Document, CollectionID: s.Collection}
	}
	return out, nil
}
