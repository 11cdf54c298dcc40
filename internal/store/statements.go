package store

import (
	"context"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
)

// A Counter counts statements.
type Counter struct{ n atomic.Int64 }

// Statements returns the number of statements so far.
func (c *Counter) Statements() int64 { return c.n.Load() }

type counterKey struct{}

// Counting returns a context whose statements are counted: queries, the begin and
// end of transactions, and each statement of a batch.
func Counting(ctx context.Context) (context.Context, *Counter) {
	c := &Counter{}
	return context.WithValue(ctx, counterKey{}, c), c
}

// withoutCounter returns a context for the statements that a new connection needs
// first.
func withoutCounter(ctx context.Context) context.Context {
	return context.WithValue(ctx, counterKey{}, nil)
}

// counter counts and traces the statements of a pool, and passes their errors to a
// poolReset.
type counter struct {
	all   *atomic.Int64
	reset *poolReset
}

var (
	_ pgx.QueryTracer = counter{}
	_ pgx.BatchTracer = counter{}
)

func (c counter) one(ctx context.Context) {
	c.all.Add(1)
	if fromContext, ok := ctx.Value(counterKey{}).(*Counter); ok {
		fromContext.n.Add(1)
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (c counter) TraceQueryStart(ctx context.Context, _ *pgx.Conn, start pgx.TraceQueryStartData) context.Context {
	c.one(ctx)
	return startStatement(ctx, start.SQL, 0)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (c counter) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, end pgx.TraceQueryEndData) {
	endStatement(ctx, end.Err)
	c.reset.after(end.Err)
}

// TraceBatchStart implements [pgx.BatchTracer].
func (counter) TraceBatchStart(ctx context.Context, _ *pgx.Conn, start pgx.TraceBatchStartData) context.Context {
	return startStatement(ctx, "", start.Batch.Len())
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (c counter) TraceBatchQuery(ctx context.Context, _ *pgx.Conn, end pgx.TraceBatchQueryData) {
	c.one(ctx)
	c.reset.after(end.Err)
}

// TraceBatchEnd implements [pgx.BatchTracer].
func (counter) TraceBatchEnd(ctx context.Context, _ *pgx.Conn, end pgx.TraceBatchEndData) {
	endStatement(ctx, end.Err)
}

// Statements returns the number of statements that both pools have sent.
func (d *DB) Statements() int64 { return d.statements.Load() }
