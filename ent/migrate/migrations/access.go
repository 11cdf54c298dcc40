package migrations

import (
	"context"
	"database/sql"
	_ "embed" // the list of privileges
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// appRole is the database role of the application.
const appRole = "magpie_app"

// accessList has the privileges on the tables and functions of the schema. Each line has
// the kind, the name, the privileges of appRole and those of PUBLIC, separated by tabs.
// A test compares it with a new database, and writes it with -update.
//
//go:embed access.txt
var accessList string

// An object is a table, sequence or function.
type object struct {
	kind, name  string
	owner       string
	superuser   bool // whether the owner is one
	owned       bool // whether the caller has the owner's rights
	app, public []string
}

func (o object) key() string { return o.kind + " " + o.name }

// quoted returns the name of the object in SQL.
func (o object) quoted() string {
	if o.kind == "function" {
		name, arguments, _ := strings.Cut(o.name, "(")
		return "function " + quote(name) + "(" + arguments
	}
	return o.kind + " " + quote(o.name)
}

// parseAccessList returns the objects of accessList.
func parseAccessList() ([]object, error) {
	var all []object
	for line := range strings.Lines(accessList) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("read the list of privileges: a line has %d fields: %q", len(fields), line)
		}
		all = append(all, object{kind: fields[0], name: fields[1], app: strings.Fields(fields[2]), public: strings.Fields(fields[3])})
	}
	return all, nil
}

const objectsQuery = `
with app as (select to_regrole('magpie_app')::oid as role),
named as (
    select case c.relkind when 'S' then 'sequence' else 'table' end as kind, c.relname::text as name, c.relowner as owner, 'pg_class'::regclass as class, c.oid,
           coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's'::"char" else 'r'::"char" end, c.relowner)) as acl
    from pg_class c where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'S')
    union all
    select 'function', p.proname || '(' || replace(oidvectortypes(p.proargtypes), 'public.', '') || ')', p.proowner, 'pg_proc'::regclass, p.oid,
           coalesce(p.proacl, acldefault('f', p.proowner))
    from pg_proc p where p.pronamespace = 'public'::regnamespace
)
select n.kind, n.name, r.rolname::text, r.rolsuper, pg_has_role(n.owner, 'usage'),
       coalesce((select string_agg(distinct a.privilege_type, ' ' order by a.privilege_type) from aclexplode(n.acl) a, app where a.grantee = app.role), ''),
       coalesce((select string_agg(distinct a.privilege_type, ' ' order by a.privilege_type) from aclexplode(n.acl) a where a.grantee = 0), '')
from named n join pg_roles r on r.oid = n.owner
where not exists (select from pg_depend d where d.classid = n.class and d.objid = n.oid and d.objsubid = 0 and d.deptype in ('e', 'i'))`

// objects returns the tables, sequences and functions of the schema public. It omits those of extensions, and the sequences
// of identity columns, which need no privilege and whose names vary.
func objects(ctx context.Context, q Querier) (map[string]object, error) {
	rows, err := q.QueryContext(ctx, objectsQuery)
	if err != nil {
		return nil, fmt.Errorf("look at tables and functions: %w", err)
	}
	defer func() { _ = rows.Close() }()
	all := map[string]object{}
	for rows.Next() {
		var o object
		var app, public string
		if err := rows.Scan(&o.kind, &o.name, &o.owner, &o.superuser, &o.owned, &app, &public); err != nil {
			return nil, fmt.Errorf("look at tables and functions: %w", err)
		}
		o.app, o.public = strings.Fields(app), strings.Fields(public)
		all[o.key()] = o
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("look at tables and functions: %w", err)
	}
	return all, nil
}

// mend creates missing roles, owners and privileges in one transaction.
func mend(ctx context.Context, conn *sql.Conn, files fs.FS) (err error) {
	statements, err := needed(ctx, conn, files, true)
	if err != nil || len(statements) == 0 {
		return err
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("mend roles and privileges: %w", err)
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("mend roles and privileges: %s: %w", statement, err), tx.Rollback())
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("mend roles and privileges: %w", err)
	}
	return nil
}

// who describes the caller of mend and the roles of the cluster.
type who struct {
	user, database, databaseOwner  string
	superuser, makesRoles          bool
	ownerSuperuser                 bool
	roleExists, member, canGrantIt bool
	schemaUsage, defaults          bool // of the role, the latter on what its caller makes
	ownerDefaults                  bool // on what the database's owner makes
}

// whoQuery reads who. In PostgreSQL 16 and later, the creator of a role is a member
// without SET ROLE, so that the query asks for SET.
const whoQuery = `
with me as (select r.* from pg_roles r where r.rolname = current_user),
app as (select to_regrole('magpie_app')::oid as role),
place as (select d.datname, r.oid as owner, r.rolname as owner_name, r.rolsuper as owner_super
    from pg_database d join pg_roles r on r.oid = d.datdba where d.datname = current_database()),
made as (
    select d.defaclrole from pg_default_acl d, app
    where d.defaclnamespace = 'public'::regnamespace and app.role is not null
      and (d.defaclobjtype = 'r' and (select count(*) from aclexplode(d.defaclacl) a where a.grantee = app.role and a.privilege_type in ('SELECT', 'INSERT', 'UPDATE', 'DELETE')) = 4
        or d.defaclobjtype = 'S' and (select count(*) from aclexplode(d.defaclacl) a where a.grantee = app.role and a.privilege_type in ('SELECT', 'USAGE')) = 2)
    group by d.defaclrole having count(*) = 2
)
select me.rolname::text, place.datname::text, place.owner_name::text, me.rolsuper, me.rolsuper or me.rolcreaterole, place.owner_super,
       app.role is not null,
       coalesce(pg_has_role(me.oid, app.role, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end), false),
       coalesce(me.rolsuper or pg_has_role(me.oid, app.role, 'MEMBER WITH ADMIN OPTION')
           or me.rolcreaterole and current_setting('server_version_num')::int < 160000, false),
       coalesce(has_schema_privilege(app.role, 'public', 'usage'), false),
       me.oid in (select defaclrole from made), place.owner in (select defaclrole from made)
from me, app, place`

func ask(ctx context.Context, q Querier) (w who, err error) {
	err = q.QueryRowContext(ctx, whoQuery).Scan(&w.user, &w.database, &w.databaseOwner, &w.superuser, &w.makesRoles, &w.ownerSuperuser,
		&w.roleExists, &w.member, &w.canGrantIt, &w.schemaUsage, &w.defaults, &w.ownerDefaults)
	if err != nil {
		return w, fmt.Errorf("look at roles: %w", err)
	}
	return w, nil
}

// takesOver reports whether objects of superusers are given to the owner of the database. A
// dump that a superuser restored without owners leaves them to the superuser.
func (w who) takesOver() bool { return w.superuser && !w.ownerSuperuser }

// needed returns the statements that create the missing role of the application, its
// membership, owners and privileges. A caller who owns no object may call it while nothing is
// missing. If working is set, the caller is about to change the schema and must be an owner.
func needed(ctx context.Context, q Querier, files fs.FS, working bool) ([]string, error) {
	w, err := ask(ctx, q)
	if err != nil {
		return nil, err
	}
	statements, err := w.role()
	if err != nil {
		return nil, err
	}
	s, err := look(ctx, q)
	if err != nil {
		return nil, err
	}
	if !s.steps {
		return statements, nil // the first step grants the rest
	}
	there, err := objects(ctx, q)
	if err != nil {
		return nil, err
	}
	if !w.schemaUsage {
		statements = append(statements, "grant usage on schema public to "+appRole)
	}
	if !w.defaults && there[stepsTable].owned {
		statements = append(statements, defaultsOf(w.user)...)
	}
	if w.takesOver() && !w.ownerDefaults {
		statements = append(statements, defaultsOf(w.databaseOwner)...)
	}
	known, err := versions(files)
	if err != nil || s.newest() > known[len(known)-1] {
		return statements, err // the list knows nothing of a newer schema's privileges
	}
	more, err := w.onObjects(there, working)
	return append(statements, more...), err
}

// stepsTable is the table of the applied steps.
const stepsTable = "table goose_db_version"

func defaultsOf(role string) []string {
	alter := "alter default privileges for role " + quote(role) + " in schema public grant "
	return []string{
		alter + "select, insert, update, delete on tables to " + appRole,
		alter + "usage, select on sequences to " + appRole,
	}
}

// role returns the statements that create the application's role and make the owner a member.
func (w who) role() (statements []string, err error) {
	const create = "create role " + appRole + " nologin nosuperuser nobypassrls"
	grant := "grant " + appRole + " to " + quote(w.user)
	switch {
	case !w.roleExists && !w.makesRoles:
		return nil, &Mismatch{
			fmt.Sprintf("the role %s is missing, and %s may not make it", appRole, w.user),
			"as a superuser run: " + create + "; " + grant,
		}
	case !w.roleExists:
		// Another database of the cluster may create it concurrently.
		return []string{
			"do $$ begin " + create + "; exception when duplicate_object or unique_violation then null; end $$", grant,
		}, nil
	case !w.member && !w.canGrantIt:
		return nil, &Mismatch{
			fmt.Sprintf("%s is no member of the role %s, and may not become one", w.user, appRole),
			"as a superuser run: " + grant,
		}
	case !w.member:
		return []string{grant}, nil
	}
	return nil, nil
}

// onObjects returns the statements for owners and privileges.
func (w who) onObjects(there map[string]object, working bool) (statements []string, err error) {
	expected, err := parseAccessList()
	if err != nil {
		return nil, err
	}
	for _, want := range expected {
		o, found := there[want.key()]
		if !found {
			continue // a step to come makes it
		}
		var mending []string
		if w.takesOver() && o.superuser && o.kind != "sequence" { // sequences follow their tables
			mending = append(mending, "alter "+o.quoted()+" owner to "+quote(w.databaseOwner))
		}
		mending = append(mending, change(o, appRole, want.app, o.app)...)
		if o.kind == "function" { // which everybody may call unless that is taken from them
			mending = append(mending, change(o, "public", want.public, o.public)...)
		}
		restored := o.superuser && w.user == w.databaseOwner // whose next step would fail
		if !o.owned && (working || restored || len(mending) > 0) {
			return nil, w.foreign(o)
		}
		statements = append(statements, mending...)
	}
	return statements, nil
}

// foreign returns the statement that gives an object to the owner.
func (w who) foreign(o object) error {
	remedy := "run magpie migrate up with the login of " + o.owner
	if o.superuser {
		remedy = "run magpie migrate up once with a superuser's login, which gives it to the owner of the database"
		if w.databaseOwner != w.user {
			remedy = fmt.Sprintf("as a superuser run: alter database %s owner to %s; then %s", quote(w.database), quote(w.user), remedy)
		}
	}
	return &Mismatch{fmt.Sprintf("the %s belongs to %s, and %s may not change it", o.key(), o.owner, w.user), remedy}
}

// change returns the statements that grant missing privileges and revoke superfluous ones.
func change(o object, role string, expected, there []string) (statements []string) {
	if more := without(expected, there); len(more) > 0 {
		statements = append(statements, "grant "+strings.Join(more, ", ")+" on "+o.quoted()+" to "+role)
	}
	if less := without(there, expected); len(less) > 0 {
		statements = append(statements, "revoke "+strings.Join(less, ", ")+" on "+o.quoted()+" from "+role)
	}
	return statements
}

// without returns the elements of all that are not in some.
func without(all, some []string) (rest []string) {
	for _, one := range all {
		if !slices.Contains(some, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
