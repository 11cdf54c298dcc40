package connectortest

import (
	"context"
	"io"
	"slices"

	"github.com/magpie-search/magpie/connectors"
)

// placed shows a source by the fixture's paths: without what is aside, and with
// the paths that [Setup].Path changes changed back.
type placed struct {
	connectors.Source
	setup Setup
}

// shown is a source by the fixture's paths, with the abilities that it has.
func (s Setup) shown(source connectors.Source) connectors.Source {
	if s.Aside == nil && s.Path == nil {
		return source
	}
	at := placed{source, s}
	resolver, resolves := source.(connectors.Resolver)
	lister, lists := source.(connectors.PermissionLister)
	switch {
	case resolves && lists:
		return struct {
			placed
			placedResolver
			connectors.PermissionLister
		}{at, placedResolver{resolver, s}, lister}
	case resolves:
		return struct {
			placed
			placedResolver
		}{at, placedResolver{resolver, s}}
	case lists:
		return struct {
			placed
			connectors.PermissionLister
		}{at, lister}
	default:
		return at
	}
}

// Walk implements [connectors.Source].
func (p placed) Walk(ctx context.Context, cursor string) (connectors.Page, error) {
	page, err := p.Source.Walk(ctx, cursor)
	page.Items = p.setup.own(page.Items)
	return page, err
}

// Open implements [connectors.Source].
func (p placed) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	item.Path = p.setup.at(item.Path)
	return p.Source.Open(ctx, item)
}

// own are the items of the fixture. A path that is not made of one of the
// fixture's stays as it is, for the test to wonder about.
func (s Setup) own(items []connectors.Item) []connectors.Item {
	if s.Aside != nil {
		items = slices.DeleteFunc(items, s.Aside)
	}
	if s.Fixed != nil {
		for i := range items {
			items[i].Path = s.Fixed(items[i].Path)
		}
	}
	return items
}

type placedResolver struct {
	resolver connectors.Resolver
	setup    Setup
}

// Resolve implements [connectors.Resolver].
func (p placedResolver) Resolve(ctx context.Context, names []string) ([]connectors.Item, []string, error) {
	asked, back := make([]string, len(names)), make(map[string]string, len(names))
	for i, name := range names {
		asked[i] = p.setup.at(name)
		back[asked[i]] = name
	}
	found, missing, err := p.resolver.Resolve(ctx, asked)
	for i, name := range missing {
		missing[i] = back[name]
	}
	return p.setup.own(found), missing, err
}
