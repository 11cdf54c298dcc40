package search

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// HitCache is a cache of hits for tests.
type HitCache struct{ cache hitCache }

// NewHitCache returns a cache with a budget in bytes.
func NewHitCache(budget int64) *HitCache { return &HitCache{hitCache{budget: budget}} }

// Put caches a hit that was read at a state of its collection.
func (c *HitCache) Put(workspace uuid.UUID, state index.State, h Hit) {
	c.cache.put(workspace, []index.State{state}, pageOf(uuid.Nil, h.Passage), map[uuid.UUID]*Hit{h.Passage: &h})
}

// Get returns the cached hit of a passage for a state of its collection.
func (c *HitCache) Get(workspace uuid.UUID, state index.State, passage uuid.UUID) *Hit {
	return c.GetPage(workspace, state, uuid.Nil, passage)[passage]
}

// GetPage returns the cached hits of a page with passages of one document.
func (c *HitCache) GetPage(workspace uuid.UUID, state index.State, document uuid.UUID, passages ...uuid.UUID) map[uuid.UUID]*Hit {
	hits := map[uuid.UUID]*Hit{}
	c.cache.get(workspace, []index.State{state}, pageOf(document, passages...), hits)
	return hits
}

// Bytes returns the size of the cached hits.
func (c *HitCache) Bytes() int64 {
	n := int64(0)
	for _, generation := range []map[uuid.UUID]*cachedHit{c.cache.young, c.cache.old} {
		for _, h := range generation {
			n += h.hit.bytes()
		}
	}
	return n
}

func pageOf(document uuid.UUID, passages ...uuid.UUID) []rank.Result {
	var page []rank.Result
	for _, id := range passages {
		page = append(page, rank.Result{Candidate: rank.Candidate{Passage: id, Document: document}})
	}
	return page
}

// Await waits until the resident index of a collection has caught up with a state.
func (e *Engine) Await(ctx context.Context, scope viewer.Scope, state index.State) error {
	_, err := e.resident.Snapshot(ctx, scope, state)
	return err
}

// CachedTexts returns the texts of the cached hits.
func (e *Engine) CachedTexts() []string {
	e.hits.mutex.Lock()
	defer e.hits.mutex.Unlock()
	var texts []string
	for _, h := range e.hits.young {
		texts = append(texts, h.hit.Text)
	}
	return texts
}
