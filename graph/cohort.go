package graph

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
)

// maxCohort is how many keys one fetch of a cohort has, and maxSeen how many a
// cohort remembers for the next.
const (
	maxCohort = 1000
	maxSeen   = 10_000
)

// cohort reads values for the rows of one operation. The first that is asked for
// brings those of all rows that the operation has read so far, so that a list
// costs one fetch, however its rows are spread over goroutines, and nothing is
// waited for.
type cohort[V any] struct {
	fetch func(context.Context, []uuid.UUID) (map[uuid.UUID]V, error)

	mu    sync.Mutex
	seen  []uuid.UUID // read, and in no batch yet
	known map[uuid.UUID]*batch[V]
}

// batch is one fetch; done is closed when it has ended.
type batch[V any] struct {
	done   chan struct{}
	values map[uuid.UUID]V
	err    error
}

// loader makes a cohort. Keys that fetch does not answer have the zero value.
func loader[V any](fetch func(context.Context, []uuid.UUID) (map[uuid.UUID]V, error)) *cohort[V] {
	return &cohort[V]{fetch: fetch, known: map[uuid.UUID]*batch[V]{}}
}

// saw notes the key of a row that was read.
func (c *cohort[V]) saw(id uuid.UUID) {
	if id == uuid.Nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[id] == nil && len(c.seen) < maxSeen {
		c.seen = append(c.seen, id)
	}
}

// Load is the value of a key.
func (c *cohort[V]) Load(ctx context.Context, id uuid.UUID) (V, error) {
	c.mu.Lock()
	b := c.known[id]
	if b != nil {
		c.mu.Unlock()
		select {
		case <-b.done:
			return b.values[id], b.err
		case <-ctx.Done():
			var none V
			return none, context.Cause(ctx)
		}
	}
	b = &batch[V]{done: make(chan struct{})}
	c.known[id] = b
	ids := []uuid.UUID{id}
	rest := 0
	for ; rest < len(c.seen) && len(ids) < maxCohort; rest++ {
		if other := c.seen[rest]; c.known[other] == nil {
			c.known[other] = b
			ids = append(ids, other)
		}
	}
	c.seen = c.seen[rest:]
	c.mu.Unlock()
	defer close(b.done)
	b.values, b.err = c.fetch(ctx, ids)
	return b.values[id], b.err
}

// remember tells the loaders of an operation which rows it has read.
func remember(next ent.Querier) ent.Querier {
	return ent.QuerierFunc(func(ctx context.Context, query ent.Query) (ent.Value, error) {
		rows, err := next.Query(ctx, query)
		if l, ok := ctx.Value(loadersKey{}).(*loaders); ok && err == nil {
			l.saw(rows)
		}
		return rows, err
	})
}

// saw notes the keys that the rows' fields ask for.
func (l *loaders) saw(rows ent.Value) {
	switch rows := rows.(type) {
	case []*ent.Collection:
		for _, row := range rows {
			l.stats.saw(row.ID)
			l.feeds.saw(row.ID)
		}
	case []*ent.Agent:
		for _, row := range rows {
			for _, id := range row.Collections {
				l.collectionName.saw(id)
			}
		}
	case []*ent.AgentRun:
		for _, row := range rows {
			l.runEvents.saw(row.ID)
		}
	case []*ent.Connector:
		for _, row := range rows {
			l.lastJob.saw(row.ID)
			l.documentCounts.saw(row.ID)
			l.webhook.saw(row.ID)
			l.pending.saw(row.ID)
			l.freshness.saw(row.ID)
			l.history.saw(row.ID)
		}
	case []*ent.Conversation:
		for _, row := range rows {
			l.messageCount.saw(row.ID)
		}
	case []*ent.Message:
		for _, row := range rows {
			l.feedback.saw(row.ID)
		}
	case []*ent.Document:
		for _, row := range rows {
			l.collectionName.saw(row.CollectionID)
			l.connectorType.saw(row.ConnectorID)
			l.contents.saw(row.ID)
			l.summaries.saw(row.ID)
		}
	}
}
