package store_test

import (
	"testing"

	"github.com/google/uuid"

	"magpie/internal/store"
	"magpie/internal/testkit"
	"magpie/internal/viewer"
)

func TestABrokenConnectionIsReplacedBeforeAQueryIsLostOnIt(t *testing.T) {
	t.Parallel()
	stack := testkit.Stack(t)
	if err := store.Migrate(t.Context(), stack.OwnerURL); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), stack.DatabaseURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 3 {
		var conns [4]interface{ Release() }
		for i := range conns {
			conn, err := db.Pool.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			conns[i] = conn
		}
		for _, conn := range conns {
			conn.Release()
		}
		if err := stack.RestartPostgres(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range 8 {
			var one int
			if err := db.Pool.QueryRow(t.Context(), "select 1").Scan(&one); err != nil {
				t.Fatal(err)
			}
			if _, err := db.Ent.Workspace.Query().Count(viewer.With(t.Context(), viewer.System(uuid.Nil))); err != nil {
				t.Fatal(err)
			}
		}
	}
}
