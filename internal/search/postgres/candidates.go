package postgres

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/pgvector/pgvector-go"

	"github.com/magpie-search/magpie/internal/search/rank"
)

const readPassages = `select place, passage_id, document_id, ordinal, title_words, heading_words, path_words, body_words,
		changed, hits, similarity
	from magpie_passages($1, $2, $3, $4, $5, $6, $7, nullif($8, '')::tsquery, $9, $10)`

const readHits = "select place, hits, similarity from magpie_hits($1, $2, $3, $4, $5, $6)"

// way is one way to come by passages, see magpie_passages.
type way struct {
	name      string
	query     string
	documents []uuid.UUID
	most      int
}

// Candidates implements rank.Source. Of passages of earlier requests only the
// hits and the similarity are read anew, by their place.
func (s *Source) Candidates(ctx context.Context, r *rank.Request) ([]rank.Candidate, error) {
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	g := newGathering(r)
	ways, err := s.ways(ctx, r, g)
	if err != nil {
		return nil, err
	}
	var embedding *pgvector.HalfVector
	if len(r.Vector) > 0 {
		v := pgvector.NewHalfVector(r.Vector)
		embedding = &v
	}
	nearest := 0 // the rows that came by similarity are g.found[:nearest]
	err = s.ask(ctx, func(b *pgx.Batch) {
		for _, w := range ways {
			b.Queue(readPassages, s.workspace, s.collection, s.filter, g.terms, s.model, embedding, w.name, w.query, w.documents, w.most).
				Query(func(rows pgx.Rows) error {
					err := g.read(rows)
					if w.name != "words" {
						nearest = len(g.found)
					}
					return err
				})
		}
		if len(r.Also) > 0 {
			b.Queue(readHits, s.workspace, s.collection, placesOf(r.Also), g.terms, s.model, embedding).Query(g.readAgain)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("look passages up: %w", err)
	}
	keep := make([]bool, len(g.found))
	for _, i := range g.nearest(nearest, r.Nearest) {
		keep[i] = true
	}
	for i := range r.Also {
		if at, ok := g.at[r.Also[i].Ref]; ok {
			keep[at] = true
		}
	}
	order := g.byWords()
	for _, i := range order[:min(len(order), r.Best)] {
		keep[i] = true
	}
	kept := make([]rank.Candidate, 0, len(g.found))
	for i := range g.found {
		if keep[i] {
			kept = append(kept, g.found[i])
		}
	}
	return kept, nil
}

// ways are how a request's passages are come by: those that are most similar
// first, then those that the words look up.
func (s *Source) ways(ctx context.Context, r *rank.Request, g *gathering) ([]way, error) {
	similar, worded := len(r.Vector) > 0 && r.Nearest > 0, len(r.Words) > 0 && r.Best > 0
	if s.left.documents != nil && (similar || worded) {
		return []way{{name: "documents", documents: s.left.documents}}, nil
	}
	var ways []way
	if similar {
		w := way{name: "scan", most: r.Nearest}
		if s.state.passages > s.state.exact && s.state.model == s.model && s.state.dimensions == len(r.Vector) && !s.scans() {
			w = way{name: "near", most: min(r.Nearest, s.tier.opt.Neighbours)}
		}
		ways = append(ways, w)
	}
	if worded {
		if err := s.count(ctx, g.terms); err != nil {
			return nil, fmt.Errorf("count words: %w", err)
		}
		budget, most := s.lookUps()
		query, err := s.lookUpPhrases(ctx, budget)
		if err != nil {
			return nil, fmt.Errorf("count the words of phrases: %w", err)
		}
		if query == "" {
			query = s.lookUp(r.Words, budget)
		}
		if query != "" {
			ways = append(ways, way{name: "words", query: query, most: most})
		}
	}
	return ways, nil
}

// overrun is how many times the budget's passages are looked up at most. Words
// of one subject stand together more often than the budget reckons with, and
// the passages in which they do are those that a search is for.
const overrun = 6

// lookUps is the budget for the words of a request, and how many passages they
// look up at most.
func (s *Source) lookUps() (budget, most int) {
	budget = s.tier.opt.LookUps
	if 2*s.left.passages < s.state.passages {
		budget *= 2 // most of what is looked up the filter leaves out, which costs less
	}
	most = overrun * budget
	if s.state.counted == 0 {
		budget *= 2 // without indexes all passages are looked at in any case
	}
	return budget, most
}

// scans tells whether the filter leaves so few passages, and so small a share of
// all, that their vectors are better looked at one by one: the vector index
// would be walked for long to find some of them.
func (s *Source) scans() bool {
	few, share := 3*int64(s.tier.opt.Whole), s.state.passages/50
	return s.left.passages <= few && s.left.passages < share
}

// nearest are the numbers of the most similar of the first n candidates.
func (g *gathering) nearest(n, most int) []int {
	order := make([]int, 0, n)
	for i := range n {
		if !math.IsNaN(g.found[i].Similarity) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return bySimilarity(&g.found[a], &g.found[b]) })
	return order[:min(len(order), most)]
}

// byWords are the numbers of the candidates with any of the words, the best first.
func (g *gathering) byWords() []int {
	order := make([]int, 0, len(g.found))
	for i := range g.found {
		if g.found[i].Lexical > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return byLexical(&g.found[a], &g.found[b]) })
	return order
}
