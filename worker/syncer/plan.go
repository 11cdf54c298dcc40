package syncer

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/syncitem"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/ingest"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// A plan walks and decides like a sync and records what the sync would do. It
// fetches nothing: where the action depends on the content, the action is compare.

// The reasons of planned actions.
const (
	archivePlan  = "an archive: its files are known only when it is read"
	memberPlan   = "in an archive that is read again"
	pipelinePlan = "was made by another version of Magpie"
	comparePlan  = "the source does not tell whether it changed: its content is compared"
	failedPlan   = "its last version could not be indexed and is tried again"
	guardPlan    = "more documents are missing than one sync may delete"
	keptPlan     = "its deletion was dismissed"
	restoredPlan = "was restored by hand and stays until the source has it again"
	unsurePlan   = "the source does not tell whether it still exists"
)

// jobOf returns the job of a run. For a plan, it is the planned sync.
func jobOf(run *syncjob.Run) *ent.SyncJob {
	job := run.Job()
	if job.Mode != entjob.ModePlan {
		return job
	}
	planned := *job
	if planned.Mode = entjob.ModeAuto; job.PlannedMode != nil {
		planned.Mode = entjob.Mode(*job.PlannedMode)
	}
	return &planned
}

// planItems records what a sync would do with items.
func (s *slice) planItems(ctx context.Context, items []connectors.Item) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	known, err := s.run.LookUp(ctx, ids)
	if err != nil {
		return err
	}
	now := s.engine.opt.Now()
	plan := make([]syncjob.PlanItem, 0, len(items))
	var unchanged, changed []string // archives
	for _, item := range items {
		k := known[item.ID]
		entry, fetch := s.decide(item, k, now)
		planned := syncjob.PlanItem{
			SourceID: item.ID, Path: item.Path, Document: k.Document, Reason: entry.Reason, Size: item.Size, Version: item.Version,
		}
		switch {
		case entry.Excluded:
			planned.Action = planitem.ActionDelete
		case !fetch:
			planned.Action = plannedAction(entry.Status)
			if k.Listed && (k.Document == uuid.Nil || k.Failed()) {
				unchanged = append(unchanged, item.ID)
			}
		case k.Reason == archiveReason || s.engine.parser.NamesArchive(item.Path):
			same, err := s.isArchiveUnchanged(ctx, item, k)
			switch {
			case err != nil:
				return err
			case same:
				planned.Action, planned.Reason = planitem.ActionSkip, archiveReason
				unchanged = append(unchanged, item.ID)
			default:
				planned.Action, planned.Reason = planitem.ActionCompare, archivePlan
				changed = append(changed, item.ID)
			}
		default:
			planned.Action, planned.Reason = s.planFetch(item, k)
		}
		plan = append(plan, planned)
	}
	if err := s.run.RecordPlan(ctx, plan); err != nil {
		return err
	}
	s.progress.Store(true)
	if err := s.planMembers(ctx, unchanged, false); err != nil {
		return err
	}
	return s.planMembers(ctx, changed, true)
}

// plannedAction returns the action for an outcome that needs no content.
func plannedAction(status syncitem.Status) planitem.Action {
	switch status {
	case syncitem.StatusUnchanged, syncitem.StatusIndexed:
		return planitem.ActionUnchanged
	case syncitem.StatusFailed:
		return planitem.ActionFail
	default:
		return planitem.ActionSkip
	}
}

// planFetch returns the action for an item that a sync would fetch.
func (s *slice) planFetch(item connectors.Item, k syncjob.ItemState) (action planitem.Action, reason string) {
	full := s.job.Mode == entjob.ModeFull
	hash := ingest.Hash(item.Content)
	switch {
	case !k.Live():
		return planitem.ActionAdd, ""
	case full:
		return planitem.ActionModify, ""
	case item.Content != nil && bytes.Equal(k.Hash, hash[:]):
		return planitem.ActionUnchanged, ""
	case item.Content != nil:
		return planitem.ActionModify, ""
	case item.Version != "" && k.DocumentVersion != item.Version:
		return planitem.ActionModify, ""
	case k.PipelineVersion != ingest.Version:
		return planitem.ActionModify, pipelinePlan
	case item.Version != "":
		return planitem.ActionCompare, failedPlan
	default:
		return planitem.ActionCompare, comparePlan
	}
}

// planMembers records the members of archives. For changed archives the action is
// compare.
func (s *slice) planMembers(ctx context.Context, archives []string, changed bool) error {
	members, err := s.run.PlanArchiveEntries(ctx, archives)
	if err != nil {
		return err
	}
	plan := make([]syncjob.PlanItem, len(members))
	for i, m := range members {
		plan[i] = syncjob.PlanItem{SourceID: m.SourceID, Path: m.Path, Document: m.Document, Action: plannedAction(m.Status), Reason: m.Reason}
		if changed {
			plan[i].Action, plan[i].Reason = planitem.ActionCompare, memberPlan
		}
	}
	for part := range slices.Chunk(plan, deletionBatch) {
		if err := s.run.RecordPlan(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// planMissing records the documents whose items a complete walk did not list, and
// the check of their deletion.
func (s *slice) planMissing(ctx context.Context, absence syncjob.Absence) error {
	existing, missing, dismissed, err := s.run.PlanMissing(ctx, absence)
	if err != nil {
		return err
	}
	guard := syncjob.Guard{Missing: missing, Existing: existing, Threshold: s.threshold()}
	guard.Blocked = syncjob.Exceeds(missing, existing, guard.Threshold)
	if err := s.run.SetPlanGuard(ctx, guard); err != nil {
		return err
	}
	action, reason := planitem.ActionDelete, ""
	switch {
	case guard.Blocked && dismissed == missing:
		action, reason = planitem.ActionKeep, keptPlan
	case guard.Blocked:
		action, reason = planitem.ActionQuarantine, guardPlan
		s.warnOfBlock(guard)
		if err := s.run.QuarantinePlan(ctx, guardPlan); err != nil { // what the filters exclude
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err // the slice ends
		}
		gone, restored, err := s.run.NextPlanMissing(ctx, absence, deletionBatch)
		if err != nil || len(gone) == 0 {
			return err
		}
		var restoredDocs []syncjob.MissingDocument
		gone = slices.DeleteFunc(gone, func(g syncjob.MissingDocument) bool {
			if restored[g.Document] {
				restoredDocs = append(restoredDocs, g)
			}
			return restored[g.Document]
		})
		if err := s.planRestored(ctx, restoredDocs); err != nil {
			return err
		}
		if err := s.planMissingDocuments(ctx, gone, action, reason); err != nil {
			return err
		}
	}
}

// planRestored records restored documents, which a sync keeps.
func (s *slice) planRestored(ctx context.Context, docs []syncjob.MissingDocument) error {
	return s.planMissingDocuments(ctx, docs, planitem.ActionKeep, restoredPlan)
}

// planMissingDocuments records the action for documents whose items are missing,
// except documents that were never indexed.
func (s *slice) planMissingDocuments(ctx context.Context, gone []syncjob.MissingDocument, action planitem.Action, reason string) error {
	var plan []syncjob.PlanItem
	for _, g := range gone {
		if !g.Failed {
			plan = append(plan, syncjob.PlanItem{SourceID: g.SourceID, Path: g.Path, Document: g.Document, Action: action, Reason: reason})
		}
	}
	return s.run.RecordPlan(ctx, plan)
}

// plannedNames returns the paths and ids of the items with some names that the plan
// has.
func (s *slice) plannedNames(ctx context.Context, names []string) (map[string]bool, error) {
	found, err := s.engine.client.PlanItem.Query().
		Where(planitem.JobID(s.job.ID), planitem.Or(planitem.PathIn(names...), planitem.SourceIDIn(names...))).
		Select(planitem.FieldPath, planitem.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the items of a plan: %w", err)
	}
	seen := make(map[string]bool, 2*len(found))
	for _, item := range found {
		seen[item.Path], seen[item.SourceID] = true, true
	}
	return seen, nil
}
