package traffic

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
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
	// Judged is the number of questions with a document that people chose or named. NDCG10 and MRR10
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
	Relevant int  // documents with a grade above 0
	Golden   bool // of the golden set
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

// Measure builds a judged set from the traffic of the last days in a collection and its
// golden set, measures today's ranking on it and stores the run. The collection must exist
// in the scope. With too little traffic and no golden set the run has no question and no id,
// and is not stored.
func (m *Meter) Measure(ctx context.Context, scope viewer.Scope, collection uuid.UUID, days int) (*Run, error) {
	if err := checkMeasuring(ctx, days); err != nil {
		return nil, err
	}
	now := m.o.Now()
	asked, err := m.o.Analytics.Traffic(ctx, scope, collection, now.AddDate(0, 0, -days))
	if err != nil {
		return nil, err
	}
	golden, err := m.Golden(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	asked, grades := together(asked, golden)
	if len(asked) == 0 {
		return &Run{Collection: collection, MeasuredAt: now, Days: days, Questions: []Question{}}, nil
	}
	run := &Run{ID: analytics.NewID(now), Collection: collection, MeasuredAt: now, Days: days, QuestionCount: len(asked), Questions: make([]Question, len(asked))}
	for i := range asked {
		if run.Questions[i], err = m.question(ctx, scope, collection, &asked[i], grades[asked[i].TextID]); err != nil {
			return nil, err
		}
		run.Questions[i].Golden = withID(golden, asked[i].TextID) != nil
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

// question measures the ranking of a question by the grades of documents.
func (m *Meter) question(ctx context.Context, scope viewer.Scope, collection uuid.UUID, a *analytics.Asked, grades map[uuid.UUID]int) (Question, error) {
	q := Question{TextID: a.TextID, Text: a.Text, Asked: a.Count, Clicks: a.Clicks}
	found, err := m.search(ctx, scope, collection, a.Text)
	if err != nil {
		return q, err
	}
	q.Results = found.Total
	documents := make([]uuid.UUID, len(found.Hits))
	for i, h := range found.Hits {
		documents[i] = h.Document
	}
	if len(found.Hits) > 0 {
		q.TopScore = &found.Hits[0].Score
	}
	if q.Relevant = relevant(grades); q.Relevant > 0 {
		ndcg, mrr := figures(grades, documents)
		q.NDCG10, q.MRR10 = &ndcg, &mrr
	}
	return q, nil
}

// A Judged is a document that people chose or named for a question.
type Judged struct {
	Document uuid.UUID
	Grade    int  // 1 to 3
	Golden   bool // named in the golden set
	Clicks   int
	Rank     int // in today's results, from 1; 0 for none of the first 100
}

// Documents returns the documents that people named for a question in the golden set or
// chose for it in the traffic of the last days, the best first, with their places in today's
// ranking. The question is the text of a Question. Without it in either there are none.
func (m *Meter) Documents(ctx context.Context, scope viewer.Scope, collection uuid.UUID, question string, days int) ([]Judged, error) {
	if err := checkMeasuring(ctx, days); err != nil {
		return nil, err
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read the documents of a question: %w", err)
	}
	asked, err := m.o.Analytics.Traffic(ctx, scope, collection, m.o.Now().AddDate(0, 0, -days))
	if err != nil {
		return nil, err
	}
	all, err := m.Golden(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	id := analytics.QuestionID(workspace, question)
	golden := withID(all, id)
	if golden == nil {
		golden = &Golden{}
	}
	_, grades := together(asked, all)
	clicks := map[uuid.UUID]int{}
	if at := slices.IndexFunc(asked, func(a analytics.Asked) bool { return a.TextID == id }); at >= 0 {
		for _, c := range asked[at].Chosen {
			clicks[c.Document] = c.Clicks
		}
	}
	judged := []Judged{}
	for document, grade := range grades[id] {
		if grade > 0 {
			judged = append(judged, Judged{Document: document, Grade: grade, Golden: golden.Grades[document] > 0, Clicks: clicks[document]})
		}
	}
	if len(judged) == 0 {
		return judged, nil
	}
	found, err := m.search(ctx, scope, collection, question)
	if err != nil {
		return nil, err
	}
	ranks := map[uuid.UUID]int{}
	for i, h := range found.Hits {
		if ranks[h.Document] == 0 {
			ranks[h.Document] = i + 1
		}
	}
	for i := range judged {
		judged[i].Rank = ranks[judged[i].Document]
	}
	slices.SortFunc(judged, func(x, y Judged) int {
		return cmp.Or(cmp.Compare(y.Grade, x.Grade), cmp.Compare(y.Clicks, x.Clicks), bytes.Compare(x.Document[:], y.Document[:]))
	})
	return judged, nil
}

// search searches as people do, and finds all documents, whoever may read them.
func (m *Meter) search(ctx context.Context, scope viewer.Scope, collection uuid.UUID, question string) (*search.Results, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("measure a question: %w", err)
	}
	found, err := m.o.Search.Search(viewer.With(ctx, viewer.System(workspace)), scope, search.Query{
		Text: question, Limit: depth, MinScore: m.o.MinScore, Collection: &collection,
	})
	if err != nil {
		return nil, fmt.Errorf("measure a question: %w", err)
	}
	return found, nil
}

// checkMeasuring checks the role of the viewer and the days of traffic.
func checkMeasuring(ctx context.Context, days int) error {
	if err := checkRole(ctx); err != nil {
		return err
	}
	if days < 1 || days > MaxDays {
		return apierr.Invalid("days", fmt.Sprintf("must be between 1 and %d", MaxDays))
	}
	return nil
}

// checkRole checks the role of the viewer.
func checkRole(ctx context.Context) error {
	if v, ok := viewer.From(ctx); !ok || !v.Role.AtLeast(viewer.RoleEditor) {
		return apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role editor")
	}
	return nil
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
