package webcrawler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	u, err := canonical(nil, item.ID)
	if err != nil || !s.scope.holds(u) {
		return nil, fmt.Errorf("open a page: %w", connectors.ErrNotFound)
	}
	s.mutex.Lock()
	refused := s.refused[item.ID]
	s.mutex.Unlock()
	if refused != nil {
		return nil, refused
	}
	_, body, header, err := s.fetch(ctx, u)
	if err != nil {
		if errors.Is(err, errSlow) {
			return nil, plain(err) // the item fails; it is not waited for again and again
		}
		return nil, err
	}
	if item.Version != "" {
		version := versionOf(body)
		if sortOf(header, u) == pages {
			version = readPage(u, header, body).version
		}
		if version != item.Version {
			return nil, connectors.Retryable(errors.New("the page changed while it was fetched"), 0)
		}
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

// fetch asks for an address and follows where it leads within the crawl.
func (s *source) fetch(ctx context.Context, u *url.URL) (at *url.URL, body []byte, header http.Header, err error) {
	inner, cancel := s.bounded(ctx)
	defer cancel()
	for range maxRedirects {
		found, err := s.rulesOf(inner, u)
		if err != nil {
			return nil, nil, nil, err
		}
		if !found.allow(u) {
			return nil, nil, nil, errForbidden
		}
		response, err := s.request(inner, u.String(), nil)
		if err != nil {
			return nil, nil, nil, err
		}
		status := response.StatusCode
		if status == http.StatusOK {
			body, err := readBody(s.settings.CountReader(response.Body), maxBody)
			_ = response.Body.Close()
			switch {
			case err != nil && ctx.Err() != nil:
				return nil, nil, nil, ctx.Err()
			case err != nil:
				return nil, nil, nil, connectors.Retryable(s.brokenOff(inner), 0)
			case len(body) > maxBody:
				return nil, nil, nil, errLarge()
			case len(body) == 0:
				return nil, nil, nil, connectors.Retryable(errEmpty(), 0)
			case sortOf(response.Header, u) == files && inPlace(response.Header, body):
				return nil, nil, nil, connectors.Retryable(errInPlace(), 0)
			}
			if known, err := s.recordOf(ctx, u.String()); err != nil {
				return nil, nil, nil, err
			} else if known != nil && known.Page != (sortOf(response.Header, u) == pages) {
				return nil, nil, nil, errOtherSort()
			}
			return u, body, response.Header, nil
		}
		_ = response.Body.Close()
		switch {
		case redirects(status):
			to, err := canonical(u, response.Header.Get("Location"))
			if err != nil || !s.scope.holds(to) {
				return nil, nil, nil, fmt.Errorf("the page leads out of the crawl: %w", connectors.ErrNotFound)
			}
			u = to
		case status == http.StatusNotFound || status == http.StatusGone:
			return nil, nil, nil, fmt.Errorf("the site answers %d: %w", status, connectors.ErrNotFound)
		case status == http.StatusUnauthorized || status == http.StatusForbidden:
			return nil, nil, nil, errStatus(status)
		case status == http.StatusTooManyRequests || status >= 500:
			return nil, nil, nil, connectors.Retryable(errStatus(status), restapi.RetryAfter(response.Header))
		default:
			return nil, nil, nil, errStatus(status)
		}
	}
	return nil, nil, nil, errors.New("the page leads from address to address without end")
}

// Resolve implements [connectors.Resolver]: paths and whole addresses.
func (s *source) Resolve(ctx context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	for _, text := range paths {
		u, err := s.scope.addressOf(text)
		if err != nil || !s.scope.holds(u) {
			missing = append(missing, text)
			continue
		}
		at, body, header, err := s.fetch(ctx, u)
		switch {
		case errors.Is(err, connectors.ErrNotFound), errors.Is(err, errForbidden):
			missing = append(missing, text)
			continue
		case err != nil:
			_, again := connectors.RetryAfterOf(err)
			if again && !errors.Is(err, errSlow) || ctx.Err() != nil || connectors.IsFatal(err) {
				return nil, nil, err
			}
			s.refuse(u, plain(err))
			found = append(found, connectors.Item{ID: u.String(), Path: s.scope.place(u), URL: u.String(), Size: -1, MediaType: "text/html"})
			continue
		}
		item := connectors.Item{
			ID: at.String(), Path: s.scope.place(at), URL: at.String(), Size: int64(len(body)),
			MediaType: cut(header.Get("Content-Type"), 200), Content: body, Version: versionOf(body),
		}
		if sortOf(header, at) == pages {
			item.Version = readPage(at, header, body).version
		}
		if changed, err := http.ParseTime(header.Get("Last-Modified")); err == nil {
			item.ModifiedAt = changed.UTC()
		}
		found = append(found, item)
	}
	return found, missing, nil
}

// Check implements [connectors.Source]: each start address can be had.
func (s *source) Check(ctx context.Context) error {
	for _, u := range s.scope.starts {
		at, _, header, err := s.fetch(ctx, u)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			return connectors.Fatal(fmt.Errorf("%s: there is no page, or it leads out of the crawl; correct config.%s", u, optionStarts))
		case err != nil:
			if strings.Contains(err.Error(), "credentials") {
				return connectors.NeedsAuth(fmt.Errorf("%s: %w", u, err))
			}
			return fmt.Errorf("%s: %w", u, err)
		case sortOf(header, at) == other:
			return connectors.Fatal(fmt.Errorf("%s is no page (%s); correct config.%s", u, cut(header.Get("Content-Type"), 100), optionStarts))
		}
	}
	return nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}
