// Package transaction runs domain code in the ent transaction that a context
// carries, so that whatever a domain does during a mutation becomes part of it.
//
// Allowed imports: ent.
package transaction

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/ent"
)

// Client returns the client of the transaction in ctx, or fallback without one.
func Client(ctx context.Context, fallback *ent.Client) *ent.Client {
	if tx := ent.TxFromContext(ctx); tx != nil {
		return tx.Client()
	}
	return fallback
}

// In calls do in the transaction of ctx or, without one, in a new transaction that
// is committed if do returns nil. The context passed to do carries the
// transaction. The error of do is returned unchanged.
func In(ctx context.Context, client *ent.Client, do func(ctx context.Context, client *ent.Client) error) error {
	if tx := ent.TxFromContext(ctx); tx != nil {
		return do(ctx, tx.Client())
	}
	tx, err := client.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin a transaction: %w", err)
	}
	defer func() {
		if cause := recover(); cause != nil {
			_ = tx.Rollback() // the panic is reported instead
			panic(cause)
		}
	}()
	if err := do(ent.NewTxContext(ctx, tx), tx.Client()); err != nil {
		_ = tx.Rollback() // the first error is reported
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	return nil
}

// Detach returns a row that In has read or written for use after In. If ctx has a
// transaction, that is row itself, which stays part of the transaction.
func Detach[R interface{ Unwrap() R }](ctx context.Context, row R) R {
	if ent.TxFromContext(ctx) != nil {
		return row
	}
	return row.Unwrap()
}

// AfterCommit calls do once the transaction in ctx has committed, and not if it
// fails. Without a transaction it calls do at once. The context passed to do
// carries no transaction.
func AfterCommit(ctx context.Context, do func(context.Context)) {
	tx, outside := ent.TxFromContext(ctx), Outside(ctx)
	if tx == nil {
		do(outside)
		return
	}
	onCommit(tx, func(err error) {
		if err == nil {
			do(outside)
		}
	})
}

// AfterRollback calls do once the transaction in ctx has been rolled back or its
// commit has failed. Without a transaction it does nothing. The context passed to
// do carries no transaction.
func AfterRollback(ctx context.Context, do func(context.Context)) {
	tx, outside := ent.TxFromContext(ctx), Outside(ctx)
	if tx == nil {
		return
	}
	onCommit(tx, func(err error) {
		if err != nil {
			do(outside)
		}
	})
	tx.OnRollback(func(next ent.Rollbacker) ent.Rollbacker {
		return ent.RollbackFunc(func(ctx context.Context, tx *ent.Tx) error {
			err := next.Rollback(ctx, tx)
			do(outside)
			return err
		})
	})
}

func onCommit(tx *ent.Tx, do func(error)) {
	tx.OnCommit(func(next ent.Committer) ent.Committer {
		return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
			err := next.Commit(ctx, tx)
			do(err)
			return err
		})
	})
}

// Outside returns ctx without its transaction, for work that must not be part of it.
func Outside(ctx context.Context) context.Context {
	return ent.NewTxContext(ent.NewContext(ctx, nil), nil)
}
