package traffic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The limits of a measurement.
const (
	DefaultDays = 30
	MaxDays     = 366
	// FewJudged is the number of judged questions below which a difference between two runs
	// may be chance.
	FewJudged = 20
	// depth is the number of results of a question that are measured.
	depth = search.MaxLimit
)

// Options are the parts that a Meter needs.
type Options struct {
	Pool      *pgxpool.Pool
	Search    *search.Engine
	Analytics *analytics.Store
	MinScore  float64 // of the searches that are measured
	Now       func() time.Time
}

// A Meter measures search quality by traffic, and keeps the measurements.
type Meter struct{ o Options }

// New returns a Meter.
func New(o Options) *Meter { return &Meter{o} }

// A Run is one measurement of a collection.
type Run struct {
	ID         uuid.UUID // zero for a run that is not stored
	Collection uuid.UUID
	MeasuredAt time.Time
	Days       int // of traffic
	// QuestionCount is the number of measured questions.
	QuestionCount int
	// Judged is the number of questions with a document that people chose. NDCG10 and MRR10
	// are means over them.
	Judged        int
	NDCG10, MRR10 float64
	// ZeroResults and LowScores are numbers of questions: without a result, and with a best
	// score below analytics.LowScore.
	ZeroResults, LowScores int
	Questions              []Question // the most frequent first
}

// A Question is the measurement of one question.
type Question struct {
	TextID   int64
	Text     string // scrubbed; a question whose text is no longer kept is not read
	Asked    int
	Clicks   int
	Relevant int // documents with a grade above 0
	// NDCG10 and MRR10 are nil without a relevant document, TopScore without a result.
	NDCG10, MRR10, TopScore *float64
	Results                 int
	// Previous is the measurement of the question in the run before; nil if it was not in
	// it.
	Previous *Question
}

// Change compares the question with the run before: by nDCG, and without one by whether
// there are results. It returns NEW, BETTER, WORSE or SAME.
func (q *Question) Change() string {
	p := q.Previous
	if p == nil {
		return "NEW"
	}
	now, before := float64(min(q.Results, 1)), float64(min(p.Results, 1))
	if q.NDCG10 != nil && p.NDCG10 != nil {
		now, before = *q.NDCG10, *p.NDCG10
	}
	switch {
	case now > before+leastChange:
		return "BETTER"
	case now < before-leastChange:
		return "WORSE"
	default:
		return "SAME"
	}
}

// leastChange is the least difference of nDCG that is a change.
const leastChange = 0.005

// Measure builds a judged set from the traffic of the last days in a collection, measures
// today's ranking on it and stores the run. The collection must exist in the scope. With
// too little traffic the run has no question and no id, and is not stored.
func (m *Meter) Measure(ctx context.Context, scope viewer.Scope, collection uuid.UUID, days int) (*Run, error) {
	if v, ok := viewer.From(ctx); !ok || !v.Role.AtLeast(viewer.RoleEditor) {
		return nil, apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	}
	if days < 1 || days > MaxDays {
		return nil, apierr.Invalid("days", fmt.Sprintf("must be between 1 and %d", MaxDays))
	}
	now := m.o.Now()
	asked, err := m.o.Analytics.Traffic(ctx, scope, collection, now.AddDate(0, 0, -days))
	if err != nil {
		return nil, err
	}
	if len(asked) == 0 {
		return &Run{Collection: collection, MeasuredAt: now, Days: days, Questions: []Question{}}, nil
	}
	run := &Run{ID: analytics.NewID(now), Collection: collection, MeasuredAt: now, Days: days, QuestionCount: len(asked), Questions: make([]Question, len(asked))}
	for i := range asked {
		if run.Questions[i], err = m.question(ctx, scope, collection, &asked[i]); err != nil {
			return nil, err
		}
	}
	run.sum()
	if err := m.store(ctx, scope, run); err != nil {
		return nil, err
	}
	runs, err := m.Runs(ctx, scope, collection, 1)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, errors.New("the stored run is missing")
	}
	return &runs[0], nil
}

// question measures the ranking of a question. The search is as people see it, and finds
// all documents, whoever may read them: the figures name none.
func (m *Meter) question(ctx context.Context, scope viewer.Scope, collection uuid.UUID, a *analytics.Asked) (Question, error) {
	q := Question{TextID: a.TextID, Text: a.Text, Asked: a.Count, Clicks: a.Clicks}
	workspace, err := scope.Workspace()
	if err != nil {
		return q, fmt.Errorf("measure a question: %w", err)
	}
	found, err := m.o.Search.Search(viewer.With(ctx, viewer.System(workspace)), scope, search.Query{
		Text: a.Text, Limit: depth, MinScore: m.o.MinScore, Collection: &collection,
	})
	if err != nil {
		return q, fmt.Errorf("measure a question: %w", err)
	}
	q.Results = found.Total
	documents := make([]uuid.UUID, len(found.Hits))
	for i, h := range found.Hits {
		documents[i] = h.Document
	}
	if len(found.Hits) > 0 {
		q.TopScore = &found.Hits[0].Score
	}
	grades := judgements(a)
	if q.Relevant = relevant(grades); q.Relevant > 0 {
		ndcg, mrr := figures(grades, documents)
		q.NDCG10, q.MRR10 = &ndcg, &mrr
	}
	return q, nil
}

// sum sets the figures of the run from those of its questions.
func (r *Run) sum() {
	for i := range r.Questions {
		q := &r.Questions[i]
		switch {
		case q.TopScore == nil:
			r.ZeroResults++
		case *q.TopScore < analytics.LowScore:
			r.LowScores++
		}
		if q.NDCG10 != nil {
			r.Judged++
			r.NDCG10 += *q.NDCG10
			r.MRR10 += *q.MRR10
		}
	}
	if r.Judged > 0 {
		r.NDCG10 /= float64(r.Judged)
		r.MRR10 /= float64(r.Judged)
	}
}
