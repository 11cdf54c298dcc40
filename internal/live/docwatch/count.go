package docwatch

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/viewer"
)

// countsFor is how long counts are good for others, too: when a process starts,
// everybody comes at once.
const countsFor = time.Second

type countsKey struct {
	workspace uuid.UUID
	filter    Filter
}

// counted is a count that was made or is being made.
type counted struct {
	done   chan struct{}
	at     time.Time
	number int64
	counts index.StatusCounts
	err    error
}

// count counts what a filter lets through. Those who ask at the same time, or
// within a second, share the answer; it names the position it is of, so that
// nothing is lost by its age.
func (f *Feed) count(ctx context.Context, scope viewer.Scope, filter Filter) (int64, index.StatusCounts, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return 0, index.StatusCounts{}, err
	}
	key := countsKey{workspace, filter}
	for {
		f.mu.Lock()
		for other, old := range f.counts {
			if !old.at.IsZero() && time.Since(old.at) > countsFor {
				delete(f.counts, other)
			}
		}
		c, found := f.counts[key]
		if !found {
			c = &counted{done: make(chan struct{})}
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
			// Theirs may have been cut off; the next one counts for themselves.
			if ctx.Err() != nil {
				return 0, index.StatusCounts{}, ctx.Err()
			}
		case <-ctx.Done():
			return 0, index.StatusCounts{}, ctx.Err()
		}
	}
}
