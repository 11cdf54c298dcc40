// Command migratediff writes the next migration: the difference between the
// schema of the existing migrations and the schema of ent/schema.
//
//	go run ./internal/tools/migratediff URL NAME
//
// URL is the URL of an empty database whose login may create extensions and
// roles. The database is empty afterwards. Drops of columns, indexes and keys are
// not written, since ent does not know the additions of hand-written migrations.
package main

import (
	"context"
	"database/sql"
	"errors"
	"log"
	"os"

	atlas "ariga.io/atlas/sql/migrate"
	"ariga.io/atlas/sql/sqltool"
	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"entgo.io/ent/dialect/sql/schema"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/magpie-search/magpie/ent/migrate"
)

const folder = "ent/migrate/migrations"

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: migratediff URL NAME")
	}
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, url, name string) error {
	dir, err := sqltool.NewGooseDir(folder)
	if err != nil {
		return err
	}
	sum, err := dir.Checksum() // hand-written migrations may have changed
	if err != nil {
		return err
	}
	if err := atlas.WriteSumFile(dir, sum); err != nil {
		return err
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	m, err := schema.NewMigrate(entsql.OpenDB(dialect.Postgres, db),
		schema.WithDir(dir),
		schema.WithFormatter(sqltool.GooseFormatter),
		schema.WithMigrationMode(schema.ModeReplay),
		schema.WithDialect(dialect.Postgres),
		schema.WithErrNoPlan(true),
		schema.WithSkipChanges(schema.DropColumn|schema.DropIndex|schema.DropForeignKey|schema.DropCheck),
	)
	if err != nil {
		return err
	}
	if err := m.NamedDiff(ctx, name, migrate.Tables...); errors.Is(err, atlas.ErrNoPlan) {
		log.Print("no changes")
		return nil
	} else if err != nil {
		return err
	}
	return nil
}
