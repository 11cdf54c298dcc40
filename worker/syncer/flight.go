package syncer

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/sync/semaphore"

	"github.com/magpie-search/magpie/connectors"
)

// Content is fetched only as fast as it is stored: the bytes that all slices of a
// process have fetched and not yet stored are bounded. An item reserves its size
// before it is opened. An item that turns out to be larger reserves more while it
// is read. When there is no room, one item at a time exceeds the bound: several
// items that waited with what they hold could deadlock.

// unknownSize is reserved for an item of unknown size.
const unknownSize = 1 << 20

// growStep is what an item reserves at a time beyond its first reservation.
const growStep = 1 << 20

// A flight bounds the content in flight.
type flight struct {
	limit    int64
	room     *semaphore.Weighted
	overflow *semaphore.Weighted // held by the item that exceeds the bound
}

func newFlight(limit int64) *flight {
	return &flight{limit: limit, room: semaphore.NewWeighted(limit), overflow: semaphore.NewWeighted(1)}
}

// A reservation is the share of one item. It is for one goroutine.
type reservation struct {
	flight    *flight
	bytes     int64 // reserved
	read      int64
	overflows bool
}

// reserve waits for room for a number of bytes.
func (f *flight) reserve(ctx context.Context, bytes int64) (*reservation, error) {
	bytes = min(max(bytes, 1), f.limit)
	if err := f.room.Acquire(ctx, bytes); err != nil {
		return nil, fmt.Errorf("wait until earlier items are stored: %w", err)
	}
	return &reservation{flight: f, bytes: bytes}, nil
}

func (r *reservation) release() {
	r.flight.room.Release(r.bytes)
	if r.overflows {
		r.flight.overflow.Release(1)
	}
}

// grow extends the reservation after a read of n bytes.
func (r *reservation) grow(ctx context.Context, n int64) error {
	r.read += n
	for !r.overflows && r.read > r.bytes {
		if r.flight.room.TryAcquire(growStep) {
			r.bytes += growStep
			continue
		}
		if err := r.flight.overflow.Acquire(ctx, 1); err != nil {
			return fmt.Errorf("wait until a large item is stored: %w", err)
		}
		r.overflows = true
	}
	return nil
}

// reader returns a reader that extends the reservation.
func (r *reservation) reader(ctx context.Context, from io.Reader) io.Reader {
	return &reservingReader{ctx: ctx, from: from, room: r}
}

// A reservingReader extends a reservation with every read.
type reservingReader struct {
	ctx  context.Context // Read has no parameter for it
	from io.Reader
	room *reservation
}

// Read implements io.Reader.
func (c *reservingReader) Read(p []byte) (int, error) {
	n, err := c.from.Read(p)
	if growErr := c.room.grow(c.ctx, int64(n)); growErr != nil {
		return n, growErr
	}
	return n, err
}

// fetchInFlight is fetch within the bound. The caller calls release when the item
// has its outcome.
func (s *slice) fetchInFlight(ctx context.Context, item connectors.Item) (content []byte, release func(), err error) {
	size := max(item.Size, int64(len(item.Content)))
	if item.Size < 0 && item.Content == nil {
		size = unknownSize
	}
	reserved, err := s.engine.flight.reserve(ctx, size)
	if err != nil {
		return nil, func() {}, err
	}
	defer func() {
		if release == nil { // the source panicked
			reserved.release()
		}
	}()
	content, err = s.fetch(ctx, item, reserved)
	return content, reserved.release, err
}
