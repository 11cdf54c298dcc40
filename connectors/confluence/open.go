package confluence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var errChanged = errors.New("it was changed meanwhile; the next sync takes the new version")

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kind, id := parseID(item.ID)
	switch kind {
	case "":
		return nil, fmt.Errorf("open an item: %w", connectors.ErrNotFound)
	case strings.TrimSuffix(prefixFile, ":"):
		return s.openFile(ctx, item, id)
	}
	p, err := s.pageByID(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	if item.Version != "" && pageVersion(p) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	text, err := s.renderPage(ctx, p)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// pageByID returns the page with an id, if it belongs to the connector.
func (s *source) pageByID(ctx context.Context, kind, id string) (*page, error) {
	spaces, err := s.selectedSpaces(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.deployment.page(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(spaces, func(sp space) bool { return sp.key == p.space }) {
		return nil, fmt.Errorf("the page is in another space: %w", connectors.ErrNotFound)
	}
	included, err := s.filterPages(ctx, []*page{p})
	if err != nil {
		return nil, err
	}
	if len(included) == 0 {
		return nil, fmt.Errorf("the page is none of the connector's: %w", connectors.ErrNotFound)
	}
	return p, nil
}

// renderPage returns a page as HTML, with its comments.
func (s *source) renderPage(ctx context.Context, p *page) ([]byte, error) {
	texts := []string{p.body}
	var comments []comment
	if s.include.comments && len(p.commentMarks) > 0 {
		var err error
		if comments, err = s.deployment.comments(ctx, p); err != nil {
			return nil, err
		}
		comments = slices.DeleteFunc(comments, func(c comment) bool { return c.resolved })
		for _, c := range comments {
			texts = append(texts, c.body)
		}
	}
	names, err := s.namesIn(ctx, texts...)
	if err != nil {
		return nil, err
	}
	return renderDocument(s.client.Site.Base, p, comments, names), nil
}

func (s *source) openFile(ctx context.Context, item connectors.Item, id string) (io.ReadCloser, error) {
	if !s.include.files {
		return nil, fmt.Errorf("attachments are none of the connector's: %w", connectors.ErrNotFound)
	}
	spaces, err := s.selectedSpaces(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.deployment.file(ctx, id)
	if err != nil {
		return nil, err
	}
	if key := s.pageSpaceKey(f.page); key == "" || !slices.ContainsFunc(spaces, func(sp space) bool { return sp.key == key }) {
		if _, err := s.filePage(ctx, f.page); err != nil {
			return nil, err
		}
	}
	if item.Version != "" && strconv.Itoa(f.version) != item.Version {
		return nil, connectors.Retryable(errChanged, 0)
	}
	path, query := s.deployment.downloadRequest(f)
	if query == nil {
		if path, query, err = s.client.SitePath(path); err != nil {
			return nil, err
		}
	}
	want := restapi.Expected{Size: f.size, AllowHTML: strings.Contains(f.media, "html")}
	return s.client.Download(ctx, restapi.Request{Path: path, Query: query}, want)
}

func (s *source) pageSpaceKey(page string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.spaceKeys[page]
}

// filePage returns the page or blog post that a file is attached to.
func (s *source) filePage(ctx context.Context, id string) (*page, error) {
	p, err := s.pageByID(ctx, kindPage, id)
	if errors.Is(err, connectors.ErrNotFound) && s.settings.Boolean(optionBlogs) {
		return s.pageByID(ctx, kindBlog, id)
	}
	return p, err
}
