package search

import (
	"sync"

	"github.com/google/uuid"

	"magpie/internal/index"
	"magpie/internal/search/rank"
)

// hitCache remembers what is shown of passages. What it remembers of one counts
// for the very position of its collection at which it was read: with every change
// of the collection it is read anew. It holds two generations, and forgets the
// older one when the younger has its share; what is asked for again stays. The
// zero value remembers nothing.
type hitCache struct {
	budget int64 // bytes, roughly

	mutex      sync.Mutex
	young, old map[uuid.UUID]kept
	bytes      int64 // of the young
}

// kept is a hit as it was read, with nothing in it of the search that read it.
type kept struct {
	workspace uuid.UUID
	at        index.Position
	hit       Hit
}

// get puts copies of those hits of a page into read that it has of this
// workspace, at the positions of the collections. What a hit refers to is not
// to be changed.
func (c *hitCache) get(workspace uuid.UUID, states []index.State, page []rank.Ranked, read map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range page {
		id, state := page[i].Passage, &states[page[i].Part]
		if read[id] != nil {
			continue
		}
		k, young := c.young[id]
		if !young {
			k = c.old[id]
		}
		if k.workspace != workspace || k.hit.Collection != state.Collection || k.at != state.Position {
			continue
		}
		if !young {
			c.keep(k)
		}
		hit := k.hit
		hit.CollectionName = state.Name
		read[id] = &hit
	}
}

// put remembers what was just read of a page. The states must have been read before.
func (c *hitCache) put(workspace uuid.UUID, states []index.State, page []rank.Ranked, read map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range page {
		state := &states[page[i].Part]
		if h := read[page[i].Passage]; h != nil && h.Collection == state.Collection {
			c.keep(kept{workspace, state.Position, *h})
		}
	}
}

func (c *hitCache) keep(k kept) {
	if before, known := c.young[k.hit.Passage]; known {
		c.bytes -= before.hit.bytes()
	} else if c.young == nil {
		c.young = make(map[uuid.UUID]kept)
	}
	c.young[k.hit.Passage] = k
	if c.bytes += k.hit.bytes(); c.bytes > c.budget/2 {
		c.old, c.young, c.bytes = c.young, nil, 0
	}
}

// bytes is roughly the memory that a hit takes.
func (h *Hit) bytes() int64 {
	n := 600 + len(h.Text) + len(h.Title) + len(h.URL) + len(h.Section) + len(h.Version) + len(h.DocType) + len(h.Source)
	for _, list := range [...][]string{h.Tags, h.Headings} {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	for key, value := range h.Metadata {
		n += 64 + len(key) + sizeOf(value)
	}
	return int64(n)
}

// sizeOf is roughly the memory that a decoded JSON value takes.
func sizeOf(value any) int {
	n := 16
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, item := range v {
			n += sizeOf(item)
		}
	case map[string]any:
		for key, item := range v {
			n += 64 + len(key) + sizeOf(item)
		}
	}
	return n
}
