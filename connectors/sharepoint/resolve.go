package sharepoint

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const parallelLookups = 4

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	selected, err := s.selectParts(ctx)
	if err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		item, err := s.resolve(ctx, selected, name)
		if err == nil && s.excludes(item.Path) {
			err = connectors.ErrNotFound
		}
		return []connectors.Item{item}, err
	})
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, selected *parts, name string) (connectors.Item, error) {
	if id, ok := parseID(name); ok {
		p, err := selected.partOf(id.kind, id.site, id.of)
		if err != nil {
			return connectors.Item{}, err
		}
		return s.itemByID(ctx, p, id.id)
	}
	if len(name) > connectors.MaxIDBytes || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return connectors.Item{}, connectors.ErrNotFound
	}
	for _, p := range selected.list {
		rest, found := strings.CutPrefix(name, p.prefix+"/")
		if !found || rest == "" {
			continue
		}
		item, err := s.itemByPath(ctx, p, rest)
		if err == nil && item.Path == name {
			return item, nil
		}
		if err != nil && !errors.Is(err, connectors.ErrNotFound) {
			return connectors.Item{}, err
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}

// itemByID returns the item with an id in a part.
func (s *source) itemByID(ctx context.Context, p part, id string) (connectors.Item, error) {
	switch p.kind {
	case partPages:
		page, err := s.sitePageByID(ctx, p.siteID, id)
		if err != nil {
			return connectors.Item{}, err
		}
		if page.isDraft() {
			return connectors.Item{}, connectors.ErrNotFound
		}
		return newPageItem(p, page), nil
	case partList:
		entry, err := s.listItemByID(ctx, p, id)
		if err != nil {
			return connectors.Item{}, err
		}
		if entry.isFolder() {
			return connectors.Item{}, connectors.ErrNotFound
		}
		return newListItem(p, entry), nil
	}
	file, err := s.driveItem(ctx, p.id, id)
	if err != nil {
		return connectors.Item{}, err
	}
	return s.resolvedFile(ctx, p, file)
}

// resolvedFile returns the item of a file, with the folders as they are now.
func (s *source) resolvedFile(ctx context.Context, p part, file driveItem) (connectors.Item, error) {
	if file.isFolder() {
		return connectors.Item{}, connectors.ErrNotFound
	}
	// A record of its own: the folders in the state may be older.
	return s.newDriveItem(ctx, p, newRecord(&connectors.MemoryState{}, p, 0), file)
}

// itemByPath returns the item at a path below the part.
func (s *source) itemByPath(ctx context.Context, p part, rest string) (connectors.Item, error) {
	switch p.kind {
	case partPages:
		return s.pageByName(ctx, p, rest)
	case partList:
		open, end := strings.LastIndex(rest, " ("), strings.LastIndex(rest, ").md")
		if open < 0 || end < open {
			return connectors.Item{}, connectors.ErrNotFound
		}
		if id := rest[open+2 : end]; id != "" && strings.Trim(id, "0123456789") == "" {
			return s.itemByID(ctx, p, id)
		}
		return connectors.Item{}, connectors.ErrNotFound
	}
	for _, name := range strings.Split(rest, "/") {
		if name == "" || name == "." || name == ".." {
			return connectors.Item{}, connectors.ErrNotFound
		}
	}
	file, err := s.driveItemAt(ctx, "drives/"+segment(p.id)+"/root:/"+escapePath(rest), itemSelect)
	if restapi.StatusOf(err) == http.StatusBadRequest {
		err = fmt.Errorf("%w: %w", err, connectors.ErrNotFound) // no name of a file
	}
	if errors.Is(err, connectors.ErrNotFound) && !strings.Contains(rest, "/") {
		// The path of a file whose own path is too long.
		if id := strings.TrimSuffix(rest, path.Ext(rest)); id != "" && strings.Trim(id, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ!") == "" {
			return s.itemByID(ctx, p, id)
		}
	}
	if err != nil {
		return connectors.Item{}, err
	}
	return s.resolvedFile(ctx, p, file)
}

// pageByName returns the page with a file name.
func (s *source) pageByName(ctx context.Context, p part, name string) (connectors.Item, error) {
	pages, err := list[sitePage](ctx, s.graph, "the pages", pagesPath(p.siteID)+sitePageType, url.Values{"$select": {pageSelect}, "$top": {"200"}})
	if err != nil {
		return connectors.Item{}, err
	}
	for _, page := range pages {
		if page.ID == "" {
			return connectors.Item{}, errInvalid("a page without an id")
		}
		if item := newPageItem(p, page); !page.isDraft() && item.Path == joinPath(p.prefix, name) {
			return item, nil
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}
