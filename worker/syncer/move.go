package syncer

import (
	"context"
	"errors"
	"log/slog"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/syncitem"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
)

// isMoved reports whether the document of an unchanged item is at another path.
func isMoved(item connectors.Item, k syncjob.ItemState, e syncjob.LedgerEntry) bool {
	return e.Status == syncitem.StatusUnchanged && e.Reason == "" && k.Live() && k.DocumentPath != item.Path
}

// moveDocuments gives the documents of unchanged items their new paths. The readers
// of an item may change with its place.
func (s *slice) moveDocuments(ctx context.Context, moved []task) error {
	if len(moved) == 0 {
		return nil
	}
	items := make([]connectors.Item, len(moved))
	for i, t := range moved {
		items[i] = t.item
	}
	// The readers are first: after an interruption, an item with its new path would
	// not be recognized as moved.
	if err := s.refreshItemReaders(ctx, items); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(s.engine.opt.Parallel)
	for _, t := range moved {
		group.Go(func() error {
			if err := s.engine.index.Refresh(groupCtx, s.run.Scope(), s.fence, s.record(t)); err != nil {
				return s.handleStoreError(groupCtx, t, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// refreshItemReaders sets the readers of the documents of items. A document whose
// readers the source does not tell is hidden. An error concerns the slice.
func (s *slice) refreshItemReaders(ctx context.Context, items []connectors.Item) error {
	if s.lister == nil {
		return nil
	}
	_, _, err := s.setItemReaders(ctx, items)
	if _, stop := errors.AsType[*stopError](err); err == nil || stop || isLost(err) || ctx.Err() != nil {
		return err
	}
	if wait, ok := errors.AsType[*waitError](err); ok && s.mayRetry(wait) {
		return err
	}
	if _, ofSource := errors.AsType[*sourceError](err); !ofSource {
		return err
	}
	s.log.WarnContext(ctx, "readers of items unknown", slog.Int("items", len(items)))
	s.run.Warn(unknownReaders)
	rows, err := s.documentsOf(ctx, items)
	if err != nil {
		return err
	}
	changes := make([]index.DocumentReaders, len(rows))
	for i, row := range rows {
		changes[i] = index.DocumentReaders{Document: row.ID, Readers: []string{}, Unsaid: true}
	}
	_, err = s.engine.index.SetReaders(ctx, s.run.Scope(), s.fence, changes)
	return err // says what failed
}
