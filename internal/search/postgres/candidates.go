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

const passagesQuery = `select place, passage_id, document_id, ordinal, title_words, heading_words, path_words, body_words,
		changed, hits, similarity
	from magpie_passages($1, $2, $3, $4, $5, $6, $7, nullif($8, '')::tsquery, $9, $10)`

const matchesQuery = "select place, hits, similarity from magpie_hits($1, $2, $3, $4, $5, $6)"

// An accessPath is a way to find passages, see magpie_passages.
type accessPath struct {
	name  string
	query string
	ids   []uuid.UUID // of documents, or of passages for "named"
	limit int
}

// Candidates implements rank.Source. For passages of earlier answers it reads only the
// matches and the similarity, by row id.
func (s *Source) Candidates(ctx context.Context, r *rank.Request) ([]rank.Candidate, error) {
	if err := s.readSelection(ctx); err != nil {
		return nil, err
	}
	c := newCollector(r)
	paths, err := s.accessPaths(ctx, r, c)
	if err != nil {
		return nil, err
	}
	return s.candidates(ctx, r, c, paths)
}

// CandidatesOf is Candidates with a choice from the given passages only, as far as they are
// in the collection and the filter selects them.
func (s *Source) CandidatesOf(ctx context.Context, r *rank.Request, passages []uuid.UUID) ([]rank.Candidate, error) {
	return s.candidates(ctx, r, newCollector(r), []accessPath{{name: "named", ids: passages}})
}

// candidates reads the passages of access paths and of the earlier answers, and chooses those
// that the request asks for.
func (s *Source) candidates(ctx context.Context, r *rank.Request, c *collector, paths []accessPath) ([]rank.Candidate, error) {
	var embedding *pgvector.HalfVector
	if len(r.Vector) > 0 {
		v := pgvector.NewHalfVector(r.Vector)
		embedding = &v
	}
	bySimilarity := 0 // c.candidates[:bySimilarity] were not found by words alone
	err := s.query(ctx, func(b *pgx.Batch) {
		for _, p := range paths {
			b.Queue(passagesQuery, s.workspace, s.collection, s.filter, c.terms, s.model, embedding, p.name, p.query, p.ids, p.limit).
				Query(func(rows pgx.Rows) error {
					err := c.readPassages(rows)
					if p.name != "words" {
						bySimilarity = len(c.candidates)
					}
					return err
				})
		}
		if len(r.Rescore) > 0 {
			b.Queue(matchesQuery, s.workspace, s.collection, tidsOf(r.Rescore), c.terms, s.model, embedding).Query(c.readMatches)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read passages: %w", err)
	}
	keep := make([]bool, len(c.candidates))
	for _, i := range c.mostSimilar(bySimilarity, r.TopSimilar) {
		keep[i] = true
	}
	for i := range r.Rescore {
		if n, ok := c.index[r.Rescore[i].Ref]; ok {
			keep[n] = true
		}
	}
	for _, i := range c.bestByWords(r.TopLexical) {
		keep[i] = true
	}
	kept := make([]rank.Candidate, 0, len(c.candidates))
	for i := range c.candidates {
		if keep[i] {
			kept = append(kept, c.candidates[i])
		}
	}
	return kept, nil
}

// accessPaths returns the access paths of a request: first that of the most similar
// passages, then that of the words.
func (s *Source) accessPaths(ctx context.Context, r *rank.Request, c *collector) ([]accessPath, error) {
	similar, lexical := len(r.Vector) > 0 && r.TopSimilar > 0, len(r.Words) > 0 && r.TopLexical > 0
	if s.selection.documents != nil && (similar || lexical) {
		return []accessPath{{name: "documents", ids: s.selection.documents}}, nil
	}
	var paths []accessPath
	if similar {
		p := accessPath{name: "scan", limit: r.TopSimilar}
		if s.state.passages > s.state.exact && s.state.model == s.model && s.state.dimensions == len(r.Vector) && !s.prefersScan() {
			p = accessPath{name: "near", limit: min(r.TopSimilar, s.tier.opt.Neighbours)}
		}
		paths = append(paths, p)
	}
	if lexical {
		if err := s.readFrequencies(ctx, c.terms); err != nil {
			return nil, fmt.Errorf("count words: %w", err)
		}
		budget, limit := s.lookupBudget()
		query, err := s.phraseLookup(ctx, budget)
		if err != nil {
			return nil, fmt.Errorf("count the words of phrases: %w", err)
		}
		if query == "" {
			query = s.wordLookup(r.Words, budget)
		}
		if query != "" {
			paths = append(paths, accessPath{name: "words", query: query, limit: limit})
		}
	}
	return paths, nil
}

// maxOverrun is the factor by which the passages that words look up may exceed the
// budget. Words of one subject occur together more often than the estimate assumes, and
// the passages with several of them are what a search is for.
const maxOverrun = 6

// lookupBudget returns the budget for the words of a request, and the largest number of
// passages that they may look up.
func (s *Source) lookupBudget() (budget, limit int) {
	budget = s.tier.opt.LookupBudget
	if 2*s.selection.passages < s.state.passages {
		budget *= 2 // the filter rejects most of the passages, which makes them cheaper
	}
	limit = maxOverrun * budget
	if s.state.counted == 0 {
		budget *= 2 // without indexes all passages are scanned anyway
	}
	return budget, limit
}

// prefersScan reports whether the filter selects so few passages that comparing their
// vectors is faster than walking the vector index until some of them are found.
func (s *Source) prefersScan() bool {
	maxScan, share := 3*int64(s.tier.opt.FullScan), s.state.passages/50
	return s.selection.passages <= maxScan && s.selection.passages < share
}

// mostSimilar returns the indexes of the k most similar of the first n candidates.
func (c *collector) mostSimilar(n, k int) []int {
	order := make([]int, 0, n)
	for i := range n {
		if !math.IsNaN(c.candidates[i].Similarity) {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return compareSimilarity(&c.candidates[a], &c.candidates[b]) })
	return order[:min(len(order), k)]
}

// bestByWords returns the indexes of the k candidates with the best lexical scores above
// 0.
func (c *collector) bestByWords(k int) []int {
	order := make([]int, 0, len(c.candidates))
	for i := range c.candidates {
		if c.candidates[i].Lexical > 0 {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return compareLexical(&c.candidates[a], &c.candidates[b]) })
	return order[:min(len(order), k)]
}
