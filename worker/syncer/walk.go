package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/ent/planitem"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/ingest/entryid"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/tracing"
)

// walkPages walks the source. It covers only the items that keep accepts, unless
// keep is nil.
func (s *slice) walkPages(ctx context.Context, keep func(connectors.Item) bool) error {
	return s.eachPage(ctx, func(items []connectors.Item) error {
		if keep != nil {
			items = slices.DeleteFunc(slices.Clone(items), func(i connectors.Item) bool { return !keep(i) })
		}
		for part := range slices.Chunk(items, connectors.MaxPageItems) {
			if err := s.processPage(ctx, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPage calls do with the items of each page of the source, from the cursor of
// the job on, and saves the cursor after each page. It returns nil when the walk is
// complete.
func (s *slice) eachPage(ctx context.Context, do func(items []connectors.Item) error) error {
	for cursor := s.job.Cursor; ; {
		walking, span := tracing.Start(ctx, "sync walk")
		page, err := s.source.Walk(walking, cursor)
		span.End(err)
		if err != nil {
			return classify(err)
		}
		s.run.AddEffort(func(e *syncjob.Effort) { e.Pages++ })
		for _, warning := range page.Warnings {
			s.run.Warn(s.redact(warning))
		}
		s.run.Announce(page.Total)
		if err := s.noteIncomplete(ctx, page.Incomplete); err != nil {
			return err
		}
		s.noInterrupt = page.NoInterrupt
		err = do(page.Items)
		s.noInterrupt = false
		if err != nil {
			return err
		}
		if page.Done {
			return s.recordProgress(s.run.SavePage(ctx, cursor, true))
		}
		if page.Next == cursor {
			return &stopError{message: "The source goes round in circles: a page names itself as the next one."}
		}
		cursor = page.Next
		if err := s.recordProgress(s.run.SavePage(ctx, cursor, false)); err != nil {
			return err
		}
		if s.pageDone(ctx) {
			return errSliceDone
		}
		if err := wait(ctx, min(page.Pause, maxSourceDelay)); err != nil {
			return err
		}
	}
}

// wait waits for the pause that a source asks for.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// recordProgress notes progress unless err is set, and returns err.
func (s *slice) recordProgress(err error) error {
	if err == nil {
		s.progress.Store(true)
	}
	return err
}

// resolve syncs the paths of the file filter in batches. The cursor is their
// number so far.
func (s *slice) resolve(ctx context.Context, resolver connectors.Resolver) error {
	paths := s.job.FileFilter
	at, _ := strconv.Atoi(s.job.Cursor) // "" is the start
	for at < len(paths) {
		part := paths[at:min(at+connectors.MaxPageItems, len(paths))]
		if err := s.syncNamed(ctx, resolver, part); err != nil {
			return err
		}
		at += len(part)
		if err := s.recordProgress(s.run.SavePage(ctx, strconv.Itoa(at), at == len(paths))); err != nil {
			return err
		}
		if at < len(paths) && s.pageDone(ctx) {
			return errSliceDone
		}
	}
	return nil
}

// syncNamed syncs the items with some names and deletes the documents of those that
// are not at the source.
func (s *slice) syncNamed(ctx context.Context, resolver connectors.Resolver, names []string) error {
	found, missing, err := resolver.Resolve(ctx, names)
	if err != nil {
		return classify(err)
	}
	s.run.AddEffort(func(e *syncjob.Effort) { e.Pages++ })
	for part := range slices.Chunk(found, connectors.MaxPageItems) {
		if err := s.processPage(ctx, part); err != nil {
			return err
		}
	}
	return s.deleteAbsent(ctx, missing)
}

// deleteUnseen deletes the documents of the paths that a walk did not see. A source
// that resolves paths needs no such walk.
func (s *slice) deleteUnseen(ctx context.Context) error {
	if _, ok := s.source.(connectors.Resolver); ok {
		return nil
	}
	for part := range slices.Chunk(s.job.FileFilter, connectors.MaxPageItems) {
		seen, err := s.seenNames(ctx, part)
		if err != nil {
			return err
		}
		missing := slices.DeleteFunc(slices.Clone(part), func(path string) bool { return seen[path] })
		if s.kind.Enumerates {
			if err := s.deleteAbsent(ctx, missing); err != nil {
				return err
			}
			continue
		}
		for _, path := range missing {
			s.run.Warn(fmt.Sprintf("%q was not met at the source.", path))
		}
	}
	return nil
}

// seenNames returns the paths and ids of the items with some names that have an
// outcome of this job in the ledger.
func (s *slice) seenNames(ctx context.Context, names []string) (map[string]bool, error) {
	if s.isPlan {
		return s.plannedNames(ctx, names)
	}
	found, err := s.engine.client.SyncItem.Query().
		Where(syncitem.JobID(s.job.ID), syncitem.ConnectorID(s.connector.ID), syncitem.Or(syncitem.PathIn(names...), syncitem.SourceIDIn(names...))).
		Select(syncitem.FieldPath, syncitem.FieldSourceID).All(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the job's items: %w", err)
	}
	seen := make(map[string]bool, 2*len(found))
	for _, item := range found {
		seen[item.Path], seen[item.SourceID] = true, true
	}
	return seen, nil
}

// deleteAbsent deletes the documents of paths that the source does not have.
func (s *slice) deleteAbsent(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimLeft(path, "/")
	}
	conditions := []predicate.Document{document.PathIn(names...), document.SourceIDIn(paths...)}
	for _, name := range names {
		if s.engine.parser.NamesArchive(name) {
			conditions = append(conditions, document.And(document.PathHasPrefix(name+"/"), entryid.InAnyArchive))
		}
	}
	rows, err := s.engine.client.Document.Query().
		Where(document.ConnectorID(s.connector.ID), document.Or(conditions...), document.StatusNEQ(document.StatusDeleted)).
		Select(document.FieldID, document.FieldSourceID, document.FieldPath, document.FieldIndexedAt).All(ctx)
	if err != nil {
		return fmt.Errorf("find the documents of missing paths: %w", err)
	}
	gone := make([]syncjob.MissingDocument, len(rows))
	for i, row := range rows {
		gone[i] = syncjob.MissingDocument{Document: row.ID, SourceID: row.SourceID, Path: row.Path, Failed: row.IndexedAt == nil}
	}
	// The ledger has what an earlier attempt deleted.
	known, err := s.seenNames(ctx, names)
	if err != nil {
		return err
	}
	for _, g := range gone {
		known[g.Path], known[g.SourceID] = true, true
	}
	if gone, err = s.withoutRestored(ctx, gone); err != nil {
		return err
	}
	if err := s.deleteDocuments(ctx, gone); err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			s.run.Warn(fmt.Sprintf("%q is not at the source, and there is no document of it.", name))
		}
	}
	return nil
}

// deleteDocuments soft-deletes documents with their ledger entries and counts them.
// Documents that were never indexed are removed.
func (s *slice) deleteDocuments(ctx context.Context, gone []syncjob.MissingDocument) error {
	if s.isPlan {
		return s.planMissingDocuments(ctx, gone, planitem.ActionDelete, "")
	}
	var ids, failed []uuid.UUID
	for _, g := range gone {
		if g.Failed {
			failed = append(failed, g.Document)
		} else {
			ids = append(ids, g.Document)
		}
	}
	if err := s.forgetFailed(ctx, failed...); err != nil || len(ids) == 0 {
		return err
	}
	n, err := s.run.Apply(func() (int, error) {
		return s.engine.index.SoftDelete(ctx, s.run.Scope(), s.fence, ids)
	}, func(c *syncjob.Counters, n int) { c.Deleted += n })
	if err != nil {
		return fmt.Errorf("delete documents whose items are gone: %w", err)
	}
	if n == 0 {
		return errors.New("no document whose item is gone was deleted")
	}
	return nil
}
