package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Suggestion is a title that completes a text.
type Suggestion struct {
	Title                string
	URL                  string // of the document, "" if it has none
	Document, Collection uuid.UUID
}

// Suggestions are what an unfinished query may become.
type Suggestions struct {
	// Completions are the query with its last word completed, in the order of how many of
	// the best documents have that word.
	Completions []string
	Titles      []Suggestion
}

// suggestionDepth is the number of documents whose titles are considered, and
// completionDepth the number of those whose best passages are read for words.
const (
	suggestionDepth = 100
	completionDepth = 50
)

// Suggest returns titles of documents in scope that have the last word of the query's text,
// or a word that begins with it: at most Limit (1 to MaxSuggestions), best first, each
// once. Of the query it uses Text, Limit, Filters, Now, Collection and DefaultToOldest.
// Results are not reranked. Errors are those of Search.
func (e *Engine) Suggest(ctx context.Context, scope viewer.Scope, q Query) ([]Suggestion, error) {
	if err := cmp.Or(validateLimit(q.Limit, MaxSuggestions), validateText("prefix", q.Text)); err != nil {
		return nil, err
	}
	suggestions, err := e.suggest(ctx, scope, &q, false)
	if err != nil {
		return nil, fmt.Errorf("suggest titles: %w", readable(err))
	}
	return suggestions.Titles, nil
}

// Complete returns what the query may become: at most Limit completions and as many
// titles, as Suggest does. A completion is a word of a passage that the viewer may read.
// It calls Query.Admit. Errors are those of Search.
func (e *Engine) Complete(ctx context.Context, scope viewer.Scope, q Query) (*Suggestions, error) {
	if err := cmp.Or(validateLimit(q.Limit, MaxSuggestions), validateText("q", q.Text)); err != nil {
		return nil, err
	}
	suggestions, err := e.suggest(ctx, scope, &q, true)
	if err != nil {
		return nil, fmt.Errorf("complete a query: %w", readable(err))
	}
	return suggestions, nil
}

func (e *Engine) suggest(ctx context.Context, scope viewer.Scope, q *Query, words bool) (*Suggestions, error) {
	var out *Suggestions
	err := e.inTurn(ctx, scope, func(ctx context.Context) error {
		states, err := e.states(ctx, scope, q)
		if err == nil && q.Admit != nil {
			err = q.Admit(ctx)
		}
		if err != nil {
			return err
		}
		return e.readers.Do(ctx, func(ctx context.Context) (err error) {
			out, err = e.suggestFrom(ctx, scope, states, q, words)
			return err
		})
	})
	return out, err
}

// suggestFrom makes the suggestions from collections with the given states.
func (e *Engine) suggestFrom(ctx context.Context, scope viewer.Scope, states []index.State, q *Query, words bool) (*Suggestions, error) {
	question := rank.NewQuestion(e.analyzer, q.Text, q.Filters.language(), true)
	s, err := e.open(ctx, scope, states, q, question, openOptions{})
	if err != nil {
		return nil, err
	}
	defer s.close(ctx)
	respelling, err := s.respell(ctx, question)
	if err != nil {
		return nil, err
	}
	question = respelling.Question
	ranking, err := e.ranker.Search(ctx, s.parts, question, rank.Options{Now: q.unixNow()})
	if err != nil {
		return nil, fmt.Errorf("rank: %w", err)
	}
	var best []rank.Result // one of each document
	seen := make(map[uuid.UUID]bool)
	for _, r := range ranking.Results {
		if !seen[r.Document] {
			seen[r.Document] = true
			if best = append(best, r); len(best) == suggestionDepth {
				break
			}
		}
	}
	if verify, err := verifies(ctx); err != nil {
		return nil, err
	} else if verify {
		v, err := verified(ctx, best, len(best), &grouping{})
		if err != nil {
			return nil, err
		}
		best = v.shown
	}
	hits := make(map[uuid.UUID]*Hit, len(best))
	if err := s.read(ctx, best, hits); err != nil {
		return nil, err
	}
	parsed := e.analyzer.Parse(question.Text(), q.Filters.language())
	out := &Suggestions{Completions: []string{}, Titles: []Suggestion{}}
	titles := make(map[string]bool)
	for _, r := range best {
		h := hits[r.Passage]
		if h == nil || len(out.Titles) == q.Limit || titles[strings.ToLower(h.Title)] || !e.titleMatches(h, &parsed) {
			continue
		}
		titles[strings.ToLower(h.Title)] = true
		out.Titles = append(out.Titles, Suggestion{Title: h.Title, URL: h.address, Document: h.Document, Collection: h.Collection})
	}
	if words && parsed.Prefix != "" {
		c := completer{analyzer: e.analyzer, prefix: parsed.Prefix, words: map[string]*completedWord{}, raw: map[string]string{}}
		for _, r := range best[:min(len(best), completionDepth)] {
			if h := hits[r.Passage]; h != nil {
				c.read(h)
			}
		}
		last := slices.IndexFunc(parsed.Words, func(w analysis.QueryWord) bool { // a compound comes before its parts
			return w.End == len(question.Text())
		})
		if last >= 0 { // of too many words the last ones are missing
			out.Completions = c.completions(question.Text(), parsed.Words[last].Start, q.Text, q.Limit)
		}
	}
	return out, nil
}

// titleMatches reports whether a title has the last word of the query, or a word that
// begins with it.
func (e *Engine) titleMatches(h *Hit, q *analysis.Query) bool {
	if len(q.Words) == 0 {
		return false
	}
	last := q.Words[len(q.Words)-1]
	for _, w := range e.analyzer.Words(h.Title, h.Language) {
		for _, term := range w.Terms {
			if slices.Contains(last.Terms, term) || q.Prefix != "" && strings.HasPrefix(term, q.Prefix) {
				return true
			}
		}
	}
	return false
}
