package confluence

import (
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/magpie-search/magpie/connectors"
)

const lookups = 4

// Resolve implements [connectors.Resolver]: paths and ids.
func (s *source) Resolve(ctx context.Context, names []string) (found []connectors.Item, missing []string, err error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	spaces, err := s.scope(ctx)
	if err != nil {
		return nil, nil, err
	}
	items := make([]*connectors.Item, len(names))
	work, inner := errgroup.WithContext(ctx)
	work.SetLimit(lookups)
	for at, name := range names {
		work.Go(func() error {
			item, err := s.resolve(inner, spaces, name)
			if errors.Is(err, connectors.ErrNotFound) {
				return nil
			}
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
			missing = append(missing, names[at])
		case !known[item.ID]:
			known[item.ID] = true
			found = append(found, *item)
		}
	}
	return found, missing, nil
}

// resolve gives a nil item, or ErrNotFound, when there is none.
func (s *source) resolve(ctx context.Context, spaces []space, name string) (*connectors.Item, error) {
	switch kind, id := parseID(name); kind {
	case "":
	case strings.TrimSuffix(prefixFile, ":"):
		return s.fileByID(ctx, id)
	default:
		p, err := s.lookUp(ctx, kind, id)
		if err != nil {
			return nil, err
		}
		item, err := s.itemOf(ctx, p)
		return &item, err
	}
	parts := strings.Split(name, "/")
	at := slices.IndexFunc(spaces, func(one space) bool { return segment(one.key) == parts[0] })
	if at < 0 || len(parts) < 2 || slices.Contains(parts, "") || len(name) > connectors.MaxIDBytes {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	last := len(parts) - 1
	pages, err := s.pagesAt(ctx, spaces[at], parts[last])
	if err != nil {
		return nil, err
	}
	for _, p := range pages {
		if pathOf(p) == name {
			item, err := s.itemOf(ctx, p)
			return &item, err
		}
	}
	if last < 2 || !s.wants.files {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	if pages, err = s.pagesAt(ctx, spaces[at], parts[last-1]); err != nil {
		return nil, err
	}
	for _, p := range pages {
		for _, f := range p.files {
			if filePath(p, f) == name {
				item := fileItem(p, f)
				return &item, nil
			}
		}
	}
	return nil, nil //nolint:nilnil // documented: there is none
}

// pagesAt are the pages whose path may end in a part.
func (s *source) pagesAt(ctx context.Context, of space, part string) ([]*page, error) {
	titles := []string{part, strings.ReplaceAll(part, "∕", "/")}
	for _, title := range slices.Clone(titles) {
		if short, cut := strings.CutSuffix(title, ".html"); cut {
			titles = append(titles, short)
		}
	}
	slices.Sort(titles)
	var found []*page
	if kind, id, cut := strings.Cut(part, "-"); cut && (kind == kindPage || kind == kindBlog) && strings.Trim(id, "0123456789") == "" && id != "" {
		// The path of one whose own would be too long.
		if p, err := s.lookUp(ctx, kind, id); err == nil {
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
			if kind == kindBlog && !s.s.Boolean(optionBlogs) {
				continue
			}
			pages, err := s.place.titled(ctx, of, kind, title)
			if err != nil {
				return nil, err
			}
			if pages, err = s.wanted(ctx, pages); err != nil {
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

func (s *source) fileByID(ctx context.Context, id string) (*connectors.Item, error) {
	if !s.wants.files {
		return nil, nil //nolint:nilnil // documented: there is none
	}
	f, err := s.place.file(ctx, id)
	if err != nil {
		return nil, err
	}
	p, err := s.holder(ctx, f.page)
	if err != nil {
		return nil, err
	}
	for _, one := range p.files {
		if one.id == f.id {
			item := fileItem(p, one)
			return &item, nil
		}
	}
	return nil, nil //nolint:nilnil // documented: there is none
}
