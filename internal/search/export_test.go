package search

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/search/rank"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Kept is a cache of hits of its own, for tests.
type Kept struct{ cache hitCache }

// NewKept makes a cache with room for some bytes.
func NewKept(budget int64) *Kept { return &Kept{hitCache{budget: budget}} }

// Put remembers a hit as read at a state of its collection.
func (k *Kept) Put(workspace uuid.UUID, state index.State, h Hit) {
	k.cache.put(workspace, []index.State{state}, page(h.Passage), map[uuid.UUID]*Hit{h.Passage: &h})
}

// Get returns what is remembered of a passage for a state of its collection.
func (k *Kept) Get(workspace uuid.UUID, state index.State, passage uuid.UUID) *Hit {
	read := map[uuid.UUID]*Hit{}
	k.cache.get(workspace, []index.State{state}, page(passage), read)
	return read[passage]
}

// GetPage returns what is remembered of a page with passages of one document.
func (k *Kept) GetPage(workspace uuid.UUID, state index.State, document uuid.UUID, passages ...uuid.UUID) map[uuid.UUID]*Hit {
	read := map[uuid.UUID]*Hit{}
	var ranked []rank.Ranked
	for _, id := range passages {
		ranked = append(ranked, rank.Ranked{Candidate: rank.Candidate{Passage: id, Document: document}})
	}
	k.cache.get(workspace, []index.State{state}, ranked, read)
	return read
}

// Await waits until a collection in memory is as far as a state requires.
func (e *Engine) Await(ctx context.Context, scope viewer.Scope, state index.State) error {
	_, err := e.resident.Snapshot(ctx, scope, state)
	return err
}

// Remembered are the texts of the passages that are remembered.
func (e *Engine) Remembered() []string {
	e.hits.mutex.Lock()
	defer e.hits.mutex.Unlock()
	var texts []string
	for _, k := range e.hits.young {
		texts = append(texts, k.hit.Text)
	}
	return texts
}

// Bytes counts what is held.
func (k *Kept) Bytes() int64 {
	n := int64(0)
	for _, generation := range []map[uuid.UUID]*kept{k.cache.young, k.cache.old} {
		for _, one := range generation {
			n += one.hit.bytes()
		}
	}
	return n
}

func page(passage uuid.UUID) []rank.Ranked {
	return []rank.Ranked{{Candidate: rank.Candidate{Passage: passage}}}
}

// Aside offers work to somebody who reads it, or to nobody.
func Aside(read bool, work func()) func() {
	jobs := make(chan *job, 1)
	if read {
		go func() {
			for j := range jobs {
				j.run()
			}
		}()
	}
	wait := aside(jobs, work)
	return func() {
		defer close(jobs)
		wait()
	}
}
