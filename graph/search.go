package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The number of results when none is asked for, and the most.
const (
	defaultLimit = 10
	maxLimit     = 100
)

func (r *Resolver) search(ctx context.Context, in model.SearchInput) (*model.SearchResults, error) {
	if err := dashboardOnly(ctx, &in); err != nil {
		return nil, err
	}
	query, err := r.searchQuery(in)
	if err != nil {
		return nil, err
	}
	where, err := r.likelyScope(ctx, in.Collection)
	if err != nil {
		return nil, err
	}
	if err := r.chosenCollections(ctx, in.Filters); err != nil {
		return nil, err
	}
	if err := r.metered(ctx); err != nil {
		return nil, err
	}
	query.OldestAmong = where.among
	found, err := r.Search.Search(ctx, where.scope, query)
	reach, same, unconfirmed := r.confirm(ctx, where, found)
	if unconfirmed != nil {
		return nil, unconfirmed
	}
	if !same {
		query.OldestAmong = nil
		found, err = r.Search.Search(ctx, reach, query)
	}
	if err != nil {
		return nil, err
	}
	r.noteSearch(ctx, reach, query, found)
	out := &model.SearchResults{
		Results: make([]*model.SearchResult, len(found.Hits)), Total: found.Total,
		Limit: query.Limit, Offset: query.Offset, TookMs: float64(found.Took.Microseconds()) / 1000,
		Warnings: append([]string{}, found.Warnings()...),
	}
	for i, h := range found.Hits {
		out.Results[i] = searchResult(h)
	}
	if query.Facets != nil {
		if out.Facets, err = r.labelled(ctx, found.Facets); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (r *Resolver) searchQuery(in model.SearchInput) (search.Query, error) {
	q := search.Query{Text: in.Query, Limit: defaultLimit, MinScore: r.MinScore}
	if strings.TrimSpace(in.Query) == "" {
		return q, apierr.Invalid("query", "must not be blank")
	}
	if in.Limit != nil {
		if q.Limit = *in.Limit; q.Limit < 1 || q.Limit > maxLimit {
			return q, apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", maxLimit))
		}
	}
	if in.Offset != nil {
		if q.Offset = *in.Offset; q.Offset < 0 {
			return q, apierr.Invalid("offset", "must be 0 or more")
		}
	}
	if in.MinScore != nil {
		if q.MinScore = *in.MinScore; math.IsNaN(q.MinScore) || q.MinScore < 0 || q.MinScore > 1 {
			return q, apierr.Invalid("min_score", "must be between 0 and 1")
		}
	}
	q.Highlight = in.Highlight != nil && *in.Highlight
	q.AsYouType = in.Prefix != nil && *in.Prefix
	var err error
	if in.Filters != nil {
		if q.Filters, err = searchFilters(*in.Filters); err != nil {
			return q, err
		}
	}
	q.Facets, err = facetQuery(in.Facets)
	return q, err
}

func searchFilters(in model.SearchFilters) (search.Filters, error) {
	f := search.Filters{
		Section: orEmpty(in.Section), Version: orEmpty(in.Version), Language: languageCode(orEmpty(in.Language)),
		Tags: in.Tags, DocTypes: in.DocTypes,
		Sections: in.Sections, Versions: in.Versions, Sources: in.Sources, Connectors: in.Connectors, Collections: in.Collections,
	}
	for _, tag := range in.Languages {
		f.Languages = append(f.Languages, languageCode(tag))
	}
	if in.ChangedFrom != nil {
		f.From = *in.ChangedFrom
	}
	if in.ChangedUntil != nil {
		f.Until = *in.ChangedUntil
	}
	var err error
	if f.After, err = date("filters.date_after", in.DateAfter); err != nil {
		return f, err
	}
	f.Before, err = date("filters.date_before", in.DateBefore)
	return f, err
}

// languageCode is a language tag as documents have it: en for EN and en-US.
func languageCode(tag string) string {
	tag = strings.ToLower(strings.TrimSpace(tag))
	if end := strings.IndexAny(tag, "-_"); end > 0 {
		tag = tag[:end]
	}
	return tag
}

func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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

// searchScope is where a search looks: the named collection, else a key's
// default one, else everything that a session reaches.
func (r *Resolver) searchScope(ctx context.Context, named *uuid.UUID) (viewer.Scope, error) {
	v, ok := viewer.From(ctx)
	if !ok {
		return viewer.Scope{}, apierr.New(apierr.Unauthorized, "Session required")
	}
	reach, err := v.Scope()
	if err != nil {
		return viewer.Scope{}, apierr.Wrap("search scope", err)
	}
	denied := apierr.New(apierr.Forbidden, "Collection access denied")
	if named == nil {
		if v.Kind != viewer.KindKey {
			return reach, nil
		}
		id, err := r.defaultCollection(ctx, v)
		if err != nil {
			return viewer.Scope{}, err
		}
		return reach.Narrow(id)
	}
	narrow, err := reach.Narrow(*named)
	if errors.Is(err, viewer.ErrOutOfReach) {
		return viewer.Scope{}, denied
	}
	if err != nil {
		return viewer.Scope{}, err
	}
	exists, err := r.client(ctx).Collection.Query().Where(collection.ID(*named)).Exist(ctx)
	switch {
	case err != nil:
		return viewer.Scope{}, err
	case !exists && v.Kind == viewer.KindKey:
		return viewer.Scope{}, denied
	case !exists:
		return viewer.Scope{}, apierr.NotFound("Collection")
	}
	return narrow, nil
}

// defaultCollection is the one a key names, else the oldest it reaches.
func (r *Resolver) defaultCollection(ctx context.Context, v viewer.Viewer) (uuid.UUID, error) {
	if v.DefaultCollection != uuid.Nil {
		return v.DefaultCollection, nil
	}
	id, err := r.client(ctx).Collection.Query().Order(collection.ByCreatedAt(), collection.ByID()).FirstID(ctx)
	if ent.IsNotFound(err) {
		return uuid.Nil, apierr.New(apierr.Forbidden, "Collection access denied")
	}
	if err != nil {
		return uuid.Nil, err
	}
	r.defaults.set(v.Subject, id)
	return id, nil
}

func searchResult(h search.Hit) *model.SearchResult {
	out := &model.SearchResult{
		ID: h.Passage, DocumentID: h.Document, Title: h.Title, URL: orNil(h.URL), Snippet: h.Snippet, Score: h.Score,
		Section: orNil(h.Section), Version: orNil(h.Version), Tags: append([]string{}, h.Tags...),
		DocType: orNil(h.DocType), Language: orNil(h.Language),
		Collection: h.CollectionName, CollectionID: h.Collection, Source: h.Source,
		HeadingPath: append([]string{}, h.Headings...), Metadata: h.Metadata,
	}
	if out.Metadata == nil {
		out.Metadata = map[string]any{}
	}
	if !h.UpdatedAt.IsZero() {
		out.UpdatedAt = &h.UpdatedAt
	}
	return out
}

func orNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
