package webcrawler

import (
	"bytes"
	"context"
	"encoding/json"
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
		case status == http.StatusTooManyRequests || status >= 500 || status == http.StatusAccepted || status == http.StatusPartialContent:
			return nil, connectors.Retryable(fmt.Errorf("robots.txt cannot be had for now (status %d)", status), restapi.RetryAfter(response.Header))
		case status >= 400:
			return &rules{}, nil // there are no rules
		case status == http.StatusOK && (isPage(response.Header) || beginsAsPage(body)):
			return s.keptRobots(ctx, site)
		case status == http.StatusOK:
			if err := s.keepRobots(ctx, site, body); err != nil {
				return nil, err
			}
			return rulesIn(body), nil
		default:
			return &rules{}, nil
		}
	}
	return &rules{}, nil
}

// rulesIn are those of a robots.txt. What cannot be read forbids nothing (RFC
// 9309, section 2.2).
func rulesIn(body []byte) *rules {
	data, err := robotstxt.FromBytes(body)
	if err != nil {
		return &rules{}
	}
	return &rules{group: data.FindGroup(agentName), sitemaps: data.Sitemaps}
}

// keptFor is how long a robots.txt is gone by that cannot be had any more, and
// keptAgain how old it gets before it is written down again.
const (
	keptFor     = 30 * 24 * time.Hour
	keptAgain   = 24 * time.Hour
	robotsNotes = "robots/"
)

// keptRules is the last robots.txt of a site.
type keptRules struct {
	At   int64  `json:"at"`
	Body []byte `json:"b"`
}

func (s *source) keepRobots(ctx context.Context, site string, body []byte) error {
	old, err := s.loadRobots(ctx, site)
	if err != nil || old != nil && bytes.Equal(old.Body, body) && s.now().Sub(time.Unix(old.At, 0)) < keptAgain {
		return err
	}
	data, err := json.Marshal(keptRules{At: s.now().Unix(), Body: body})
	if err != nil {
		return fmt.Errorf("encode a robots.txt: %w", err)
	}
	if err := s.notes.Put(ctx, robotsNotes+recordName(site), data); err != nil {
		return fmt.Errorf("keep a robots.txt: %w", err)
	}
	return nil
}

func (s *source) loadRobots(ctx context.Context, site string) (*keptRules, error) {
	data, err := s.notes.Get(ctx, robotsNotes+recordName(site))
	if err != nil {
		return nil, fmt.Errorf("read a robots.txt: %w", err)
	}
	var kept keptRules
	if len(data) == 0 || json.Unmarshal(data, &kept) != nil {
		return nil, nil //nolint:nilnil // nil: none is kept
	}
	return &kept, nil
}

// keptRobots are the rules of a site that has a web page in place of its
// robots.txt: the last ones for a while, since it may be a proxy's page. Sites
// that never had any answer so, too.
func (s *source) keptRobots(ctx context.Context, site string) (*rules, error) {
	kept, err := s.loadRobots(ctx, site)
	if err != nil {
		return nil, err
	}
	if kept == nil || s.now().Sub(time.Unix(kept.At, 0)) > keptFor {
		return &rules{}, nil
	}
	return rulesIn(kept.Body), nil
}

// errForbidden is of an address that robots.txt keeps crawlers from.
var errForbidden = errors.New("the site's robots.txt does not allow it")
