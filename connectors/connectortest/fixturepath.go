package connectortest

import (
	"bytes"
	"context"
	"errors"
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
	if s.Ignore == nil && s.ItemPath == nil && s.FixtureContent == nil {
		return source
	}
	at := fixtureSource{source, s}
	resolver, resolves := source.(connectors.Resolver)
	lister, lists := source.(connectors.PermissionLister)
	feeder, feeds := source.(connectors.Feeder)
	type (
		r = fixtureResolver
		l = connectors.PermissionLister
		f = fixtureFeeder
	)
	resolving, feeding := fixtureResolver{resolver, s}, fixtureFeeder{feeder, s}
	switch {
	case resolves && lists && feeds:
		return struct {
			fixtureSource
			r
			l
			f
		}{at, resolving, lister, feeding}
	case resolves && lists:
		return struct {
			fixtureSource
			r
			l
		}{at, resolving, lister}
	case resolves && feeds:
		return struct {
			fixtureSource
			r
			f
		}{at, resolving, feeding}
	case lists && feeds:
		return struct {
			fixtureSource
			l
			f
		}{at, lister, feeding}
	case resolves:
		return struct {
			fixtureSource
			r
		}{at, resolving}
	case lists:
		return struct {
			fixtureSource
			l
		}{at, lister}
	case feeds:
		return struct {
			fixtureSource
			f
		}{at, feeding}
	default:
		return at
	}
}

type fixtureFeeder struct {
	feeder connectors.Feeder
	setup  Setup
}

// Changes implements [connectors.Feeder].
func (p fixtureFeeder) Changes(ctx context.Context, token string) (connectors.ChangePage, error) {
	page, err := p.feeder.Changes(ctx, token)
	page.Items = p.setup.fixtureItems(page.Items)
	return page, err
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
	reader, err := p.Source.Open(ctx, item)
	if err != nil || p.setup.FixtureContent == nil {
		return reader, err
	}
	document, err := io.ReadAll(reader)
	return io.NopCloser(bytes.NewReader(p.setup.FixtureContent(document))), errors.Join(err, reader.Close())
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
	if s.FixtureContent != nil {
		for i := range items {
			if items[i].Content != nil {
				items[i].Content = s.FixtureContent(items[i].Content)
			}
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
