package search

import (
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
)

// A hitCache holds recently read hits. A hit is valid until its collection has a change that
// searches must see. Changes of a running sync are not required: a passage never changes its
// text, and a search that still finds the old version of a document shows the old version.
// The cache has two generations: when the young one has half of the budget, the old one is
// dropped. The zero value caches nothing.
type hitCache struct {
	budget int64 // approximate bytes

	mutex      sync.Mutex
	young, old map[uuid.UUID]*cachedHit
	bytes      int64 // of the young generation
	// The ordinals of the cached passages, by document.
	youngOrdinals, oldOrdinals map[uuid.UUID][]int32
}

// cachedHit is a hit as it was read, without the score and snippet of a search.
type cachedHit struct {
	workspace  uuid.UUID
	generation int64
	required   int64 // change number of the state that was read before the hit
	ordinal    int32
	hit        Hit
}

// get adds copies of the cached hits of a page to hits. It leaves out a document whose
// passages are not all cached in one version: these must be read together. The memory that
// hits refer to is shared and must not be changed.
func (c *hitCache) get(workspace uuid.UUID, states []index.State, page []rank.Result, hits map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	cached := make([]*cachedHit, len(page)) // nil for no valid hit
	for i := range page {
		id, state := page[i].Passage, &states[page[i].Part]
		if hits[id] != nil {
			continue
		}
		h, young := c.young[id]
		if !young {
			h = c.old[id]
		}
		if h == nil || h.workspace != workspace || h.hit.Collection != state.Collection || h.generation != state.Generation || h.required != state.Required {
			continue
		}
		if !young {
			c.add(h)
		}
		cached[i] = h
	}
	for i := range page {
		if id := page[i].Passage; cached[i] != nil && documentCached(page, cached, hits, i) {
			hit := cached[i].hit
			hit.CollectionName = states[page[i].Part].Name
			hits[id] = &hit
		}
	}
}

// documentCached reports whether all passages of a document on the page are cached in the
// version of passage i. Passages that have a hit already do not count.
func documentCached(page []rank.Result, cached []*cachedHit, hits map[uuid.UUID]*Hit, i int) bool {
	for j := range page {
		if j == i || page[j].Document != page[i].Document {
			continue
		}
		switch {
		case cached[j] != nil:
			if !cached[j].hit.sameVersion(&cached[i].hit) {
				return false
			}
		case hits[page[j].Passage] == nil:
			return false
		}
	}
	return true
}

// sameVersion reports whether two passages of a document have the same document data.
func (h *Hit) sameVersion(o *Hit) bool {
	address, _, _ := strings.Cut(h.URL, "#")
	other, _, _ := strings.Cut(o.URL, "#")
	return address == other && h.Title == o.Title && h.Section == o.Section && h.Version == o.Version && h.DocType == o.DocType &&
		h.Language == o.Language && h.UpdatedAt.Equal(o.UpdatedAt) && slices.Equal(h.Tags, o.Tags)
}

// put caches the hits of a page. The states must have been read before the hits.
func (c *hitCache) put(workspace uuid.UUID, states []index.State, page []rank.Result, hits map[uuid.UUID]*Hit) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range page {
		state := &states[page[i].Part]
		if h := hits[page[i].Passage]; h != nil && h.Collection == state.Collection {
			c.add(&cachedHit{workspace, state.Generation, state.Required, page[i].Ordinal, *h})
		}
	}
}

// putRefreshed caches hits of one collection, with their ordinals. The state must have been
// read before the hits.
func (c *hitCache) putRefreshed(workspace uuid.UUID, state *index.State, hits []*Hit, ordinals []int32) {
	if c.budget <= 0 {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i, h := range hits {
		c.add(&cachedHit{workspace, state.Generation, state.Required, ordinals[i], *h})
	}
}

// ordinals returns the documents and ordinals of the cached passages of documents, at most
// limit. A document is repeated for each of its passages.
func (c *hitCache) ordinals(documents []uuid.UUID, limit int) (owners []uuid.UUID, ordinals []int32) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, id := range documents {
		young := c.youngOrdinals[id]
		for _, ordinal := range young {
			owners, ordinals = append(owners, id), append(ordinals, ordinal)
		}
		for _, ordinal := range c.oldOrdinals[id] {
			if !slices.Contains(young, ordinal) {
				owners, ordinals = append(owners, id), append(ordinals, ordinal)
			}
		}
		if len(owners) >= limit {
			return owners[:limit], ordinals[:limit]
		}
	}
	return owners, ordinals
}

// add adds a hit to the young generation. The caller holds the mutex.
func (c *hitCache) add(h *cachedHit) {
	if before, ok := c.young[h.hit.Passage]; ok {
		c.bytes -= before.hit.bytes()
	} else if c.young == nil {
		c.young, c.youngOrdinals = make(map[uuid.UUID]*cachedHit), make(map[uuid.UUID][]int32)
	}
	c.young[h.hit.Passage] = h
	if ordinals := c.youngOrdinals[h.hit.Document]; !slices.Contains(ordinals, h.ordinal) {
		c.youngOrdinals[h.hit.Document] = append(ordinals, h.ordinal)
	}
	if c.bytes += h.hit.bytes(); c.bytes > c.budget/2 {
		c.old, c.young, c.bytes = c.young, nil, 0
		c.oldOrdinals, c.youngOrdinals = c.youngOrdinals, nil
	}
}

// bytes returns the approximate memory of a hit.
func (h *Hit) bytes() int64 {
	n := 600 + len(h.Text) + len(h.Title) + len(h.URL) + len(h.Section) + len(h.Version) + len(h.DocType) + len(h.Source)
	lists := append(make([][]string, 0, 2+len(h.sections)), h.Tags, h.Headings)
	for i := range h.sections {
		n += 64 + len(h.sections[i].Anchor)
		lists = append(lists, h.sections[i].Headings)
	}
	for _, list := range lists {
		for _, s := range list {
			n += 16 + len(s)
		}
	}
	for key, value := range h.Metadata {
		n += 64 + len(key) + jsonBytes(value)
	}
	return int64(n)
}

// jsonBytes returns the approximate memory of a decoded JSON value.
func jsonBytes(value any) int {
	n := 16
	switch v := value.(type) {
	case string:
		n += len(v)
	case []any:
		for _, item := range v {
			n += jsonBytes(item)
		}
	case map[string]any:
		for key, item := range v {
			n += 64 + len(key) + jsonBytes(item)
		}
	}
	return n
}
