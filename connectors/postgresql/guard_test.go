package postgresql_test

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/postgresql"
)

// reads returns statements that only read.
func reads() []string {
	return []string{
		"select 1", "SELECT 1;", " -- a comment\nselect /* another */ 1 ; -- and one more", "values (1, 'a'), (2, 'b')", "table orders",
		"with a as (select 1 as x), b as (select x from a) select * from b", "with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t",
		"select * from orders o join customers c using (customer_id) where o.total > 3.5 and c.name ilike '%a%' order by 1 desc nulls last limit 5 offset 2",
		"select c.name, count(*) filter (where o.total > 10), rank() over (partition by c.name order by sum(o.total)) from customers c left join orders o on o.customer_id = c.customer_id group by grouping sets ((c.name), ()) having count(*) > 0",
		"select case when total > 1 then 'a' else 'b' end, coalesce(total, 0), nullif(total, 1), total::text, (array[1, 2])[1], row(1, 2), extract(year from placed) from orders",
		"explain select * from orders", "explain (format json, costs off) select 1", "show server_version", "show search_path",
		"select string_agg(name, ', ' order by name), percentile_cont(0.5) within group (order by customer_id) from customers",
		"select date_trunc('month', placed), now() - interval '1 month', current_date, random() from orders", "select exists (select from orders), total > any (select 1) from orders",
		"(select 1 union select 2) intersect all (select 2)", "select * from generate_series(1, 3) g, lateral (select g * 2) x", "select ';delete from orders;'", "select \"name\" from \"customers\"",
		"select count(*) from information_schema.tables", "select 'pg_sleep(10)'", "select tags @> '{\"a\": 1}'::jsonb, tags ->> 'a' from customers", "select $$a string$$",
		"select o.random from (select 1 as random) o", "select pg_total_relation_size('orders')",
	}
}

// An attack is a statement that must not run. harmless ones change nothing and wait
// for nothing, or at most for the time limit: the engine may run
// them, and only the guard refuses them.
type attack struct {
	sql      string
	harmless bool
}

func attacks() []attack {
	must := func(list ...string) []attack {
		out := make([]attack, len(list))
		for i, sql := range list {
			out[i] = attack{sql: sql}
		}
		return out
	}
	may := func(list ...string) []attack {
		out := must(list...)
		for i := range out {
			out[i].harmless = true
		}
		return out
	}
	return append(must(
		"delete from orders", "insert into orders (order_id) values (99)", "update orders set total = 0", "truncate orders", "drop table orders", "create table x (a int)",
		"alter table orders add column x int", "grant all on orders to public", "revoke all on orders from public", "comment on table orders is 'x'", "create index on orders (total)",
		"select 1; delete from orders", "select 1;delete from orders;--", "begin; delete from orders; commit", "/* select */ delete from orders", "-- select\ndelete from orders",
		"/* /* nested */ */ delete from orders", "select 1 --\n; drop table orders", "DeLeTe FrOm orders", "\u00a0delete from orders", "with x as (delete from orders returning *) select * from x",
		"with x as (insert into customers (customer_id, name) values (77, 'x') returning *) select * from x", "with x as (update orders set total = 0 returning *) select count(*) from x",
		"with recursive a as (select 1), b as (delete from orders returning order_id) select * from a, b", "select * from (with x as (delete from orders returning 1) select 1) y",
		"select * into copied from orders", "create table copied as select * from orders", "select * from orders for update", "select * from orders for share", "select * from orders for no key update of orders nowait",
		"explain analyze delete from orders", "explain (analyze true) insert into orders (order_id) values (5)", "copy orders to '/tmp/x'", "copy orders from program 'id'",
		"copy (delete from orders returning *) to stdout", "copy (select 1) to program 'touch /tmp/pwned'", "do $$ begin delete from orders; end $$", "call wipe()", "select wipe_orders()", "select public.wipe_orders()",
		"select lo_import('/etc/passwd')", "select pg_read_file('/etc/passwd')", "select pg_ls_dir('/')", "select nextval('order_numbers')", "select setval('order_numbers', 1)",
		"select * from wipe_orders()", "select (select wipe_orders())", "select 1 where wipe_orders() > 0", "select 1 order by wipe_orders()", "select U&\"w\\0069pe_orders\"()", "select \"wipe_orders\"()",
		"set default_transaction_read_only = off; delete from orders", "commit; delete from orders", "prepare x as delete from orders; execute x", "merge into orders o using customers c on false when not matched then insert (order_id) values (1)",
		"refresh materialized view totals", "vacuum orders", "alter system set work_mem = '1GB'", "create extension dblink",
		"create function f() returns int language sql as 'select 1'", "security label on table orders is 'x'", "import foreign schema x from server y into z", "alter role current_user superuser", "select 1 \x00; delete from orders",
		"select * from orders where order_id = $1", "select wipe_orders(1)", "select customers.wipe_all from customers", "select 1 operator(public.!!!) 2",
	), may(
		"set statement_timeout = 0", "reset all", "discard all", "commit", "rollback", "begin", "savepoint a", "listen x", "notify x", "unlisten *", "checkpoint", "explain analyze select 1", "explain (analyze) select pg_sleep(1)",
		"declare c cursor for select 1", "prepare x as select 1", "deallocate all", "select pg_sleep(30)", "select pg_catalog.pg_sleep(30)", "select U&\"pg\\005fsleep\"(30)", "select (30).pg_sleep", "select PG_SLEEP(30)",
		"select set_config('statement_timeout', '0', false)", "select pg_terminate_backend(pg_backend_pid())", "select pg_cancel_backend(1)", "select pg_advisory_lock(1)", "select pg_notify('x', 'y')",
		"select query_to_xml('select 1', true, true, '')", "select * from dblink('host=evil', 'select 1') as t (a int)", "select pg_reload_conf()", "select pg_logical_emit_message(false, 'a', 'b')", "select ts_stat('select 1')",
		// These go with their transaction, which is never committed.
		"select lo_create(4711)", "select lo_from_bytea(0, 'x')", "reindex table orders", "lock table orders in access exclusive mode",
		"select table_to_xml('secrets', true, true, '')", "select * from secrets", "select * from private.salaries", "select * from pg_catalog.pg_authid", "select * from pg_stat_activity", "select rolname from pg_roles", "select * from PUBLIC.SECRETS",
		"with secrets as (select 1) select * from public.secrets", "select (with secrets as (select 1) select 1), (select count(*) from secrets)", "select * from otherdb.public.orders", "load 'x'", "show all; select 1", "", ";", "--", "not sql at all", "select 'unterminated",
		"select * from customers tablesample wipe (1)", "table secrets", "select exists (table secrets)", "select has_table_privilege('orders', 'x'), pg_stat_get_activity(null)",
	)...)
}

func refused(err error) bool {
	wrong, ok := errors.AsType[*connectors.QueryError](err)
	return ok && wrong.Refused && wrong.Message != "" && len(wrong.Message) <= 4*1000
}

func TestReadingStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, sql := range reads() {
		if _, err := postgresql.Inspect(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestNamesOfStatements(t *testing.T) {
	t.Parallel()
	for sql, want := range map[string]string{
		"select * from a join s.b on true":                                                     "a s.b",
		"with a as (select * from x) select * from a, y":                                       "x y",
		"with a as (select * from a) select * from a":                                          "a",
		"with recursive a as (select * from a) select * from a":                                "",
		"select (with a as (select 1) select * from a), (select * from a)":                     "a",
		"select * from (with a as (select 1) select * from a) q, s.a":                          "s.a",
		"with a as (select 1), b as (with c as (select 1) select * from c, a) select * from c": "c",
		"table t": "t", "values (1)": "", "select * from f(1), t where exists (select from u)": "t u",
	} {
		s, err := postgresql.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		var got []string
		for _, name := range s.Tables {
			got = append(got, name.String())
		}
		slices.Sort(got) // the parser visits the parts of a statement in no fixed order
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", sql, got, want)
		}
	}
}

func TestLongAndDeepStatementsAreRefused(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"long": "select '" + strings.Repeat("x", connectors.MaxStatement) + "'", "deep": "select " + strings.Repeat("-(", 6000) + "1" + strings.Repeat(")", 6000),
		"deep selects": strings.Repeat("select (", 2000) + "1" + strings.Repeat(")", 2000), "nots": "select " + strings.Repeat("not ", 4900) + "true",
	} {
		if _, err := postgresql.Inspect(sql); !refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The gold statements of text-to-SQL questions, if they exist.
func TestGoldStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "..", "shared", "databases", "text2sql")
	taken := 0
	for _, name := range []string{"questions_gen_postgres.csv", "instruct_basic_postgres.csv", "instruct_advanced_postgres.csv"} {
		for _, sql := range gold(t, filepath.Join(folder, name)) {
			if _, err := postgresql.Inspect(sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			} else {
				taken++
			}
		}
	}
	t.Logf("%d gold statements taken", taken)
}

// gold returns the first of the equivalent statements of each question, with all
// columns of a choice.
func gold(t *testing.T, path string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Skipf("the text-to-SQL questions are not at hand: %v", err)
	}
	defer func() { _ = file.Close() }()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := -1
	for i, name := range rows[0] {
		if name == "query" {
			column = i
		}
	}
	var out []string
	for _, row := range rows[1:] {
		sql, _, _ := strings.Cut(row[column], ";")
		choice := ""
		sql = regexp.MustCompile(`\{([^{}]*)\}`).ReplaceAllStringFunc(sql, func(match string) string {
			if inner := strings.Trim(match, "{}"); inner != "" {
				choice = inner
			}
			return choice
		})
		out = append(out, sql)
	}
	return out
}

func FuzzInspect(f *testing.F) {
	for _, sql := range reads() {
		f.Add(sql)
	}
	for _, a := range attacks() {
		f.Add(a.sql)
	}
	writes := regexp.MustCompile(`(?i)^\W*(insert|update|delete|drop|create|alter|truncate|grant|revoke|copy|do|call|set|reset|begin|commit|merge|vacuum|lock|execute|prepare)\b`)
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := postgresql.Inspect(sql)
		if err != nil {
			if !refused(err) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		bare := regexp.MustCompile(`(?s)/\*.*?\*/|--[^\n]*`).ReplaceAllString(sql, " ")
		if writes.MatchString(bare) && !strings.Contains(sql, "/*") {
			t.Fatalf("%q was taken: %+v", sql, s)
		}
	})
}
