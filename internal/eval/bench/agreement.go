package bench

import (
	"context"
	"errors"
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

// compareTiers asks two servers, one for each tier, of which the second has what the first has: the same
// statistics, when nothing changes any more.
func (r *searchRun) compareTiers(ctx context.Context) (*Agreement, error) {
	found, fallbacks, err := r.resultsIn(ctx, TierEngine)
	if err != nil {
		return nil, err
	}
	stored, _, err := r.resultsIn(ctx, TierPostgreSQL)
	if err != nil {
		return nil, err
	}
	a := compare(stored, found)
	a.Fallbacks = fallbacks
	return &a, nil
}

// resultsIn asks a server that it starts, whose collection is in a tier, and returns also how often PostgreSQL answered in
// the place of the search engine.
func (r *searchRun) resultsIn(ctx context.Context, tier Tier) (results [][]uuid.UUID, fallbacks int, err error) {
	if err := r.setTier(ctx, tier); err != nil {
		return nil, 0, err
	}
	srv, err := r.stack.startServer(ctx)
	if err != nil {
		return nil, 0, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	if results, err = r.firstResults(ctx, srv.rest(r.target.key)); err != nil {
		return nil, 0, err
	}
	metrics, err := srv.metrics(ctx)
	return results, int(metrics.Fallbacks()), err
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
