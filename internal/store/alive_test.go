package store_test

import (
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestABrokenConnectionIsReplacedBeforeItsNextQuery(t *testing.T) {
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

// The driver reads in the background while it sends much, and may leave a read
// running.
func TestCheckingAConnectionDoesNotWaitForItsReader(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	socket := conn.Conn().PgConn().Conn()
	var reader sync.WaitGroup
	reader.Go(func() { _, _ = socket.Read(make([]byte, 1)) })
	acquired := make(chan error, 1)
	go func() {
		conn.Release()
		for range 10_000 { // the reader runs during most of them
			again, err := db.Pool.Acquire(t.Context())
			if err != nil {
				acquired <- err
				return
			}
			again.Release()
			runtime.Gosched()
		}
		acquired <- nil
	}()
	if err, _ := testkit.Receive(t, "Acquire, which must not wait for the reader", acquired); err != nil {
		t.Error(err)
	}
	if err := socket.Close(); err != nil {
		t.Error(err)
	}
	reader.Wait()
}

func TestAPoolOfOneConnectionIsRefused(t *testing.T) {
	t.Parallel()
	_, err := store.Open(t.Context(), "postgres://magpie_app@127.0.0.1:1/magpie?pool_max_conns=1", 0)
	if err == nil || !strings.HasPrefix(err.Error(), "pool_max_conns of the database URL must be at least 2") {
		t.Errorf("Open: %v", err)
	}
}
