package search

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/request/fair"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	// verifyBatch is the number of documents of which sources are asked at once.
	verifyBatch = 200
	minVerified = 20
	// maxVerified bounds the documents of one search of which sources are asked.
	maxVerified = 1000
)

// verifies reports whether what the viewer may see is verified with the sources.
func verifies(ctx context.Context) (bool, error) {
	ok, err := viewer.Verifies(ctx)
	if err != nil {
		return false, fmt.Errorf("find the sources that verify access: %w", err)
	}
	return ok, nil
}

// A verification is the outcome of asking the sources about results.
type verification struct {
	shown      []rank.Result // that may be shown, as many as were needed and some more
	hidden     map[uuid.UUID]bool
	unanswered bool // a source did not answer
}

// verified asks the sources about results, best first, until enough groups of them may be
// shown. Results that are not needed are left out.
func verified(ctx context.Context, ranked []rank.Result, needed int, groups *grouping) (verification, error) {
	v := verification{hidden: map[uuid.UUID]bool{}}
	shown := map[group]bool{}
	most := min(verifyBatch, max(needed, minVerified)) // the first batch mostly suffices
	for asked := 0; len(ranked) > 0 && len(shown) < needed && asked < maxVerified; most = verifyBatch {
		documents, seen, part := []uuid.UUID{}, map[uuid.UUID]bool{}, 0
		for ; part < len(ranked) && len(documents) < most; part++ {
			if id := ranked[part].Document; !seen[id] {
				seen[id] = true
				documents = append(documents, id)
			}
		}
		var verdict viewer.Verdict
		err := fair.Outside(ctx, func() (err error) {
			verdict, err = viewer.HiddenNow(ctx, documents)
			return err
		})
		if err != nil {
			return v, fmt.Errorf("verify who may read results: %w", err)
		}
		v.unanswered = v.unanswered || verdict.Unanswered
		for i := range ranked[:part] {
			r := &ranked[i]
			if verdict.Hidden[r.Document] {
				v.hidden[r.Document] = true
			} else {
				v.shown = append(v.shown, *r)
				shown[groups.of(r)] = true
			}
		}
		asked += len(documents)
		ranked = ranked[part:]
	}
	return v, nil
}
