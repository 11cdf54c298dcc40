package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
)

// Mismatch says that the database and this program do not fit together. Waiting
// does not help: somebody has to do what it says.
type Mismatch = migrations.Mismatch

// CheckSchema reports whether this program may work on the database as it is
// now. A *Mismatch says why it may not; any other error says that the database
// could not be asked. It costs four small queries.
func (d *DB) CheckSchema(ctx context.Context) error {
	return migrations.Check(ctx, d.sql)
}

// notBecome says why a login could not take the application's role.
func notBecome(login string, err error) error {
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

// noVector says why the types were not found, unless the connection was lost over it.
func noVector(ctx context.Context, c *pgx.Conn, cause error) error {
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
