package testkit

import (
	"context"
	"log/slog"
	"os"
	"testing"

	"github.com/magpie-search/magpie/internal/devstack"
)

// Redis starts a Redis of the test's own, which may be flushed and filled at will, and returns its unix:// URL as go-redis
// reads it. It ends with the test, and with the test binary at the latest.
func Redis(t testing.TB) string {
	t.Helper()
	server, err := devstack.StartRedisChild(t.Context())
	if err != nil {
		t.Fatalf("Redis for the test: %v", err)
	}
	t.Cleanup(func() { atEnd(t, "Redis", server.Stop) })
	return server.URL
}

// S3 starts a real S3 server without any bucket and returns its address and keys. It ends with the test. The first use in
// a checkout builds the server, which takes about half a minute.
func S3(t testing.TB) *devstack.S3 {
	t.Helper()
	server, err := devstack.StartS3(t.Context(), devstack.S3Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("S3 server for the test: %v", err)
	}
	t.Cleanup(func() { atEnd(t, "S3 server", server.Stop) })
	return server
}

// MariaDB starts a MariaDB server of the test's own, whose user may do everything, in a few seconds. It ends with the test.
func MariaDB(t testing.TB) *devstack.MariaDB {
	t.Helper()
	server, err := devstack.StartMariaDB(t.Context())
	if err != nil {
		t.Fatalf("MariaDB for the test: %v", err)
	}
	t.Cleanup(func() { atEnd(t, "MariaDB", server.Stop) })
	return server
}

// Stack starts a PostgreSQL and a Redis of the test's own, for tests that restart or end them; others use Database and
// Redis, which are much cheaper. The database is not migrated. Servers and data are gone at the end of the test.
func Stack(t testing.TB) *devstack.Stack {
	t.Helper()
	return stack(t, devstack.Options{})
}

// ClusterLogin is the application's login in a Cluster.
const ClusterLogin = "magpie_login"

// Cluster starts a PostgreSQL of the test's own as an administrator leaves it before Magpie is installed: an owner, who may
// make roles, an empty database of theirs with pgvector, and ClusterLogin, which is a member of nothing. The role that the
// application works as is not there.
func Cluster(t testing.TB) *devstack.Stack {
	t.Helper()
	return stack(t, devstack.Options{AppRole: ClusterLogin, WithoutRedis: true})
}

func stack(t testing.TB, o devstack.Options) *devstack.Stack {
	t.Helper()
	// The servers' unprivileged user cannot pass the folders of t.TempDir when root runs the tests.
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
		atEnd(t, "servers", func(ctx context.Context) error { return devstack.Remove(ctx, o) })
	})
	if err != nil {
		t.Fatalf("servers for the test: %v", err)
	}
	t.Cleanup(func() { atEnd(t, "servers", stack.Stop) })
	return stack
}

func atEnd(t testing.TB, what string, stop func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
	defer cancel()
	if err := stop(ctx); err != nil {
		t.Errorf("stop the %s of the test: %v", what, err)
	}
}
