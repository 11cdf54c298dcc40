package webcrawler

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/temoto/robotstxt"

	"magpie/connectors"
	"magpie/connectors/restapi"
)

const (
	// agentName is what robots.txt files call this crawler.
	agentName = "MagpieBot"
	// maxRobots is how much of a robots.txt is read (RFC 9309, section 2.5).
	maxRobots = 512 << 10
	// maxCrawlDelay is the longest pause that a robots.txt gets.
	maxCrawlDelay = 30 * time.Second
	// robotsFor is how long a robots.txt is gone by (RFC 9309, section 2.4).
	robotsFor = 24 * time.Hour
)

// rules are what a host's robots.txt says.
type rules struct {
	group    *robotstxt.Group
	sitemaps []string
	until    time.Time
}

func (r *rules) allow(u *url.URL) bool {
	p := u.EscapedPath()
	if u.RawQuery != "" {
		p += "?" + u.RawQuery
	}
	return r.group == nil || r.group.Test(p)
}

func (r *rules) pause() time.Duration {
	if r.group == nil {
		return 0
	}
	return min(r.group.CrawlDelay, maxCrawlDelay)
}

// rulesOf returns the rules of an address's host. One whose robots.txt cannot be
// had for now is left alone (RFC 9309, section 2.3.1.4).
func (s *source) rulesOf(ctx context.Context, u *url.URL) (*rules, error) {
	site := u.Scheme + "://" + u.Host
	s.mutex.Lock()
	known := s.robots[site]
	s.mutex.Unlock()
	if known != nil && s.now().Before(known.until) {
		return known, nil
	}
	found, err := s.readRobots(ctx, site)
	if err != nil {
		return nil, err
	}
	found.until = s.now().Add(robotsFor)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.robots[site] = found
	return found, nil
}

func (s *source) readRobots(ctx context.Context, site string) (*rules, error) {
	address := site + "/robots.txt"
	ctx, cancel := s.bounded(ctx)
	defer cancel()
	for range maxRedirects {
		response, err := s.request(ctx, address, nil)
		if err != nil {
			return nil, fmt.Errorf("read robots.txt: %w", err)
		}
		body, err := io.ReadAll(io.LimitReader(response.Body, maxRobots))
		_ = response.Body.Close()
		status := response.StatusCode
		switch {
		case err != nil:
			return nil, connectors.Retryable(fmt.Errorf("read robots.txt: %w", s.explain(ctx, err)), 0)
		case redirects(status):
			next, err := canonical(response.Request.URL, response.Header.Get("Location"))
			if err != nil {
				return &rules{}, nil
			}
			address = next.String()
		case status == http.StatusTooManyRequests || status >= 500:
			return nil, connectors.Retryable(fmt.Errorf("robots.txt cannot be had for now (status %d)", status), restapi.RetryAfter(response.Header))
		case status >= 400:
			return &rules{}, nil // there are no rules
		case status == http.StatusOK:
			data, err := robotstxt.FromBytes(body)
			if err != nil {
				return &rules{}, nil //nolint:nilerr // what cannot be read forbids nothing (RFC 9309, section 2.2)
			}
			return &rules{group: data.FindGroup(agentName), sitemaps: data.Sitemaps}, nil
		default:
			return &rules{}, nil
		}
	}
	return &rules{}, nil
}

// errForbidden is of an address that robots.txt keeps crawlers from.
var errForbidden = errors.New("the site's robots.txt does not allow it")
