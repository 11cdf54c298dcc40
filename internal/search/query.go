package search

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxLimit is the most results a query may ask for at once.
const MaxLimit = 100

// Query is a search.
type Query struct {
	Text      string  // what is asked; must not be blank
	Limit     int     // results at most, 1 to MaxLimit
	Offset    int     // results to leave out before the first, 0 or more
	MinScore  float64 // 0 to 1; 0 returns everything in the pool
	Highlight bool    // wrap the query's words in <mark> in snippets
	Filters   Filters
	// AsYouType takes the last word for the beginning of one.
	AsYouType bool
	// Facets asks for counts over the results; nil does not.
	Facets *FacetQuery
	// Now is what freshness is reckoned from; the clock's time when zero.
	Now time.Time
	// OldestAmong has the search say which collection within a scope is the
	// oldest, which costs it next to nothing; nil does not. What is searched
	// stays the same.
	OldestAmong *viewer.Scope
}

// Filters narrow a search to some documents. Zero fields do not filter.
type Filters struct {
	Section, Version, Language string
	// Further sections, versions and languages: any of them, or the one above.
	Sections, Versions, Languages []string
	Tags                          []string // any of them
	DocTypes                      []string // any of them
	Sources                       []string // any of these kinds of connectors
	Connectors, Collections       []uuid.UUID
	// After and Before are days in UTC, both inclusive, compared with when the
	// source last changed the document, else with when it made it. A document
	// without either time does not match.
	After, Before time.Time
	// From (inclusive) and Until (exclusive) bound the same time to the moment.
	From, Until time.Time
	// Documents narrows to these; nil does not.
	Documents []uuid.UUID
	// Readers narrows to documents that are for everybody, or for one of these
	// principals; nil does not. What the viewer in the context may not find is
	// left out in any case.
	Readers []string
}

// complete fills in what has a usual value.
func (q Query) complete() Query {
	if q.Facets != nil && len(q.Facets.Ranges) == 0 {
		facets := *q.Facets
		now := q.Now
		if now.IsZero() {
			now = time.Now()
		}
		facets.Ranges = UsualRanges(now)
		q.Facets = &facets
	}
	return q
}

// language is the one that documents are to have; "" for several or any.
func (f *Filters) language() string {
	if all := said(f.Language, f.Languages); len(all) == 1 {
		return all[0]
	}
	return ""
}

// filter is what the tiers apply.
func (f *Filters) filter() *rank.Filter {
	out := &rank.Filter{Documents: f.Documents, Readers: f.Readers}
	out.Values = [rank.FacetCount][]string{
		rank.FacetSection: said(f.Section, f.Sections), rank.FacetVersion: said(f.Version, f.Versions),
		rank.FacetLanguage: said(f.Language, f.Languages), rank.FacetDocType: said("", f.DocTypes),
		rank.FacetSource: said("", f.Sources), rank.FacetTag: said("", f.Tags),
	}
	for _, id := range f.Connectors {
		out.Values[rank.FacetConnector] = append(out.Values[rank.FacetConnector], id.String())
	}
	out.From, out.Until = day(f.After, 0), day(f.Before, 1)
	if from := micros(f.From); from.After(out.From) {
		out.From = from
	}
	if until := micros(f.Until); !until.IsZero() && (out.Until.IsZero() || until.Before(out.Until)) {
		out.Until = until
	}
	return out
}

// said are the values that are not blank.
func said(one string, list []string) []string {
	var out []string
	for _, v := range append([]string{one}, list...) {
		if v != "" {
			out = append(out, v)
		}
	}
	return out
}

// micros is a time as exact as tiers keep it, rounded up: no whole microsecond
// lies between.
func micros(t time.Time) time.Time {
	if down := t.Truncate(time.Microsecond); !down.Equal(t) {
		return down.Add(time.Microsecond)
	}
	return t
}

func (q *Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return apierr.Invalid("query", "must not be blank")
	case q.Limit < 1 || q.Limit > MaxLimit:
		return apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", MaxLimit))
	case q.Offset < 0:
		return apierr.Invalid("offset", "must be 0 or more")
	case q.Facets != nil && q.Facets.check() != nil:
		return q.Facets.check()
	case math.IsNaN(q.MinScore) || q.MinScore < 0 || q.MinScore > 1:
		return apierr.Invalid("min_score", "must be between 0 and 1")
	}
	return nil
}

// day is the start of a day in UTC, some days later; zero for the zero time.
func day(t time.Time, add int) time.Time {
	if t.IsZero() {
		return t
	}
	y, m, d := t.Date()
	return time.Date(y, m, d+add, 0, 0, 0, 0, time.UTC)
}
