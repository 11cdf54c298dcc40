// Package migrations has the steps of the database schema, which are generated DDL and
// hand-written SQL. It applies them, restores roles, owners and privileges that a restored
// database lacks, and checks that a program fits the schema. Steps are append-only. The
// package imports nothing of Magpie.
package migrations

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// Files are the steps in the format of goose.
//
//go:embed *.sql
var Files embed.FS

// unlockTime limits the release of the lock after the end of the context.
const unlockTime = 5 // seconds

// A Step is a migration with its state.
type Step struct {
	Version int64
	Name    string
	Applied bool
}

// Up applies all missing steps to db, which the owner has opened, and creates missing roles
// and privileges. Concurrent calls are serialized. For a current database it makes a few
// queries. A *Mismatch describes what a superuser must do first, or that the program is
// too old.
func Up(ctx context.Context, db *sql.DB) error {
	return up(ctx, db, Files)
}

// UpTo is Up for the schema of an earlier release, which had these steps and no others.
// The error is a *Mismatch if this program lacks one of them.
func UpTo(ctx context.Context, db *sql.DB, steps []int64) error {
	earlier, err := stepsUpTo(steps)
	if err != nil {
		return err
	}
	return up(ctx, db, earlier)
}

// stepsUpTo returns the steps of a release.
func stepsUpTo(steps []int64) (fs.FS, error) {
	known, err := versions(Files)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if !slices.Contains(known, step) {
			return nil, &Mismatch{fmt.Sprintf("the schema has the step %d, which this program does not know", step), "run the release that made it, or a newer one"}
		}
	}
	return only{steps}, nil
}

// only has some of the steps of Files.
type only struct{ steps []int64 }

// Open implements [fs.FS].
func (o only) Open(name string) (fs.File, error) {
	if name != "." && !o.has(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return Files.Open(name)
}

// ReadDir implements [fs.ReadDirFS].
func (o only) ReadDir(name string) ([]fs.DirEntry, error) {
	all, err := Files.ReadDir(name)
	return slices.DeleteFunc(all, func(entry fs.DirEntry) bool { return !o.has(entry.Name()) }), err
}

func (o only) has(name string) bool {
	version, err := goose.NumericComponent(name)
	return err == nil && slices.Contains(o.steps, version)
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

// upLocked runs Up with the lock. It mends roles and privileges before the steps, which need
// the role and default privileges, and after them.
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

// current reports whether the schema is up to date. A newer schema is, unless it no longer
// supports this program, which is an error.
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

// Status returns all steps in order.
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

// versions returns the versions of the steps in files, the oldest first.
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
