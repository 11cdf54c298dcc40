// Package migrations holds the steps of the database schema, generated DDL and
// hand-written SQL side by side, and brings a database up to the newest one.
// Steps are append-only. It imports nothing of Magpie.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Files are the steps, in goose's form.
//
//go:embed *.sql
var Files embed.FS

// Step is one migration and whether it has been applied.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up brings db, opened with the owner's login, to the newest step. Several
// processes may call it at once: one works, the others wait. A database that is
// current already costs one query.
func Up(ctx context.Context, db *sql.DB) error {
	current, err := provider(db)
	if err != nil {
		return err
	}
	if pending, err := current.HasPending(ctx); err == nil && !pending {
		return nil
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return fmt.Errorf("prepare the migration lock: %w", err)
	}
	locked, err := provider(db, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	if _, err := locked.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// Status lists every step in order.
func Status(ctx context.Context, db *sql.DB) ([]Step, error) {
	p, err := provider(db)
	if err != nil {
		return nil, err
	}
	states, err := p.Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the migration status: %w", err)
	}
	steps := make([]Step, len(states))
	for i, s := range states {
		steps[i] = Step{Version: s.Source.Version, Name: s.Source.Path, Applied: s.State == goose.StateApplied}
	}
	return steps, nil
}

func provider(db *sql.DB, options ...goose.ProviderOption) (*goose.Provider, error) {
	p, err := goose.NewProvider(goose.DialectPostgres, db, Files, options...)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}
