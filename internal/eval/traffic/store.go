package traffic

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxRuns is the largest number of runs that are read at once.
const MaxRuns = 100

// store stores a run in one transaction.
func (m *Meter) store(ctx context.Context, scope viewer.Scope, r *Run) error {
	workspace, err := scope.Workspace()
	if err != nil {
		return fmt.Errorf("store the run: %w", err)
	}
	n := len(r.Questions)
	texts, asked, clicks, relevant, results := make([]int64, n), make([]int, n), make([]int, n), make([]int, n), make([]int, n)
	golden := make([]bool, n)
	ndcg, mrr, scores := make([]*float64, n), make([]*float64, n), make([]*float64, n)
	for i, q := range r.Questions {
		texts[i], asked[i], clicks[i], relevant[i], results[i] = q.TextID, q.Asked, q.Clicks, q.Relevant, q.Results
		golden[i] = q.Golden
		ndcg[i], mrr[i], scores[i] = q.NDCG10, q.MRR10, q.TopScore
	}
	err = pgx.BeginFunc(ctx, m.o.Pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `insert into quality_runs (id, workspace_id, collection_id, measured_at, days, questions, judged, ndcg, mrr, zero_results, low_scores)
			values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
			r.ID, workspace, r.Collection, r.MeasuredAt, r.Days, n, r.Judged, r.NDCG10, r.MRR10, r.ZeroResults, r.LowScores); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `insert into quality_questions (run_id, text_id, asked, clicks, relevant, ndcg, mrr, results, top_score, golden)
			select $1, * from unnest($2::bigint[], $3::integer[], $4::integer[], $5::integer[], $6::float8[], $7::float8[], $8::integer[], $9::float8[], $10::boolean[])`,
			r.ID, texts, asked, clicks, relevant, ndcg, mrr, results, scores, golden)
		return err
	})
	if err != nil {
		return fmt.Errorf("store the run: %w", err)
	}
	return nil
}

// Runs returns the last runs of a collection, the newest first, each with its questions
// compared with the run before. Questions whose text is no longer kept are left out.
func (m *Meter) Runs(ctx context.Context, scope viewer.Scope, collection uuid.UUID, first int) ([]Run, error) {
	if first < 1 || first > MaxRuns {
		return nil, apierr.Invalid("first", fmt.Sprintf("must be between 1 and %d", MaxRuns))
	}
	if _, err := scope.Narrow(collection); err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	rows, err := m.o.Pool.Query(ctx, `select id, measured_at, days, questions, judged, ndcg, mrr, zero_results, low_scores from quality_runs
		where workspace_id = $1 and collection_id = $2 order by id desc limit $3`, workspace, collection, first+1)
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	indexes := make(map[uuid.UUID]int)
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Run, error) {
		r := Run{Collection: collection, Questions: []Question{}}
		err := row.Scan(&r.ID, &r.MeasuredAt, &r.Days, &r.QuestionCount, &r.Judged, &r.NDCG10, &r.MRR10, &r.ZeroResults, &r.LowScores)
		r.MeasuredAt = r.MeasuredAt.UTC()
		indexes[r.ID] = len(indexes)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the runs: %w", err)
	}
	if err := m.readQuestions(ctx, workspace, runs, indexes); err != nil {
		return nil, fmt.Errorf("read the questions of runs: %w", err)
	}
	compare(runs)
	return runs[:min(first, len(runs))], nil
}

// readQuestions reads the questions of runs, whose indexes are given by id.
func (m *Meter) readQuestions(ctx context.Context, workspace uuid.UUID, runs []Run, indexes map[uuid.UUID]int) error {
	ids := make([]uuid.UUID, len(runs))
	for i := range runs {
		ids[i] = runs[i].ID
	}
	rows, err := m.o.Pool.Query(ctx, `select q.run_id, q.text_id, coalesce(t.text, g.question) as text, q.golden,
			q.asked, q.clicks, q.relevant, q.ndcg, q.mrr, q.results, q.top_score
		from quality_questions q join quality_runs r on r.id = q.run_id
		left join query_texts t on t.workspace_id = $2 and t.id = q.text_id
		left join lateral (
			select question from golden_judgements j
			where j.workspace_id = $2 and j.collection_id = r.collection_id and j.text_id = q.text_id
			order by created_at, document_id limit 1
		) g on t.text is null
		where q.run_id = any ($1) and coalesce(t.text, g.question) is not null order by q.run_id, q.asked desc, text, q.text_id`, ids, workspace)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var run uuid.UUID
		var q Question
		if err := rows.Scan(&run, &q.TextID, &q.Text, &q.Golden, &q.Asked, &q.Clicks, &q.Relevant, &q.NDCG10, &q.MRR10, &q.Results, &q.TopScore); err != nil {
			return err
		}
		r := &runs[indexes[run]]
		r.Questions = append(r.Questions, q)
	}
	return rows.Err()
}

// compare sets the previous measurement of each question. Runs are ordered from the newest.
func compare(runs []Run) {
	for i := range len(runs) - 1 {
		before := make(map[int64]*Question)
		for j := range runs[i+1].Questions {
			q := &runs[i+1].Questions[j]
			before[q.TextID] = q
		}
		for j := range runs[i].Questions {
			q := &runs[i].Questions[j]
			q.Previous = before[q.TextID]
		}
	}
}
