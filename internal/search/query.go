package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// The limits of a query. Interfaces use them for their defaults and descriptions;
// Validate applies them.
const (
	DefaultLimit = 10
	MaxLimit     = 100

	DefaultFacetValues = 20
	MaxFacetValues     = 100
	MaxFacetRanges     = 20

	DefaultSuggestions = 8
	MaxSuggestions     = 20
)

// A Query is a search.
type Query struct {
	Text      string  // must not be blank
	Limit     int     // largest number of results, 1 to MaxLimit
	Offset    int     // number of results to skip, 0 or more
	MinScore  float64 // 0 to 1; 0 returns every candidate
	Highlight bool    // wrap the query's words in <mark> in snippets
	Filters   Filters
	// AsYouType also matches words that begin with the last word.
	AsYouType bool
	// Lenient also returns passages below MinScore that have a word of the query, such as
	// those of a word that is being typed.
	Lenient bool
	// Distinct returns the best result of each document (DistinctDocument), or of all
	// documents with the same value: of one of DistinctFields, or of a key of metadata
	// (DistinctMetadata and the key). Documents without a value are not alike. "" returns all
	// results. Results.Total counts what is returned on all pages; facets count all documents.
	Distinct string
	// Collapse returns one result of those of different documents whose text is the same or
	// nearly the same, such as a page in several versions: that of the version which the
	// question names, else of the newest. Hit.Duplicates tells what it stands for.
	// Results.Total counts what is returned; facets count all documents. With MinScore 0 it
	// has no effect.
	Collapse bool
	// Explain asks for the explanations of the hits.
	Explain bool
	// Facets asks for counts over the results; nil for none.
	Facets *FacetQuery
	// Now is the reference time of freshness; zero for the current time.
	Now time.Time
	// Collection narrows the scope to one collection; nil does not. Search returns
	// viewer.ErrOutOfScope if it is not in scope, and ErrNoCollection if it does not exist.
	Collection *uuid.UUID
	// DefaultToOldest searches only the oldest collection in scope if Collection is nil.
	// Search returns ErrNoCollection if there is none.
	DefaultToOldest bool
	// Admit is called once, after the query and its collections have been checked and
	// before the search. Its error is returned. Nil for no call.
	Admit func(context.Context) error
}

// Filters narrow a search to some documents. Zero fields do not filter.
type Filters struct {
	Section, Version, Language string
	// Further sections, versions and languages: any of them or the one above.
	Sections, Versions, Languages []string
	Tags                          []string // any of them
	DocTypes                      []string // any of them
	Sources                       []string // any of these kinds of connectors
	Connectors                    []uuid.UUID
	Collections                   []uuid.UUID // all of them must be in scope and exist
	// After and Before are days in UTC, both inclusive. They bound the time at which the
	// source last changed the document, or created it if no change is known. A document
	// without either time does not match.
	After, Before time.Time
	// From (inclusive) and Until (exclusive) bound the same time exactly.
	From, Until time.Time
	// Documents narrows to these documents; nil does not filter.
	Documents []uuid.UUID
	// Readers narrows to documents that everyone, or one of these principals, may read;
	// nil does not filter. Documents that the viewer in the context may not read are never
	// found.
	Readers []string
}

// Validate returns an apierr error for the first field that is out of range. It names the
// fields query, limit, offset, min_score, distinct, first, ranges[i] and fields.
func (q *Query) Validate() error {
	return cmp.Or(
		validateText("query", q.Text),
		validateLimit(q.Limit, MaxLimit),
		validateOffset(q.Offset),
		validateMinScore(q.MinScore),
		validateDistinct(q.Distinct),
		q.Facets.validate(),
	)
}

func validateText(field, text string) error {
	if strings.TrimSpace(text) == "" {
		return apierr.Invalid(field, "must not be blank")
	}
	return nil
}

func validateLimit(limit, most int) error {
	if limit < 1 || limit > most {
		return apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", most))
	}
	return nil
}

func validateOffset(offset int) error {
	if offset < 0 {
		return apierr.Invalid("offset", "must be 0 or more")
	}
	return nil
}

func validateMinScore(score float64) error {
	if math.IsNaN(score) || score < 0 || score > 1 {
		return apierr.Invalid("minScore", "must be between 0 and 1")
	}
	return nil
}

// setDefaultRanges sets the ranges of facets that name none.
func (q *Query) setDefaultRanges() {
	if q.Facets == nil || len(q.Facets.Ranges) > 0 {
		return
	}
	facets := *q.Facets
	now := q.Now
	if now.IsZero() {
		now = time.Now()
	}
	facets.Ranges = DefaultRanges(now)
	q.Facets = &facets
}

// unixNow returns the time of the search in Unix seconds, rounded down to an hour: a
// search that is repeated, or read page by page, has the same scores.
func (q *Query) unixNow() int64 {
	now := q.Now
	if now.IsZero() {
		now = time.Now()
	}
	return now.Truncate(time.Hour).Unix()
}

// language returns the only language that documents may have; "" if there may be several.
func (f *Filters) language() string {
	if all := nonEmpty(f.Language, f.Languages); len(all) == 1 {
		return all[0]
	}
	return ""
}

// filter returns the filter that the tiers apply.
func (f *Filters) filter() *rank.Filter {
	out := &rank.Filter{Documents: f.Documents, Readers: f.Readers}
	out.Values = [rank.FacetCount][]string{
		rank.FacetSection: nonEmpty(f.Section, f.Sections), rank.FacetVersion: nonEmpty(f.Version, f.Versions),
		rank.FacetLanguage: nonEmpty(f.Language, f.Languages), rank.FacetDocType: nonEmpty("", f.DocTypes),
		rank.FacetSource: nonEmpty("", f.Sources), rank.FacetTag: nonEmpty("", f.Tags),
	}
	for _, id := range f.Connectors {
		out.Values[rank.FacetConnector] = append(out.Values[rank.FacetConnector], id.String())
	}
	out.From, out.Until = day(f.After, 0), day(f.Before, 1)
	if from := ceilMicros(f.From); from.After(out.From) {
		out.From = from
	}
	if until := ceilMicros(f.Until); !until.IsZero() && (out.Until.IsZero() || until.Before(out.Until)) {
		out.Until = until
	}
	return out
}

// includes reports whether the filters select a collection.
func (f *Filters) includes(collection uuid.UUID) bool {
	return len(f.Collections) == 0 || slices.Contains(f.Collections, collection)
}

// nonEmpty returns the values that are not empty.
func nonEmpty(first string, others []string) []string {
	var out []string
	for _, v := range append([]string{first}, others...) {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// ceilMicros rounds a time up to the next microsecond, the precision of the tiers.
func ceilMicros(t time.Time) time.Time {
	if down := t.Truncate(time.Microsecond); !down.Equal(t) {
		return down.Add(time.Microsecond)
	}
	return t
}

// day returns the start in UTC of the day that is so many days later; the zero time for
// the zero time.
func day(t time.Time, days int) time.Time {
	if t.IsZero() {
		return t
	}
	y, m, d := t.Date()
	return time.Date(y, m, d+days, 0, 0, 0, 0, time.UTC)
}
