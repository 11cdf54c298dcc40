package store

import (
	"context"
	stdsql "database/sql"
	"errors"
	"fmt"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
)

// driver is ent's, but for statements whose context carries a transaction of
// atomic: those become part of it.
type driver struct{ *entsql.Driver }

type atomicKey struct{}

// inner is the transaction of atomic in ctx.
func inner(ctx context.Context) (*entsql.Tx, bool) {
	tx, ok := ctx.Value(atomicKey{}).(*entsql.Tx)
	return tx, ok
}

// atomic runs do in one transaction, into which all statements go that are given
// do's context, and commits it when do returns nil.
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
		if !ended { // do panicked
			_ = tx.Rollback()
		}
	}()
	err = do(context.WithValue(ctx, atomicKey{}, tx))
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

// Exec runs a statement.
func (d driver) Exec(ctx context.Context, query string, args, v any) error {
	if tx, ok := inner(ctx); ok {
		return tx.Exec(ctx, query, args, v)
	}
	return d.Driver.Exec(ctx, query, args, v)
}

// Query runs a query.
func (d driver) Query(ctx context.Context, query string, args, v any) error {
	if tx, ok := inner(ctx); ok {
		return tx.Query(ctx, query, args, v)
	}
	return d.Driver.Query(ctx, query, args, v)
}

// ExecContext runs a statement in plain SQL.
func (d driver) ExecContext(ctx context.Context, query string, args ...any) (stdsql.Result, error) {
	if tx, ok := inner(ctx); ok {
		return tx.ExecContext(ctx, query, args...)
	}
	return d.Driver.ExecContext(ctx, query, args...)
}

// QueryContext runs a query in plain SQL.
func (d driver) QueryContext(ctx context.Context, query string, args ...any) (*stdsql.Rows, error) {
	if tx, ok := inner(ctx); ok {
		return tx.QueryContext(ctx, query, args...)
	}
	return d.Driver.QueryContext(ctx, query, args...)
}

// Tx begins a transaction. Inside of atomic it is that one, which ends by itself.
func (d driver) Tx(ctx context.Context) (dialect.Tx, error) {
	if tx, ok := inner(ctx); ok {
		return nested{tx}, nil
	}
	return d.Driver.Tx(ctx)
}

// BeginTx begins a transaction with options, outside of any other.
func (d driver) BeginTx(ctx context.Context, o *stdsql.TxOptions) (dialect.Tx, error) {
	if tx, ok := inner(ctx); ok {
		return nested{tx}, nil
	}
	return d.Driver.BeginTx(ctx, o)
}

// nested is a transaction whose end is somebody else's business.
type nested struct{ *entsql.Tx }

// Commit does nothing.
func (nested) Commit() error { return nil }

// Rollback does nothing: the error that is returned beside it ends the outer one.
func (nested) Rollback() error { return nil }
