package search

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/model/rerank"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// reranked is how many of the best results are rated anew.
const reranked = 50

// rerank has the best results rated by a reranker, whose rating becomes their
// score. The rest stays behind them. When the reranker fails, the order stays as it
// is, and unrated says so.
func (e *Engine) rerank(
	ctx context.Context, reach *reach, q *Query, ranked []rank.Ranked, read map[uuid.UUID]*Hit,
) (all []rank.Ranked, unrated bool, err error) {
	best := ranked[:min(len(ranked), reranked)]
	if err := reach.read(ctx, best, read); err != nil {
		return nil, false, err
	}
	var texts []string
	var rated []rank.Ranked
	for _, r := range best {
		if h := read[r.Passage]; h != nil {
			texts = append(texts, h.Title+"\n"+h.Text)
			rated = append(rated, r)
		}
	}
	if len(rated) == 0 {
		return ranked, false, nil
	}
	scores, err := e.opt.Reranker.Rerank(ctx, q.Text, texts)
	if err != nil {
		if ctx.Err() != nil {
			return nil, false, ctx.Err()
		}
		if !errors.Is(err, rerank.ErrPassedOver) { // which was said when it began
			e.opt.Log.WarnContext(ctx, "the reranker did not answer; results keep their order",
				slog.String("model", e.opt.Reranker.Model()), slog.Any("error", err))
		}
		return ranked, true, nil
	}
	least := 1.0
	for i := range rated {
		rated[i].Score = scores[i]
		least = min(least, scores[i])
	}
	slices.SortFunc(rated, func(a, b rank.Ranked) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), slices.Compare(a.Passage[:], b.Passage[:]))
	})
	for _, r := range ranked[len(best):] {
		r.Score = min(r.Score, least)
		rated = append(rated, r)
	}
	if q.MinScore > 0 {
		rated = slices.DeleteFunc(rated, func(r rank.Ranked) bool { return r.Score < q.MinScore })
	}
	return rated, false, nil
}
