package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Clock tells the time of the database. What several processes compare, such as
// heartbeats, leases and the ends of sessions, is told by it, so that it does not
// matter how far their own clocks are apart. It asks the database now and then
// and counts on from there by the process' clock; while the database is away it
// goes on counting. It is safe for concurrent use and owns a goroutine.
type Clock struct {
	pool    *pgxpool.Pool
	process func() time.Time
	log     *slog.Logger

	mu     sync.Mutex
	there  time.Time // the database's time
	here   time.Time // when it was that by the process' clock
	stop   context.CancelFunc
	asking sync.WaitGroup
}

// ClockOptions are settings with useful zero values.
type ClockOptions struct {
	// Process is the process' clock: time.Now, whose monotonic reading keeps a
	// wall clock that is set out of it.
	Process func() time.Time
	Every   time.Duration // how often the database is asked: 15 s
	Log     *slog.Logger  // nil: nowhere
}

const (
	clockEvery = 15 * time.Second
	clockLimit = 5 * time.Second
	// clockTries are how often the database is asked for one reading, of which the
	// quickest answer counts.
	clockTries = 3
)

// NewClock asks the database for its time once, and from then on until Close.
func NewClock(ctx context.Context, pool *pgxpool.Pool, o ClockOptions) (*Clock, error) {
	if o.Process == nil {
		o.Process = time.Now
	}
	if o.Every <= 0 {
		o.Every = clockEvery
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Clock{pool: pool, process: o.Process, log: o.Log}
	if err := c.ask(ctx); err != nil {
		return nil, err
	}
	if ahead := c.process().Sub(c.Now()); ahead.Abs() > time.Minute {
		c.log.WarnContext(ctx, "the clocks of this process and of the database differ", "ahead", ahead.Round(time.Second))
	}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.asking.Go(func() { c.follow(ctx, o.Every) })
	return c, nil
}

// Now is the present time of the database.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	there, here := c.there, c.here
	c.mu.Unlock()
	return there.Add(c.process().Sub(here))
}

// Close ends the asking and waits for it. Now goes on counting.
func (c *Clock) Close() {
	c.stop()
	c.asking.Wait()
}

func (c *Clock) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := c.ask(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.log.WarnContext(ctx, "the time of the database cannot be read at the moment", "error", err)
		}
		failing = err != nil
	}
}

// ask reads the database's clock: half way between question and answer.
func (c *Clock) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(uncounted(ctx), clockLimit)
	defer cancel()
	var there, here time.Time
	var best time.Duration
	for try := range clockTries {
		var told time.Time
		asked := c.process()
		if err := c.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&told); err != nil {
			return fmt.Errorf("read the time of the database: %w", err)
		}
		if took := c.process().Sub(asked); try == 0 || took < best {
			best, there, here = took, told.UTC(), asked.Add(took/2)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.there, c.here = there, here
	return nil
}
