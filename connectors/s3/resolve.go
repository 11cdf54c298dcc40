package s3

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
)

const lookups = 8

// Resolve implements [connectors.Resolver]. A path is an item's Path or its
// whole key; where both exist, it is the Path.
func (s *source) Resolve(ctx context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	if err := s.ready(ctx, fmt.Sprintf("look up objects of the bucket %q", s.bucket)); err != nil {
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
	return found, missing, nil
}

// lookUp returns a nil item when there is none.
func (s *source) lookUp(ctx context.Context, path string) (*connectors.Item, error) {
	relative := strings.TrimLeft(path, "/")
	for _, key := range slices.Compact([]string{s.folder + relative, relative, path}) {
		if !s.holds(key) {
			continue
		}
		item, err := s.stat(ctx, key)
		if err != nil || item != nil {
			return item, err
		}
	}
	return nil, nil //nolint:nilnil // documented: there is no such object
}

// stat lists the one key that is the first of all beginning like it. Unlike
// the request made for the purpose, HEAD, this gives the very fields a walk
// does, an error that tells a missing bucket from a missing object, and no
// object of another key from services that tidy up paths.
func (s *source) stat(ctx context.Context, key string) (*connectors.Item, error) {
	doing := fmt.Sprintf("look up the object %q", clean(key))
	e := &exchange{bodyBytes: listingBytes, requests: listingRequests}
	for object := range s.core.ListObjectsIter(withExchange(ctx, e), s.bucket, minio.ListObjectsOptions{
		Prefix: key, Recursive: true, MaxKeys: 1, FetchOwner: new(bool),
	}) {
		if object.Err != nil {
			return nil, s.explain(ctx, e, doing, object.Err)
		}
		if item, ok := s.itemOf(object); ok && object.Key == key {
			return &item, nil
		}
		break
	}
	return nil, s.explain(ctx, e, doing, ctx.Err())
}
