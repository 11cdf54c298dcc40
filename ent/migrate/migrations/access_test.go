package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/testkit"
)

// open opens a database and closes it with the test.
func open(t *testing.T, url string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func execute(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// mismatch checks that an error is a Mismatch of one line with these texts.
func mismatch(t *testing.T, err error, texts ...string) {
	t.Helper()
	var m *migrations.Mismatch
	if !errors.As(err, &m) {
		t.Errorf("%v, want a mismatch with %q", err, texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(m.Error(), text) || strings.Contains(m.Error(), "\n") {
			t.Errorf("%q, want %q in one line", m, text)
		}
	}
}

// access returns the privileges in the schema public in the format of access.txt.
func access(ctx context.Context, t *testing.T, db *sql.DB) string {
	t.Helper()
	rows, err := db.QueryContext(ctx, `
		with n as (
			select case relkind when 'S' then 'sequence' else 'table' end as kind, relname::text collate "C" as name, oid, 'pg_class'::regclass as class,
				coalesce(relacl, acldefault(case relkind when 'S' then 's'::"char" else 'r'::"char" end, relowner)) as acl
			from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'S')
			union all
			select 'function', proname || '(' || oidvectortypes(proargtypes) || ')', oid, 'pg_proc'::regclass, coalesce(proacl, acldefault('f', proowner))
			from pg_proc where pronamespace = 'public'::regnamespace
		), g as (
			select n.*, coalesce((select string_agg(privilege_type, ' ' order by privilege_type) from aclexplode(acl) where grantee = 'magpie_app'::regrole), '') as app,
				coalesce((select string_agg(privilege_type, ' ' order by privilege_type) from aclexplode(acl) where grantee = 0), '') as public
			from n where not exists (select from pg_depend where classid = n.class and objid = n.oid and objsubid = 0 and deptype in ('e', 'i'))
		)
		select concat_ws(E'\t', kind, name, app, public) from g order by kind collate "C", name`)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var list strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		list.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list.String()
}

// steps returns a database with only the steps applied.
func stepsAlone(t *testing.T) *sql.DB {
	t.Helper()
	db := open(t, testkit.EmptyDatabase(t).OwnerURL)
	if err := migrations.StepsAlone(t.Context(), db); err != nil {
		t.Fatal(err)
	}
	return db
}

// update is read by the flag package before a test runs.
var update = flag.Bool("update", false, "rewrite access.txt")

func TestTheListOfPrivilegesIsWhatTheStepsGrant(t *testing.T) {
	t.Parallel()
	got := access(t.Context(), t, stepsAlone(t))
	if *update {
		if err := os.WriteFile("access.txt", []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile("access.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("access.txt is not what the steps grant (go test ./ent/migrate/migrations -update writes it):\n%s", diff)
	}
}
