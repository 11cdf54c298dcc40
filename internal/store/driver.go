package store

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/internal/store/replica"
)

// driver is ent's driver, except that statements whose context carries a
// transaction of atomic become part of that transaction.
type driver struct{ *entsql.Driver }

type txKey struct{}

// fromContext returns the transaction of atomic in ctx.
func fromContext(ctx context.Context) (*entsql.Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(*entsql.Tx)
	return tx, ok
}

// atomic runs do in a transaction and commits it if do returns nil. Statements with
// the context of do are part of the transaction.
func (d driver) atomic(ctx context.Context, do func(ctx context.Context) error) error {
	began, err := d.Driver.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	tx, ok := began.(*entsql.Tx)
	if !ok {
		return errors.Join(fmt.Errorf("begin: a transaction is a %T", began), began.Rollback())
	}
	ended := false
	defer func() {
		if !ended { // do has panicked
			_ = tx.Rollback()
		}
	}()
	err = do(context.WithValue(ctx, txKey{}, tx))
	ended = true
	if err != nil {
		if failed := tx.Rollback(); failed != nil && !errors.Is(failed, stdsql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("roll back: %w", failed))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// ReadCurrent calls read with a context whose statements by ent are read on a replica, if
// one has replayed all that was committed before, and else on the primary. read may be
// called twice: what it has read the first time must be discarded. In a transaction it
// reads there.
func ReadCurrent(ctx context.Context, readers *replica.Readers, read func(ctx context.Context) error) error {
	if _, ok := fromContext(ctx); ok {
		return read(ctx)
	}
	answered, err := readers.Current(ctx, func(ctx context.Context, tx *stdsql.Tx) error {
		return read(context.WithValue(ctx, txKey{}, &entsql.Tx{Conn: entsql.Conn{ExecQuerier: tx}, Tx: tx}))
	})
	if answered || err != nil {
		return err
	}
	return read(ctx)
}

// Exec implements [dialect.Driver].
func (d driver) Exec(ctx context.Context, query string, args, v any) error {
	if tx, ok := fromContext(ctx); ok {
		return tx.Exec(ctx, query, args, v)
	}
	return d.Driver.Exec(ctx, query, args, v)
}

// Query implements [dialect.Driver].
func (d driver) Query(ctx context.Context, query string, args, v any) error {
	if tx, ok := fromContext(ctx); ok {
		return tx.Query(ctx, query, args, v)
	}
	return d.Driver.Query(ctx, query, args, v)
}

// ExecContext runs a statement of plain SQL.
func (d driver) ExecContext(ctx context.Context, query string, args ...any) (stdsql.Result, error) {
	if tx, ok := fromContext(ctx); ok {
		return tx.ExecContext(ctx, query, args...)
	}
	return d.Driver.ExecContext(ctx, query, args...)
}

// QueryContext runs a query of plain SQL.
func (d driver) QueryContext(ctx context.Context, query string, args ...any) (*stdsql.Rows, error) {
	if tx, ok := fromContext(ctx); ok {
		return tx.QueryContext(ctx, query, args...)
	}
	return d.Driver.QueryContext(ctx, query, args...)
}

// Tx begins a transaction, or joins the transaction of atomic.
func (d driver) Tx(ctx context.Context) (dialect.Tx, error) {
	if tx, ok := fromContext(ctx); ok {
		return nested{tx}, nil
	}
	return d.Driver.Tx(ctx)
}

// BeginTx is Tx with options.
func (d driver) BeginTx(ctx context.Context, o *stdsql.TxOptions) (dialect.Tx, error) {
	if tx, ok := fromContext(ctx); ok {
		return nested{tx}, nil
	}
	return d.Driver.BeginTx(ctx, o)
}

// nested is a transaction that atomic ends.
type nested struct{ *entsql.Tx }

// Commit does nothing.
func (nested) Commit() error { return nil }

// Rollback does nothing: atomic rolls back because of the error that is returned
// with it.
func (nested) Rollback() error { return nil }
