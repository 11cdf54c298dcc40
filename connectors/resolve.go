package connectors

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
)

// A Resolver is a [Source] that finds items by name, without a walk.
type Resolver interface {
	// Resolve returns the items with these names, each item once, and the names
	// without an item. A name is an [Item].Path or, for a kind with a Webhook, Feeds or
	// ConfirmDeletions, an [Item].ID. The items equal those of a walk.
	Resolve(ctx context.Context, names []string) (found []Item, missing []string, err error)
}

// ResolveEach implements [Resolver] by looking up each name on its own, up to
// parallel names at once. lookUp returns the items of a name. A name for which it
// returns [ErrNotFound] is missing.
func ResolveEach(
	ctx context.Context, names []string, parallel int, lookUp func(ctx context.Context, name string) ([]Item, error),
) (found []Item, missing []string, err error) {
	results := make([][]Item, len(names))
	absent := make([]bool, len(names))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, name := range names {
		group.Go(func() (err error) {
			if results[i], err = lookUp(groupCtx, name); errors.Is(err, ErrNotFound) {
				absent[i], err = true, nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	seen := make(map[string]bool)
	for i, name := range names {
		if absent[i] {
			missing = append(missing, name)
			continue
		}
		for _, item := range results[i] {
			if !seen[item.ID] {
				seen[item.ID] = true
				found = append(found, item)
			}
		}
	}
	return found, missing, nil
}
