package search

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"magpie/internal/apierr"
	"magpie/internal/search/rank"
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
	// Facets asks for counts over the results.
	Facets bool
	// Now is what freshness is reckoned from; the clock's time when zero.
	Now time.Time
}

// Filters narrow a search to some documents. Zero fields do not filter.
type Filters struct {
	Section, Version, Language string
	Tags                       []string // any of them
	DocTypes                   []string // any of them
	// After and Before are days in UTC, both inclusive, compared with when the
	// source last changed the document, else with when it made it. A document
	// without either time does not match.
	After, Before time.Time
	// Documents narrows to these; nil does not.
	Documents []uuid.UUID
	// Readers are the principals of who asks. With nil nothing is checked;
	// otherwise documents that name readers are left out unless one of these is
	// among them.
	Readers []string
}

// filter is what the tiers apply.
func (f *Filters) filter() *rank.Filter {
	return &rank.Filter{
		Section: f.Section, Version: f.Version, Language: f.Language, Tags: f.Tags, DocTypes: f.DocTypes,
		Documents: f.Documents, From: day(f.After, 0), Until: day(f.Before, 1), Readers: f.Readers,
	}
}

func (q *Query) check() error {
	switch {
	case strings.TrimSpace(q.Text) == "":
		return apierr.Invalid("query", "must not be blank")
	case q.Limit < 1 || q.Limit > MaxLimit:
		return apierr.Invalid("limit", fmt.Sprintf("must be between 1 and %d", MaxLimit))
	case q.Offset < 0:
		return apierr.Invalid("offset", "must be 0 or more")
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
