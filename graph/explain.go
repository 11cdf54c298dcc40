package graph

import (
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// searchExplanation translates the explanation of a result in a collection. It returns nil
// for nil.
func searchExplanation(collection uuid.UUID, x *search.Explanation) *model.SearchExplanation {
	if x == nil {
		return nil
	}
	e := &x.Evidence
	out := &model.SearchExplanation{
		Tier: model.SearchTier(strings.ToUpper(string(x.Tier))), CollectionID: collection, Change: x.Change,
		Words: make([]*model.ExplainedWord, len(x.Words)), Bm25f: x.BM25F,
		SecondPass: &model.ExplainedSecondPass{Gate: x.Gate, Terms: make([]*model.ExplainedTerm, len(x.AddedTerms))},
		Evidence: &model.ExplainedEvidence{
			Lexical: e.Lexical, Relative: e.Relative, Feedback: e.Feedback, Coverage: e.Coverage, Proximity: e.Proximity,
			Title: e.Title, Heading: e.Heading, FirstPassage: e.FirstPassage, Freshness: e.Freshness,
		},
		Order: explainedSum(e.Key, x.Order), LogOdds: explainedSum(x.LogOdds, x.Features),
		Confidence: x.Confidence, Rating: x.Rating,
	}
	for i := range x.Words {
		out.Words[i] = explainedWord(&x.Words[i])
	}
	for i, t := range x.AddedTerms {
		out.SecondPass.Terms[i] = &model.ExplainedTerm{Term: t.Term, Idf: t.IDF, Weight: t.Weight, Matches: t.Matches, Score: t.Score}
	}
	if s := x.Similarity; s != nil {
		out.Similarity = &model.ExplainedSimilarity{
			Cosine: s.Cosine, BackgroundMean: s.Background.Mean, BackgroundDeviation: s.Background.StdDev, ZScore: s.ZScore, Known: s.Known,
		}
	}
	return out
}

func explainedWord(w *rank.WordExplanation) *model.ExplainedWord {
	out := &model.ExplainedWord{
		Text: w.Text, Terms: w.Terms, Fields: make([]*model.ExplainedField, len(w.Fields)), DocumentFrequency: w.DocumentFrequency,
		QueryFrequency: w.Frequency, Idf: w.IDF, Weight: w.Weight, Score: w.Score,
	}
	for i, f := range w.Fields {
		out.Fields[i] = &model.ExplainedField{Field: passageField(f.Field), Occurrences: f.Count, Weight: f.Weight}
	}
	return out
}

func passageField(f index.Field) model.PassageField {
	switch f {
	case index.FieldTitle:
		return model.PassageFieldTitle
	case index.FieldHeading:
		return model.PassageFieldHeading
	case index.FieldPath:
		return model.PassageFieldPath
	default:
		return model.PassageFieldBody
	}
}

func explainedSum(total float64, terms []rank.Contribution) *model.ExplainedSum {
	out := &model.ExplainedSum{Total: total, Terms: make([]*model.ExplainedContribution, len(terms))}
	for i := range terms {
		t := &terms[i]
		out.Terms[i] = &model.ExplainedContribution{Name: t.Name, Value: t.Value, Weight: t.Weight, Contribution: t.Product()}
	}
	return out
}
