package testkit

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/devstack"
)

// Redis starts a Redis for this test only and returns its unix:// URL as go-redis reads it. It stops at the end of the
// test.
func Redis(t testing.TB) string {
	t.Helper()
	server, err := devstack.StartRedisChild(t.Context())
	if err != nil {
		t.Fatalf("Redis for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "Redis", server.Stop) })
	return server.URL
}

// RedisCluster starts a Redis Cluster of three masters and three replicas for this test only. It stops at the end of the
// test.
func RedisCluster(t testing.TB) *devstack.RedisGroup {
	t.Helper()
	return redisGroup(t, devstack.StartRedisCluster)
}

// RedisSentinels starts a Redis master and its replica under three Sentinels for this test only. They stop at the end of
// the test.
func RedisSentinels(t testing.TB) *devstack.RedisGroup {
	t.Helper()
	return redisGroup(t, devstack.StartRedisSentinels)
}

func redisGroup(t testing.TB, start func(context.Context) (*devstack.RedisGroup, error)) *devstack.RedisGroup {
	t.Helper()
	group, err := start(t.Context())
	if err != nil {
		t.Fatalf("Redis servers for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "Redis servers", group.Stop) })
	return group
}

// S3 starts an S3 server without buckets for this test only. It stops at the end of the test. The first use in a checkout
// builds the server, which takes about half a minute.
func S3(t testing.TB) *devstack.S3 {
	t.Helper()
	server, err := devstack.StartS3(t.Context(), devstack.S3Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("S3 server for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "S3 server", server.Stop) })
	return server
}

// MariaDB starts a MariaDB server for this test only. It stops at the end of the test.
func MariaDB(t testing.TB) *devstack.MariaDB {
	t.Helper()
	server, err := devstack.StartMariaDB(t.Context())
	if err != nil {
		t.Fatalf("MariaDB for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "MariaDB", server.Stop) })
	return server
}

// ClickHouse starts a ClickHouse server with users for this test only. It stops at the end of the test.
func ClickHouse(t testing.TB, users ...devstack.ClickHouseUser) *devstack.ClickHouse {
	t.Helper()
	server, err := devstack.StartClickHouse(t.Context(), users)
	if err != nil {
		t.Fatalf("ClickHouse for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "ClickHouse", server.Stop) })
	return server
}

// Prometheus starts a Prometheus server and an Alertmanager for this test only, which accept basic authentication by the
// users, names and their passwords. They stop at the end of the test.
func Prometheus(t testing.TB, users map[string]string) *devstack.Prometheus {
	t.Helper()
	server, err := devstack.StartPrometheus(t.Context(), users)
	if err != nil {
		t.Fatalf("Prometheus for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "Prometheus", server.Stop) })
	return server
}

// Stack starts a PostgreSQL and a Redis for a test that stops or restarts them. Other tests use Database and Redis, which
// are much cheaper. The database has no migrations. Servers and data are removed at the end of the test.
func Stack(t testing.TB) *devstack.Stack {
	t.Helper()
	return stack(t, devstack.Options{})
}

// ClusterLogin is the application's login role in a Cluster.
const ClusterLogin = "magpie_login"

// Cluster starts a PostgreSQL for this test only, prepared for an installation of Magpie: an owner who may create roles, an
// empty database with pgvector, and ClusterLogin, which is a member of no role. The role magpie_app does not exist.
func Cluster(t testing.TB) *devstack.Stack {
	t.Helper()
	return stack(t, devstack.Options{AppRole: ClusterLogin, WithoutRedis: true})
}

// MigratedCluster is a Cluster whose database has all migrations, and whose ClusterLogin is a member of the application's role.
func MigratedCluster(t testing.TB) *devstack.Stack {
	t.Helper()
	cluster := Cluster(t)
	if err := migrate(t.Context(), cluster.OwnerURL); err != nil {
		t.Fatal(err)
	}
	owner, err := pgx.Connect(t.Context(), cluster.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = owner.Exec(t.Context(), "GRANT "+quote(devstack.DefaultAppRole)+" TO "+quote(ClusterLogin))
	if err = errors.Join(err, owner.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return cluster
}

// PgBouncer starts a pooler in transaction mode before the PostgreSQL of a Stack or Cluster for this test only, with a number of
// connections to it. It stops at the end of the test.
func PgBouncer(t testing.TB, stack *devstack.Stack, connections int) *devstack.PgBouncer {
	t.Helper()
	pooler, err := stack.StartPgBouncer(t.Context(), connections)
	if err != nil {
		t.Fatalf("PgBouncer for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "PgBouncer", pooler.Stop) })
	return pooler
}

// Replica starts a streaming replica of the PostgreSQL of a Stack or Cluster for this test only. It stops at the end of the test.
func Replica(t testing.TB, stack *devstack.Stack, settings ...string) *devstack.Replica {
	t.Helper()
	replica, err := stack.StartReplica(t.Context(), settings...)
	if err != nil {
		t.Fatalf("replica for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "replica", replica.Stop) })
	return replica
}

func stack(t testing.TB, o devstack.Options) *devstack.Stack {
	t.Helper()
	// When root runs the tests, the account of the servers cannot enter the folders of t.TempDir.
	dir, err := os.MkdirTemp("", "magpie-stack-")
	if err != nil {
		t.Fatalf("folder for servers of the test: %v", err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("remove servers of the test: %v", err)
		}
	})
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // see above
		t.Fatalf("folder for servers of the test: %v", err)
	}
	o.Dir, o.Fast, o.Log = dir, true, slog.New(slog.NewTextHandler(t.Output(), nil))
	stack, err := devstack.Start(t.Context(), o)
	t.Cleanup(func() {
		stopServer(t, "servers", func(ctx context.Context) error { return devstack.Remove(ctx, o) })
	})
	if err != nil {
		t.Fatalf("servers for the test: %v", err)
	}
	t.Cleanup(func() { stopServer(t, "servers", stack.Stop) })
	return stack
}

func stopServer(t testing.TB, name string, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := stop(ctx); err != nil {
		t.Errorf("stop the %s of the test: %v", name, err)
	}
}
