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
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/ingest/member"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// walkPages goes through the source. With keep only the items that it accepts
// are looked at.
func (s *slice) walkPages(ctx context.Context, keep func(connectors.Item) bool) error {
	return s.eachPage(ctx, func(items []connectors.Item) error {
		if keep != nil {
			items = slices.DeleteFunc(slices.Clone(items), func(i connectors.Item) bool { return !keep(i) })
		}
		for part := range slices.Chunk(items, connectors.MaxPageItems) {
			if err := s.page(ctx, part); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachPage does something with the items of each page of the source, from the
// job's cursor on, and saves how far it is. Nil means that the walk is complete.
func (s *slice) eachPage(ctx context.Context, do func(items []connectors.Item) error) error {
	for cursor := s.job.Cursor; ; {
		page, err := s.source.Walk(ctx, cursor)
		if err != nil {
			return classify(err)
		}
		s.run.Spend(func(e *syncjob.Effort) { e.Pages++ })
		for _, warning := range page.Warnings {
			s.run.Warn(s.shown(warning))
		}
		s.whole = page.NoInterrupt
		err = do(page.Items)
		s.whole = false
		if err != nil {
			return err
		}
		if page.Done {
			return s.saved(s.run.SavePage(ctx, cursor, true))
		}
		if page.Next == cursor {
			return &stopError{message: "The source goes round in circles: a page names itself as the next one."}
		}
		cursor = page.Next
		if err := s.saved(s.run.SavePage(ctx, cursor, false)); err != nil {
			return err
		}
		if s.over(ctx) {
			return errSliceOver
		}
		if err := pause(ctx, min(page.Pause, maxSourceDelay)); err != nil {
			return err
		}
	}
}

// pause leaves a source alone for as long as it asks, within the slice.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	wait := time.NewTimer(d)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *slice) saved(err error) error {
	if err == nil {
		s.progress.Store(true)
	}
	return err
}

// resolve looks the named paths up at the source, some at a time. The cursor
// counts them.
func (s *slice) resolve(ctx context.Context, resolver connectors.Resolver) error {
	paths := s.job.FileFilter
	at, _ := strconv.Atoi(s.job.Cursor) // "" is the start
	for at < len(paths) {
		part := paths[at:min(at+connectors.MaxPageItems, len(paths))]
		if err := s.lookUp(ctx, resolver, part); err != nil {
			return err
		}
		at += len(part)
		if err := s.saved(s.run.SavePage(ctx, strconv.Itoa(at), at == len(paths))); err != nil {
			return err
		}
		if at < len(paths) && s.over(ctx) {
			return errSliceOver
		}
	}
	return nil
}

// lookUp brings the items with these names to their outcomes, and those that are
// not at the source to their end.
func (s *slice) lookUp(ctx context.Context, resolver connectors.Resolver, names []string) error {
	found, missing, err := resolver.Resolve(ctx, names)
	if err != nil {
		return classify(err)
	}
	s.run.Spend(func(e *syncjob.Effort) { e.Pages++ })
	for some := range slices.Chunk(found, connectors.MaxPageItems) {
		if err := s.page(ctx, some); err != nil {
			return err
		}
	}
	return s.absent(ctx, missing)
}

// deleteUnmet looks after the named paths that a walk, for a source that cannot
// look paths up, did not meet.
func (s *slice) deleteUnmet(ctx context.Context) error {
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
			if err := s.absent(ctx, missing); err != nil {
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

// seenNames are the paths and ids of the items that the ledger has an outcome of
// this job for, out of those that the names ask for.
func (s *slice) seenNames(ctx context.Context, names []string) (map[string]bool, error) {
	if s.planning {
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

// absent deletes the documents of named paths that the source does not have.
func (s *slice) absent(ctx context.Context, paths []string) error {
	if len(paths) == 0 {
		return nil
	}
	names := make([]string, len(paths))
	for i, path := range paths {
		names[i] = strings.TrimLeft(path, "/")
	}
	named := []predicate.Document{document.PathIn(names...), document.SourceIDIn(paths...)}
	for _, name := range names {
		if s.engine.parser.NamesArchive(name) {
			named = append(named, document.And(document.PathHasPrefix(name+"/"), member.Is))
		}
	}
	rows, err := s.engine.client.Document.Query().
		Where(document.ConnectorID(s.connector.ID), document.Or(named...), document.StatusNEQ(document.StatusDeleted)).
		Select(document.FieldID, document.FieldSourceID, document.FieldPath, document.FieldIndexedAt).All(ctx)
	if err != nil {
		return fmt.Errorf("look for the documents of missing paths: %w", err)
	}
	gone := make([]syncjob.Gone, len(rows))
	for i, row := range rows {
		gone[i] = syncjob.Gone{Document: row.ID, SourceID: row.SourceID, Path: row.Path, Failed: row.IndexedAt == nil}
	}
	// What an attempt before this one deleted is in the ledger.
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
	if err := s.remove(ctx, gone); err != nil {
		return err
	}
	for _, name := range names {
		if !known[name] {
			s.run.Warn(fmt.Sprintf("%q is not at the source, and there is no document of it.", name))
		}
	}
	return nil
}

const deletionBatch = 500

// deleteMissing deletes the documents whose items a complete walk did not meet,
// unless that would be more than the connector's threshold allows: then they go
// into quarantine.
func (s *slice) deleteMissing(ctx context.Context) error {
	if !s.kind.Enumerates || s.job.Mode == entjob.ModeIncremental {
		return nil
	}
	if s.planning {
		return s.planMissing(ctx)
	}
	existed, missing, failed, err := s.run.Missing(ctx)
	if err != nil {
		return err
	}
	threshold := s.threshold()
	if syncjob.Exceeds(missing, existed, threshold) {
		return s.quarantine(ctx, missing, existed, threshold)
	}
	for {
		if err := ctx.Err(); err != nil {
			return err // the end of the slice
		}
		var gone []syncjob.Gone
		if missing+failed > 0 {
			if gone, err = s.run.NextMissing(ctx, deletionBatch); err != nil {
				return err
			}
		}
		if len(gone) == 0 {
			return s.run.Lift(ctx)
		}
		if err := s.remove(ctx, gone); err != nil {
			return err
		}
	}
}

// remove deletes documents softly, together with what the ledger says of them
// and the job's counter. Those that were never indexed are forgotten.
func (s *slice) remove(ctx context.Context, gone []syncjob.Gone) error {
	if s.planning {
		return s.planGone(ctx, gone, planitem.ActionDelete, "")
	}
	var ids, never []uuid.UUID
	for _, g := range gone {
		if g.Failed {
			never = append(never, g.Document)
		} else {
			ids = append(ids, g.Document)
		}
	}
	if err := s.forget(ctx, never...); err != nil || len(ids) == 0 {
		return err
	}
	n, err := s.run.Settle(func() (int, error) {
		return s.engine.index.SoftDelete(ctx, s.run.Scope(), s.fence, ids)
	}, func(c *syncjob.Counters, n int) { c.Deleted += n })
	if err != nil {
		return fmt.Errorf("delete documents whose items are gone: %w", err)
	}
	if n == 0 {
		return errors.New("documents whose items are gone cannot be deleted")
	}
	return nil
}
