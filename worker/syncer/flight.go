package syncer

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/magpie-search/magpie/connectors"
)

// Content is fetched only as fast as it is stored: what all slices of a process
// have fetched, and not brought to an outcome, is bounded in bytes. An item
// reserves its size before it is opened. One that turns out to be larger
// reserves the rest on its way, and when there is no room the one that reads
// goes over the bound, alone: were it to wait with what it has, several such
// could wait for each other for ever.

// unknownSize is reserved for an item whose size the source does not tell.
const unknownSize = 1 << 20

// step is how much an item reserves at once beyond its first reservation.
const step = 1 << 20

// flight is the bound.
type flight struct {
	most   int64
	room   *semaphore.Weighted
	beyond *semaphore.Weighted // held by the one that goes over it
}

func newFlight(most int64) *flight {
	return &flight{most: most, room: semaphore.NewWeighted(most), beyond: semaphore.NewWeighted(1)}
}

// reservation is an item's part of it. It is for one goroutine.
type reservation struct {
	flight *flight
	bytes  int64 // reserved
	read   int64
	alone  bool
}

// reserve waits until there is room for so many bytes.
func (f *flight) reserve(ctx context.Context, bytes int64) (*reservation, error) {
	bytes = min(max(bytes, 1), f.most)
	if err := f.room.Acquire(ctx, bytes); err != nil {
		return nil, fmt.Errorf("wait until earlier items are stored: %w", err)
	}
	return &reservation{flight: f, bytes: bytes}, nil
}

func (r *reservation) release() {
	r.flight.room.Release(r.bytes)
	if r.alone {
		r.flight.beyond.Release(1)
	}
}

// grow makes room for n bytes more than were read.
func (r *reservation) grow(ctx context.Context, n int64) error {
	r.read += n
	for !r.alone && r.read > r.bytes {
		if r.flight.room.TryAcquire(step) {
			r.bytes += step
			continue
		}
		if err := r.flight.beyond.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("wait until a large item is stored: %w", err)
		}
		r.alone = true
	}
	return nil
}

// reader counts what is read of an item.
func (r *reservation) reader(ctx context.Context, from io.Reader) io.Reader {
	return &counted{ctx: ctx, from: from, room: r}
}

type counted struct {
	ctx  context.Context // readers have no other way
	from io.Reader
	room *reservation
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if grown := c.room.grow(c.ctx, int64(n)); grown != nil {
		return n, grown
	}
	return n, err
}

// fetchInFlight is fetch within the bound. landed is to be called when the item
// has its outcome, whatever it is.
func (s *slice) fetchInFlight(ctx context.Context, item connectors.Item) (content []byte, landed func(), err error) {
	size := max(item.Size, int64(len(item.Content)))
	if item.Size < 0 && item.Content == nil {
		size = unknownSize
	}
	room, err := s.engine.flight.reserve(ctx, size)
	if err != nil {
		return nil, func() {}, err
	}
	defer func() {
		if landed == nil { // the source panicked
			room.release()
		}
	}()
	content, err = s.fetch(ctx, item, room)
	return content, room.release, err
}
