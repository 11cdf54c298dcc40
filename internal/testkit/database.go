package testkit

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	testPrefix = "magpie_test_"
	// abandonedAfter is longer than any test runs: an older database was left by a test that was killed.
	abandonedAfter = 6 * time.Hour
	cleanupTime    = time.Minute
)

// DB is a database of one test.
type DB struct {
	// Name is the name of the database.
	Name string
	// OwnerURL connects as the owner, who runs migrations.
	OwnerURL string
	// AppURL connects as the application's role, neither owner nor superuser.
	AppURL string
	// AdminURL connects as superuser, to the same database.
	AdminURL string
}

// Database returns a fresh database with all migrations applied, dropped at the end of the test. Connections that are
// still open then are ended.
func Database(t testing.TB) *DB {
	t.Helper()
	return database(t, true)
}

// EmptyDatabase returns a fresh database without any migration, in which pgvector may be used. It is dropped at the end.
func EmptyDatabase(t testing.TB) *DB {
	t.Helper()
	return database(t, false)
}

func database(t testing.TB, migrated bool) *DB {
	t.Helper()
	s, err := connect(t.Context())
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	t.Cleanup(func() {
		if err := s.release(); err != nil {
			t.Errorf("PostgreSQL for tests: %v", err)
		}
	})
	source := "template1"
	if migrated {
		if source, err = s.template(t.Context()); err != nil {
			t.Fatalf("PostgreSQL for tests: %v", err)
		}
	}
	name := testPrefix + strconv.FormatInt(time.Now().Unix(), 36) + "_" + strings.ToLower(rand.Text()[:10])
	if err := s.execute(t.Context(), "CREATE DATABASE "+quote(name)+s.ownerClause()+" TEMPLATE "+quote(source)); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTime)
		defer cancel()
		if err := s.execute(ctx, "DROP DATABASE IF EXISTS "+quote(name)+" WITH (FORCE)"); err != nil {
			t.Errorf("drop the database of the test: %v", err)
		}
	})
	return &DB{
		Name:     name,
		OwnerURL: withDatabase(s.ownerURL, name),
		AppURL:   withDatabase(s.appURL, name),
		AdminURL: withDatabase(s.adminURL, name),
	}
}

// sweep drops what killed tests left behind.
func (s *server) sweep(ctx context.Context, connection *pgx.Conn, now time.Time) error {
	rows, err := connection.Query(ctx, `SELECT datname FROM pg_database d WHERE starts_with(datname, $1)
		AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`, testPrefix)
	if err != nil {
		return fmt.Errorf("look for abandoned databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("look for abandoned databases: %w", err)
	}
	for _, name := range names {
		made, _, _ := strings.Cut(strings.TrimPrefix(name, testPrefix), "_")
		seconds, err := strconv.ParseInt(made, 36, 64)
		if err != nil || now.Sub(time.Unix(seconds, 0)) < abandonedAfter {
			continue
		}
		if _, err := connection.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)); err != nil {
			return fmt.Errorf("drop an abandoned database: %w", err)
		}
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
