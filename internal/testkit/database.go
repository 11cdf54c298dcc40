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
	// maxTestTime is longer than any test. An older database was left by a killed test.
	maxTestTime    = 6 * time.Hour
	cleanupTimeout = time.Minute
)

// DB is the database of a test.
type DB struct {
	// Name is the name of the database.
	Name string
	// OwnerURL connects as the owner, who runs migrations.
	OwnerURL string
	// AppURL connects as the application role, which is neither owner nor superuser.
	AppURL string
	// AdminURL connects as superuser to the same database.
	AdminURL string
}

// Database returns a new database with all migrations. At the end of the test it is dropped, which closes open connections.
func Database(t testing.TB) *DB {
	t.Helper()
	return database(t, true)
}

// EmptyDatabase returns a new database without migrations, which has pgvector. It is dropped at the end of the test.
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
	// Without fsync, copying files takes a fraction of the time of logging each page.
	statement := "CREATE DATABASE " + quote(name) + s.ownerClause() + " TEMPLATE " + quote(source) + " STRATEGY file_copy"
	if err := s.execute(t.Context(), statement); err != nil {
		t.Fatalf("create a database for the test: %v", err)
	}
	t.Cleanup(func() {
		// The context of the test has ended.
		ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
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

// dropAbandoned drops the databases of killed tests.
func (s *server) dropAbandoned(ctx context.Context, connection *pgx.Conn, now time.Time) error {
	rows, err := connection.Query(ctx, `SELECT datname FROM pg_database d WHERE starts_with(datname, $1)
		AND NOT EXISTS (SELECT FROM pg_stat_activity a WHERE a.datid = d.oid)`, testPrefix)
	if err != nil {
		return fmt.Errorf("find abandoned databases: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("find abandoned databases: %w", err)
	}
	for _, name := range names {
		created, _, _ := strings.Cut(strings.TrimPrefix(name, testPrefix), "_")
		seconds, err := strconv.ParseInt(created, 36, 64)
		if err != nil || now.Sub(time.Unix(seconds, 0)) < maxTestTime {
			continue
		}
		if _, err := connection.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)); err != nil {
			return fmt.Errorf("drop abandoned database: %w", err)
		}
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
