package analytics

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The limits of a report.
const (
	maxDays     = 1100 // three years
	maxList     = 100
	defaultDays = 30
	// maxExactQueries is the largest number of queries of a span whose lists count every
	// text. Above it, they count only the first sampledTexts texts of each order.
	maxExactQueries = 100_000
	sampledTexts    = 300
	// LowScore is the mean top score below which a query is in LowScoreQueries.
	LowScore = 0.6
)

// A Span selects the queries of a report. Zero fields do not filter.
type Span struct {
	// From and To are times in the first and the last day (UTC). The default is today and
	// the 29 days before.
	From, To   time.Time
	Collection uuid.UUID
	Key        uuid.UUID
	Kind       Kind
}

// Totals are counts over all days of a report. Further pages of a search are not counted.
type Totals struct {
	Searches, Chats int
	// ZeroResults is the number of searches without results and of answers without citations.
	ZeroResults    int
	ZeroResultRate float64 // of searches and chats
	Clicks         int
	// ClickThroughRate is the share of searches and chats with a click.
	ClickThroughRate float64
	// MeanReciprocalClickRank is the mean of 1 / (position + 1) over clicks with a
	// position; 0 without any.
	MeanReciprocalClickRank            float64
	PositiveFeedback, NegativeFeedback int
	// P50Ms and P95Ms are percentiles of the duration of searches, or of chats in a report
	// of chats only.
	P50Ms, P95Ms float64
}

// A Day has the counts of the queries of a day (UTC), including later events.
type Day struct {
	Date                               string // YYYY-MM-DD
	Searches, Chats, ZeroResults       int
	Clicks                             int
	PositiveFeedback, NegativeFeedback int
}

// A QueryCount is a text with its counts.
type QueryCount struct {
	Query string // scrubbed
	// CollectionID is the collection of the newest query; nil for one to all collections.
	CollectionID *uuid.UUID
	Count        int
	ZeroResults  int
	Clicks       int
	// AverageScore is the mean score of the top results; nil without results.
	AverageScore *float64
	LastAt       time.Time
}

// A Report has the counts of a span of days. The lists of a span with more than 100,000
// queries consider only the 300 most frequent texts of all stored days and the 300 that
// most often found nothing.
type Report struct {
	From, To time.Time // start of the first and of the last day
	Totals   Totals
	Daily    []*Day // every day, the earliest first

	store *Store
	args  []any

	mu     sync.Mutex
	loaded bool
	lists  [lists][]*QueryCount
}

// The lists of a report, as numbered in sql/lists.sql.
const (
	top = iota
	zeroResult
	lowScore
	unclicked
	lists
)

// Report returns the report of a span of days. It needs one statement, and one more for
// all lists when the first list is read.
func (s *Store) Report(ctx context.Context, scope viewer.Scope, span Span) (*Report, error) {
	scoped, err := argsOf(scope)
	if err != nil {
		return nil, err
	}
	if span.To.IsZero() {
		span.To = s.opt.Now()
	}
	last := dayOf(span.To)
	first := last.AddDate(0, 0, 1-defaultDays)
	if !span.From.IsZero() {
		first = dayOf(span.From)
	}
	days := int(last.Sub(first)/(24*time.Hour)) + 1
	switch {
	case days < 1:
		return nil, apierr.Invalid("from", "must not be after to")
	case days > maxDays:
		return nil, apierr.Invalid("from", fmt.Sprintf("must be at most %d days before to", maxDays))
	}
	r := &Report{From: first, To: last, store: s, args: []any{
		scoped.workspace, first, last, orNull(span.Collection), orNull(span.Key), textOrNull(string(span.Kind)), scoped.all, scoped.collections,
	}}
	if err := r.count(ctx, days, span.Kind); err != nil {
		return nil, fmt.Errorf("count queries: %w", clientError(err))
	}
	return r, nil
}

// query runs a statement for the report. It does not prepare the statement, because the
// generic plan of a prepared statement is up to ten times slower.
func (r *Report) query(ctx context.Context, sql string, more ...any) (pgx.Rows, error) {
	return r.store.pool.Query(ctx, sql, append(append([]any{pgx.QueryExecModeDescribeExec}, r.args...), more...)...)
}

func dayOf(t time.Time) time.Time {
	y, m, d := t.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

func (r *Report) count(ctx context.Context, days int, kind Kind) error {
	all := make([]Day, days)
	r.Daily = make([]*Day, days)
	for i := range all {
		all[i].Date = r.From.AddDate(0, 0, i).Format(time.DateOnly)
		r.Daily[i] = &all[i]
	}
	timed := Search
	if kind == Chat {
		timed = Chat
	}
	var buckets [lastBucket + 1]int64
	var clicked, ranked, reciprocal float64
	t := &r.Totals
	rows, err := r.query(ctx, daysSQL)
	if err != nil {
		return err
	}
	var day *time.Time
	var of string
	var bucket *int16
	var n struct {
		queries, zero, clicks, clicked, ranked int64
		reciprocal                             float64
		positive, negative                     int64
	}
	_, err = pgx.ForEachRow(rows, []any{&day, &of, &bucket, &n.queries, &n.zero, &n.clicks, &n.clicked, &n.ranked, &n.reciprocal,
		&n.positive, &n.negative}, func() error {
		if bucket != nil {
			if Kind(of) == timed {
				buckets[min(max(*bucket, 0), lastBucket)] += n.queries
			}
			return nil
		}
		d := r.Daily[int(day.Sub(r.From)/(24*time.Hour))]
		if Kind(of) == Chat {
			d.Chats += int(n.queries)
			t.Chats += int(n.queries)
		} else {
			d.Searches += int(n.queries)
			t.Searches += int(n.queries)
		}
		d.ZeroResults += int(n.zero)
		d.Clicks += int(n.clicks)
		d.PositiveFeedback += int(n.positive)
		d.NegativeFeedback += int(n.negative)
		t.ZeroResults += int(n.zero)
		t.Clicks += int(n.clicks)
		t.PositiveFeedback += int(n.positive)
		t.NegativeFeedback += int(n.negative)
		clicked += float64(n.clicked)
		ranked += float64(n.ranked)
		reciprocal += n.reciprocal
		return nil
	})
	if err != nil {
		return err
	}
	if queries := float64(t.Searches + t.Chats); queries > 0 {
		t.ZeroResultRate = float64(t.ZeroResults) / queries
		t.ClickThroughRate = clicked / queries
	}
	if ranked > 0 {
		t.MeanReciprocalClickRank = reciprocal / ranked
	}
	t.P50Ms, t.P95Ms = percentile(&buckets, 0.5), percentile(&buckets, 0.95)
	return nil
}

// TopQueries returns the most frequent texts.
func (r *Report) TopQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, top, first)
}

// ZeroResultQueries returns the texts that most often found nothing.
func (r *Report) ZeroResultQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, zeroResult, first)
}

// LowScoreQueries returns the most frequent texts whose top results have a mean score below
// LowScore.
func (r *Report) LowScoreQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, lowScore, first)
}

// UnclickedQueries returns the most frequent texts that have results and no clicks.
func (r *Report) UnclickedQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, unclicked, first)
}

// list returns the first entries of a list. The first call reads all lists.
func (r *Report) list(ctx context.Context, which, first int) ([]*QueryCount, error) {
	if first < 1 || first > maxList {
		return nil, apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", maxList))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		if err := r.load(ctx); err != nil {
			return nil, fmt.Errorf("list queries: %w", clientError(err))
		}
		r.loaded = true
	}
	list := r.lists[which]
	return append([]*QueryCount{}, list[:min(first, len(list))]...), nil
}

func (r *Report) load(ctx context.Context) error {
	filter := ""
	if r.Totals.Searches+r.Totals.Chats > maxExactQueries {
		filter = "and text_id in (select id from chosen)"
	}
	rows, err := r.query(ctx, fmt.Sprintf(listsSQL, filter), maxList, LowScore, sampledTexts)
	if err != nil {
		return err
	}
	r.lists = [lists][]*QueryCount{}
	var which int
	var q QueryCount
	_, err = pgx.ForEachRow(rows, []any{&which, &q.Query, &q.Count, &q.ZeroResults, &q.Clicks, &q.AverageScore, &q.LastAt, &q.CollectionID}, func() error {
		made := q
		made.LastAt = made.LastAt.UTC()
		q.AverageScore, q.CollectionID = nil, nil // made keeps the pointers
		r.lists[which] = append(r.lists[which], &made)
		return nil
	})
	return err
}
