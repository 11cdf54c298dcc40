package connectortest

import (
	"context"
	"io"
	"slices"

	"github.com/magpie-search/magpie/connectors"
)

// A fixtureSource shows the items of a source under the fixture's paths,
// without those that [Setup].Ignore selects.
type fixtureSource struct {
	connectors.Source
	setup Setup
}

// withFixturePaths returns the source as a [fixtureSource] with the same
// abilities.
func (s Setup) withFixturePaths(source connectors.Source) connectors.Source {
	if s.Ignore == nil && s.ItemPath == nil {
		return source
	}
	at := fixtureSource{source, s}
	resolver, resolves := source.(connectors.Resolver)
	lister, lists := source.(connectors.PermissionLister)
	switch {
	case resolves && lists:
		return struct {
			fixtureSource
			fixtureResolver
			connectors.PermissionLister
		}{at, fixtureResolver{resolver, s}, lister}
	case resolves:
		return struct {
			fixtureSource
			fixtureResolver
		}{at, fixtureResolver{resolver, s}}
	case lists:
		return struct {
			fixtureSource
			connectors.PermissionLister
		}{at, lister}
	default:
		return at
	}
}

// Walk implements [connectors.Source].
func (p fixtureSource) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	page, err := p.Source.Walk(ctx, cursor)
	page.Items = p.setup.fixtureItems(page.Items)
	return page, err
}

// Open implements [connectors.Source].
func (p fixtureSource) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	item.Path = p.setup.toItemPath(item.Path)
	return p.Source.Open(ctx, item)
}

// fixtureItems returns the items of the fixture under their fixture paths. A
// path that ItemPath does not produce is unchanged, so that a test fails on it.
func (s Setup) fixtureItems(items []connectors.Item) []connectors.Item {
	if s.Ignore != nil {
		items = slices.DeleteFunc(items, s.Ignore)
	}
	if s.FixturePath != nil {
		for i := range items {
			items[i].Path = s.FixturePath(items[i].Path)
		}
	}
	return items
}

type fixtureResolver struct {
	resolver connectors.Resolver
	setup    Setup
}

// Resolve implements [connectors.Resolver].
func (p fixtureResolver) Resolve(ctx context.Context, names []string) ([]connectors.Item, []string, error) {
	itemPaths, back := make([]string, len(names)), make(map[string]string, len(names))
	for i, name := range names {
		itemPaths[i] = p.setup.toItemPath(name)
		back[itemPaths[i]] = name
	}
	found, missing, err := p.resolver.Resolve(ctx, itemPaths)
	for i, name := range missing {
		missing[i] = back[name]
	}
	return p.setup.fixtureItems(found), missing, err
}
