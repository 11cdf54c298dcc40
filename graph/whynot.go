package graph

import (
	"context"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/collection/whynot"
	"github.com/magpie-search/magpie/internal/search"
)

func (r *Resolver) searchWhyNot(ctx context.Context, in model.SearchWhyNotInput) (*model.SearchWhyNot, error) {
	query, err := r.searchQuery(model.SearchInput{Query: in.Query, Limit: in.Limit, Offset: in.Offset, MinScore: in.MinScore, Filters: in.Filters})
	if err != nil {
		return nil, err
	}
	scope, err := searchScope(ctx, in.Collection, &query)
	if err != nil {
		return nil, err
	}
	answer, err := r.WhyNot.Explain(ctx, scope, whynot.Request{Query: query, Document: in.Document, User: orZero(in.AsUser)})
	if err != nil {
		return nil, searchError(ctx, err)
	}
	return whyNotModel(answer, query.MinScore)
}

func whyNotModel(a *whynot.Answer, minScore float64) (*model.SearchWhyNot, error) {
	out := &model.SearchWhyNot{
		DocumentID: nilIfZero(a.Document), Title: nilIfZero(a.Title), Found: a.Reason == whynot.Found,
		Reason: model.WhyNotReason(a.Reason), Explanation: a.Explanation, Change: a.Change, MinScore: minScore,
		Filters: []string{}, MissingPhrases: []string{}, ExcludedPhrases: []string{},
	}
	if a.Item != nil {
		out.ItemStatus, out.ItemReason, out.ItemHold = &a.Item.Status, a.Item.Reason, a.Item.Hold
	}
	if a.Visibility != nil {
		var err error
		if out.Visibility, err = documentVisibility(*a.Visibility, nil); err != nil {
			return nil, err
		}
	}
	if s := a.Standing; s != nil {
		setStanding(out, a, s)
	}
	return out, nil
}

func setStanding(out *model.SearchWhyNot, a *whynot.Answer, s *search.Standing) {
	out.Filters = append(out.Filters, s.Filters...)
	out.MissingPhrases = append(out.MissingPhrases, s.Phrases...)
	out.ExcludedPhrases = append(out.ExcludedPhrases, s.Excluded...)
	out.PassagesCut, out.Rank = s.Cut, nilIfZero(s.Rank)
	if s.Place > 0 {
		out.Place, out.Score = &s.Place, &s.Score
		out.BestPassage = searchExplanation(a.Collection, s.Explanation)
	}
}
