package migrations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// The minimum version of pgvector. Filtered searches need iterative scans, which 0.8 added.
const (
	vectorMajor = 0
	vectorMinor = 8
)

const runMigrate = "run magpie migrate up"

// A Mismatch is the error of a database that does not fit this program. Retrying does not
// help: an operator must follow the remedy.
type Mismatch struct {
	// Problem describes the mismatch, and Remedy how to fix it. Neither contains a secret.
	Problem, Remedy string
}

// Error returns the problem and the remedy in one line.
func (m *Mismatch) Error() string { return m.Problem + "; " + m.Remedy }

// Reason returns the same line for the readiness check.
func (m *Mismatch) Reason() string { return m.Error() }

// A Querier is a *sql.DB or *sql.Conn.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Check checks that this program can use the database. q is connected as the role of the
// application. pgvector must be new enough, every step of the program applied, and tables,
// functions and privileges present. A newer schema must still support this program (table
// schema_floor). A mismatch is a *Mismatch; any other error is a failure of the database.
func Check(ctx context.Context, q Querier) error {
	return check(ctx, q, Files)
}

func check(ctx context.Context, q Querier, files fs.FS) error {
	known, err := versions(files)
	if err != nil {
		return err
	}
	s, err := look(ctx, q)
	if err != nil {
		return err
	}
	if err := firstOf(errors.Join(s.vectorProblem(), s.fits(known))); err != nil {
		return err
	}
	if s.newest() > known[len(known)-1] {
		return nil // what it has beyond this program's steps, and no longer has, only newer programs know
	}
	return whole(ctx, q)
}

// firstOf returns the first of joined errors, so that the text is one line.
func firstOf(err error) error {
	var m *Mismatch
	if errors.As(err, &m) {
		return m
	}
	return err
}

// whole returns an error if the application lacks a table, a function or a privilege.
func whole(ctx context.Context, q Querier) error {
	there, err := objects(ctx, q)
	if err != nil {
		return err
	}
	expected, err := parseAccessList()
	if err != nil {
		return err
	}
	for _, w := range expected {
		o, found := there[w.key()]
		if !found {
			return &Mismatch{
				"the database lacks the " + w.key(),
				"restore a backup, or make an empty database and " + runMigrate,
			}
		}
		if lacking := without(w.app, o.app); len(lacking) > 0 {
			return &Mismatch{
				fmt.Sprintf("%s lacks the privilege %s on the %s", appRole, lacking[0], w.key()), runMigrate,
			}
		}
		if lacking := without(w.public, o.public); o.kind == "function" && len(lacking) > 0 {
			return &Mismatch{"the " + w.key() + " cannot be called", runMigrate}
		}
	}
	return nil
}

// A state is the state of the schema of a database.
type state struct {
	vector      string // version of pgvector, empty without it
	steps       bool   // whether there is the table of applied steps
	readable    bool   // whether it may be read, and the floor
	floors      bool   // whether there is the table of the floor
	applied     []int64
	floor       int64
	floorFailed bool // the floor's row is missing
}

const lookQuery = `
select coalesce((select extversion from pg_extension where extname = 'vector'), ''),
       to_regclass('goose_db_version') is not null,
       to_regclass('schema_floor') is not null,
       coalesce(has_table_privilege(to_regclass('goose_db_version'), 'select'), false)
           and coalesce(has_table_privilege(to_regclass('schema_floor'), 'select'), true)`

// look reads the state.
func look(ctx context.Context, q Querier) (s state, err error) {
	if err = q.QueryRowContext(ctx, lookQuery).Scan(&s.vector, &s.steps, &s.floors, &s.readable); err != nil {
		return s, fmt.Errorf("look at the schema: %w", err)
	}
	if !s.steps || !s.readable {
		return s, nil
	}
	if s.floors {
		switch err = q.QueryRowContext(ctx, "select step from schema_floor").Scan(&s.floor); {
		case errors.Is(err, sql.ErrNoRows):
			s.floorFailed = true
		case err != nil:
			return s, fmt.Errorf("read the schema's floor: %w", err)
		}
	}
	rows, err := q.QueryContext(ctx, "select version_id from goose_db_version where is_applied and version_id > 0 order by version_id")
	if err != nil {
		return s, fmt.Errorf("read the steps of the schema: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var version int64
		if err := rows.Scan(&version); err != nil {
			return s, fmt.Errorf("read the steps of the schema: %w", err)
		}
		s.applied = append(s.applied, version)
	}
	if err := rows.Err(); err != nil {
		return s, fmt.Errorf("read the steps of the schema: %w", err)
	}
	return s, nil
}

func (s state) newest() int64 {
	if len(s.applied) == 0 {
		return 0
	}
	return s.applied[len(s.applied)-1]
}

// vectorProblem returns an error if pgvector is missing or too old.
func (s state) vectorProblem() error {
	requirement := fmt.Sprintf("pgvector %d.%d or later is needed", vectorMajor, vectorMinor)
	if s.vector == "" {
		return &Mismatch{"the database has no pgvector, and " + requirement, "as a superuser run: create extension vector"}
	}
	major, minor, _ := strings.Cut(s.vector, ".")
	minor, _, _ = strings.Cut(minor, ".")
	first, firstErr := strconv.Atoi(major)
	second, secondErr := strconv.Atoi(minor)
	if firstErr != nil || secondErr != nil || first < vectorMajor || first == vectorMajor && second < vectorMinor {
		return &Mismatch{
			"the database has pgvector " + s.vector + ", and " + requirement,
			"install a newer one on the database's machine and as a superuser run: alter extension vector update",
		}
	}
	return nil
}

// fits returns an error if a program with these steps cannot use the schema.
func (s state) fits(known []int64) error {
	switch {
	case !s.steps:
		return &Mismatch{"the database has no tables of Magpie", runMigrate}
	case !s.floors:
		return &Mismatch{"the schema is older than this program", runMigrate}
	case !s.readable:
		return &Mismatch{appRole + " may not read which steps the schema has", runMigrate}
	case s.floorFailed:
		return &Mismatch{"the table schema_floor is empty", "restore its row from a backup"}
	}
	var lacking []int64
	for _, version := range known {
		if _, found := slices.BinarySearch(s.applied, version); !found {
			lacking = append(lacking, version)
		}
	}
	if len(lacking) > 0 {
		return &Mismatch{
			fmt.Sprintf("the schema is older than this program: it lacks %d of its %d steps, the first is %d", len(lacking), len(known), lacking[0]), runMigrate,
		}
	}
	return s.tooNew(known)
}

// tooNew returns the error of a schema that no longer supports this program.
func (s state) tooNew(known []int64) error {
	if newest := known[len(known)-1]; s.floor > newest {
		return &Mismatch{
			fmt.Sprintf("the schema is newer than this program: it serves programs that know step %d, and this one knows those up to %d", s.floor, newest),
			"run a newer release of Magpie",
		}
	}
	return nil
}
