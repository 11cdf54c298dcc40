// Package migrations holds the steps of the database schema, generated DDL and
// hand-written SQL side by side, brings a database up to the newest one, mends
// roles, owners and privileges that a restored database lacks, and tells a
// process whether it fits the schema that it finds. Steps are append-only. It
// imports nothing of Magpie.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Files are the steps, in goose's form.
//
//go:embed *.sql
var Files embed.FS

// unlockTime is what giving the lock back may take after the end of the context.
const unlockTime = 5 // seconds

// Step is one migration and whether it has been applied.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up brings db, opened with the owner's login, to the newest step, and makes the
// roles and privileges that are missing, whether steps were missing or not.
// Several processes may call it at once: one works, the others wait. A database
// that is current already costs a few queries. A *Mismatch says what somebody
// has to do first, such as a superuser, or that a newer program is needed.
func Up(ctx context.Context, db *sql.DB) error {
	return up(ctx, db, Files)
}

func up(ctx context.Context, db *sql.DB, files fs.FS) error {
	whole, err := current(ctx, db, files)
	if err != nil || whole {
		return err
	}
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300), lock.WithUnlockTimeout(1, unlockTime))
	if err != nil {
		return fmt.Errorf("prepare the migration lock: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("reach the database: %w", err)
	}
	if err := locker.SessionLock(ctx, conn); err != nil {
		return errors.Join(fmt.Errorf("wait for the migration lock: %w", err), conn.Close())
	}
	err = upLocked(ctx, db, conn, files)
	return errors.Join(err, locker.SessionUnlock(context.WithoutCancel(ctx), conn), conn.Close())
}

// upLocked does the work. What is missing is mended before the steps, which
// count on the role and on default privileges, and after them.
func upLocked(ctx context.Context, db *sql.DB, conn *sql.Conn, files fs.FS) error {
	if err := mend(ctx, conn, files); err != nil {
		return err
	}
	p, err := provider(db, files)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	if err := mend(ctx, conn, files); err != nil {
		return err
	}
	s, err := look(ctx, conn)
	if err != nil {
		return err
	}
	return s.vectorProblem()
}

// current reports whether nothing is left to do. A schema that a newer program
// has made is none of this one's business, but it is said when this one is too old.
func current(ctx context.Context, db *sql.DB, files fs.FS) (bool, error) {
	p, err := provider(db, files)
	if err != nil {
		return false, err
	}
	if pending, err := p.HasPending(ctx); err != nil || pending {
		return false, nil // without a table of steps all of them are pending; what else is wrong, Up says
	}
	s, err := look(ctx, db)
	if err != nil {
		return false, err
	}
	known, err := versions(files)
	if err != nil {
		return false, err
	}
	if err := firstOf(errors.Join(s.vectorProblem(), s.tooNew(known))); err != nil {
		return false, err
	}
	statements, err := needed(ctx, db, files, false)
	return len(statements) == 0, err
}

// Status lists every step in order.
func Status(ctx context.Context, db *sql.DB) ([]Step, error) {
	p, err := provider(db, Files)
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

func provider(db *sql.DB, files fs.FS) (*goose.Provider, error) {
	p, err := goose.NewProvider(goose.DialectPostgres, db, files)
	if err != nil {
		return nil, fmt.Errorf("read the migrations: %w", err)
	}
	return p, nil
}

// versions are those of the steps in files, the oldest first.
func versions(files fs.FS) ([]int64, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list the migrations: %w", err)
	}
	all := make([]int64, 0, len(names)) // in the order of names, which all begin with a number of one length
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return nil, fmt.Errorf("list the migrations: %w", err)
		}
		all = append(all, version)
	}
	return all, nil
}
