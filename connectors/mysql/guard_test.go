package mysql_test

import (
	"encoding/csv"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/mysql"
)

// reads returns statements that only read.
func reads() []string {
	return []string{
		"select 1", "SELECT 1;", " -- a comment\nselect /* another */ 1 ; -- and one more", "with a as (select 1 as x), b as (select x from a) select * from b",
		"with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) select sum(n) from t",
		"select o.*, c.name from orders o join customers c using (customer_id) where o.total > 3.5 and c.name like '%a%' order by 1 desc limit 5 offset 2",
		"select c.name, count(*), sum(o.total), rank() over (order by sum(o.total) desc) from customers c left join orders o on o.customer_id = c.customer_id group by c.name having count(*) > 0",
		"select case when total > 1 then 'a' else 'b' end, coalesce(total, 0), ifnull(note, ''), cast(total as char), if(total > 1, 1, 2), extract(year from placed) from orders",
		"explain select * from orders", "explain format = json select 1", "describe orders", "show tables", "show full columns from orders", "show create table orders", "show index from orders",
		"select group_concat(name order by name separator ', ') from customers", "select date_format(placed, '%Y-%m'), date_sub(now(), interval 1 month), curdate(), rand(), year(placed) from orders",
		"select exists (select 1 from orders), 3 in (select order_id from orders)", "(select 1 union select 2) union all (select 3)", "select ';delete from orders;'", "select `name` from `customers`",
		"select json_extract(tags, '$.a'), tags->>'$.a' from customers", "select 'sleep(10)'", "select 'it''s', 'a\\'b', \"double\"", "select count(*) from information_schema.tables",
		"select distinct mood from customers where name regexp '^A'", "select round(avg(total), 2), std(total), min(placed), max(placed), datediff(now(), placed), timestampdiff(day, placed, now()) from orders",
		"select substring(name, 1, 2), concat_ws(' ', name, mood), upper(name), length(name), trim(both 'x' from name), locate('a', name) from customers", "select convert('1', signed), binary 'x', x'41', 0x41, true, null",
	}
}

type attack struct {
	sql      string
	harmless bool // see package postgresql's
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
		"delete from orders", "insert into orders (order_id) values (99)", "update orders set total = 0", "replace into orders (order_id) values (1)", "truncate table orders", "drop table orders", "create table x (a int)",
		"alter table orders add column x int", "grant all on *.* to x@y", "revoke all on *.* from x@y", "create index i on orders (total)", "rename table orders to x", "create view v as select 1", "drop view big_orders",
		"select 1; delete from orders", "select 1;delete from orders;-- ", "begin; delete from orders; commit", "/* select */ delete from orders", "-- select\ndelete from orders", "# select\ndelete from orders", "DeLeTe FrOm orders",
		"select 1 /*! into outfile '/tmp/x' */", "/*!50000 delete from orders */", "/*M! delete from orders */", "/*!99999 select */ delete from orders", "select '\\'; delete from orders; -- '; delete from orders", "select 1 union select 2 into outfile '/tmp/magpie-x'",
		"select * from orders into outfile '/tmp/magpie-x'", "select 'x' into dumpfile '/tmp/magpie-x'", "select * into outfile '/tmp/magpie-x' from orders", "select 1 limit 1 into outfile '/tmp/magpie-x'",
		"with x as (select 1) delete from orders where order_id in (select * from x)", "with x as (select 1) update orders set total = 0", "explain analyze delete from orders", "analyze delete from orders",
		"load data infile '/etc/passwd' into table secrets", "load data local infile '/etc/passwd' into table secrets", "load xml infile 'x' into table secrets", "call wipe()", "select wipe_orders()", "select shop.wipe_orders()",
		"select 1 where wipe_orders() > 0", "select * from orders order by wipe_orders()", "select (select wipe_orders())", "select count(*) from orders having wipe_orders()", "select case when true then wipe_orders() end", "select `wipe_orders`()", "select WIPE_ORDERS ()",
		"create function f() returns int return 1", "create procedure p() select 1", "create trigger t before insert on orders for each row set new.total = 1", "create event e on schedule every 1 day do delete from orders", "create user x@y", "drop user x@y", "set password = 'x'",
		"alter user current_user() identified by 'x'", "prepare x from 'delete from orders'; execute x", "lock tables orders write", "create database x", "drop database shop", "install plugin x soname 'x.so'", "create or replace view big_orders as select 1",
		"insert into orders select * from orders", "delete o from orders o join customers c using (customer_id)", "update orders o join customers c using (customer_id) set o.total = 0", "optimize table orders", "repair table secrets", "create sequence s", "select next value for s",
		"select 1 \x00; delete from orders", "create temporary table t (a int); insert into t values (1)", "with recursive x as (select 1) delete from orders", "begin not atomic delete from orders; end",
	), may(
		"set session max_statement_time = 0", "set global general_log = 1", "commit", "rollback", "begin", "start transaction", "savepoint a", "set @a = 1", "select @a := 1", "select @@datadir", "select @@global.secure_file_priv", "use mysql", "do sleep(30)", "do release_all_locks()",
		"select sleep(30)", "select SLEEP(30)", "select `sleep`(30)", "select sleep /* x */ (30)", "select benchmark(1000000000, md5('x'))", "select load_file('/etc/passwd')", "select get_lock('x', 30)", "select release_lock('x')", "select is_free_lock('x')", "select is_used_lock('x')",
		"select master_pos_wait('x', 1)", "select * from orders for update", "select * from orders lock in share mode", "select * from orders for share", "select * from secrets", "select * from shop.secrets", "select * from SECRETS", "select * from `secrets`", "select * from mysql.user",
		"select * from information_schema.processlist", "select * from performance_schema.threads", "select * from sys.version", "table secrets", "describe secrets", "show create table secrets", "show columns from secrets", "show tables from mysql", "show grants", "show processlist", "show variables",
		"show engine innodb status", "show create procedure wipe", "show table status from mysql", "explain analyze select 1", "kill 1", "flush tables", "reset query cache", "checksum table orders", "prepare x from 'select 1'", "execute x", "deallocate prepare x", "select ?", "select :a", "select * from t where a in ::list",
		"with secrets as (select 1 as one) select * from secrets", "", ";", "--", "not sql at all", "select 'unterminated", "select /*+ set_var(max_execution_time = 0) */ sleep(30)", "select last_insert_id(7)", "select updatexml(1, concat(0x7e, version()), 1)", "select lastval(s)", "help 'x'", "select * from orders procedure analyse()", "handler orders open", "xa start 'x'",
		"show databases", "select name_const('a', sleep(30))", "select user()", "select system_user()",
	)...)
}

func refused(err error) bool {
	wrong, ok := errors.AsType[*connectors.QueryError](err)
	return ok && wrong.Refused && wrong.Message != "" && len(wrong.Message) <= 4*1000
}

func TestReadingStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	for _, sql := range reads() {
		s, err := mysql.Inspect(sql)
		if err != nil {
			t.Errorf("%s: %v", sql, err)
			continue
		}
		if again, err := mysql.Inspect(s.Text); err != nil || again.Text != s.Text {
			t.Errorf("%s is sent as %s, which is %v, %v", sql, s.Text, again, err)
		}
		if strings.Contains(s.Text, "/*") || strings.Contains(s.Text, "--") {
			t.Errorf("a comment is sent: %s", s.Text)
		}
	}
}

func TestLongAndDeepStatementsAreRefused(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"long": "select '" + strings.Repeat("x", connectors.MaxStatement) + "'", "deep": "select " + strings.Repeat("(", 9000) + "1" + strings.Repeat(")", 9000),
		"deep selects": strings.Repeat("select (", 2000) + "1" + strings.Repeat(")", 2000),
	} {
		if _, err := mysql.Inspect(sql); !refused(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, _ = mysql.Inspect("select " + strings.Repeat("not ", 4900) + "true") // ends
}

// The gold statements of text-to-SQL questions, if they exist.
func TestGoldStatementsAreAllowed(t *testing.T) {
	t.Parallel()
	taken := 0
	for _, name := range []string{"questions_gen_mysql.csv", "instruct_basic_mysql.csv"} {
		file, err := os.Open(filepath.Join("..", "..", "..", "shared", "databases", "text2sql", name))
		if err != nil {
			t.Skipf("the text-to-SQL questions are not at hand: %v", err)
		}
		rows, err := csv.NewReader(file).ReadAll()
		_ = file.Close()
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows[1:] {
			sql, _, _ := strings.Cut(row[3], ";")
			choice := ""
			sql = regexp.MustCompile(`\{([^{}]*)\}`).ReplaceAllStringFunc(sql, func(match string) string {
				if inner := strings.Trim(match, "{}"); inner != "" {
					choice = inner
				}
				return choice
			})
			if _, err := mysql.Inspect(sql); err != nil {
				t.Errorf("%s: %v", sql, err)
			} else {
				taken++
			}
		}
	}
	t.Logf("%d gold statements taken", taken)
}

func TestGrants(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"GRANT USAGE ON *.* TO `r`@`%` IDENTIFIED BY PASSWORD '*X'": "", "GRANT SELECT, SHOW VIEW ON `shop`.* TO `r`@`%`": "", "GRANT SELECT (`a`, `b`) ON `shop`.`t` TO `r`@`%`": "",
		"GRANT SELECT, INSERT, UPDATE ON `shop`.* TO `r`@`%`": "INSERT,UPDATE", "GRANT ALL PRIVILEGES ON *.* TO `r`@`%` WITH GRANT OPTION": "ALL PRIVILEGES,GRANT OPTION!",
		"GRANT ALL PRIVILEGES ON `shop`.* TO `r`@`%`": "ALL PRIVILEGES", "GRANT FILE ON *.* TO `r`@`%`": "FILE!", "GRANT `role` TO `r`@`%`": "", "what": "grants that cannot be read",
		"GRANT EXECUTE ON PROCEDURE `shop`.`wipe` TO `r`@`%`": "EXECUTE", "GRANT SELECT (`a`), INSERT (`b`) ON `shop`.`t` TO `r`@`%`": "INSERT",
	} {
		more, files := mysql.ExtraPrivileges([]string{line})
		got := strings.Join(more, ",")
		if files {
			got += "!"
		}
		if got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func FuzzInspect(f *testing.F) {
	for _, sql := range reads() {
		f.Add(sql)
	}
	for _, a := range attacks() {
		f.Add(a.sql)
	}
	first := regexp.MustCompile(`(?i)^\W*(select|with|values|explain|describe|desc|show|table)\b`)
	f.Fuzz(func(t *testing.T, sql string) {
		s, err := mysql.Inspect(sql)
		if err != nil {
			if !refused(err) {
				t.Fatalf("%q: %v", sql, err)
			}
			return
		}
		if !first.MatchString(s.Text) || strings.Contains(s.Text, "/*") {
			t.Fatalf("%q is sent as %q", sql, s.Text)
		}
		// What is sent means the same when it is read again.
		if again, err := mysql.Inspect(s.Text); err != nil {
			t.Fatalf("%q is sent as %q, which is refused: %v (%v)", sql, s.Text, err, again)
		}
	})
}
