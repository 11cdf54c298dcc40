package syncer

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// planGone records the deletion of documents whose items the source says to be
// gone. A later item of the same id replaces it.
func (s *slice) planGone(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	rows, err := s.engine.client.Document.Query().
		Where(document.ConnectorID(s.connector.ID), document.StatusNEQ(document.StatusDeleted),
			document.Or(document.SourceIDIn(ids...), entryid.InArchives(ids...))).
		Select(document.FieldID, document.FieldSourceID, document.FieldPath, document.FieldIndexedAt).All(ctx)
	if err != nil {
		return fmt.Errorf("find the documents of items that are gone: %w", err)
	}
	gone := make([]syncjob.MissingDocument, len(rows))
	for i, row := range rows {
		gone[i] = syncjob.MissingDocument{Document: row.ID, SourceID: row.SourceID, Path: row.Path, Failed: row.IndexedAt == nil}
	}
	if gone, err = s.withoutRestored(ctx, gone); err != nil {
		return err
	}
	return s.planMissingDocuments(ctx, gone, planitem.ActionDelete, "")
}

// planTold checks the deletions that the plan has, which the source reported or
// confirmed.
func (s *slice) planTold(ctx context.Context, absence syncjob.Absence) error {
	missing, err := s.run.PlanDeletions(ctx)
	if err != nil {
		return err
	}
	existing, _, _, err := s.run.PlanMissing(ctx, absence)
	if err != nil {
		return err
	}
	guard := syncjob.Guard{Missing: missing, Existing: existing, Threshold: s.threshold()}
	guard.Blocked = syncjob.Exceeds(missing, existing, guard.Threshold)
	if err := s.run.SetPlanGuard(ctx, guard); err != nil || !guard.Blocked {
		return err
	}
	s.warnOfBlock(guard)
	return s.run.QuarantinePlan(ctx, guardPlan)
}

func (s *slice) warnOfBlock(guard syncjob.Guard) {
	s.run.Warn(fmt.Sprintf("%d of %d documents are not at the source any more. That is more than %s, so a sync would delete nothing.",
		guard.Missing, guard.Existing, share(guard.Threshold)))
}

// planConfirmed asks the source for the items that the walk did not list. What is
// there is planned like a listed item, the rest is deleted.
func (s *slice) planConfirmed(ctx context.Context, absence syncjob.Absence, resolver connectors.Resolver) error {
	for {
		rows, _, err := s.run.NextPlanMissing(ctx, absence, confirmBatch)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return s.planTold(ctx, absence)
		}
		if err := s.planMissingDocuments(ctx, rows, planitem.ActionKeep, unsurePlan); err != nil {
			return err
		}
		missing, err := s.lookUp(ctx, resolver, itemIDs(rows))
		if err != nil {
			return err
		}
		if err := s.planGone(ctx, missing); err != nil {
			return err
		}
	}
}
