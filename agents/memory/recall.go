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
	"github.com/magpie-search/magpie/internal/viewer"
)

// How Recall chooses.
const (
	recalled         = 8    // when no limit is given
	maxRecalled      = 50   // at most
	relevant         = 0.25 // the score below which a memory is not told,
	always           = 0.8  // unless it is as important as this
	weightImportance = 0.2
	weightRecency    = 0.1
	halfLife         = 30 * 24 * time.Hour
)

// Recall is what an agent should know for a text: of everybody's memories and
// the viewer's own those that are near to it, and the important ones in any
// case, at most limit (8 when it is not positive, and never more than 50). The
// best come first; importance and having been used lately count, too. What is
// told is noted as recalled. It must not be called within a transaction.
func (s *Store) Recall(ctx context.Context, agentID uuid.UUID, text string, limit int) ([]Item, error) {
	if limit <= 0 {
		limit = recalled
	}
	limit = min(limit, maxRecalled)
	if err := s.agent(ctx, agentID); err != nil {
		return nil, err
	}
	rows, err := s.reachable(ctx, agentID, "")
	if err != nil || len(rows) == 0 {
		return []Item{}, err
	}
	hits := make([]Hit, len(rows))
	if strings.TrimSpace(text) == "" {
		for i, row := range rows {
			hits[i] = Hit{Memory: row}
		}
	} else {
		hits = s.scored(ctx, rows, shortened(text))
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Score < relevant && h.Memory.Importance < always })
	now := s.now()
	for i, h := range hits {
		used := h.Memory.UpdatedAt
		if at := h.Memory.RecalledAt; at != nil && at.After(used) {
			used = *at
		}
		age := max(now.Sub(used), 0)
		hits[i].Score += weightImportance*h.Memory.Importance + weightRecency*math.Exp2(-float64(age)/float64(halfLife))
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), bytes.Compare(b.Memory.ID[:], a.Memory.ID[:]))
	})
	hits = hits[:min(limit, len(hits))]
	items := make([]Item, len(hits))
	ids := make([]uuid.UUID, len(hits))
	for i, h := range hits {
		items[i] = itemOf(h.Memory)
		ids[i] = h.Memory.ID
	}
	s.noteRecalled(ctx, ids)
	return items, nil
}

func (s *Store) noteRecalled(ctx context.Context, ids []uuid.UUID) {
	v, ok := viewer.From(ctx)
	if !ok || len(ids) == 0 {
		return
	}
	if err := s.note(v.Workspace, agentmemory.IDIn(ids...)).SetRecalledAt(s.stamp()).Exec(ctxOfMagpie(ctx)); err != nil {
		s.log.WarnContext(ctx, "it is not noted that memories were recalled", slog.Int("memories", len(ids)), slog.Any("error", err))
	}
}

// shortened is the beginning of a text that is too long to be a question.
func shortened(text string) string {
	n := 0
	for i := range text {
		if n == maxQuery {
			return text[:i]
		}
		n++
	}
	return text
}
