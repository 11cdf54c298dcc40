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

// The bounds of a report.
const (
	maxDays     = 1100 // three years
	maxList     = 100
	defaultDays = 30
	// manyQuestions is how many a span may have for every text of it to be
	// counted; of more, only the chosen ones of each order are.
	manyQuestions = 100_000
	chosen        = 300
	// LowScore is the mean best score below which a question counts as badly
	// answered.
	LowScore = 0.6
)

// Span says what a report is of. Zero fields do not narrow.
type Span struct {
	// From and To are moments of the first and the last day, which count
	// whole, in UTC: today and the 29 days before when zero.
	From, To   time.Time
	Collection uuid.UUID
	Key        uuid.UUID
	Kind       Kind
}

// Totals are counts over all days of a report. A next page of a search is no
// search of its own.
type Totals struct {
	Searches, Chats int
	// ZeroResults are searches that found nothing and answers that cite nothing.
	ZeroResults    int
	ZeroResultRate float64 // of searches and chats
	Clicks         int
	// ClickThroughRate is the share of searches and chats with a click.
	ClickThroughRate float64
	// MeanReciprocalClickRank is the mean of 1 / (position + 1) of clicks that
	// name one; 0 without any.
	MeanReciprocalClickRank            float64
	PositiveFeedback, NegativeFeedback int
	// P50Ms and P95Ms are times of searches, of chats in a report of those alone.
	P50Ms, P95Ms float64
}

// Day counts what was asked on a day in UTC, and what came of it then or later.
type Day struct {
	Date                               string // YYYY-MM-DD
	Searches, Chats, ZeroResults       int
	Clicks                             int
	PositiveFeedback, NegativeFeedback int
}

// QueryCount is a question and how often it was asked.
type QueryCount struct {
	Query       string // scrubbed
	Count       int
	ZeroResults int
	Clicks      int
	// AverageScore is the mean of the best results' scores; nil where nothing
	// was found.
	AverageScore *float64
	LastAt       time.Time
}

// Report is what was asked in a span of days. Its lists are of all that was
// asked, in a span of more than 100,000 questions of the 300 texts that were
// asked most and the 300 that most often found nothing in all days that are kept.
type Report struct {
	From, To time.Time // beginnings of the first and the last day
	Totals   Totals
	Daily    []*Day // every day, the earliest first

	store *Store
	args  []any

	mu     sync.Mutex
	loaded bool
	lists  [lists][]*QueryCount
}

// The lists of a report, by their number in sql/lists.sql.
const (
	top = iota
	zeroResult
	lowScore
	unclicked
	lists
)

// Report counts a span of days within scope: one statement, and one more for
// all of its lists together once one is asked for.
func (s *Store) Report(ctx context.Context, scope viewer.Scope, span Span) (*Report, error) {
	within, err := reachOf(scope)
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
		within.workspace, first, last, orNull(span.Collection), orNull(span.Key), textOrNull(string(span.Kind)), within.all, within.collections,
	}}
	if err := r.count(ctx, days, span.Kind); err != nil {
		return nil, fmt.Errorf("report what was asked: %w", readable(err))
	}
	return r, nil
}

// query runs a statement for the report. It is planned for these very values:
// the plan for any values, which a prepared statement comes to have, is up to
// ten times slower.
func (r *Report) query(ctx context.Context, sql string, further ...any) (pgx.Rows, error) {
	return r.store.pool.Query(ctx, sql, append(append([]any{pgx.QueryExecModeDescribeExec}, r.args...), further...)...)
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
	if asked := float64(t.Searches + t.Chats); asked > 0 {
		t.ZeroResultRate = float64(t.ZeroResults) / asked
		t.ClickThroughRate = clicked / asked
	}
	if ranked > 0 {
		t.MeanReciprocalClickRank = reciprocal / ranked
	}
	t.P50Ms, t.P95Ms = percentile(&buckets, 0.5), percentile(&buckets, 0.95)
	return nil
}

// TopQueries are the questions asked most.
func (r *Report) TopQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, top, first)
}

// ZeroResultQueries are the questions that most often found nothing.
func (r *Report) ZeroResultQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, zeroResult, first)
}

// LowScoreQueries are the questions asked most whose best results have a mean
// score below LowScore.
func (r *Report) LowScoreQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, lowScore, first)
}

// UnclickedQueries are the questions asked most that found something of which
// nothing was ever clicked.
func (r *Report) UnclickedQueries(ctx context.Context, first int) ([]*QueryCount, error) {
	return r.list(ctx, unclicked, first)
}

// list is the beginning of a list; all of them are read with the first.
func (r *Report) list(ctx context.Context, which, first int) ([]*QueryCount, error) {
	if first < 1 || first > maxList {
		return nil, apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", maxList))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.loaded {
		if err := r.load(ctx); err != nil {
			return nil, fmt.Errorf("list what was asked: %w", readable(err))
		}
		r.loaded = true
	}
	list := r.lists[which]
	return append([]*QueryCount{}, list[:min(first, len(list))]...), nil
}

func (r *Report) load(ctx context.Context) error {
	few := ""
	if r.Totals.Searches+r.Totals.Chats > manyQuestions {
		few = "and text_id in (select id from chosen)"
	}
	rows, err := r.query(ctx, fmt.Sprintf(listsSQL, few), maxList, LowScore, chosen)
	if err != nil {
		return err
	}
	r.lists = [lists][]*QueryCount{}
	var which int
	var q QueryCount
	_, err = pgx.ForEachRow(rows, []any{&which, &q.Query, &q.Count, &q.ZeroResults, &q.Clicks, &q.AverageScore, &q.LastAt}, func() error {
		made := q
		made.LastAt = made.LastAt.UTC()
		q.AverageScore = nil // the next row's is another one
		r.lists[which] = append(r.lists[which], &made)
		return nil
	})
	return err
}
