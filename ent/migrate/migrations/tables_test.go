package migrations_test

import (
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/testkit"
)

// What a new database has is what the steps are read to make.
func TestTablesAreThoseOfANewDatabase(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), testkit.Database(t).OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	rows, err := conn.Query(t.Context(), `select relname::text from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition and relname <> 'goose_db_version' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	there, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	made, err := migrations.Tables()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range there {
		if !slices.Contains(made, name) {
			t.Errorf("no step is read to make the table %s", name)
		}
	}
	if len(there) < 50 || len(made) > len(there)+10 {
		t.Errorf("%d tables are there, and %d are made: %v", len(there), len(made), made)
	}
}

func TestTextsAreCompressedByLZ4(t *testing.T) {
	t.Parallel()
	conn, err := pgx.Connect(t.Context(), testkit.Database(t).OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	var possible bool
	var parts int
	if err := conn.QueryRow(t.Context(), `select (select 'lz4' = any (enumvals) from pg_settings where name = 'default_toast_compression'),
		count(*) filter (where attcompression = 'l') from pg_attribute join pg_inherits on inhrelid = attrelid
		where inhparent = 'document_texts'::regclass and attname = 'body'`).Scan(&possible, &parts); err != nil {
		t.Fatal(err)
	}
	if possible != (parts == 16) || !possible && parts > 0 {
		t.Errorf("the server has LZ4: %t, %d partitions use it", possible, parts)
	}
}
