package confluence

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

const parallelLookups = 4

// Resolve implements [connectors.Resolver] for paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	spaces, err := s.selectedSpaces(ctx)
	if err != nil {
		return nil, nil, err
	}
	return connectors.ResolveEach(ctx, names, parallelLookups, func(ctx context.Context, name string) ([]connectors.Item, error) {
		item, err := s.resolve(ctx, spaces, name)
		return []connectors.Item{item}, err
	})
}

// resolve returns the item with a name.
func (s *source) resolve(ctx context.Context, spaces []space, name string) (connectors.Item, error) {
	switch kind, id := parseID(name); kind {
	case "":
	case strings.TrimSuffix(prefixFile, ":"):
		return s.fileByID(ctx, id)
	default:
		p, err := s.pageByID(ctx, kind, id)
		if err != nil {
			return connectors.Item{}, err
		}
		return s.newPageItem(ctx, p)
	}
	segments := strings.Split(name, "/")
	i := slices.IndexFunc(spaces, func(sp space) bool { return pathSegment(sp.key) == segments[0] })
	if i < 0 || len(segments) < 2 || slices.Contains(segments, "") || len(name) > connectors.MaxIDBytes {
		return connectors.Item{}, connectors.ErrNotFound
	}
	last := len(segments) - 1
	pages, err := s.pagesWithSegment(ctx, spaces[i], segments[last])
	if err != nil {
		return connectors.Item{}, err
	}
	for _, p := range pages {
		if pagePath(p) == name {
			return s.newPageItem(ctx, p)
		}
	}
	if last < 2 || !s.include.files {
		return connectors.Item{}, connectors.ErrNotFound
	}
	if pages, err = s.pagesWithSegment(ctx, spaces[i], segments[last-1]); err != nil {
		return connectors.Item{}, err
	}
	for _, p := range pages {
		for _, f := range p.files {
			if filePath(p, f) == name {
				return fileItem(p, f), nil
			}
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}

// pagesWithSegment returns the pages whose path may end with a segment.
func (s *source) pagesWithSegment(ctx context.Context, in space, segment string) ([]*page, error) {
	titles := []string{segment, strings.ReplaceAll(segment, "∕", "/")}
	for _, title := range slices.Clone(titles) {
		if base, ok := strings.CutSuffix(title, ".html"); ok {
			titles = append(titles, base)
		}
	}
	slices.Sort(titles)
	var found []*page
	if kind, id, cut := strings.Cut(segment, "-"); cut && (kind == kindPage || kind == kindBlog) && strings.Trim(id, "0123456789") == "" && id != "" {
		// The path of a page whose own path is too long.
		if p, err := s.pageByID(ctx, kind, id); err == nil {
			found = append(found, p)
		} else if !errors.Is(err, connectors.ErrNotFound) {
			return nil, err
		}
	}
	for _, title := range slices.Compact(titles) {
		if !isTitle(title) {
			continue
		}
		for _, kind := range []string{kindPage, kindBlog} {
			if kind == kindBlog && !s.settings.Boolean(optionBlogs) {
				continue
			}
			pages, err := s.deployment.pagesTitled(ctx, in, kind, title)
			if err != nil {
				return nil, err
			}
			if pages, err = s.filterPages(ctx, pages); err != nil {
				return nil, err
			}
			found = append(found, pages...)
		}
	}
	return found, nil
}

func isTitle(text string) bool {
	return text != "" && len(text) <= 1020 && strings.ToValidUTF8(text, "") == text && !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f })
}

func (s *source) fileByID(ctx context.Context, id string) (connectors.Item, error) {
	if !s.include.files {
		return connectors.Item{}, connectors.ErrNotFound
	}
	f, err := s.deployment.file(ctx, id)
	if err != nil {
		return connectors.Item{}, err
	}
	p, err := s.filePage(ctx, f.page)
	if err != nil {
		return connectors.Item{}, err
	}
	for _, attached := range p.files {
		if attached.id == f.id {
			return fileItem(p, attached), nil
		}
	}
	return connectors.Item{}, connectors.ErrNotFound
}
