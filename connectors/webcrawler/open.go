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
	"github.com/magpie-search/magpie/internal/safetext"
)

// Open implements [connectors.Source].
func (s *source) Open(ctx context.Context, item connectors.Item) (io.ReadCloser, error) {
	u, err := canonicalURL(nil, item.ID)
	if err != nil || !s.scope.contains(u) {
		return nil, fmt.Errorf("open a page: %w", connectors.ErrNotFound)
	}
	s.mutex.Lock()
	refused := s.itemErrors[item.ID]
	s.mutex.Unlock()
	if refused != nil {
		return nil, refused
	}
	_, body, header, err := s.fetch(ctx, u)
	if err != nil {
		if errors.Is(err, errTimeout) {
			return nil, unmarked(err) // only this item fails
		}
		return nil, err
	}
	if item.Version != "" {
		version := contentHash(body)
		if kindOf(header, u) == htmlPage {
			version = parsePage(u, header, body).version
		}
		if version != item.Version {
			return nil, connectors.Retryable(errors.New("the page changed while it was fetched"), 0)
		}
	}
	return io.NopCloser(bytes.NewReader(body)), nil
}

// fetch requests a URL and follows redirects within the crawl.
func (s *source) fetch(ctx context.Context, u *url.URL) (final *url.URL, body []byte, header http.Header, err error) {
	timeoutCtx, cancel := s.withTimeout(ctx)
	defer cancel()
	for range maxRedirects {
		rules, err := s.hostRules(timeoutCtx, u)
		if err != nil {
			return nil, nil, nil, err
		}
		if !rules.allow(u) {
			return nil, nil, nil, errForbidden
		}
		response, err := s.request(timeoutCtx, u.String(), nil)
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
				return nil, nil, nil, connectors.Retryable(s.truncatedError(timeoutCtx), 0)
			case len(body) > maxBody:
				return nil, nil, nil, errLarge()
			case len(body) == 0:
				return nil, nil, nil, connectors.Retryable(errEmpty(), 0)
			case kindOf(response.Header, u) == document && isMisplacedHTML(response.Header, body):
				return nil, nil, nil, connectors.Retryable(errMisplacedHTML(), 0)
			}
			if saved, ok, err := s.loadRecord(ctx, u.String()); err != nil {
				return nil, nil, nil, err
			} else if ok && saved.Page != (kindOf(response.Header, u) == htmlPage) {
				return nil, nil, nil, errKindChanged()
			}
			return u, body, response.Header, nil
		}
		_ = response.Body.Close()
		switch {
		case isRedirect(status):
			to, err := canonicalURL(u, response.Header.Get("Location"))
			if err != nil || !s.scope.contains(to) {
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

// Resolve implements [connectors.Resolver] for paths and URLs.
func (s *source) Resolve(ctx context.Context, paths []string) (found []connectors.Item, missing []string, err error) {
	for _, text := range paths {
		u, err := s.scope.urlOf(text)
		if err != nil || !s.scope.contains(u) {
			missing = append(missing, text)
			continue
		}
		final, body, header, err := s.fetch(ctx, u)
		switch {
		case errors.Is(err, connectors.ErrNotFound), errors.Is(err, errForbidden):
			missing = append(missing, text)
			continue
		case err != nil:
			_, retryable := connectors.RetryAfterOf(err)
			if retryable && !errors.Is(err, errTimeout) || ctx.Err() != nil || connectors.IsFatal(err) {
				return nil, nil, err
			}
			s.recordItemError(u, unmarked(err))
			found = append(found, connectors.Item{ID: u.String(), Path: s.scope.path(u), URL: u.String(), Size: -1, MediaType: "text/html"})
			continue
		}
		item := connectors.Item{
			ID: final.String(), Path: s.scope.path(final), URL: final.String(), Size: int64(len(body)),
			MediaType: safetext.TruncateBytes(header.Get("Content-Type"), 200), Content: body, Version: contentHash(body),
		}
		if kindOf(header, final) == htmlPage {
			item.Version = parsePage(final, header, body).version
		}
		if changed, err := http.ParseTime(header.Get("Last-Modified")); err == nil {
			item.ModifiedAt = changed.UTC()
		}
		found = append(found, item)
	}
	return found, missing, nil
}

// Check implements [connectors.Source]. It fetches each start URL.
func (s *source) Check(ctx context.Context) error {
	for _, u := range s.scope.starts {
		final, _, header, err := s.fetch(ctx, u)
		switch {
		case errors.Is(err, connectors.ErrNotFound):
			return connectors.Fatal(fmt.Errorf("%s: there is no page, or it leads out of the crawl; correct config.%s", u, optionStarts))
		case err != nil:
			if strings.Contains(err.Error(), "credentials") {
				return connectors.NeedsAuth(fmt.Errorf("%s: %w", u, err))
			}
			return fmt.Errorf("%s: %w", u, err)
		case kindOf(header, final) == ignored:
			return connectors.Fatal(fmt.Errorf("%s is no page (%s); correct config.%s", u, safetext.TruncateBytes(header.Get("Content-Type"), 100), optionStarts))
		}
	}
	return nil
}

// Close implements [connectors.Source].
func (s *source) Close() error {
	s.transport.CloseIdleConnections()
	return nil
}
