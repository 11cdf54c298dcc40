package search

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/request/fair"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// rerankDepth is the number of results that are reranked.
const rerankDepth = 50

// rerank replaces the scores of the best results by those of the reranker, and orders them
// by these. The other results follow. If the reranker fails, the order stays and failed is
// true.
func (s *searcher) rerank(ctx context.Context, q *Query, question string, ranked []rank.Result, hits map[uuid.UUID]*Hit) (_ []rank.Result, failed bool, err error) {
	best := ranked[:min(len(ranked), rerankDepth)]
	if err := s.read(ctx, best, hits); err != nil {
		return nil, false, err
	}
	var texts []string
	var reranked []rank.Result
	for _, r := range best {
		if h := hits[r.Passage]; h != nil {
			texts = append(texts, h.Title+"\n"+h.Text)
			reranked = append(reranked, r)
		}
	}
	if len(reranked) == 0 {
		return ranked, false, nil
	}
	reranker := s.engine.opt.Reranker
	var scores []float64
	err = fair.Outside(ctx, func() (err error) {
		scores, err = reranker.Rerank(ctx, question, texts)
		return err
	})
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if !errors.Is(err, rerank.ErrCircuitOpen) { // logged when the circuit opened
			s.engine.opt.Log.WarnContext(ctx, "rerank failed, results keep their order",
				slog.String("model", reranker.Model()), slog.Any("error", err))
		}
		return ranked, true, nil
	}
	lowest := 1.0
	if q.Explain {
		s.ratings = make(map[uuid.UUID]float64, len(reranked))
	}
	for i := range reranked {
		if q.Explain {
			s.ratings[reranked[i].Passage] = scores[i]
		}
		reranked[i].Score = scores[i]
		lowest = min(lowest, scores[i])
	}
	slices.SortFunc(reranked, func(a, b rank.Result) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), slices.Compare(a.Passage[:], b.Passage[:]))
	})
	for _, r := range ranked[len(best):] {
		r.Score = min(r.Score, lowest)
		reranked = append(reranked, r)
	}
	if q.MinScore > 0 && !q.Lenient {
		reranked = slices.DeleteFunc(reranked, func(r rank.Result) bool { return r.Score < q.MinScore })
	}
	return reranked, false, nil
}
