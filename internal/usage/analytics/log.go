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
)

// LogOptions tune a Log; the zero value is useful.
type LogOptions struct {
	Mode  Mode          // what is kept; Full when empty
	Queue int           // questions that may wait to be written: 8,192
	Batch int           // rows of one statement: 500
	Every time.Duration // the longest that a question waits: 1 s
	// Patience bounds a statement, and the writing of what is left at Close: 10 s.
	Patience time.Duration
	Log      *slog.Logger // nil: silent
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
	if o.Every <= 0 {
		o.Every = time.Second
	}
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log writes down what was asked, behind the requests. It owns one goroutine;
// Close ends and awaits it.
type Log struct {
	pool *pgxpool.Pool
	opt  LogOptions

	queue   chan Query
	enough  chan struct{} // the queue is to be looked at
	written atomic.Int64
	dropped atomic.Int64

	mu     sync.RWMutex // of closed: nothing enters the queue after it was emptied
	closed bool
	stop   chan struct{}
	ended  chan struct{}
}

// NewLog starts a Log on the application's pool (internal/store). It goes on
// after the end of ctx, until Close.
func NewLog(ctx context.Context, pool *pgxpool.Pool, o LogOptions) *Log {
	o = o.withDefaults()
	l := &Log{pool: pool, opt: o, queue: make(chan Query, o.Queue), enough: make(chan struct{}, 1), stop: make(chan struct{}), ended: make(chan struct{})}
	go l.run(context.WithoutCancel(ctx))
	return l
}

// Add takes note of a question. It never waits: when the queue is full or the
// Log closed, the question is dropped and counted as such.
func (l *Log) Add(q Query) {
	if l.opt.Mode == Off {
		return
	}
	if l.opt.Mode != Full {
		q.Text = ""
	} else if len(q.Text) > longest {
		// A character more than is looked at tells Scrub that there was more; the
		// rest, up to a request's body, is not held on to.
		text, _ := head(q.Text, longest+utf8.UTFMax)
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
		// The writer is not woken for each question: it looks once in a while by itself.
		if len(l.queue) >= min(l.opt.Batch, (l.opt.Queue+1)/2) {
			select {
			case l.enough <- struct{}{}:
			default:
			}
		}
	default:
		l.dropped.Add(1)
	}
}

// Written is the number of questions that were written since the start.
func (l *Log) Written() int64 { return l.written.Load() }

// Dropped is the number of questions that were lost since the start.
func (l *Log) Dropped() int64 { return l.dropped.Load() }

// Close writes what waits and returns. It may be called more than once.
func (l *Log) Close() {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.stop)
	}
	l.mu.Unlock()
	<-l.ended
}

func (l *Log) run(ctx context.Context) {
	defer close(l.ended)
	tick := time.NewTicker(l.opt.Every)
	defer tick.Stop()
	b := &batch{log: l}
	for {
		enough := l.enough
		if len(b.rows) >= l.opt.Batch {
			enough = nil // the database does not take them: the queue has to hold the rest
		}
		select {
		case <-enough:
			b.take(ctx, false)
		case <-tick.C:
			b.take(ctx, true)
		case <-l.stop:
			ctx, cancel := context.WithTimeout(ctx, l.opt.Patience)
			defer cancel()
			b.drain(ctx)
			return
		}
	}
}

// batch is what is written with one statement.
type batch struct {
	log      *Log
	rows     []row
	stored   bool // the rows are in the log, their events may not be counted yet
	failures int  // in a row
}

// take writes what waits in the queue: whole batches, or everything. It ends when
// the database does not take one.
func (b *batch) take(ctx context.Context, everything bool) {
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

// fill takes what there is room for out of the queue.
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

// refusals is how often a batch is sent that the database refuses for what is in it.
const refusals = 3

// flush writes the batch, or keeps it for the next time when the database is away.
func (b *batch) flush(ctx context.Context) {
	if len(b.rows) == 0 {
		return
	}
	err := b.write(ctx)
	if err != nil {
		b.failures++
		if b.failures == 1 {
			b.log.opt.Log.WarnContext(ctx, "the query log cannot be written; it is tried again", slog.Any("error", err))
		}
		if !lasting(err) || b.failures < refusals {
			return
		}
		if !b.stored {
			b.log.dropped.Add(int64(len(b.rows)))
		}
	}
	b.rows, b.stored, b.failures = b.rows[:0], false, 0
}

func (b *batch) write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.log.opt.Patience)
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

// drain writes everything that waits, as far as the database takes it.
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
