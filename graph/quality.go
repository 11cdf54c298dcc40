package graph

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/eval/traffic"
	"github.com/magpie-search/magpie/internal/usage/analytics"
	"github.com/magpie-search/magpie/internal/viewer"
)

func (r *Resolver) searchQuality(ctx context.Context, collection uuid.UUID, first *int) ([]*model.SearchQualityRun, error) {
	scope, err := r.collectionScope(ctx, collection)
	if err != nil {
		return nil, err
	}
	runs, err := r.Quality.Runs(ctx, scope, collection, orDefault(first, 10))
	if err != nil {
		return nil, err
	}
	out := make([]*model.SearchQualityRun, len(runs))
	for i := range runs {
		out[i] = qualityRun(&runs[i])
	}
	return out, nil
}

func (r *Resolver) measureSearchQuality(ctx context.Context, in model.MeasureSearchQualityInput) (*model.SearchQualityRun, error) {
	scope, err := r.collectionScope(ctx, in.CollectionID)
	if err != nil {
		return nil, err
	}
	run, err := r.Quality.Measure(ctx, scope, in.CollectionID, orDefault(in.Days, traffic.DefaultDays))
	if err != nil {
		return nil, err
	}
	return qualityRun(run), nil
}

// searchQualityDocuments names only documents that the viewer may read.
func (r *Resolver) searchQualityDocuments(ctx context.Context, collection uuid.UUID, question string, days *int) ([]*model.SearchQualityDocument, error) {
	scope, err := r.collectionScope(ctx, collection)
	if err != nil {
		return nil, err
	}
	judged, err := r.Quality.Documents(ctx, scope, collection, question, orDefault(days, traffic.DefaultDays))
	if err != nil {
		return nil, err
	}
	ids := make([]uuid.UUID, len(judged))
	for i := range judged {
		ids[i] = judged[i].Document
	}
	titles, err := r.titles(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*model.SearchQualityDocument, len(judged))
	for i := range judged {
		j := &judged[i]
		out[i] = &model.SearchQualityDocument{Grade: j.Grade, Golden: j.Golden, Clicks: j.Clicks, Rank: nilIfZero(j.Rank)}
		if title, readable := titles[j.Document]; readable {
			out[i].DocumentID, out[i].Title = &j.Document, &title
		}
	}
	return out, nil
}

// titles returns the titles of those documents that are there and that the viewer may read.
func (r *Resolver) titles(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := r.client(ctx).Document.Query().Where(document.IDIn(ids...), document.StatusNEQ(document.StatusDeleted)).
		Select(document.FieldID, document.FieldTitle).All(ctx)
	if err != nil {
		return nil, err
	}
	titles := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		titles[row.ID] = row.Title
	}
	return titles, nil
}

func (r *Resolver) goldenQuestions(ctx context.Context, collection uuid.UUID) ([]*model.GoldenQuestion, error) {
	scope, err := r.collectionScope(ctx, collection)
	if err != nil {
		return nil, err
	}
	golden, err := r.Quality.Golden(ctx, scope, collection)
	if err != nil {
		return nil, err
	}
	return r.golden(ctx, golden)
}

// judgeDocument takes only documents of the collection that the viewer may read.
func (r *Resolver) judgeDocument(ctx context.Context, in model.JudgeDocumentInput) (*model.GoldenQuestion, error) {
	scope, err := r.collectionScope(ctx, in.CollectionID)
	if err != nil {
		return nil, err
	}
	there, err := r.client(ctx).Document.Query().
		Where(document.ID(in.DocumentID), document.CollectionID(in.CollectionID), document.StatusNEQ(document.StatusDeleted)).Exist(ctx)
	if err != nil {
		return nil, err
	}
	if !there {
		return nil, apierr.NotFound("Document")
	}
	question, err := r.Quality.Judge(ctx, scope, in.CollectionID, in.Query, in.DocumentID, in.Grade)
	if err != nil || question == nil {
		return nil, err
	}
	out, err := r.golden(ctx, []traffic.Golden{*question})
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

func (r *Resolver) removeGoldenQuestion(ctx context.Context, collection uuid.UUID, question string) (bool, error) {
	scope, err := r.collectionScope(ctx, collection)
	if err != nil {
		return false, err
	}
	return r.Quality.RemoveGolden(ctx, scope, collection, question)
}

// golden names only documents that the viewer may read.
func (r *Resolver) golden(ctx context.Context, golden []traffic.Golden) ([]*model.GoldenQuestion, error) {
	var ids []uuid.UUID
	for i := range golden {
		ids = append(ids, golden[i].Documents...)
	}
	titles, err := r.titles(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]*model.GoldenQuestion, len(golden))
	for i := range golden {
		g := &golden[i]
		out[i] = &model.GoldenQuestion{Query: g.Question, Documents: make([]*model.GoldenDocument, len(g.Documents))}
		for j, id := range g.Documents {
			one := &model.GoldenDocument{Grade: g.Grades[id]}
			if title, readable := titles[id]; readable {
				one.DocumentID, one.Title = &id, &title
			}
			out[i].Documents[j] = one
		}
	}
	return out, nil
}

// collectionScope returns the scope of the viewer, narrowed to a collection that exists.
func (r *Resolver) collectionScope(ctx context.Context, collection uuid.UUID) (viewer.Scope, error) {
	if err := r.Collections.Exists(ctx, collection); err != nil {
		return viewer.Scope{}, err
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return viewer.Scope{}, err
	}
	return scope.Narrow(collection)
}

func qualityRun(r *traffic.Run) *model.SearchQualityRun {
	out := &model.SearchQualityRun{
		ID: nilIfZero(r.ID), CollectionID: r.Collection, MeasuredAt: r.MeasuredAt, Days: r.Days, QuestionCount: r.QuestionCount, Judged: r.Judged,
		ZeroResultRate: float64(r.ZeroResults) / float64(max(r.QuestionCount, 1)), LowScoreRate: float64(r.LowScores) / float64(max(r.QuestionCount, 1)),
		Questions: make([]*model.SearchQualityQuestion, len(r.Questions)),
	}
	switch {
	case r.QuestionCount == 0:
		out.Note = nilIfZero(fmt.Sprintf("Too little traffic: no question to this collection was asked %d times in %d days, and its golden set is empty. "+
			"Only questions without filters count, and only while the query log keeps texts.", analytics.MinAsked, r.Days))
	case r.Judged == 0:
		out.Note = nilIfZero("Nobody clicked or rated a document of these questions, so that there is no nDCG.")
	case r.Judged < traffic.FewJudged:
		out.Note = nilIfZero(fmt.Sprintf("Only %d questions are judged: a difference between two runs may be chance.", r.Judged))
	}
	if r.Judged > 0 {
		out.Ndcg10, out.Mrr10 = &r.NDCG10, &r.MRR10
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		m := &model.SearchQualityQuestion{
			Query: q.Text, Asked: q.Asked, Clicks: q.Clicks, Relevant: q.Relevant, Golden: q.Golden, Ndcg10: q.NDCG10, Mrr10: q.MRR10,
			Results: q.Results, TopScore: q.TopScore, Change: model.SearchQualityChange(q.Change()),
		}
		if p := q.Previous; p != nil {
			m.PreviousNdcg10, m.PreviousTopScore = p.NDCG10, p.TopScore
		}
		out.Questions[i] = m
	}
	return out
}
