package webcrawler

import (
	"context"
	"fmt"
	"hash/maphash"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// An entry is a URL in the queue of a crawl.
type entry struct {
	Address  string `json:"a"`
	Depth    int    `json:"d,omitempty"` // links from a start URL
	Sitemap  bool   `json:"s,omitempty"`
	Expected bool   `json:"n,omitempty"` // a sitemap that robots.txt or an index names
	Start    bool   `json:"b,omitempty"` // a start URL
	Attempts int    `json:"t,omitempty"` // failed ones
}

// A stepRecord is what one step added to a crawl.
type stepRecord struct {
	Entries  []entry  `json:"e,omitempty"`
	Versions []string `json:"v,omitempty"` // of the listed pages
}

// A crawl is one walk of a site: a queue that only grows, and a position in it.
// It can be rebuilt from the stepRecords in the state.
type crawl struct {
	id         string
	position   int // in the queue
	fetched    int
	queue      []entry
	seenHashes map[uint64]struct{} // of URLs that are or were in the queue
	shapes     map[string]int
	versions   map[string]struct{} // of pages, each of which is listed once
	seed       maphash.Seed
}

const (
	maxQueue    = 500_000
	crawlPrefix = "crawl/"
	pagePrefix  = "page/"
	// maxStepValue is the approximate size of a value of the state.
	maxStepValue = 512 << 10
)

func newCrawl(id string) *crawl {
	return &crawl{id: id, seenHashes: make(map[uint64]struct{}), shapes: make(map[string]int), versions: make(map[string]struct{}), seed: maphash.MakeSeed()}
}

// cursor returns the crawl's cursor.
func (c *crawl) cursor() string {
	return c.id + "." + strconv.Itoa(c.position) + "." + strconv.Itoa(c.fetched)
}

// parseCursor parses a cursor.
func parseCursor(text string) (id string, position, fetched int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[0] == "" || len(parts[0]) > 32 || strings.ContainsAny(parts[0], "/%") {
		return "", 0, 0, false
	}
	position, err1 := strconv.Atoi(parts[1])
	fetched, err2 := strconv.Atoi(parts[2])
	return parts[0], position, fetched, err1 == nil && err2 == nil && position >= 0 && fetched >= 0
}

// add queues a URL unless it was queued before or looks like a trap. It reports
// whether it did.
func (c *crawl) add(u *url.URL, e entry) bool {
	e.Address = u.String()
	if len(c.queue) >= maxQueue {
		return false
	}
	h := maphash.String(c.seed, e.Address)
	if _, known := c.seenHashes[h]; known {
		return false
	}
	c.seenHashes[h] = struct{}{}
	if !e.Start && !e.Sitemap {
		if isEndless(u) {
			return false
		}
		if form, limit := urlPattern(u); form != "" {
			if c.shapes[form]++; c.shapes[form] > limit {
				return false
			}
		}
	}
	c.queue = append(c.queue, e)
	return true
}

// replay adds what an earlier step added.
func (c *crawl) replay(s stepRecord) {
	for _, e := range s.Entries {
		u, err := url.Parse(e.Address)
		if err != nil {
			continue
		}
		if e.Attempts > 0 {
			c.queue = append(c.queue, e)
			continue
		}
		c.add(u, e)
	}
	for _, v := range s.Versions {
		c.versions[v] = struct{}{}
	}
}

// save stores a step under a number, one more than the position at which it
// began, so that a repeated step overwrites itself. The first number is 0.
func (c *crawl) save(ctx context.Context, state connectors.State, number int, s stepRecord) error {
	prefix := fmt.Sprintf("%s%s/%08d", crawlPrefix, c.id, number)
	for n := 0; n == 0 || len(s.Entries) > 0; n++ {
		part := stepRecord{Versions: s.Versions}
		s.Versions = nil
		for size := 0; len(s.Entries) > 0 && size < maxStepValue; s.Entries = s.Entries[1:] {
			part.Entries = append(part.Entries, s.Entries[0])
			size += len(s.Entries[0].Address) + 40
		}
		if n == 0 && len(part.Entries) == 0 && len(part.Versions) == 0 {
			return nil
		}
		if err := connectors.PutJSON(ctx, state, fmt.Sprintf("%s-%04d", prefix, n), part); err != nil {
			return err
		}
	}
	return nil
}

// resumeCrawl rebuilds the crawl of a cursor from its steps. It reports false
// if the crawl is gone.
func resumeCrawl(ctx context.Context, state connectors.State, id string, position, fetched int) (c *crawl, ok bool, err error) {
	c = newCrawl(id)
	prefix := crawlPrefix + id + "/"
	keys, err := state.Keys(ctx, prefix)
	if err != nil {
		return nil, false, fmt.Errorf("read the crawl: %w", err)
	}
	for _, key := range keys {
		number, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "-")
		if n, err := strconv.Atoi(number); err != nil || n > position {
			continue // a step that will be repeated
		}
		var s stepRecord
		if ok, err := connectors.GetJSON(ctx, state, key, &s); err != nil {
			return nil, false, err
		} else if ok {
			c.replay(s)
		}
	}
	if position > len(c.queue) {
		return nil, false, nil // the crawl was deleted
	}
	c.position, c.fetched = position, fetched
	return c, true, nil
}
