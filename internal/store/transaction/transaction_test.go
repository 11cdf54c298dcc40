package transaction_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func open(t *testing.T) (context.Context, *ent.Client) {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return viewer.With(t.Context(), viewer.System(uuid.Nil)), db.Ent
}

func TestCallbacksFollowTheEndOfTheTransaction(t *testing.T) {
	t.Parallel()
	ctx, client := open(t)
	var committed, rolledBack int
	count := func(n *int) func(context.Context) {
		return func(ctx context.Context) {
			*n++
			if ent.TxFromContext(ctx) != nil || transaction.Client(ctx, client) != client {
				t.Error("the callback is still inside the transaction")
			}
		}
	}
	register := func(ctx context.Context) {
		committed, rolledBack = 0, 0
		transaction.AfterCommit(ctx, count(&committed))
		transaction.AfterRollback(ctx, count(&rolledBack))
	}
	if register(ctx); committed != 1 || rolledBack != 0 {
		t.Fatalf("without a transaction: %d commits, %d rollbacks", committed, rolledBack)
	}
	for _, c := range []struct {
		name                  string
		end                   func(*ent.Tx) error
		committed, rolledBack int
	}{{"Commit", (*ent.Tx).Commit, 1, 0}, {"Rollback", (*ent.Tx).Rollback, 0, 1}} {
		tx, err := client.Tx(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inside := ent.NewTxContext(ctx, tx)
		if transaction.Client(inside, client) == client {
			t.Errorf("%s: the client is not the transaction's", c.name)
		}
		if register(inside); committed+rolledBack != 0 {
			t.Errorf("%s: called before the end", c.name)
		}
		if err := c.end(tx); err != nil || committed != c.committed || rolledBack != c.rolledBack {
			t.Errorf("%s: %d commits, %d rollbacks, %v", c.name, committed, rolledBack, err)
		}
	}
}

func TestInCommitsUnlessItsFunctionFails(t *testing.T) {
	t.Parallel()
	ctx, client := open(t)
	failure := errors.New("refused")
	for _, want := range []error{failure, nil} {
		err := transaction.In(ctx, client, func(ctx context.Context, client *ent.Client) error {
			if err := client.Workspace.Create().SetName("W").Exec(ctx); err != nil {
				return err
			}
			return want
		})
		n, failed := client.Workspace.Query().Count(ctx)
		if failed != nil || !errors.Is(err, want) || (n == 1) != (want == nil) {
			t.Errorf("In = %v, %d rows, %v", err, n, failed)
		}
	}
}
