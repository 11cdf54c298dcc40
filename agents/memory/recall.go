package memory

import (
	"bytes"
	"cmp"
	"context"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/agentmemory"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The defaults and weights of Recall.
const (
	defaultRecall    = 8 // if no limit is given
	maxRecall        = 50
	minRecallScore   = 0.25 // of the search, unless the memory is important
	alwaysRecalled   = 0.8  // importance from which a memory needs no score
	importanceWeight = 0.2
	recencyWeight    = 0.1
	halfLife         = 30 * 24 * time.Hour
)

// Recall returns the memories that an agent should know for a text: shared
// memories and the viewer's own that are near to the text, and all important
// ones. It returns at most limit memories, the best first; a limit below 1
// means 8, and the maximum is 50. Importance and recent use raise a memory's
// rank. Recall stores the time of the recall. It must not be called within a
// transaction.
func (s *Store) Recall(ctx context.Context, agentID uuid.UUID, text string, limit int) ([]Item, error) {
	if limit <= 0 {
		limit = defaultRecall
	}
	limit = min(limit, maxRecall)
	if err := s.checkAgent(ctx, agentID); err != nil {
		return nil, err
	}
	rows, err := s.visibleMemories(ctx, agentID, "")
	if err != nil || len(rows) == 0 {
		return []Item{}, err
	}
	hits := make([]Hit, len(rows))
	if strings.TrimSpace(text) == "" {
		for i, row := range rows {
			hits[i] = Hit{Memory: row}
		}
	} else {
		hits = s.score(ctx, rows, safetext.Truncate(text, maxQuery))
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < minRecallScore && h.Memory.Importance < alwaysRecalled })
	now := s.now()
	for i, h := range hits {
		lastUse := h.Memory.UpdatedAt
		if at := h.Memory.RecalledAt; at != nil && at.After(lastUse) {
			lastUse = *at
		}
		age := max(now.Sub(lastUse), 0)
		hits[i].Score += importanceWeight*h.Memory.Importance + recencyWeight*math.Exp2(-float64(age)/float64(halfLife))
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(b.Memory.ID[:], a.Memory.ID[:]))
	})
	hits = hits[:min(limit, len(hits))]
	items := make([]Item, len(hits))
	ids := make([]uuid.UUID, len(hits))
	for i, h := range hits {
		items[i] = fromRow(h.Memory)
		ids[i] = h.Memory.ID
	}
	s.markRecalled(ctx, ids)
	return items, nil
}

func (s *Store) markRecalled(ctx context.Context, ids []uuid.UUID) {
	v, ok := viewer.From(ctx)
	if !ok || len(ids) == 0 {
		return
	}
	if err := s.updateInternals(v.Workspace, agentmemory.IDIn(ids...)).SetRecalledAt(s.timestamp()).Exec(systemContext(ctx)); err != nil {
		s.log.WarnContext(ctx, "recall time not stored", slog.Int("memories", len(ids)), slog.Any("error", err))
	}
}
