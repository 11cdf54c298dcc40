package testkit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/devstack"

	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

const (
	templatePrefix = "magpie_template_"
	// keptTemplates allows switching between a few branches without running all migrations again.
	keptTemplates = 4
	templateLock  = 0x6d616770 // the key of an advisory lock
)

// template returns the name of the database with the migrations of this checkout. It creates a missing one under a lock,
// for which other test binaries wait.
func (s *server) template(ctx context.Context) (string, error) {
	sum, err := migrationsHash(migrations.Files)
	if err != nil {
		return "", err
	}
	name := templatePrefix + sum
	connection, err := pgx.Connect(ctx, s.adminURL)
	if err != nil {
		return "", fmt.Errorf("connect: %w", err)
	}
	defer func() { _ = connection.Close(ctx) }() // every statement was answered
	found, err := exists(ctx, connection, name)
	if err != nil || (found && !s.started && s.appPassword == "") {
		return name, err
	}
	if _, err := connection.Exec(ctx, "SELECT pg_advisory_lock($1)", templateLock); err != nil {
		return "", fmt.Errorf("lock the template: %w", err)
	}
	if found, err = exists(ctx, connection, name); err != nil {
		return "", err
	}
	if !found {
		if err := s.build(ctx, connection, name); err != nil {
			return "", err
		}
	}
	if err := s.dropAbandoned(ctx, connection, time.Now()); err != nil {
		return "", err
	}
	if s.appPassword != "" {
		statement := fmt.Sprintf("ALTER ROLE %s LOGIN PASSWORD '%s'", quote(devstack.DefaultAppRole), s.appPassword)
		if _, err := connection.Exec(ctx, statement); err != nil {
			return "", fmt.Errorf("set the password of the application role: %w", err)
		}
	}
	return name, nil
}

// build creates a template. It works under a temporary name, so that an interruption leaves no incomplete template.
func (s *server) build(ctx context.Context, connection *pgx.Conn, name string) error {
	unfinished := name + "_new"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + quote(unfinished) + " WITH (FORCE)",
		"CREATE DATABASE " + quote(unfinished) + s.ownerClause(),
	} {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create the template: %w", err)
		}
	}
	if err := migrate(ctx, withDatabase(s.ownerURL, unfinished)); err != nil {
		return err
	}
	for _, statement := range []string{
		"ALTER DATABASE " + quote(unfinished) + " WITH ALLOW_CONNECTIONS false",
		"ALTER DATABASE " + quote(unfinished) + " RENAME TO " + quote(name),
	} {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("finish the template: %w", err)
		}
	}
	return dropOldTemplates(ctx, connection)
}

func migrate(ctx context.Context, ownerURL string) (err error) {
	db, err := sql.Open("pgx", ownerURL)
	if err != nil {
		return fmt.Errorf("open the template: %w", err)
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if err := migrations.Up(ctx, db); err != nil {
		return fmt.Errorf("apply the migrations: %w", err)
	}
	return nil
}

func dropOldTemplates(ctx context.Context, connection *pgx.Conn) error {
	rows, err := connection.Query(ctx, `SELECT datname FROM pg_database WHERE starts_with(datname, $1) AND NOT datallowconn
		ORDER BY oid DESC OFFSET $2`, templatePrefix, keptTemplates)
	if err != nil {
		return fmt.Errorf("find old templates: %w", err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("find old templates: %w", err)
	}
	for _, name := range names {
		if _, err := connection.Exec(ctx, "DROP DATABASE IF EXISTS "+quote(name)); err != nil {
			return fmt.Errorf("drop old template: %w", err)
		}
	}
	return nil
}

func exists(ctx context.Context, connection *pgx.Conn, name string) (bool, error) {
	var found bool
	if err := connection.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&found); err != nil {
		return false, fmt.Errorf("find template: %w", err)
	}
	return found, nil
}

// migrationsHash returns a hash of the names and contents of the migrations.
func migrationsHash(files fs.FS) (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n", path, len(content)))
		sum.Write(content)
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("read the migrations: %w", err)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}
