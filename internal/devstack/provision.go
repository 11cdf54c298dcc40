package devstack

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/jackc/pgx/v5"
)

// provisioned asks in one round trip whether there is anything to do, which an adopting Start usually answers with no.
const provisioned = `
SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1 AND rolcanlogin AND rolcreaterole AND NOT rolsuper),
       EXISTS (SELECT FROM pg_roles WHERE rolname = $2),
       EXISTS (SELECT FROM pg_roles WHERE rolname = $2 AND rolcanlogin AND NOT rolsuper AND NOT rolbypassrls),
       EXISTS (SELECT FROM pg_auth_members m
               JOIN pg_roles granted ON granted.oid = m.roleid JOIN pg_roles member ON member.oid = m.member
               WHERE granted.rolname = $2 AND member.rolname = $1 AND m.admin_option),
       EXISTS (SELECT FROM pg_database WHERE datname = $3)`

// provision makes the roles and the database that are missing. pgvector is not a trusted extension, so the superuser puts
// it into template1, from which every database is made; thorough also looks after it in the database that is there.
func (p *postgres) provision(ctx context.Context, thorough bool) error {
	connection, err := pgx.Connect(ctx, p.url(adminRole, "postgres"))
	if err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	defer func() { _ = connection.Close(ctx) }() // each statement has been answered
	var ownerReady, appExists, appReady, member, databaseExists bool
	if err := connection.QueryRow(ctx, provisioned, OwnerRole, p.appRole, p.database).
		Scan(&ownerReady, &appExists, &appReady, &member, &databaseExists); err != nil {
		return fmt.Errorf("look at roles and databases: %w", err)
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
		// The owner may become the application's role, and may change it in a migration.
		statements = append(statements, "GRANT "+app+" TO "+owner+" WITH ADMIN OPTION")
	}
	for _, statement := range statements {
		if _, err := connection.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make the roles: %w", err)
		}
	}
	if thorough {
		if err := p.haveVector(ctx, "template1"); err != nil {
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
	if thorough {
		return p.haveVector(ctx, p.database)
	}
	return nil
}

// haveVector makes the extension, or brings it to the version that is installed.
func (p *postgres) haveVector(ctx context.Context, database string) error {
	connection, err := pgx.Connect(ctx, p.url(adminRole, database))
	if err != nil {
		return fmt.Errorf("connect to database %s: %w", database, err)
	}
	defer func() { _ = connection.Close(ctx) }() // each statement has been answered
	var installed, available *string
	err = connection.QueryRow(ctx, `SELECT installed_version, default_version FROM pg_available_extensions WHERE name = 'vector'`).
		Scan(&installed, &available)
	if err != nil {
		return fmt.Errorf("look for pgvector in database %s: %w", database, err)
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
		return fmt.Errorf("set up pgvector in database %s: %w", database, err)
	}
	return nil
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
