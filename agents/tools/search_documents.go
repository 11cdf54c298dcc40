package tools

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/collection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	searchTimeout   = 15 * time.Second
	defaultPassages = 6     // results if the model gives no limit
	minScore        = 0.001 // passages below share words by chance only
	maxPassage      = 1500
)

type searchInput struct {
	Query      string       `json:"query" rule:"required,min=1,max=1000" about:"What to look for, in words that the documents would use."`
	Collection string       `json:"collection" rule:"max=300" about:"Search only this collection: its name or id."`
	Limit      int          `json:"limit" rule:"min=1,max=20" about:"How many passages at most; 6 when left out."`
	Filters    searchFilter `json:"filters" about:"Narrow the search to some documents."`
}

type searchFilter struct {
	Section    string   `json:"section" rule:"max=300"`
	Version    string   `json:"version" rule:"max=100"`
	Language   string   `json:"language" rule:"max=16" about:"A language code such as en."`
	Tags       []string `json:"tags" rule:"max=20" about:"Any of these."`
	DocTypes   []string `json:"doc_types" rule:"max=20" about:"Any of these."`
	DateAfter  string   `json:"date_after" rule:"max=10,format=date" about:"Changed on or after this day, YYYY-MM-DD."`
	DateBefore string   `json:"date_before" rule:"max=10,format=date" about:"Changed on or before this day, YYYY-MM-DD."`
}

type foundPassage struct {
	Source     int      `json:"source"`
	DocumentID string   `json:"document_id"`
	PassageID  string   `json:"passage_id"`
	Title      string   `json:"title"`
	Headings   []string `json:"headings,omitempty"`
	URL        string   `json:"url,omitempty"`
	Collection string   `json:"collection"`
	Version    string   `json:"version,omitempty"`
	UpdatedAt  string   `json:"updated_at,omitempty"`
	Score      float64  `json:"score"`
	Text       string   `json:"text"`
}

func (s *toolset) searchDocumentsTool() loop.Tool {
	return define(SearchDocuments, "Searches the indexed documents by meaning and by words, and returns passages, best first, "+
		"with the number to cite (source), the document's id, title and address, and a score from 0 to 1.", searchTimeout, s.searchDocuments)
}

func (s *toolset) searchDocuments(ctx context.Context, in searchInput) (loop.Result, error) {
	query := search.Query{Text: in.Query, Limit: in.Limit, MinScore: minScore, Collapse: true, Filters: search.Filters{
		Section: in.Filters.Section, Version: in.Filters.Version, Language: strings.ToLower(in.Filters.Language),
		Tags: in.Filters.Tags, DocTypes: in.Filters.DocTypes,
	}}
	if query.Limit == 0 {
		query.Limit = defaultPassages
	}
	var err error
	if query.Filters.After, err = parseDate("filters.date_after", in.Filters.DateAfter); err != nil {
		return loop.Result{}, err
	}
	if query.Filters.Before, err = parseDate("filters.date_before", in.Filters.DateBefore); err != nil {
		return loop.Result{}, err
	}
	scope := s.run.Scope
	if name := strings.TrimSpace(in.Collection); name != "" {
		if scope, err = s.narrow(ctx, name); err != nil {
			return loop.Result{}, err
		}
	}
	found, err := s.Search.Search(ctx, scope, query)
	if err != nil {
		return loop.Result{}, err
	}
	passages := make([]foundPassage, len(found.Hits))
	for i, h := range found.Hits {
		passages[i] = foundPassage{
			Source: s.run.SourceNumber(h), DocumentID: h.Document.String(), PassageID: h.Passage.String(), Title: h.Title, Headings: h.Headings,
			URL: h.URL, Collection: h.CollectionName, Version: h.Version, Score: float64(int(h.Score*100)) / 100, Text: safetext.Truncate(h.Text, maxPassage),
		}
		if !h.UpdatedAt.IsZero() {
			passages[i].UpdatedAt = h.UpdatedAt.UTC().Format(time.DateOnly)
		}
	}
	result, err := jsonResult(map[string]any{"results": passages, "total": found.Total}, "%d passages found, %d shown", found.Total, len(passages))
	result.Hits = found.Hits
	return result, err
}

func parseDate(field, text string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return time.Time{}, apierr.Invalid(field, "must be a date such as 2026-01-31")
	}
	return at, nil
}

// narrow returns the run's scope narrowed to the collection of a name or id. A
// collection outside of the scope is not found.
func (s *toolset) narrow(ctx context.Context, name string) (viewer.Scope, error) {
	missing := apierr.New(apierr.CodeNotFound, "There is no such collection for this agent; leave it out to search all.")
	query := s.Ent.Collection.Query()
	ids, all := s.run.Scope.Collections()
	if !all {
		query.Where(collection.IDIn(ids...))
	}
	if id, err := uuid.Parse(name); err == nil {
		query.Where(collection.ID(id))
	} else {
		query.Where(collection.NameEqualFold(name))
	}
	id, err := query.Order(ent.Asc(collection.FieldCreatedAt, collection.FieldID)).FirstID(ctx)
	if ent.IsNotFound(err) {
		return viewer.Scope{}, missing
	}
	if err != nil {
		return viewer.Scope{}, err
	}
	if !all && !slices.Contains(ids, id) {
		return viewer.Scope{}, missing
	}
	return s.run.Scope.Narrow(id)
}
