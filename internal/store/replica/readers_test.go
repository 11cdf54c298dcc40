package replica_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/internal/store/replica"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newPool(t *testing.T, url string) *pgxpool.Pool {
	t.Helper()
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

var errOwn = errors.New("the read's own error")

func TestReadsOfSeveralReplicas(t *testing.T) {
	t.Parallel()
	stack := testkit.Cluster(t)
	primary := newPool(t, stack.DatabaseURL)
	t.Cleanup(primary.Close)
	var servers []replica.Server
	replicas := map[string]string{}
	for _, name := range []string{"one", "two"} {
		r := testkit.Replica(t, stack)
		servers = append(servers, replica.Server{Name: name, Pool: newPool(t, r.DatabaseURL)})
		replicas[r.DatabaseURL] = name
	}
	servers = append(servers, replica.Server{Name: "away", Pool: newPool(t, "postgres://nobody@127.0.0.1:1/none")})
	readers, err := replica.Open(t.Context(), primary, servers, replica.Options{Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(readers.Close)

	place := func(conn *pgxpool.Conn) string {
		if name := replicas[conn.Conn().Config().ConnString()]; name != "" {
			return name
		}
		return "primary"
	}
	read := func(answer func(at string) error) (places []string, err error) {
		err = readers.Do(t.Context(), func(ctx context.Context) error {
			return readers.Read(ctx, func(_ context.Context, conn *pgxpool.Conn, _ bool) error {
				places = append(places, place(conn))
				return answer(places[len(places)-1])
			})
		})
		return places, err
	}
	count := map[string]int{}
	for range 20 {
		places, err := read(func(string) error { return nil })
		if err != nil || len(places) != 1 {
			t.Fatalf("%v, %v", places, err)
		}
		count[places[0]]++
	}
	if count["one"] == 0 || count["two"] == 0 || count["primary"] != 0 {
		t.Errorf("the replicas do not share the reads: %v", count)
	}
	places, err := read(func(at string) error {
		if at == "primary" {
			return nil
		}
		return replica.ErrBehind
	})
	if err != nil || len(places) != 3 || places[2] != "primary" {
		t.Errorf("replicas that are behind: %v, %v", places, err)
	}
	if places, err := read(func(string) error { return errOwn }); !errors.Is(err, errOwn) || len(places) != 1 {
		t.Errorf("an error of the read: %v, %v", places, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := readers.Read(ended, func(context.Context, *pgxpool.Conn, bool) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who has gone: %v", err)
	}

	// A statement that the replica cannot run, in the middle of a read.
	err = readers.Do(t.Context(), func(ctx context.Context) error {
		conn, err := readers.Acquire(ctx, func(context.Context, *pgxpool.Conn) error { return nil })
		if err != nil {
			return err
		}
		defer conn.Release(ctx)
		_, err = conn.Exec(ctx, "select pg_current_wal_lsn()") // refused during recovery
		return conn.Fault(ctx, err)
	})
	if err != nil {
		t.Errorf("a statement that only the primary runs: %v", err)
	}
	stats := readers.Stats()
	if stats.OnPrimary["behind"] != 1 || stats.OnPrimary["error"] != 1 || stats.OnReplicas < 20 {
		t.Errorf("%+v", stats)
	}
	for _, s := range stats.Replicas {
		if s.Used != (s.Name != "away") {
			t.Errorf("%s is used: %t", s.Name, s.Used)
		}
	}
}

func TestAReplicaWhoseConnectionsAreTakenStaysInUse(t *testing.T) {
	t.Parallel()
	stack := testkit.Cluster(t)
	primary := newPool(t, stack.DatabaseURL)
	t.Cleanup(primary.Close)
	config, err := pgxpool.ParseConfig(testkit.Replica(t, stack).DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	config.MaxConns = 1
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	readers, err := replica.Open(t.Context(), primary, []replica.Server{{Name: "one", Pool: pool}}, replica.Options{Interval: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(readers.Close)
	acquire := func(onReplica bool) *replica.Conn {
		t.Helper()
		conn, err := readers.Acquire(t.Context(), func(context.Context, *pgxpool.Conn) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		if conn.IsReplica() != onReplica {
			t.Errorf("the read is on the replica: %t", !onReplica)
		}
		return conn
	}
	held := acquire(true)
	acquire(false).Release(t.Context())
	held.Release(t.Context())
	acquire(true).Release(t.Context())
	if s := readers.Stats(); s.OnPrimary["busy"] != 1 || s.OnReplicas != 2 || !s.Replicas[0].Used {
		t.Errorf("%+v", s)
	}
}

func TestWithoutReplicasThePrimaryAnswers(t *testing.T) {
	t.Parallel()
	primary := newPool(t, testkit.EmptyDatabase(t).AppURL)
	defer primary.Close()
	readers := replica.Primary(primary)
	calls := 0
	err := readers.Read(t.Context(), func(_ context.Context, _ *pgxpool.Conn, isReplica bool) error {
		if calls++; isReplica {
			t.Error("the primary is a replica")
		}
		return nil
	})
	if err != nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
	if s := readers.Stats(); s.OnReplicas != 0 || s.OnPrimary["unavailable"] != 0 || len(s.Replicas) != 0 {
		t.Errorf("%+v", s)
	}
}
