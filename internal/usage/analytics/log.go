package analytics

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/internal/safetext"
)

// LogOptions are the options of a Log. Zero fields have the given defaults.
type LogOptions struct {
	Mode     Mode          // Full
	Queue    int           // queries that may wait to be written; 8,192
	Batch    int           // rows of one statement; 500
	Interval time.Duration // the longest that a query waits; 1 s
	// Timeout limits a statement, and the writing of the queue at Close; 10 s.
	Timeout time.Duration
	Log     *slog.Logger // nil logs nothing
}

func (o LogOptions) withDefaults() LogOptions {
	if o.Mode == "" {
		o.Mode = Full
	}
	if o.Queue <= 0 {
		o.Queue = 8192
	}
	if o.Batch <= 0 {
		o.Batch = 500
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Timeout <= 0 {
		o.Timeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// A Log writes queries to the database after their requests. It owns one goroutine, which
// Close ends.
type Log struct {
	pool *pgxpool.Pool
	opt  LogOptions

	queue   chan Query
	full    chan struct{} // the queue has enough for a batch
	written atomic.Int64
	dropped atomic.Int64

	mu     sync.RWMutex // of closed, so that nothing enters the queue after it was drained
	closed bool
	stop   chan struct{}
	done   chan struct{}
}

// NewLog starts a Log on the application's pool (internal/store). The end of ctx does not
// end it.
func NewLog(ctx context.Context, pool *pgxpool.Pool, o LogOptions) *Log {
	o = o.withDefaults()
	l := &Log{pool: pool, opt: o, queue: make(chan Query, o.Queue), full: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go l.run(context.WithoutCancel(ctx))
	return l
}

// Add queues a query. It never blocks: if the queue is full or the Log is closed, the
// query is dropped and counted.
func (l *Log) Add(q Query) {
	if l.opt.Mode == Off {
		return
	}
	if l.opt.Mode != Full {
		q.Text = ""
	} else if len(q.Text) > maxScrubbed {
		// Scrub needs one character more to know that the text was cut. The clone frees the
		// rest, which may be as long as a request body.
		text := safetext.TruncateBytes(q.Text, maxScrubbed+utf8.UTFMax)
		q.Text = strings.Clone(text)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		l.dropped.Add(1)
		return
	}
	select {
	case l.queue <- q:
		// The writer wakes up after each Interval, and earlier only for a full batch.
		if len(l.queue) >= min(l.opt.Batch, (l.opt.Queue+1)/2) {
			select {
			case l.full <- struct{}{}:
			default:
			}
		}
	default:
		l.dropped.Add(1)
	}
}

// Written returns the number of queries that were written since the start.
func (l *Log) Written() int64 { return l.written.Load() }

// Dropped returns the number of queries that were lost since the start.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Close writes the queue and ends the Log. It may be called more than once.
func (l *Log) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	<-l.done
}

func (l *Log) run(ctx context.Context) {
	defer close(l.done)
	tick := time.NewTicker(l.opt.Interval)
	defer tick.Stop()
	b := &batch{log: l}
	for {
		full := l.full
		if len(b.rows) >= l.opt.Batch {
			full = nil // the last batch failed and is retried at the next tick
		}
		select {
		case <-full:
			b.writeQueue(ctx, false)
		case <-tick.C:
			b.writeQueue(ctx, true)
		case <-l.stop:
			ctx, cancel := context.WithTimeout(ctx, l.opt.Timeout)
			defer cancel()
			b.drain(ctx)
			return
		}
	}
}

// A batch is the rows of one statement.
type batch struct {
	log      *Log
	rows     []row
	stored   bool // the rows are in the log, but their events may not be counted
	failures int  // in a row
}

// writeQueue writes the full batches of the queue, or everything. It ends when a batch
// fails.
func (b *batch) writeQueue(ctx context.Context, everything bool) {
	for {
		b.fill()
		if len(b.rows) == 0 || len(b.rows) < b.log.opt.Batch && !everything {
			return
		}
		if b.flush(ctx); len(b.rows) > 0 {
			return
		}
	}
}

// fill moves queries from the queue to the batch.
func (b *batch) fill() {
	for len(b.rows) < b.log.opt.Batch {
		select {
		case q := <-b.log.queue:
			b.rows = append(b.rows, rowOf(q, b.log.opt.Mode))
		default:
			return
		}
	}
}

// maxRefusals is how often a batch with a permanent error is tried.
const maxRefusals = 3

// flush writes and empties the batch. After an error it keeps the rows for the next try.
func (b *batch) flush(ctx context.Context) {
	if len(b.rows) == 0 {
		return
	}
	err := b.write(ctx)
	if err != nil {
		b.failures++
		if b.failures == 1 {
			b.log.opt.Log.WarnContext(ctx, "write query log failed, will retry", slog.Any("error", err))
		}
		if !isPermanent(err) || b.failures < maxRefusals {
			return
		}
		if !b.stored {
			b.log.dropped.Add(int64(len(b.rows)))
		}
	}
	b.rows, b.stored, b.failures = b.rows[:0], false, 0
}

func (b *batch) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.log.opt.Timeout)
	defer cancel()
	if !b.stored {
		if err := write(ctx, b.log.pool, b.rows); err != nil {
			return err
		}
		b.stored = true
		b.log.written.Add(int64(len(b.rows)))
	}
	workspaces, requests := make([]uuid.UUID, len(b.rows)), make([]string, len(b.rows))
	for i := range b.rows {
		workspaces[i], requests[i] = b.rows[i].Workspace, b.rows[i].Request
	}
	return count(ctx, b.log.pool, workspaces, requests)
}

// drain writes the queue. After an error it drops the rest.
func (b *batch) drain(ctx context.Context) {
	for {
		if b.fill(); len(b.rows) == 0 {
			return
		}
		before := b.failures
		if b.flush(ctx); b.failures > before {
			lost := len(b.log.queue)
			if !b.stored {
				lost += len(b.rows)
			}
			b.log.dropped.Add(int64(lost))
			return
		}
	}
}
