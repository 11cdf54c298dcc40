package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestListsAreReadOnAReplicaThatHasEverything(t *testing.T) {
	t.Parallel()
	stack := testkit.MigratedCluster(t)
	db, err := store.Open(t.Context(), stack.DatabaseURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	copied := testkit.Replica(t, stack)
	readers, err := db.Readers(t.Context(), []string{copied.DatabaseURL}, 4, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(readers.Close)
	control, err := pgx.Connect(t.Context(), copied.AdminURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = control.Close(context.WithoutCancel(t.Context())) }()
	order := func(statement string) {
		t.Helper()
		if _, err := control.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))

	// count returns the number of workspaces, and whether a replica has said it.
	calls := 0
	count := func(ctx context.Context) (n int, onReplica bool, err error) {
		calls++
		if n, err = db.Ent.Workspace.Query().Count(ctx); err != nil {
			return 0, false, err
		}
		rows, err := db.Ent.QueryContext(ctx, "select pg_is_in_recovery()")
		if err != nil {
			return 0, false, err
		}
		defer func() { _ = rows.Close() }()
		for rows.Next() {
			err = errors.Join(err, rows.Scan(&onReplica))
		}
		return n, onReplica, errors.Join(err, rows.Err())
	}
	list := func(then ...func(ctx context.Context) error) (n int, onReplica bool) {
		t.Helper()
		calls = 0
		if err := store.ReadCurrent(system, readers, func(ctx context.Context) (err error) {
			n, onReplica, err = count(ctx)
			for _, do := range then {
				if err == nil {
					err = do(ctx)
				}
			}
			return err
		}); err != nil {
			t.Errorf("a list: %v", err)
		}
		return n, onReplica
	}
	add := func(ctx context.Context) {
		t.Helper()
		if err := db.Ent.Workspace.Create().SetName("w").Exec(ctx); err != nil {
			t.Fatal(err)
		}
	}

	// used waits until the replica answers, having everything: one that was
	// away is asked again only after a while.
	used := func() {
		t.Helper()
		testkit.WaitFor(t, "the replica to have everything", func() bool {
			n, onReplica := list()
			if n != 1 {
				t.Fatalf("%d workspaces, on the replica: %t", n, onReplica)
			}
			return onReplica
		})
	}
	add(system)
	for name, fail := range map[string]func(ctx context.Context) error{
		"a statement that only the primary runs": func(ctx context.Context) error {
			rows, err := db.Ent.QueryContext(ctx, "select pg_current_wal_lsn()")
			if err != nil {
				return fmt.Errorf("ask for the position: %w", err)
			}
			return rows.Close()
		},
		"a connection that ends": func(ctx context.Context) error {
			order("select pg_terminate_backend(pid) from pg_stat_activity where usename = '" + testkit.ClusterLogin + "'")
			_, _, err := count(ctx)
			calls-- // not the list's
			return err
		},
	} {
		used()
		if n, onReplica := list(fail); n != 1 || onReplica || calls != 2 {
			t.Errorf("%s: %d workspaces, on the replica: %t, in %d calls", name, n, onReplica, calls)
		}
	}
	// An error of the list itself is no reason to repeat it.
	own := errors.New("mine")
	calls = 0
	if err := store.ReadCurrent(system, readers, func(context.Context) error { calls++; return own }); !errors.Is(err, own) || calls != 1 {
		t.Errorf("an error of the list: %v, in %d calls", err, calls)
	}

	order("select pg_wal_replay_pause()")
	add(system)
	if n, onReplica := list(); n != 2 || onReplica {
		t.Errorf("while the replica is behind: %d workspaces, on the replica: %t", n, onReplica)
	}
	if s := readers.Stats(); s.OnPrimary["behind"] == 0 || s.OnPrimary["error"] != 1 || s.OnPrimary["unavailable"] == 0 || s.OnReplicas == 0 {
		t.Errorf("%+v", s)
	}
}
