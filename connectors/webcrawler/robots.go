package webcrawler

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/temoto/robotstxt"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/restapi"
)

const (
	// agentName is the crawler's name in robots.txt.
	agentName = "MagpieBot"
	// maxRobots is how much of a robots.txt is read (RFC 9309, section 2.5).
	maxRobots = 512 << 10
	// maxCrawlDelay is the longest Crawl-delay that is obeyed.
	maxCrawlDelay = 30 * time.Second
	// robotsMaxAge is how long a robots.txt is cached (RFC 9309, section 2.4).
	robotsMaxAge = 24 * time.Hour
)

// rules are the rules in a host's robots.txt.
type rules struct {
	group    *robotstxt.Group
	sitemaps []string
	expires  time.Time
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

// hostRules returns the rules of a URL's host. It is an error if robots.txt is
// temporarily unavailable (RFC 9309, section 2.3.1.4).
func (s *source) hostRules(ctx context.Context, u *url.URL) (*rules, error) {
	site := u.Scheme + "://" + u.Host
	s.mutex.Lock()
	cached := s.robots[site]
	s.mutex.Unlock()
	if cached != nil && s.now().Before(cached.expires) {
		return cached, nil
	}
	loaded, err := s.fetchRobots(ctx, site)
	if err != nil {
		return nil, err
	}
	loaded.expires = s.now().Add(robotsMaxAge)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.robots[site] = loaded
	return loaded, nil
}

func (s *source) fetchRobots(ctx context.Context, site string) (*rules, error) {
	address := site + "/robots.txt"
	ctx, cancel := s.withTimeout(ctx)
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
			return nil, connectors.Retryable(fmt.Errorf("read robots.txt: %w", s.markError(ctx, err)), 0)
		case isRedirect(status):
			next, err := canonicalURL(response.Request.URL, response.Header.Get("Location"))
			if err != nil {
				return &rules{}, nil
			}
			address = next.String()
		case status == http.StatusTooManyRequests || status >= 500 || status == http.StatusAccepted || status == http.StatusPartialContent:
			return nil, connectors.Retryable(fmt.Errorf("robots.txt is not available now (status %d)", status), restapi.RetryAfter(response.Header))
		case status >= 400:
			return &rules{}, nil
		case status == http.StatusOK && (restapi.DeclaresHTML(response.Header) || restapi.StartsAsHTML(body)):
			return s.fallbackRules(ctx, site)
		case status == http.StatusOK:
			if err := s.saveRobots(ctx, site, body); err != nil {
				return nil, err
			}
			return parseRobots(body), nil
		default:
			return &rules{}, nil
		}
	}
	return &rules{}, nil
}

// parseRobots parses a robots.txt. Malformed rules forbid nothing (RFC 9309,
// section 2.2).
func parseRobots(body []byte) *rules {
	data, err := robotstxt.FromBytes(body)
	if err != nil {
		return &rules{}
	}
	return &rules{group: data.FindGroup(agentName), sitemaps: data.Sitemaps}
}

// How long a saved robots.txt is used while it is unavailable, and how often it
// is saved.
const (
	savedRobotsMaxAge  = 30 * 24 * time.Hour
	robotsSaveInterval = 24 * time.Hour
	robotsPrefix       = "robots/"
)

// A savedRobots is the last robots.txt of a site, in the state.
type savedRobots struct {
	SavedAt int64  `json:"at"`
	Body    []byte `json:"b"`
}

func (s *source) saveRobots(ctx context.Context, site string, body []byte) error {
	saved, ok, err := s.loadRobots(ctx, site)
	if err != nil || ok && bytes.Equal(saved.Body, body) && s.now().Sub(time.Unix(saved.SavedAt, 0)) < robotsSaveInterval {
		return err
	}
	return connectors.PutJSON(ctx, s.state, robotsPrefix+recordKey(site), savedRobots{SavedAt: s.now().Unix(), Body: body})
}

func (s *source) loadRobots(ctx context.Context, site string) (saved savedRobots, ok bool, err error) {
	ok, err = connectors.GetJSON(ctx, s.state, robotsPrefix+recordKey(site), &saved)
	return saved, ok, err
}

// fallbackRules returns the rules of a site that answers a request for robots.txt
// with a web page: the saved rules for a while, since the page may be a proxy's.
// Sites without a robots.txt answer in the same way.
func (s *source) fallbackRules(ctx context.Context, site string) (*rules, error) {
	saved, ok, err := s.loadRobots(ctx, site)
	if err != nil {
		return nil, err
	}
	if !ok || s.now().Sub(time.Unix(saved.SavedAt, 0)) > savedRobotsMaxAge {
		return &rules{}, nil
	}
	return parseRobots(saved.Body), nil
}

// errForbidden says that robots.txt does not allow a URL.
var errForbidden = errors.New("the site's robots.txt does not allow it")
