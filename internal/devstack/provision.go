package devstack

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// provisionState reads in one round trip which roles and databases exist.
const provisionState = `
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND rolcanlogin AND rolcreaterole AND NOT rolsuper),
       EXISTS (SELECT FROM pg_roles WHERE rolname = $2),
       EXISTS (SELECT FROM pg_roles WHERE rolname = $2 AND rolcanlogin AND NOT rolsuper AND NOT rolbypassrls),
       EXISTS (SELECT FROM pg_auth_members m
               JOIN pg_roles granted ON granted.oid = m.roleid JOIN pg_roles member ON member.oid = m.member
               WHERE granted.rolname = $2 AND member.rolname = $1 AND m.admin_option),
       EXISTS (SELECT FROM pg_database WHERE datname = $3)`

// provision creates missing roles and the missing database. pgvector is not a trusted extension, so the superuser creates
// it in template1, which every new database copies. With extensions, provision also updates pgvector in existing databases.
func (p *postgres) provision(ctx context.Context, extensions bool) error {
	connection, err := pgx.Connect(ctx, p.url(adminRole, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = connection.Close(ctx) }() // each statement has been answered
	var ownerReady, appExists, appReady, member, databaseExists bool
	if err := connection.QueryRow(ctx, provisionState, OwnerRole, p.appRole, p.database).
		Scan(&ownerReady, &appExists, &appReady, &member, &databaseExists); err != nil {
		return fmt.Errorf("read roles and databases: %w", err)
	}
	owner, app := quote(OwnerRole), quote(p.appRole)
	var statements []string
	if !ownerReady {
		statements = append(statements, `DO $$ BEGIN
			IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '`+OwnerRole+`') THEN CREATE ROLE `+owner+`; END IF;
		END $$`, "ALTER ROLE "+owner+" LOGIN CREATEROLE NOSUPERUSER")
	}
	if !appExists {
		statements = append(statements, "CREATE ROLE "+app)
	}
	if !appReady {
		statements = append(statements, "ALTER ROLE "+app+" LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE NOCREATEDB")
	}
	if !member {
		// Migrations run as the owner, who must be able to use and alter the application role.
		statements = append(statements, "GRANT "+app+" TO "+owner+" WITH ADMIN OPTION")
	}
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("create roles: %w", err)
		}
	}
	if extensions {
		if err := p.ensureVector(ctx, "template1"); err != nil {
			return err
		}
	}
	if !databaseExists {
		p.log.InfoContext(ctx, "database created", slog.String("database", p.database))
		if _, err := connection.Exec(ctx, "CREATE DATABASE "+quote(p.database)+" OWNER "+owner+" TEMPLATE template1"); err != nil {
			return fmt.Errorf("create database %s: %w", p.database, err)
		}
		return nil
	}
	if extensions {
		return p.ensureVector(ctx, p.database)
	}
	return nil
}

// ensureVector creates the pgvector extension or updates it to the installed version.
func (p *postgres) ensureVector(ctx context.Context, database string) error {
	connection, err := pgx.Connect(ctx, p.url(adminRole, database))
	if err != nil {
		return fmt.Errorf("connect to database %s: %w", database, err)
	}
	defer func() { _ = connection.Close(ctx) }() // each statement has been answered
	var installed, available *string
	err = connection.QueryRow(ctx, `SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'`).
		Scan(&installed, &available)
	if err != nil {
		return fmt.Errorf("read the version of pgvector in database %s: %w", database, err)
	}
	statement := ""
	switch {
	case installed == nil:
		statement = "CREATE EXTENSION vector"
	case available != nil && *installed != *available:
		statement = "ALTER EXTENSION vector UPDATE"
	default:
		return nil
	}
	if _, err := connection.Exec(ctx, statement); err != nil {
		return fmt.Errorf("install pgvector in database %s: %w", database, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
