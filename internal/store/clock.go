package store

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// A Clock tells the time of the database. Times that several processes compare,
// such as heartbeats, leases and the ends of sessions, come from it, so that their
// own clocks need not agree. It reads the database now and then and advances by the
// clock of the process in between, also while the database cannot be reached. It is
// safe for concurrent use and owns a goroutine; Close ends it.
type Clock struct {
	pool    *pgxpool.Pool
	process func() time.Time
	log     *slog.Logger

	mu           sync.Mutex
	databaseTime time.Time // of the last reading
	processTime  time.Time // at the same moment
	stop         context.CancelFunc
	asking       sync.WaitGroup
}

// ClockOptions are settings with useful zero values.
type ClockOptions struct {
	// Process is the clock of the process: time.Now, whose monotonic reading
	// ignores changes of the wall clock.
	Process func() time.Time
	Every   time.Duration // interval of readings: 15 s
	Log     *slog.Logger  // nil discards
}

const (
	defaultPoll = 15 * time.Second
	readTimeout = 5 * time.Second
	// readTries is the number of statements of one reading, of which the fastest
	// counts.
	readTries = 3
)

// NewClock reads the time of the database, and reads it again at intervals until
// Close.
func NewClock(ctx context.Context, pool *pgxpool.Pool, o ClockOptions) (*Clock, error) {
	if o.Process == nil {
		o.Process = time.Now
	}
	if o.Every <= 0 {
		o.Every = defaultPoll
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Clock{pool: pool, process: o.Process, log: o.Log}
	if err := c.read(ctx); err != nil {
		return nil, err
	}
	if offset := c.process().Sub(c.Now()); offset.Abs() > time.Minute {
		c.log.WarnContext(ctx, "clocks of process and database differ", "offset", offset.Round(time.Second))
	}
	ctx, c.stop = context.WithCancel(context.WithoutCancel(ctx))
	c.asking.Go(func() { c.poll(ctx, o.Every) })
	return c, nil
}

// Now returns the present time of the database.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	databaseTime, processTime := c.databaseTime, c.processTime
	c.mu.Unlock()
	return databaseTime.Add(c.process().Sub(processTime))
}

// Close ends the readings and waits for them. Now goes on working.
func (c *Clock) Close() {
	c.stop()
	c.asking.Wait()
}

func (c *Clock) poll(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := c.read(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			c.log.WarnContext(ctx, "database time not read", slog.Any("error", err))
		}
		failing = err != nil
	}
}

// read sets the clock to the time of the database, which is assumed to be read half
// way between query and answer.
func (c *Clock) read(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(withoutCounter(ctx), readTimeout)
	defer cancel()
	var databaseTime, processTime time.Time
	var best time.Duration
	for try := range readTries {
		var at time.Time
		before := c.process()
		if err := c.pool.QueryRow(ctx, "select clock_timestamp()").Scan(&at); err != nil {
			return fmt.Errorf("read the time of the database: %w", err)
		}
		if took := c.process().Sub(before); try == 0 || took < best {
			best, databaseTime, processTime = took, at.UTC(), before.Add(took/2)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.databaseTime, c.processTime = databaseTime, processTime
	return nil
}
