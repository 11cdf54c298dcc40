package s3

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 8

// Resolve implements [connectors.Resolver]. A name is an item's Path or its key. If
// both exist, it is the Path.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := s.checkOpen(ctx, fmt.Sprintf("look up objects of the bucket %q", s.bucket)); err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, s.lookUp)
}

func (s *source) lookUp(ctx context.Context, name string) ([]connectors.Item, error) {
	relative := strings.TrimLeft(name, "/")
	for _, key := range slices.Compact([]string{s.folder + relative, relative, name}) {
		if !s.isValidKey(key) {
			continue
		}
		item, err := s.getItem(ctx, key)
		if !errors.Is(err, connectors.ErrNotFound) {
			return []connectors.Item{item}, err
		}
	}
	return nil, connectors.ErrNotFound
}

// getItem returns the item of a key. It lists the first key with the key as prefix:
// unlike HEAD, that returns the fields that a walk returns, and an error that
// distinguishes a missing bucket from a missing object. Some services also answer
// HEAD with the object of another key.
func (s *source) getItem(ctx context.Context, key string) (connectors.Item, error) {
	action := fmt.Sprintf("look up the object %q", printable(key))
	c := &call{maxBody: maxListingBytes, maxRequests: maxListingRequests}
	for object := range s.core.ListObjectsIter(withCall(ctx, c), s.bucket, minio.ListObjectsOptions{
		Prefix: key, Recursive: true, MaxKeys: 1, FetchOwner: new(bool),
	}) {
		if object.Err != nil {
			return connectors.Item{}, s.markError(ctx, c, action, object.Err)
		}
		if item, ok := s.newItem(object); ok && object.Key == key {
			return item, nil
		}
		break
	}
	if err := ctx.Err(); err != nil {
		return connectors.Item{}, s.markError(ctx, c, action, err)
	}
	return connectors.Item{}, connectors.ErrNotFound
}
