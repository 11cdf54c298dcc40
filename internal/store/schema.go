package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
)

// Mismatch reports that the database and this program do not fit together. A retry
// does not help; its text says what to do.
type Mismatch = migrations.Mismatch

// CheckSchema checks that this program may use the schema of the database. The
// error is a *Mismatch if it may not. CheckSchema takes four small queries.
func (d *DB) CheckSchema(ctx context.Context) error {
	return migrations.Check(ctx, d.sql)
}

// roleError explains why a login could not become the application's role.
func roleError(login string, err error) error {
	become := "become " + AppRole + ": "
	var refusal *pgconn.PgError
	switch {
	case !errors.As(err, &refusal):
	case refusal.Code == "22023": // no such role
		err = &Mismatch{Problem: "there is no such role", Remedy: "run magpie migrate up, and grant " + AppRole + " to " + pgx.Identifier{login}.Sanitize()}
	case refusal.Code == "42501": // no member
		err = &Mismatch{
			Problem: fmt.Sprintf("the login %s is no member of it", login),
			Remedy:  "as a superuser run: grant " + AppRole + " to " + pgx.Identifier{login}.Sanitize(),
		}
	}
	return fmt.Errorf("%s%w", become, err)
}

// vectorError explains why the types of pgvector are missing, unless the connection
// was lost.
func vectorError(ctx context.Context, c *pgx.Conn, cause error) error {
	var namespace string
	err := c.QueryRow(ctx, "select n.nspname::text from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'").Scan(&namespace)
	switch {
	case err == nil:
		return &Mismatch{
			Problem: AppRole + " may not use the schema of pgvector",
			Remedy:  "as a superuser run: grant usage on schema " + pgx.Identifier{namespace}.Sanitize() + " to " + AppRole + "; then run magpie migrate up",
		}
	case errors.Is(err, pgx.ErrNoRows):
		return &Mismatch{Problem: "the database has no pgvector", Remedy: "as a superuser run: create extension vector; then run magpie migrate up"}
	default:
		return cause
	}
}
