package confluence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

var errNewer = errors.New("it was changed meanwhile; the next sync takes the new version")

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
	p, err := s.lookUp(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	if item.Version != "" && versionOf(p) != item.Version {
		return nil, connectors.Retryable(errNewer, 0)
	}
	text, err := s.textOf(ctx, p)
	if err != nil {
		return nil, err
	}
	return io.NopCloser(bytes.NewReader(text)), nil
}

// lookUp is the page with an id, where it belongs to the connector.
func (s *source) lookUp(ctx context.Context, kind, id string) (*page, error) {
	spaces, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	p, err := s.place.one(ctx, kind, id)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(spaces, func(one space) bool { return one.key == p.space }) {
		return nil, fmt.Errorf("the page is in another space: %w", connectors.ErrNotFound)
	}
	kept, err := s.wanted(ctx, []*page{p})
	if err != nil {
		return nil, err
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("the page is none of the connector's: %w", connectors.ErrNotFound)
	}
	return p, nil
}

// textOf is a page as HTML, with its comments.
func (s *source) textOf(ctx context.Context, p *page) ([]byte, error) {
	texts := []string{p.body}
	var comments []comment
	if s.wants.comments && len(p.marks) > 0 {
		var err error
		if comments, err = s.place.comments(ctx, p); err != nil {
			return nil, err
		}
		comments = slices.DeleteFunc(comments, func(c comment) bool { return c.resolved })
		for _, c := range comments {
			texts = append(texts, c.body)
		}
	}
	names, err := s.named(ctx, texts...)
	if err != nil {
		return nil, err
	}
	return document(s.api.site.base, p, comments, names), nil
}

func (s *source) openFile(ctx context.Context, item connectors.Item, id string) (io.ReadCloser, error) {
	if !s.wants.files {
		return nil, fmt.Errorf("attachments are none of the connector's: %w", connectors.ErrNotFound)
	}
	spaces, err := s.scope(ctx)
	if err != nil {
		return nil, err
	}
	f, err := s.place.file(ctx, id)
	if err != nil {
		return nil, err
	}
	if key := s.keyOf(f.page); key == "" || !slices.ContainsFunc(spaces, func(one space) bool { return one.key == key }) {
		if _, err := s.holder(ctx, f.page); err != nil {
			return nil, err
		}
	}
	if item.Version != "" && strconv.Itoa(f.number) != item.Version {
		return nil, connectors.Retryable(errNewer, 0)
	}
	path, query := s.place.download(f)
	if query == nil {
		if path, query, err = s.api.own(path); err != nil {
			return nil, err
		}
	}
	client, err := s.api.of(ctx)
	if err != nil {
		return nil, err
	}
	want := restapi.Expected{Size: f.size, AllowHTML: strings.Contains(f.media, "html")}
	content, err := client.Download(ctx, restapi.Request{Path: path, Query: query, Header: map[string][]string{"Accept": {"*/*"}}}, want)
	if err != nil {
		return nil, s.api.refusal(atLogin(err))
	}
	kind, _, _ := mime.ParseMediaType(content.Header.Get("Content-Type"))
	if asksLogin(content.Request) && kind == "text/html" {
		return nil, errors.Join(connectors.NeedsAuth(errLogin), content.Close())
	}
	return content, nil
}

func (s *source) keyOf(page string) string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.spaceOf[page]
}

// holder is the page or blog post that a file is attached to.
func (s *source) holder(ctx context.Context, id string) (*page, error) {
	p, err := s.lookUp(ctx, kindPage, id)
	if errors.Is(err, connectors.ErrNotFound) && s.s.Boolean(optionBlogs) {
		return s.lookUp(ctx, kindBlog, id)
	}
	return p, err
}
