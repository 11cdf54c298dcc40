package hubspot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 2

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

// itemID returns the id of the item of a record.
func itemID(o *object, id string) string { return o.name + ":" + id }

// pause returns how long HubSpot asks to wait.
func (s *source) pause() time.Duration { return time.Duration(s.api.pause.Load()) }

// find returns the record of an item.
func (s *source) find(ctx context.Context, name, id string) (*object, *record, error) {
	if !isID(id) {
		return nil, nil, fmt.Errorf("this is no record: %w", connectors.ErrNotFound)
	}
	o, err := s.object(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	found, err := s.api.record(ctx, o, id, s.associations)
	if isRefused(err) {
		err = scopeError(err, o.title, o.scope)
	}
	return o, found, err
}

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	name, id, _ := strings.Cut(item.ID, ":")
	o, found, err := s.find(ctx, name, id)
	if err != nil {
		return nil, err
	}
	if item.Version != "" && s.version(o, found) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	items, err := s.items(ctx, o, []record{*found})
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(items[0].Content)), nil
}

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		items, err := s.resolve(ctx, name)
		if isRefused(err) {
			return nil, nil // it may exist: it is neither found nor missing
		}
		return items, err
	})
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, name string) ([]connectors.Item, error) {
	object, id, isItemID := strings.Cut(name, ":")
	if !isItemID || !isID(id) {
		title, rest, _ := strings.Cut(name, "/")
		object, id = "", rest[strings.LastIndex(rest, "-")+1:]
		if !isID(id) || len(name) > connectors.MaxIDBytes {
			return nil, connectors.ErrNotFound
		}
		objects, err := s.objects(ctx)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if connectors.PathSegment(o.title) == title {
				object = o.name
			}
		}
	}
	o, found, err := s.find(ctx, object, id)
	if err != nil {
		return nil, err
	}
	items, err := s.items(ctx, o, []record{*found})
	if err == nil && items[0].ID != name && items[0].Path != name {
		err = connectors.ErrNotFound
	}
	return items, err
}
