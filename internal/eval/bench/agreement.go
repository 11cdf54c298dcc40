package bench

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/client"
	"github.com/magpie-search/magpie/internal/eval/bench/synth"
)

// agreementQuestions is the most questions, asked through each filter, whose results are compared.
const agreementQuestions = 200

// An Agreement compares the first results in the search engine's tier with those in PostgreSQL's.
type Agreement struct {
	Searches int `json:"searches"`
	// Same are the searches with the same first ten passages in the same order. Fallbacks are those that
	// PostgreSQL answered in the search engine's place; they are among Searches.
	Same      int `json:"sameFirstTen"`
	Fallbacks int `json:"answeredByPostgreSQL"`
	// Recall is the share of PostgreSQL's first results that are among the first ten of the search engine's tier.
	Recall float64 `json:"recall"`
}

// firstResults asks each question through each filter, one at a time, and returns the passages that are found.
func (r *searchRun) firstResults(ctx context.Context, rest *client.REST) ([][]uuid.UUID, error) {
	var all [][]uuid.UUID
	for _, filter := range synth.Filters() {
		for _, question := range r.questions[:min(len(r.questions), agreementQuestions)] {
			answer, err := rest.Search(ctx, searchBody(question, SearchMinScore, filter))
			if err != nil {
				return nil, fmt.Errorf("compare the tiers: %w", err)
			}
			found := make([]uuid.UUID, len(answer.Results))
			for i, hit := range answer.Results {
				found[i] = hit.ID
			}
			all = append(all, found)
		}
	}
	return all, nil
}

// agreement compares what a server of the search engine's tier finds with what PostgreSQL found.
func (r *searchRun) agreement(ctx context.Context, srv *server) (*Agreement, error) {
	before, err := srv.metrics(ctx)
	if err != nil {
		return nil, err
	}
	found, err := r.firstResults(ctx, srv.rest(r.target.key))
	if err != nil {
		return nil, err
	}
	after, err := srv.metrics(ctx)
	if err != nil {
		return nil, err
	}
	a := compare(r.stored, found)
	a.Fallbacks = int(after.Fallbacks() - before.Fallbacks())
	return &a, nil
}

// compare compares lists of results, of which there are as many.
func compare(stored, found [][]uuid.UUID) Agreement {
	a := Agreement{Searches: len(found)}
	results, both := 0, 0
	for i := range found {
		if slices.Equal(found[i], stored[i]) {
			a.Same++
		}
		results += len(stored[i])
		for _, id := range stored[i] {
			if slices.Contains(found[i], id) {
				both++
			}
		}
	}
	if results > 0 {
		a.Recall = float64(both) / float64(results)
	}
	return a
}
