package syncer

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// threshold returns the largest share of the connector's documents, in percent,
// that a sync deletes without approval.
func (s *slice) threshold() int {
	return connectors.Settings{Config: s.connector.Config}.DeletionThreshold()
}

// share returns a threshold in words.
func share(threshold int) string {
	if threshold == connectors.MaxDeletionThreshold {
		return "half"
	}
	return fmt.Sprintf("%d%%", threshold)
}

// quarantine holds the missing documents until a person decides.
func (s *slice) quarantine(ctx context.Context, absence syncjob.Absence, l syncjob.Losses) error {
	threshold := s.threshold()
	held, dismissed, err := s.run.Quarantine(ctx, absence, l.Existed, threshold)
	if err != nil {
		return err
	}
	problem := "are not at the source any more"
	if l.Excluded > 0 {
		problem = fmt.Sprintf("are not at the source any more or are excluded by the connector's filters (%d)", l.Excluded)
	}
	if dismissed && held > 0 {
		s.run.Warn(fmt.Sprintf("%d of %d documents %s and are kept, because their deletion was dismissed.", l.Missing, l.Existed, problem))
		return nil
	}
	s.log.WarnContext(ctx, "deletion quarantined", slog.Int("missing", l.Missing), slog.Int("existed", l.Existed), slog.Int("threshold", threshold))
	s.run.Warn(fmt.Sprintf("%d of %d documents %s. That is more than %s, so nothing was deleted: "+
		"check the source and the connector's settings, then approve or dismiss the deletion.", l.Missing, l.Existed, problem, share(threshold)))
	return nil
}

// deleteQuarantined deletes the documents in quarantine.
func (s *slice) deleteQuarantined(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err // the slice ends
		}
		gone, err := s.run.NextQuarantined(ctx, deletionBatch)
		if err != nil {
			return err
		}
		if len(gone) == 0 {
			return s.run.EndQuarantine(ctx)
		}
		if err := s.deleteDocuments(ctx, gone); err != nil {
			return err
		}
		s.progress.Store(true)
		if s.pageDone(ctx) {
			return errSliceDone
		}
	}
}

// restoreDeleted restores the documents that another job deleted.
func (s *slice) restoreDeleted(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err // the slice ends
		}
		ids, err := s.run.NextDeleted(ctx, deletionBatch)
		if err != nil || len(ids) == 0 {
			return err
		}
		n, err := s.run.Apply(func() (int, error) {
			return s.engine.index.Restore(ctx, s.run.Scope(), s.fence, ids)
		}, func(c *syncjob.Counters, n int) {
			c.Collected += n
			c.Outcome(syncitem.StatusIndexed, true, n)
		})
		switch {
		case err != nil:
			return fmt.Errorf("restore documents: %w", err)
		case n == 0:
			return fmt.Errorf("restore documents: none of %d came back", len(ids))
		}
		s.progress.Store(true)
		if s.pageDone(ctx) {
			return errSliceDone
		}
	}
}

// withoutRestored leaves out documents that were restored by hand. They stay until
// the source has listed their items again.
func (s *slice) withoutRestored(ctx context.Context, gone []syncjob.MissingDocument) ([]syncjob.MissingDocument, error) {
	if len(gone) == 0 {
		return gone, nil
	}
	ids := make([]uuid.UUID, len(gone))
	for i, g := range gone {
		ids[i] = g.Document
	}
	rows, err := s.engine.client.SyncItem.Query().
		Where(syncitem.ConnectorID(s.connector.ID), syncitem.DocumentIDIn(ids...), syncitem.HoldEQ(syncitem.HoldRestored)).
		Select(syncitem.FieldDocumentID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("find restored documents: %w", err)
	}
	if len(rows) == 0 {
		return gone, nil
	}
	restored := make(map[uuid.UUID]bool, len(rows))
	for _, row := range rows {
		restored[*row.DocumentID] = true
	}
	var kept, others []syncjob.MissingDocument
	for _, g := range gone {
		if restored[g.Document] {
			kept = append(kept, g)
		} else {
			others = append(others, g)
		}
	}
	if s.isPlan {
		return others, s.planRestored(ctx, kept)
	}
	return others, nil
}
