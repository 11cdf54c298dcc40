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

// A plan goes the way of a sync, decides as it does, and writes down what it
// would do. Nothing is fetched: where only the content can tell, it says so.

const (
	archivePlan  = "an archive: its files are known only when it is read"
	memberPlan   = "in an archive that is read anew"
	pipelinePlan = "was made by another version of Magpie"
	comparePlan  = "the source does not tell whether it changed: its content is compared"
	failedPlan   = "its last version could not be indexed and is tried again"
	guardPlan    = "more documents are missing than one sync may delete"
	keptPlan     = "its deletion was dismissed"
	restoredPlan = "was restored by hand and stays until the source has it again"
)

// jobOf is the job that a slice works on: for a plan the sync that it foresees.
func jobOf(run *syncjob.Run) *ent.SyncJob {
	job := run.Job()
	if job.Mode != entjob.ModePlan {
		return job
	}
	foreseen := *job
	if foreseen.Mode = entjob.ModeAuto; job.PlannedMode != nil {
		foreseen.Mode = entjob.Mode(*job.PlannedMode)
	}
	return &foreseen
}

// planItems writes down what would become of items.
func (s *slice) planItems(ctx context.Context, items []connectors.Item) error {
	if len(items) == 0 {
		return nil
	}
	ids := make([]string, len(items))
	for i := range items {
		ids[i] = items[i].ID
	}
	known, err := s.run.Look(ctx, ids)
	if err != nil {
		return err
	}
	now := s.engine.opt.Now()
	lines := make([]syncjob.Planned, 0, len(items))
	var kept, read []string // archives whose members stay as they are, or are looked at anew
	for _, item := range items {
		k := known[item.ID]
		entry, fetch := s.decide(item, k, now)
		line := syncjob.Planned{
			SourceID: item.ID, Path: item.Path, Document: k.Document, Reason: entry.Reason, Size: item.Size, Version: item.Version,
		}
		switch {
		case !fetch:
			line.Action = foreseen(entry.Status)
			if k.Listed && (k.Document == uuid.Nil || k.Failed()) {
				kept = append(kept, item.ID)
			}
		case k.Reason == archiveReason || s.engine.parser.NamesArchive(item.Path):
			stays, err := s.archiveStays(ctx, item, k)
			switch {
			case err != nil:
				return err
			case stays:
				line.Action, line.Reason = planitem.ActionSkip, archiveReason
				kept = append(kept, item.ID)
			default:
				line.Action, line.Reason = planitem.ActionCompare, archivePlan
				read = append(read, item.ID)
			}
		default:
			line.Action, line.Reason = s.foresee(item, k)
		}
		lines = append(lines, line)
	}
	if err := s.run.RecordPlan(ctx, lines); err != nil {
		return err
	}
	s.progress.Store(true)
	if err := s.planMembers(ctx, kept, false); err != nil {
		return err
	}
	return s.planMembers(ctx, read, true)
}

// foreseen is the action for an outcome that needs no content.
func foreseen(status syncitem.Status) planitem.Action {
	switch status {
	case syncitem.StatusUnchanged, syncitem.StatusIndexed:
		return planitem.ActionUnchanged
	case syncitem.StatusFailed:
		return planitem.ActionFail
	default:
		return planitem.ActionSkip
	}
}

// foresee says what becomes of an item that has to be fetched.
func (s *slice) foresee(item connectors.Item, k syncjob.Known) (action planitem.Action, reason string) {
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

// planMembers writes down what becomes of the members of archives: nothing, or
// what only the archive can tell.
func (s *slice) planMembers(ctx context.Context, archives []string, read bool) error {
	members, err := s.run.PlanMembers(ctx, archives)
	if err != nil {
		return err
	}
	lines := make([]syncjob.Planned, len(members))
	for i, m := range members {
		lines[i] = syncjob.Planned{SourceID: m.SourceID, Path: m.Path, Document: m.Document, Action: foreseen(m.Status), Reason: m.Reason}
		if read {
			lines[i].Action, lines[i].Reason = planitem.ActionCompare, memberPlan
		}
	}
	for part := range slices.Chunk(lines, deletionBatch) {
		if err := s.run.RecordPlan(ctx, part); err != nil {
			return err
		}
	}
	return nil
}

// planMissing writes down what becomes of the documents whose items a complete
// walk did not meet, and what the guard says.
func (s *slice) planMissing(ctx context.Context) error {
	existing, missing, dismissed, err := s.run.PlanMissing(ctx)
	if err != nil {
		return err
	}
	guard := syncjob.Guard{Missing: missing, Existing: existing, Threshold: s.threshold()}
	guard.Blocked = syncjob.Exceeds(missing, existing, guard.Threshold)
	if err := s.run.PlanGuard(ctx, guard); err != nil {
		return err
	}
	action, reason := planitem.ActionDelete, ""
	switch {
	case guard.Blocked && dismissed == missing:
		action, reason = planitem.ActionKeep, keptPlan
	case guard.Blocked:
		action, reason = planitem.ActionQuarantine, guardPlan
		s.run.Warn(fmt.Sprintf("%d of %d documents are not at the source any more. That is more than %s, so a sync would delete nothing.",
			missing, existing, share(guard.Threshold)))
	}
	for {
		if err := ctx.Err(); err != nil {
			return err // the end of the slice
		}
		gone, restored, err := s.run.NextPlanMissing(ctx, deletionBatch)
		if err != nil || len(gone) == 0 {
			return err
		}
		var stay []syncjob.Gone
		gone = slices.DeleteFunc(gone, func(g syncjob.Gone) bool {
			if restored[g.Document] {
				stay = append(stay, g)
			}
			return restored[g.Document]
		})
		if err := s.planRestored(ctx, stay); err != nil {
			return err
		}
		if err := s.planGone(ctx, gone, action, reason); err != nil {
			return err
		}
	}
}

func (s *slice) planRestored(ctx context.Context, stay []syncjob.Gone) error {
	return s.planGone(ctx, stay, planitem.ActionKeep, restoredPlan)
}

// planGone writes down what becomes of documents whose items are gone. Those
// that were never indexed are no loss, and in no plan.
func (s *slice) planGone(ctx context.Context, gone []syncjob.Gone, action planitem.Action, reason string) error {
	var lines []syncjob.Planned
	for _, g := range gone {
		if !g.Failed {
			lines = append(lines, syncjob.Planned{SourceID: g.SourceID, Path: g.Path, Document: g.Document, Action: action, Reason: reason})
		}
	}
	return s.run.RecordPlan(ctx, lines)
}

// plannedNames are the paths and ids of the items that the plan has lines for,
// out of those that the names ask for.
func (s *slice) plannedNames(ctx context.Context, names []string) (map[string]bool, error) {
	found, err := s.engine.client.PlanItem.Query().
		Where(planitem.JobID(s.job.ID), planitem.Or(planitem.PathIn(names...), planitem.SourceIDIn(names...))).
		Select(planitem.FieldPath, planitem.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the lines of a plan: %w", err)
	}
	seen := make(map[string]bool, 2*len(found))
	for _, item := range found {
		seen[item.Path], seen[item.SourceID] = true, true
	}
	return seen, nil
}
