package backup_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/backup"
	"github.com/magpie-search/magpie/internal/testkit"
)

// A database with anything that is not Magpie's is refused, even if it is empty, and stays as it is.
func TestADatabaseWithTablesOfOthersIsRefused(t *testing.T) {
	t.Parallel()
	i := install(t)
	store := folder(t)
	mustRun(t, i.options(store, backup.Protection{None: true}))
	// The schema of another release is dropped and made anew.
	const older = "delete from goose_db_version where version_id = (select max(version_id) from goose_db_version)"
	for name, c := range map[string]struct {
		made       func(testing.TB) *testkit.DB
		statements []string
		named      []string
		unnamed    []string
	}{
		"an empty table": {testkit.EmptyDatabase, []string{"create table invoices (id int)"}, []string{"public.invoices"}, nil},
		"beside the schema of another release": {testkit.Database, []string{older, `create table "Customers" (id int)`},
			[]string{`public."Customers"`}, []string{"passages", "goose_db_version"}},
		"a view": {testkit.Database, []string{older, "create view newest as select id from documents"}, []string{"public.newest"}, []string{"documents"}},
		"a view in another schema": {testkit.Database, []string{older, "create schema reports", "create view reports.weekly as select id from documents"},
			[]string{"reports.weekly"}, []string{"public."}},
		"a reference from another schema": {testkit.Database, []string{older, "create schema crm", "create table crm.notes (workspace uuid references workspaces)"},
			[]string{"crm.notes"}, []string{"public."}},
		"a table that inherits": {testkit.Database, []string{older, "create schema crm", "create table crm.more () inherits (workspaces)"}, []string{"crm.more"}, []string{"public."}},
		"a sequence":            {testkit.EmptyDatabase, []string{"create sequence numbers"}, []string{"public.numbers"}, nil},
		"many tables": {testkit.EmptyDatabase, []string{"create table a1 (id int)", "create table a2 (id int)", "create table a3 (id int)", "create table a4 (id int)",
			"create table a5 (id int)", "create table a6 (id int)", "create table a7 (id int)"}, []string{"public.a1, ", "public.a5 and 2 more"}, []string{"a6"}},
		"another program with such names": {testkit.EmptyDatabase, []string{"create table goose_db_version (id serial primary key, version_id bigint, is_applied bool, tstamp timestamp default now())",
			"insert into goose_db_version (version_id, is_applied) values (0, true), (7, true)", "create table users (id serial primary key)"}, []string{"public.goose_db_version", "public.users"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := c.made(t)
			execute(t, to.AdminURL, c.statements...)
			before := relations(t, to.AdminURL)
			blobs := folder(t)
			_, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: to.AdminURL, Blobs: blobs, Store: store, Keys: keys()})
			if err == nil {
				t.Fatal("it was restored")
			}
			for _, text := range append(c.named, "not Magpie's", "restore into a new one", "Nothing was changed") {
				if !strings.Contains(err.Error(), text) {
					t.Errorf("%v lacks %q", err, text)
				}
			}
			for _, text := range c.unnamed {
				if strings.Contains(err.Error(), text) {
					t.Errorf("%v names %q", err, text)
				}
			}
			if after := relations(t, to.AdminURL); !slices.Equal(before, after) {
				t.Errorf("%d relations before, and %d after", len(before), len(after))
			}
			if blobs.stored("") != 0 {
				t.Error("files were copied")
			}
		})
	}
	// Other schemas, and what extensions bring, do not matter.
	to := testkit.Database(t)
	execute(t, to.AdminURL, older, "create schema crm", "create table crm.notes (id int)", "insert into crm.notes values (1)", "create extension if not exists pg_trgm")
	if _, err := backup.Restore(t.Context(), backup.RestoreOptions{DatabaseURL: to.OwnerURL, Blobs: folder(t), Store: store, Keys: keys()}); err != nil {
		t.Errorf("beside another schema: %v", err)
	}
	if got := relations(t, to.AdminURL); !slices.Contains(got, "crm.notes") {
		t.Errorf("the other schema lost its table: %v", got)
	}
}

// relations returns the names of all tables, views and sequences.
func relations(t *testing.T, url string) []string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(t.Context(), `select format('%s.%s', relnamespace::regnamespace, relname) from pg_class
		where relkind in ('r', 'v', 'S') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)' order by 1`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestAProtectionMustBeChosen(t *testing.T) {
	t.Parallel()
	public, _ := identity(t)
	for _, p := range []backup.Protection{{}, {None: true, Passphrase: "x"}, {Recipients: []string{public}, Passphrase: "x"}} {
		if err := p.Check(); err == nil {
			t.Errorf("%+v was accepted", p)
		}
	}
	i := install(t)
	o := i.options(folder(t), backup.Protection{Recipients: []string{"age1nonsense"}})
	if _, err := backup.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "age1") {
		t.Errorf("nonsense: %v", err)
	}
	store := folder(t)
	mustRun(t, i.options(store, backup.Protection{Passphrase: "right"}))
	if _, err := backup.Run(t.Context(), i.options(store, backup.Protection{Passphrase: "wrong"})); err == nil || !strings.Contains(err.Error(), "not the passphrase") {
		t.Errorf("another passphrase: %v", err)
	}
}
