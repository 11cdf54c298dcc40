package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Standing says where a document stands in a search. Each field has a meaning only if
// the fields before it let the document be found.
type Standing struct {
	// Searched says that the query searches the document's collection.
	Searched bool
	// Readable says that the viewer finds the document without a query.
	Readable bool
	// Filters are the names of the filters that exclude the document.
	Filters []string
	// Phrases are the phrases of the query that no passage of the document has, Excluded
	// the excluded words and phrases that are in each of its passages, as terms.
	Phrases, Excluded []string
	// Selected says that a passage of the document passes all of these together.
	Selected bool
	// CommonWord says that a passage has a word of the query.
	CommonWord bool
	// Place is that of the document's best passage among all candidates, from 1; 0 if no
	// passage is a candidate. Score is its score.
	Place int
	Score float64
	// Rank is that of the document's first result, from 1; 0 if it has none.
	Rank int
	// Repeated says that other documents have the text of all of its results, or nearly the
	// same, and are shown in its place. See Query.Collapse.
	Repeated bool
	// Cut is the number of its passages that reach the minimum score and are left out,
	// because a document has only so many results.
	Cut int
	// Explanation is that of the best passage; nil if no passage is a candidate.
	Explanation *Explanation
}

// Standing returns where a document of a collection stands in the search that the query
// asks for. It sees every committed change. Limit and Offset of the query have no effect.
// Its errors are those of Search.
func (e *Engine) Standing(ctx context.Context, scope viewer.Scope, q Query, document, collection uuid.UUID) (*Standing, error) {
	if err := q.Validate(); err != nil {
		return nil, err
	}
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), q.AsYouType)
	var out *Standing
	err := e.inTurn(ctx, scope, func(ctx context.Context) error {
		states, err := e.states(ctx, scope, &q)
		if err != nil {
			return err
		}
		out = &Standing{Searched: q.Filters.includes(collection) && slices.ContainsFunc(states, func(s index.State) bool { return s.Collection == collection })}
		if !out.Searched {
			return nil
		}
		return e.readers.Do(ctx, func(ctx context.Context) error {
			s, err := e.open(ctx, scope, states, &q, question, openOptions{current: true})
			if err != nil {
				return err
			}
			defer s.close(ctx)
			out = &Standing{Searched: true}
			return s.standing(ctx, out, &q, question, document, collection)
		})
	})
	if err != nil {
		return nil, fmt.Errorf("find a document's standing: %w", readable(err))
	}
	return out, nil
}

// standing completes a standing in the collections of s.
func (s *searcher) standing(ctx context.Context, out *Standing, q *Query, question *rank.Question, document, collection uuid.UUID) (err error) {
	part := slices.IndexFunc(s.states, func(state index.State) bool { return state.Collection == collection })
	if part < 0 {
		return ErrNoCollection
	}
	c := &s.collections[part] // those of the parts come first
	selects := func(f rank.Filter) (bool, error) {
		f.Documents = []uuid.UUID{document}
		return c.selects(ctx, &f)
	}
	if out.Readable, err = selects(rank.Filter{}); err != nil || !out.Readable {
		return err
	}
	for _, f := range q.Filters.byField() {
		ok, err := selects(*f.filters.filter())
		if err != nil {
			return err
		}
		if !ok {
			out.Filters = append(out.Filters, f.name)
		}
	}
	var all rank.Filter
	question.Restrict(&all)
	for _, p := range all.Phrases {
		ok, err := selects(rank.Filter{Phrases: []rank.Phrase{p}})
		if err != nil {
			return err
		}
		if !ok {
			out.Phrases = append(out.Phrases, phraseText(p))
		}
	}
	for _, p := range all.Excluded {
		ok, err := selects(rank.Filter{Excluded: []rank.Phrase{p}})
		if err != nil {
			return err
		}
		if !ok {
			out.Excluded = append(out.Excluded, phraseText(p))
		}
	}
	whole := q.Filters.filter()
	question.Restrict(whole)
	if out.Selected, err = selects(*whole); err != nil || !out.Selected {
		return err
	}
	return s.rankDocument(ctx, out, q, question, document, part)
}

// rankDocument runs the search and sets the ranks of a document.
func (s *searcher) rankDocument(ctx context.Context, out *Standing, q *Query, question *rank.Question, document uuid.UUID, part int) error {
	respelling, err := s.respell(ctx, question)
	if err != nil {
		return err
	}
	question = respelling.Question
	opt := rank.Options{MinScore: q.MinScore, Now: q.unixNow(), Trace: document}
	ranking, err := s.engine.ranker.Search(ctx, s.parts, question, opt)
	if err != nil {
		return fmt.Errorf("rank: %w", err)
	}
	traced := ranking.Traced
	if len(traced) == 0 {
		// The document alone: does it have a word of the question?
		f := q.Filters.filter()
		question.Restrict(f)
		f.Documents = []uuid.UUID{document}
		own, err := s.collections[part].filtered(ctx, f)
		if err != nil {
			return err
		}
		alone, err := s.engine.ranker.Search(ctx, []rank.Part{own}, question, opt)
		if err != nil {
			return fmt.Errorf("rank: %w", err)
		}
		out.CommonWord = slices.ContainsFunc(alone.Traced, hasWord)
		return nil
	}
	editions, err := s.editions(ctx, q, ranking.Results)
	if err != nil {
		return err
	}
	isDocument := func(r rank.Result) bool { return r.Document == document }
	ranked, _ := editions.collapse(ranking.Results)
	out.Repeated = slices.ContainsFunc(ranking.Results, isDocument) && !slices.ContainsFunc(ranked, isDocument)
	if s.engine.opt.Reranker != nil && len(ranked) > 0 {
		q.Explain = true // keeps the ratings
		if ranked, _, err = s.rerank(ctx, q, question.Text(), ranked, make(map[uuid.UUID]*Hit)); err != nil {
			return err
		}
	}
	best := &traced[0]
	out.CommonWord = slices.ContainsFunc(traced, hasWord)
	out.Place, out.Score, out.Explanation = best.Place+1, best.Score, s.explanation(&best.Result)
	out.Rank = 1 + slices.IndexFunc(ranked, isDocument)
	if rating := out.Explanation.Rating; rating != nil {
		out.Score = *rating
	}
	if out.Rank > 0 {
		first := &ranked[out.Rank-1]
		out.Score = first.Score
		if i := slices.IndexFunc(traced, func(t rank.Traced) bool { return t.Passage == first.Passage }); i >= 0 {
			out.Place, out.Explanation = traced[i].Place+1, s.explanation(&traced[i].Result)
		}
	}
	for i := range traced {
		if traced[i].Score >= q.MinScore && !slices.ContainsFunc(ranking.Results, func(r rank.Result) bool { return r.Passage == traced[i].Passage }) {
			out.Cut++
		}
	}
	return nil
}

func hasWord(t rank.Traced) bool { return len(t.Explanation.Words) > 0 }

// selects reports whether a filter selects a passage that the viewer may read.
func (c *openCollection) selects(ctx context.Context, f *rank.Filter) (bool, error) {
	part, err := c.filtered(ctx, f)
	if err != nil {
		return false, err
	}
	counts, err := part.Source.Facets(ctx, &rank.FacetRequest{})
	if err != nil {
		return false, fmt.Errorf("count documents: %w", err)
	}
	return counts.Documents > 0, nil
}

// fieldFilters are the filters of one field.
type fieldFilters struct {
	name    string
	filters Filters
}

// byField returns the filters of each field that has some. Those of collections are not
// among them.
func (f *Filters) byField() []fieldFilters {
	all := []fieldFilters{
		{"section", Filters{Section: f.Section, Sections: f.Sections}},
		{"version", Filters{Version: f.Version, Versions: f.Versions}},
		{"language", Filters{Language: f.Language, Languages: f.Languages}},
		{"tags", Filters{Tags: f.Tags}},
		{"doc_types", Filters{DocTypes: f.DocTypes}},
		{"sources", Filters{Sources: f.Sources}},
		{"connectors", Filters{Connectors: f.Connectors}},
		{"date", Filters{After: f.After, Before: f.Before, From: f.From, Until: f.Until}},
	}
	return slices.DeleteFunc(all, func(one fieldFilters) bool {
		for _, field := range [...]Field{FieldSection, FieldVersion, FieldLanguage, FieldTags, FieldDocType, FieldSource, FieldConnector, FieldDate} {
			if one.filters.selects(field) {
				return false
			}
		}
		return true
	})
}

// phraseText returns the terms of a phrase, the first of each position.
func phraseText(p rank.Phrase) string {
	words := make([]string, 0, len(p))
	for _, terms := range p {
		if len(terms) > 0 {
			words = append(words, terms[0])
		}
	}
	return strings.Join(words, " ")
}
