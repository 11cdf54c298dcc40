package notion

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 2

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if err := s.checkAccount(ctx); err != nil {
		return nil, nil, err
	}
	t, _, ok, err := s.known(ctx, "", "")
	if err != nil {
		return nil, nil, err
	}
	if !ok {
		t = newTree()
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		item, err := s.resolve(ctx, t, name)
		return []connectors.Item{item}, err
	})
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, t *tree, name string) (connectors.Item, error) {
	if id, _ := parseItemID(name); id != "" {
		return s.resolveIn(ctx, t, id, name)
	}
	segments := strings.Split(name, "/")
	for _, at := range []int{len(segments) - 1, len(segments) - 2} { // the page, or the page of a file
		if at < 0 || len(name) > connectors.MaxIDBytes {
			continue
		}
		id, ok := parseID(segments[at])
		if !ok || !strings.HasSuffix(segments[at], bare(id)) {
			continue
		}
		if item, err := s.resolveIn(ctx, t, id, name); !errors.Is(err, connectors.ErrNotFound) {
			return item, err
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}

// resolveIn returns the item with a name among a page and its files.
func (s *source) resolveIn(ctx context.Context, t *tree, id, name string) (connectors.Item, error) {
	found, err := s.client.page(ctx, id)
	if err != nil {
		return connectors.Item{}, err
	}
	n, err := s.newNode(ctx, found)
	if err != nil {
		return connectors.Item{}, err
	}
	with, err := s.withAncestors(ctx, t, n)
	if err != nil {
		return connectors.Item{}, err
	}
	if !with.isIncluded(n, s.only) {
		return connectors.Item{}, connectors.ErrNotFound
	}
	items, _, err := s.items(ctx, with, n)
	if err != nil {
		return connectors.Item{}, err
	}
	if i := slices.IndexFunc(items, func(item connectors.Item) bool { return item.ID == name || item.Path == name }); i >= 0 {
		return items[i], nil
	}
	return connectors.Item{}, connectors.ErrNotFound
}

// withAncestors returns a tree with a page and everything above it. What is not in
// the tree is requested.
func (s *source) withAncestors(ctx context.Context, t *tree, n node) (*tree, error) {
	with := newTree()
	at := n
	for range maxPathDepth {
		with.add(at)
		if at.Parent == "" {
			return with, nil
		}
		parent, ok := t.above(at)
		if !ok {
			var err error
			if parent, ok, err = s.requestNode(ctx, at.Parent); err != nil {
				return nil, err
			}
		}
		if !ok {
			return with, nil
		}
		at = parent
	}
	return with, nil
}

// requestNode requests a page, data source or database.
func (s *source) requestNode(ctx context.Context, id string) (node, bool, error) {
	found, err := s.client.page(ctx, id)
	if errors.Is(err, connectors.ErrNotFound) {
		var sources []*object
		if sources, err = s.client.dataSources(ctx, id); err == nil && len(sources) > 0 {
			found = sources[0]
		}
	}
	switch {
	case errors.Is(err, connectors.ErrNotFound) || err == nil && found == nil:
		return node{}, false, nil // it is not shared with the integration
	case err != nil:
		return node{}, false, err
	}
	n, err := s.newNode(ctx, found)
	return n, err == nil, err
}
