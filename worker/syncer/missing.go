package syncer

import (
	"context"
	"fmt"
	"slices"

	"github.com/magpie-search/magpie/connectors"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/syncjob"
)

const deletionBatch = 500

// maxIncomplete is the number of containers that a job keeps as incomplete. Of a
// walk with more, nothing is deleted.
const maxIncomplete = 1000

// wholeSource is the container that stands for the whole source.
const wholeSource = ""

// noteIncomplete keeps containers that the source cannot list completely.
func (s *slice) noteIncomplete(ctx context.Context, containers []string) error {
	all := slices.Clone(s.job.Incomplete)
	for _, container := range containers {
		if container = sanitizePath(container); !slices.Contains(all, container) {
			all = append(all, container)
		}
	}
	if len(all) == len(s.job.Incomplete) {
		return nil
	}
	if len(all) > maxIncomplete {
		all = []string{wholeSource}
	}
	s.job.Incomplete = all
	return s.run.SaveIncomplete(ctx, all)
}

// warnOfIncomplete names the containers of which nothing is deleted.
func (s *slice) warnOfIncomplete() {
	const named = 5
	list := s.job.Incomplete
	switch {
	case len(list) == 0:
	case slices.Contains(list, wholeSource):
		s.run.Warn("The source could not be listed completely, so documents that are missing from it were kept.")
	default:
		text := ""
		for i, container := range list[:min(len(list), named)] {
			if i > 0 {
				text += ", "
			}
			text += fmt.Sprintf("%q", container)
		}
		if more := len(list) - named; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		s.run.Warn(s.redact("Parts of the source could not be listed completely, so documents that are missing from them were kept: " + text + "."))
	}
}

// deleteMissing deletes the documents whose items are gone, which a complete walk did
// not list or a feed reported, or which the settings exclude now. If they are more than the threshold
// of the connector allows, it puts them into quarantine instead.
func (s *slice) deleteMissing(ctx context.Context) error {
	if s.job.Mode == entjob.ModeIncremental {
		return nil
	}
	s.warnOfIncomplete()
	walks := !s.job.Feed && s.kind.Enumerates && !slices.Contains(s.job.Incomplete, wholeSource)
	absence := syncjob.Absence{Told: !walks, Incomplete: s.job.Incomplete}
	resolver, resolves := s.source.(connectors.Resolver)
	confirms := walks && s.kind.ConfirmDeletions
	switch {
	case confirms && !resolves:
		return &stopError{message: fmt.Sprintf("Connectors of the type %q cannot confirm deletions.", s.kind.Name)}
	case s.isPlan && confirms:
		return s.planConfirmed(ctx, absence, resolver)
	case s.isPlan && !walks:
		return s.planTold(ctx, absence)
	case s.isPlan:
		return s.planMissing(ctx, absence)
	case confirms:
		if err := s.confirmMissing(ctx, absence, resolver); err != nil {
			return err
		}
		absence.Told = true
	}
	losses, err := s.run.Missing(ctx, absence)
	if err != nil {
		return err
	}
	if syncjob.Exceeds(losses.Missing, losses.Existed, s.threshold()) {
		return s.quarantine(ctx, absence, losses)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err // the slice ends
		}
		var gone []syncjob.MissingDocument
		if losses.Missing+losses.Failed > 0 {
			if gone, err = s.run.NextMissing(ctx, absence, deletionBatch); err != nil {
				return err
			}
		}
		if len(gone) == 0 {
			break
		}
		if err := s.deleteDocuments(ctx, gone); err != nil {
			return err
		}
	}
	if !walks || len(s.job.Incomplete) > 0 {
		return nil // an older quarantine may be about other documents
	}
	return s.run.EndQuarantine(ctx)
}

// confirmBatch is the number of items that are looked up at a time.
const confirmBatch = 100

// confirmMissing asks the source for the items that the walk did not list. It syncs
// those that are there, and marks the others as gone.
func (s *slice) confirmMissing(ctx context.Context, absence syncjob.Absence, resolver connectors.Resolver) error {
	for after := ""; ; {
		rows, err := s.run.NextUnconfirmed(ctx, absence, after, confirmBatch)
		if err != nil || len(rows) == 0 {
			return err
		}
		after = rows[len(rows)-1].SourceID
		missing, err := s.lookUp(ctx, resolver, itemIDs(rows))
		if err != nil {
			return err
		}
		if err := s.run.MarkGone(ctx, missing); err != nil {
			return err
		}
		if s.timeUp(ctx) {
			return errSliceDone
		}
	}
}

// itemIDs returns the ids of the items of documents. Files of an archive belong to
// its item; they are left out if its id is too long to be known from theirs.
func itemIDs(rows []syncjob.MissingDocument) []string {
	ids := make([]string, 0, len(rows))
	for _, row := range rows {
		archive, inside := entryid.Archive(row.SourceID)
		switch {
		case !inside:
			ids = append(ids, row.SourceID)
		case !entryid.IsShortened(archive):
			ids = append(ids, archive)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// lookUp syncs the items with some ids and returns those that are not at the source.
func (s *slice) lookUp(ctx context.Context, resolver connectors.Resolver, ids []string) (missing []string, err error) {
	found, missing, err := resolver.Resolve(ctx, ids)
	if err != nil {
		return nil, classify(err)
	}
	s.run.AddEffort(func(e *syncjob.Effort) { e.Pages++ })
	for part := range slices.Chunk(found, connectors.MaxPageItems) {
		if err := s.processPage(ctx, part); err != nil {
			return nil, err
		}
	}
	return missing, nil
}
