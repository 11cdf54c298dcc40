package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// Counter counts the statements of whatever is given its context.
type Counter struct{ n atomic.Int64 }

// Statements is how many there have been.
func (c *Counter) Statements() int64 { return c.n.Load() }

type counterKey struct{}

// Counting returns a context whose statements are counted: queries, what begins
// and ends transactions, and each statement of a batch.
func Counting(ctx context.Context) (context.Context, *Counter) {
	c := &Counter{}
	return context.WithValue(ctx, counterKey{}, c), c
}

// uncounted takes a context for what a new connection needs first.
func uncounted(ctx context.Context) context.Context {
	return context.WithValue(ctx, counterKey{}, nil)
}

// counter counts the statements of a pool, and tells a renewal how they end.
type counter struct {
	all   *atomic.Int64
	renew *renewal
}

var (
	_ pgx.QueryTracer = counter{}
	_ pgx.BatchTracer = counter{}
)

func (c counter) one(ctx context.Context) {
	c.all.Add(1)
	if inner, ok := ctx.Value(counterKey{}).(*Counter); ok {
		inner.n.Add(1)
	}
}

// TraceQueryStart counts a statement.
func (c counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	c.one(ctx)
	return ctx
}

// TraceQueryEnd looks for a server that has become read-only.
func (c counter) TraceQueryEnd(_ context.Context, _ *pgx.Conn, end pgx.TraceQueryEndData) {
	c.renew.after(end.Err)
}

// TraceBatchStart does nothing.
func (counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	return ctx
}

// TraceBatchQuery counts a statement of a batch, and looks as TraceQueryEnd does.
func (c counter) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, end pgx.TraceBatchQueryData) {
	c.one(ctx)
	c.renew.after(end.Err)
}

// TraceBatchEnd does nothing.
func (counter) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}

// Statements is how many statements both pools have sent.
func (d *DB) Statements() int64 { return d.statements.Load() }
