package webcrawler

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/url"
	"strconv"
	"strings"

	"github.com/magpie-search/magpie/connectors"
)

// entry is an address that waits in the queue of a crawl.
type entry struct {
	Address string `json:"a"`
	Depth   int    `json:"d,omitempty"` // links from a start address
	Sitemap bool   `json:"s,omitempty"`
	Named   bool   `json:"n,omitempty"` // a sitemap that robots.txt or an index names
	Start   bool   `json:"b,omitempty"` // a start address
	Try     int    `json:"t,omitempty"` // how often it failed
}

// step is what one page of a walk added to a crawl.
type step struct {
	Entries  []entry  `json:"e,omitempty"`
	Versions []string `json:"v,omitempty"` // of the pages it took
}

// crawl is one walk of a site: a queue that only grows, and how far it has come.
// All of it follows from its steps, which are in the notes.
type crawl struct {
	id      string
	at      int // in the queue
	fetched int
	queue   []entry
	known   map[uint64]struct{} // addresses that are or were in the queue
	shapes  map[string]int
	taken   map[string]struct{} // versions of pages, each an item once
	seed    maphash.Seed
}

const (
	maxQueue   = 500_000
	crawlNotes = "crawl/"
	pageNotes  = "page/"
	// stepBytes is about how much of a step one note takes.
	stepBytes = 512 << 10
)

func newCrawl(id string) *crawl {
	return &crawl{id: id, known: make(map[uint64]struct{}), shapes: make(map[string]int), taken: make(map[string]struct{}), seed: maphash.MakeSeed()}
}

// cursor is the place of a crawl on the wire.
func (c *crawl) cursor() string {
	return c.id + "." + strconv.Itoa(c.at) + "." + strconv.Itoa(c.fetched)
}

// parseCursor reads a cursor; false for a text that is none.
func parseCursor(text string) (id string, at, fetched int, ok bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || parts[0] == "" || len(parts[0]) > 32 || strings.ContainsAny(parts[0], "/%") {
		return "", 0, 0, false
	}
	at, err1 := strconv.Atoi(parts[1])
	fetched, err2 := strconv.Atoi(parts[2])
	return parts[0], at, fetched, err1 == nil && err2 == nil && at >= 0 && fetched >= 0
}

// add puts an address in the queue unless it was there, and says whether it did.
// A trap's addresses are left out.
func (c *crawl) add(u *url.URL, e entry) bool {
	e.Address = u.String()
	if len(c.queue) >= maxQueue {
		return false
	}
	h := maphash.String(c.seed, e.Address)
	if _, known := c.known[h]; known {
		return false
	}
	c.known[h] = struct{}{}
	if !e.Start && !e.Sitemap {
		if endless(u) {
			return false
		}
		if form, most := shape(u); form != "" {
			if c.shapes[form]++; c.shapes[form] > most {
				return false
			}
		}
	}
	c.queue = append(c.queue, e)
	return true
}

// replay adds what an earlier step added.
func (c *crawl) replay(s step) {
	for _, e := range s.Entries {
		u, err := url.Parse(e.Address)
		if err != nil {
			continue
		}
		if e.Try > 0 { // once more
			c.queue = append(c.queue, e)
			continue
		}
		c.add(u, e)
	}
	for _, v := range s.Versions {
		c.taken[v] = struct{}{}
	}
}

// save writes a step under a number, one more than the place in the queue at
// which it began: made again, it takes its own place. The first is number 0.
func (c *crawl) save(ctx context.Context, notes connectors.State, at int, s step) error {
	name := fmt.Sprintf("%s%s/%08d", crawlNotes, c.id, at)
	for n := 0; n == 0 || len(s.Entries) > 0; n++ {
		part := step{Versions: s.Versions}
		s.Versions = nil
		for size := 0; len(s.Entries) > 0 && size < stepBytes; s.Entries = s.Entries[1:] {
			part.Entries = append(part.Entries, s.Entries[0])
			size += len(s.Entries[0].Address) + 40
		}
		if n == 0 && len(part.Entries) == 0 && len(part.Versions) == 0 {
			return nil
		}
		data, err := json.Marshal(part)
		if err != nil {
			return fmt.Errorf("encode a step of the crawl: %w", err)
		}
		if err := notes.Put(ctx, fmt.Sprintf("%s-%04d", name, n), data); err != nil {
			return fmt.Errorf("keep a step of the crawl: %w", err)
		}
	}
	return nil
}

// resume makes the crawl of a cursor out of its steps.
func resume(ctx context.Context, notes connectors.State, id string, at, fetched int) (*crawl, error) {
	c := newCrawl(id)
	prefix := crawlNotes + id + "/"
	names, err := notes.Keys(ctx, prefix)
	if err != nil {
		return nil, fmt.Errorf("read the crawl: %w", err)
	}
	for _, name := range names { // in the order of their places
		place, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "-")
		if n, err := strconv.Atoi(place); err != nil || n > at {
			continue // of a step that is made again
		}
		data, err := notes.Get(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("read the crawl: %w", err)
		}
		var s step
		if json.Unmarshal(data, &s) == nil {
			c.replay(s)
		}
	}
	if at > len(c.queue) {
		return nil, nil //nolint:nilnil // nil: there is no such crawl any more
	}
	c.at, c.fetched = at, fetched
	return c, nil
}
