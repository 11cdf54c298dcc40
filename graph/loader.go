package graph

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

const (
	maxBatch = 1000   // keys of one fetch
	maxSeen  = 10_000 // keys that wait for the next fetch
)

// A loader reads values that belong to rows of one operation. The first value that
// is asked for is fetched together with the values of all rows that the operation
// has read so far. So a list costs one fetch, although its rows are resolved one by
// one, and no resolver waits for others to collect keys.
type loader[V any] struct {
	fetch func(context.Context, []uuid.UUID) (map[uuid.UUID]V, error)

	mu      sync.Mutex
	seen    []uuid.UUID // keys that no batch has
	batches map[uuid.UUID]*batch[V]
}

// A batch is one fetch. done is closed when it has ended.
type batch[V any] struct {
	done   chan struct{}
	values map[uuid.UUID]V
	err    error
}

// newLoader returns a loader. Keys that are missing from the result of fetch have
// the zero value.
func newLoader[V any](fetch func(context.Context, []uuid.UUID) (map[uuid.UUID]V, error)) *loader[V] {
	return &loader[V]{fetch: fetch, batches: map[uuid.UUID]*batch[V]{}}
}

// see notes the key of a row that the operation has read.
func (l *loader[V]) see(id uuid.UUID) {
	if id == uuid.Nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.batches[id] == nil && len(l.seen) < maxSeen {
		l.seen = append(l.seen, id)
	}
}

// Load returns the value of a key.
func (l *loader[V]) Load(ctx context.Context, id uuid.UUID) (V, error) {
	b, ids := l.batchOf(id)
	if ids == nil {
		select {
		case <-b.done:
			return b.values[id], b.err
		case <-ctx.Done():
			var zero V
			return zero, context.Cause(ctx)
		}
	}
	defer close(b.done)
	b.values, b.err = l.fetch(ctx, ids)
	return b.values[id], b.err
}

// batchOf returns the batch of a key. If that is new, ids are its keys, which the
// caller must fetch.
func (l *loader[V]) batchOf(id uuid.UUID) (b *batch[V], ids []uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if b = l.batches[id]; b != nil {
		return b, nil
	}
	b = &batch[V]{done: make(chan struct{})}
	l.batches[id] = b
	ids = []uuid.UUID{id}
	n := 0
	for ; n < len(l.seen) && len(ids) < maxBatch; n++ {
		if other := l.seen[n]; l.batches[other] == nil {
			l.batches[other] = b
			ids = append(ids, other)
		}
	}
	l.seen = l.seen[n:]
	return b, ids
}

// pageLoaders are loaders of pages that belong to rows, one for each page that an
// operation asks for.
type pageLoaders[P comparable, V any] struct {
	fetch func(context.Context, P, []uuid.UUID) (map[uuid.UUID]V, error)

	mu    sync.Mutex
	seen  []uuid.UUID
	pages map[P]*loader[V]
}

func newPageLoaders[P comparable, V any](fetch func(context.Context, P, []uuid.UUID) (map[uuid.UUID]V, error)) *pageLoaders[P, V] {
	return &pageLoaders[P, V]{fetch: fetch, pages: map[P]*loader[V]{}}
}

// see notes the key of a row that the operation has read.
func (l *pageLoaders[P, V]) see(id uuid.UUID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if id == uuid.Nil || len(l.seen) == maxSeen {
		return
	}
	l.seen = append(l.seen, id)
	for _, page := range l.pages {
		page.see(id)
	}
}

// of returns the loader of a page.
func (l *pageLoaders[P, V]) of(p P) *loader[V] {
	l.mu.Lock()
	defer l.mu.Unlock()
	page, ok := l.pages[p]
	if !ok {
		page = newLoader(func(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]V, error) { return l.fetch(ctx, p, ids) })
		l.pages[p] = page
		for _, id := range l.seen {
			page.see(id)
		}
	}
	return page
}

// observeRows is an interceptor that shows the rows of every query to the loaders
// of the operation.
func observeRows(next ent.Querier) ent.Querier {
	return ent.QuerierFunc(func(ctx context.Context, query ent.Query) (ent.Value, error) {
		rows, err := next.Query(ctx, query)
		if l, ok := ctx.Value(loadersKey{}).(*loaders); ok && err == nil {
			l.see(rows)
		}
		return rows, err
	})
}

// A seer notes keys of rows.
type seer interface{ see(id uuid.UUID) }

// seeAll shows the key of each row to seers.
func seeAll[R any](rows []R, key func(R) uuid.UUID, seers ...seer) {
	for _, row := range rows {
		for _, s := range seers {
			s.see(key(row))
		}
	}
}
