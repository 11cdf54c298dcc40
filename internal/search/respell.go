package search

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// respell returns the question as it is searched for, and gives the parts its vectors.
func (s *searcher) respell(ctx context.Context, question *rank.Question) (*rank.Respelling, error) {
	speller := rank.Speller{Analyzer: s.engine.analyzer, Texts: s.texts, Knows: s.engine.knowsWord}
	out, err := speller.Respell(ctx, s.parts, question)
	if err != nil {
		return nil, fmt.Errorf("correct the spelling: %w", err)
	}
	s.embed(ctx, out.Question.Text())
	return out, nil
}

// knowsWord reports whether the builtin embedding model has learned a word: it is a word
// of some language then.
func (e *Engine) knowsWord(word string) bool {
	model, _ := e.models.Lookup(embed.BuiltinModel)
	vocabulary, ok := model.(embed.Vocabulary)
	return ok && vocabulary.Knows(word) == 1
}

// texts returns the texts of passages of a part.
func (s *searcher) texts(ctx context.Context, part int, passages []rank.Candidate) ([]rank.Text, error) {
	results := make([]rank.Result, len(passages))
	for i, c := range passages {
		results[i] = rank.Result{Candidate: c, Part: part}
	}
	hits := make(map[uuid.UUID]*Hit, len(passages))
	if err := s.read(ctx, results, hits); err != nil {
		return nil, err
	}
	out := make([]rank.Text, len(passages))
	for i, c := range passages {
		if h := hits[c.Passage]; h != nil {
			out[i] = rank.Text{Text: h.Title + "\n" + h.Text, Language: h.Language}
		}
	}
	return out, nil
}
