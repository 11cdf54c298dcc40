// Package transaction finds the ent transaction that a context carries, so that
// what domain packages do inside a mutation becomes part of it.
//
// Allowed imports: ent.
package transaction

import (
	"context"

	"magpie/ent"
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
