package migrations_test

import (
	"database/sql"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/magpie-search/magpie/ent/migrate/migrations"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

// listed returns the content of access.txt.
func listed(t *testing.T) string {
	t.Helper()
	content, err := os.ReadFile("access.txt")
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// complete checks the privileges of a database and of new tables and sequences.
func complete(t *testing.T, owner *sql.DB) {
	t.Helper()
	if diff := cmp.Diff(listed(t), access(t.Context(), t, owner)); diff != "" {
		t.Errorf("the privileges differ:\n%s", diff)
	}
	execute(t, owner, "create table later (id bigint generated always as identity)")
	var table, sequence, becomes bool
	if err := owner.QueryRowContext(t.Context(), `select has_table_privilege('magpie_app', 'later', 'select, insert, update, delete'),
		has_sequence_privilege('magpie_app', 'later_id_seq', 'usage'), pg_has_role('magpie_app', 'member')`).Scan(&table, &sequence, &becomes); err != nil {
		t.Fatal(err)
	}
	if !table || !sequence || !becomes {
		t.Errorf("a later table: %v, its sequence: %v, the owner is a member: %v", table, sequence, becomes)
	}
	execute(t, owner, "drop table later")
}

// at returns a URL with another user and another database.
func at(t *testing.T, address, login, database string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User, u.Path = url.User(login), "/"+database
	return u.String()
}

func TestUpMakesTheRoleAndPrivilegesThatAreMissing(t *testing.T) {
	t.Parallel()
	cluster := testkit.Cluster(t)
	owner := open(t, cluster.OwnerURL)
	admin := open(t, at(t, cluster.AdminURL, "postgres", devstack.DefaultDatabase))
	var all sync.WaitGroup
	failed := make([]error, 3)
	for n := range failed {
		all.Go(func() { failed[n] = migrations.Up(t.Context(), owner) })
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			t.Fatal(err)
		}
	}
	complete(t, owner)

	// A restored dump in a cluster without the roles.
	execute(t, admin, "drop owned by magpie_app", "drop role magpie_app", "alter default privileges for role magpie_owner in schema public revoke all on tables from public",
		"grant execute on all functions in schema public to public")
	mismatch(t, migrations.Check(t.Context(), owner), "lacks the privilege", "run magpie migrate up")
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	complete(t, owner)

	execute(t, admin, "update pg_extension set extversion = '0.7.4' where extname = 'vector'")
	mismatch(t, migrations.Up(t.Context(), owner), "has pgvector 0.7.4", "alter extension vector update")
	execute(t, admin, "update pg_extension set extversion = '0.8.0' where extname = 'vector'")

	// Superfluous privileges are revoked: this one would give the application texts and vectors.
	execute(t, owner, "grant select on passage_index to magpie_app", "grant update, delete on audit_entries to magpie_app")
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	complete(t, owner)

	// An owner without CREATEROLE gets a remedy, which is sufficient.
	for _, make := range []bool{true, false} {
		if make {
			execute(t, admin, "drop owned by magpie_app", "drop role magpie_app", "alter role magpie_owner nocreaterole")
		} else {
			execute(t, admin, "revoke magpie_app from magpie_owner")
		}
		err := migrations.Up(t.Context(), owner)
		mismatch(t, err, map[bool]string{true: "the role magpie_app is missing", false: "magpie_owner is no member"}[make], "as a superuser run: ")
		_, remedy, _ := strings.Cut(err.Error(), "as a superuser run: ")
		execute(t, admin, strings.Split(remedy, "; ")...)
		if err := migrations.Up(t.Context(), owner); err != nil {
			t.Fatal(err)
		}
		complete(t, owner)
	}
}

func TestUpByASuperuserGivesTheOwnerWhatARestoreTook(t *testing.T) {
	t.Parallel()
	cluster := testkit.Cluster(t)
	owner := open(t, cluster.OwnerURL)
	admin := open(t, at(t, cluster.AdminURL, "postgres", devstack.DefaultDatabase))
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	execute(t, admin, `do $$ declare o text; begin
		for o in select format('alter table %I owner to postgres', relname) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p')
			union all select format('alter function %s owner to postgres', oid::regprocedure) from pg_proc where proname like 'magpie\_%'
		loop execute o; end loop; end $$`)
	mismatch(t, migrations.Up(t.Context(), owner), "belongs to postgres, and magpie_owner may not change it", "run magpie migrate up once with a superuser's login")
	if err := migrations.Up(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	var foreign int
	if err := admin.QueryRowContext(t.Context(), `select (select count(*) from pg_class where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'S', 'i', 'I') and relowner <> 'magpie_owner'::regrole)
		+ (select count(*) from pg_proc where proname like 'magpie\_%' and proowner <> 'magpie_owner'::regrole)`).Scan(&foreign); err != nil {
		t.Fatal(err)
	}
	if foreign != 0 {
		t.Errorf("%d tables, indexes and functions do not belong to the owner", foreign)
	}
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	complete(t, owner)
}

func TestUpByALoginThatOwnsNothing(t *testing.T) {
	t.Parallel()
	cluster := testkit.Cluster(t)
	owner, login := open(t, cluster.OwnerURL), open(t, cluster.DatabaseURL)
	admin := open(t, at(t, cluster.AdminURL, "postgres", devstack.DefaultDatabase))
	if err := migrations.Up(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	execute(t, admin, "grant magpie_app to magpie_login")
	if err := migrations.Up(t.Context(), login); err != nil {
		t.Errorf("of a current database: %v", err)
	}
	execute(t, owner, "revoke insert on passages from magpie_app")
	mismatch(t, migrations.Up(t.Context(), login), "passages belongs to magpie_owner, and magpie_login may not change it", "with the login of magpie_owner")
	mismatch(t, migrations.UpWith(t.Context(), login, with(t, map[int64]string{laterStep: "create table later (id bigint);"})), "belongs to magpie_owner")
}
