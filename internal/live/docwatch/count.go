package docwatch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// countAge is the age up to which watchers share counts. When a process starts, all
// watchers come at once.
const countAge = time.Second

type countsKey struct {
	workspace uuid.UUID
	filter    Filter
}

// A count is a finished or running count.
type count struct {
	done   chan struct{}
	at     time.Time
	number int64
	counts index.StatusCounts
	err    error
}

// countDocuments counts the documents of a filter. Callers within countAge share the
// result. It has its change number, so that no change is lost by its age.
func (f *Feed) countDocuments(ctx context.Context, scope viewer.Scope, filter Filter) (int64, index.StatusCounts, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return 0, index.StatusCounts{}, err
	}
	key := countsKey{workspace, filter}
	for {
		f.mu.Lock()
		for other, old := range f.counts {
			if !old.at.IsZero() && time.Since(old.at) > countAge {
				delete(f.counts, other)
			}
		}
		c, found := f.counts[key]
		if !found {
			c = &count{done: make(chan struct{})}
			f.counts[key] = c
		}
		f.mu.Unlock()
		if !found {
			number, counts, err := f.store.StatusCounts(ctx, scope, filter.Collection, filter.Connector, filter.Document)
			f.mu.Lock()
			c.number, c.counts, c.err, c.at = number, counts, err, time.Now()
			if err != nil {
				delete(f.counts, key)
			}
			f.mu.Unlock()
			close(c.done)
			return number, counts, err
		}
		select {
		case <-c.done:
			if c.err == nil {
				return c.number, c.counts, nil
			}
			// The context of the other caller may have ended; count again.
			if ctx.Err() != nil {
				return 0, index.StatusCounts{}, ctx.Err()
			}
		case <-ctx.Done():
			return 0, index.StatusCounts{}, ctx.Err()
		}
	}
}
