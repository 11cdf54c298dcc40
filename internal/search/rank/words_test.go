package rank_test

import (
	"context"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/analysis"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/search/spelling"
)

// vocabulary is a Source of terms without passages. It records the requests.
type vocabulary struct {
	terms    []string
	requests []*rank.Request
}

func (v *vocabulary) Statistics(context.Context) (rank.Statistics, error) {
	return rank.Statistics{Documents: 1, Passages: 100_000, BodyWords: 10_000_000}, nil
}

func (v *vocabulary) DocumentFrequencies(_ context.Context, terms []string) ([]int, error) {
	return make([]int, len(terms)), nil
}

func (v *vocabulary) Complete(_ context.Context, prefix string, limit int) ([]string, error) {
	var found []string
	for _, term := range v.terms {
		if strings.HasPrefix(term, prefix) && len(found) < limit {
			found = append(found, term)
		}
	}
	return found, nil
}

func (v *vocabulary) Background(context.Context, []float32) (rank.Background, error) {
	return rank.Background{}, nil
}

func (v *vocabulary) Candidates(_ context.Context, r *rank.Request) ([]rank.Candidate, error) {
	v.requests = append(v.requests, r)
	return nil, nil
}

func (v *vocabulary) Terms(context.Context, []rank.Candidate) ([][]rank.TermCount, error) {
	return nil, nil
}

func (v *vocabulary) Vectors(context.Context, []rank.Candidate) ([][]float32, error) { return nil, nil }

func (v *vocabulary) Editions(_ context.Context, passages []rank.Candidate) ([]rank.Edition, error) {
	return make([]rank.Edition, len(passages)), nil
}

func (v *vocabulary) Facets(context.Context, *rank.FacetRequest) (*rank.FacetCounts, error) {
	return &rank.FacetCounts{}, nil
}

// A lone character of a script that is indexed in pairs may be completed to the
// terms of later words. These words must not be requested without a term.
func TestEveryRequestedWordHasTermsOfItsOwn(t *testing.T) {
	t.Parallel()
	a := analysis.New()
	for _, text := range []string{"数 数据", "数 数据 数", "数 据 库 数据 据库", "backup backups", "数据"} {
		v := &vocabulary{terms: []string{"数", "数据", "数库", "据库", "backup"}}
		if _, err := rank.New().Search(t.Context(), []rank.Part{{Source: v}}, rank.NewQuestion(a, text, "", false), rank.Options{}); err != nil {
			t.Fatal(err)
		}
		if len(v.requests) == 0 {
			t.Fatalf("%s: no request was made", text)
		}
		for _, r := range v.requests {
			seen := make(map[string]bool)
			for _, word := range r.Words {
				if len(word.Terms) == 0 {
					t.Errorf("%s: the request has a word without terms: %v", text, r.Words)
				}
				for _, term := range word.Terms {
					if seen[term] {
						t.Errorf("%s: two words have the term %s", text, term)
					}
					seen[term] = true
				}
			}
		}
	}
}

func (v *vocabulary) Similar(context.Context, *spelling.Pattern, int) ([]rank.SimilarTerm, error) {
	return nil, nil
}

func (v *vocabulary) Contains(_ context.Context, terms []string) ([]bool, error) {
	return make([]bool, len(terms)), nil
}
