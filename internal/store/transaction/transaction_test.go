package transaction_test

import (
	"context"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestWhatFollowsACommitFollowsItAndNothingElse(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	ctx := viewer.With(t.Context(), viewer.System(uuid.Nil))
	calls := 0
	note := func(ctx context.Context) {
		calls++
		if ent.TxFromContext(ctx) != nil || transaction.Client(ctx, db.Ent) != db.Ent {
			t.Error("what follows the commit is still inside the transaction")
		}
	}
	if transaction.AfterCommit(ctx, note); calls != 1 {
		t.Fatalf("without a transaction: %d calls", calls)
	}
	for name, end := range map[string]struct {
		end   func(*ent.Tx) error
		calls int
	}{"committed": {(*ent.Tx).Commit, 1}, "rolled back": {(*ent.Tx).Rollback, 0}} {
		calls = 0
		tx, err := db.Ent.Tx(ctx)
		if err != nil {
			t.Fatal(err)
		}
		inside := ent.NewTxContext(ctx, tx)
		if transaction.Client(inside, db.Ent) == db.Ent {
			t.Errorf("%s: the client is not the transaction's", name)
		}
		if transaction.AfterCommit(inside, note); calls != 0 {
			t.Errorf("%s: called before the end", name)
		}
		if err := end.end(tx); err != nil || calls != end.calls {
			t.Errorf("%s: %d calls, %v", name, calls, err)
		}
	}
}
