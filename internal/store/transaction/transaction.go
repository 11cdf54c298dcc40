// Package transaction finds the ent transaction that a context carries, so that
// what domain packages do inside a mutation becomes part of it.
//
// Allowed imports: ent.
package transaction

import (
	"context"
	"fmt"

	"github.com/magpie-search/magpie/ent"
)

// Client is the client of the transaction in ctx, else fallback.
func Client(ctx context.Context, fallback *ent.Client) *ent.Client {
	if tx := ent.TxFromContext(ctx); tx != nil {
		return tx.Client()
	}
	return fallback
}

// AfterCommit calls do once the transaction in ctx has committed, and never
// when it is rolled back; without a transaction it calls do at once. The context
// that do gets carries no transaction any more.
func AfterCommit(ctx context.Context, do func(context.Context)) {
	outside := ent.NewTxContext(ent.NewContext(ctx, nil), nil)
	tx := ent.TxFromContext(ctx)
	if tx == nil {
		do(outside)
		return
	}
	tx.OnCommit(func(next ent.Committer) ent.Committer {
		return ent.CommitFunc(func(ctx context.Context, tx *ent.Tx) error {
			err := next.Commit(ctx, tx)
			if err == nil {
				do(outside)
			}
			return err
		})
	})
}

// In does something in the transaction of ctx, or, where there is none, in one
// of its own that is committed when do has succeeded. The context that do gets
// carries the transaction, so that Client and AfterCommit find it. The error of
// do is returned as it is.
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
			_ = tx.Rollback() // the panic says more
			panic(cause)
		}
	}()
	if err := do(ent.NewTxContext(ctx, tx), tx.Client()); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit a transaction: %w", err)
	}
	return nil
}
