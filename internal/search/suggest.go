package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Suggestion is a title for what somebody types.
type Suggestion struct {
	Title                string
	Document, Collection uuid.UUID
}

// suggesters is among how many of the best passages titles are looked for.
const suggesters = 100

// Suggest returns up to limit titles of documents within scope, each once and
// the best first, that have the last word of the text: as it is, or as the
// beginning of one of theirs. No reranker is asked.
func (e *Engine) Suggest(ctx context.Context, scope viewer.Scope, text string, limit int, f Filters) ([]Suggestion, error) {
	if strings.TrimSpace(text) == "" {
		return nil, apierr.Invalid("prefix", "must not be blank")
	}
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("suggest titles: %w", err)
	}
	q := &Query{Text: text, AsYouType: true, Filters: f}
	question := rank.NewQuestion(e.analyzer, text, f.language(), true)
	reach, err := e.open(ctx, scope, workspace, q, question, how{})
	if err != nil {
		return nil, fmt.Errorf("suggest titles: %w", readable(err))
	}
	defer reach.close(ctx)
	found, err := e.ranker.Search(ctx, reach.parts, question, rank.Options{Least: 0, Now: start(q)})
	if err != nil {
		return nil, fmt.Errorf("suggest titles: %w", readable(err))
	}
	var best []rank.Ranked // of each document
	seen := make(map[uuid.UUID]bool)
	for _, r := range found.Ranked {
		if !seen[r.Document] {
			seen[r.Document] = true
			if best = append(best, r); len(best) == suggesters {
				break
			}
		}
	}
	hits := make(map[uuid.UUID]*Hit, len(best))
	if err := reach.read(ctx, best, hits); err != nil {
		return nil, fmt.Errorf("suggest titles: %w", readable(err))
	}
	typed := e.analyzer.Parse(text, f.language())
	out := []Suggestion{}
	titles := make(map[string]bool)
	for _, r := range best {
		h := hits[r.Passage]
		if h == nil || len(out) == limit || titles[strings.ToLower(h.Title)] || !e.begins(h, &typed) {
			continue
		}
		titles[strings.ToLower(h.Title)] = true
		out = append(out, Suggestion{Title: h.Title, Document: h.Document, Collection: h.Collection})
	}
	return out, nil
}

// begins reports whether a title has what was typed last.
func (e *Engine) begins(h *Hit, typed *analysis.Query) bool {
	if len(typed.Words) == 0 {
		return false
	}
	last := typed.Words[len(typed.Words)-1]
	for _, w := range e.analyzer.Words(h.Title, h.Language) {
		for _, term := range w.Terms {
			if slices.Contains(last.Terms, term) || typed.Prefix != "" && strings.HasPrefix(term, typed.Prefix) {
				return true
			}
		}
	}
	return false
}
