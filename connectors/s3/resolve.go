package s3

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"magpie/connectors"
)

const lookups = 8

// Resolve implements [connectors.Resolver]. A path is an item's Path or its
// whole key; where both exist, it is the Path.
func (s *source) Resolve(ctx context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	doing := fmt.Sprintf("look up objects of the bucket %q", s.bucket)
	if err := s.ready(ctx, doing); err != nil {
		return nil, nil, err
	}
	items := make([]*connectors.Item, len(paths))
	work, workContext := errgroup.WithContext(ctx)
	work.SetLimit(lookups)
	for at, path := range paths {
		work.Go(func() error {
			item, err := s.lookUp(workContext, path)
			items[at] = item
			return err
		})
	}
	if err := work.Wait(); err != nil {
		return nil, nil, err
	}
	known := make(map[string]bool)
	for at, item := range items {
		switch {
		case item == nil:
			missing = append(missing, paths[at])
		case !known[item.ID]:
			known[item.ID] = true
			found = append(found, *item)
		}
	}
	// The answer to a look-up cannot tell a missing object from a missing
	// bucket, and a missing bucket must not pass for deleted documents.
	if len(found) == 0 && len(missing) > 0 {
		if _, err := s.Walk(ctx, ""); err != nil {
			return nil, nil, err
		}
	}
	return found, missing, nil
}

// lookUp returns a nil item when there is none.
func (s *source) lookUp(ctx context.Context, path string) (*connectors.Item, error) {
	relative := strings.TrimLeft(path, "/")
	keys := []string{s.folder + relative, relative, path}
	for _, key := range slices.Compact(keys) {
		if !s.holds(key) {
			continue
		}
		e := &exchange{}
		object, err := s.core.StatObject(withExchange(ctx, e), s.bucket, key, minio.StatObjectOptions{})
		if err != nil {
			err = s.explain(ctx, e, fmt.Sprintf("look up the object %q", clean(key)), err)
			if errors.Is(err, connectors.ErrNotFound) {
				continue
			}
			return nil, err
		}
		object.Key = key
		if item, ok := s.itemOf(object); ok {
			return &item, nil
		}
	}
	return nil, nil //nolint:nilnil // documented: there is no such object
}
