package mysql_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	driver "github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/mysql"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/golang/glog.(*fileSink).flushDaemon"))
} // the log library of the parser starts it

// A shop is a database with a login that may read it, and one with all rights.
type shop struct {
	server *devstack.MariaDB
	admin  *sql.DB
	name   string
}

func newShop(t *testing.T, server *devstack.MariaDB, name, script string) *shop {
	t.Helper()
	config := driver.NewConfig()
	config.Net, config.Addr = "tcp", net.JoinHostPort(server.Host, strconv.Itoa(server.Port))
	config.User, config.Passwd, config.MultiStatements, config.Logger = server.User, server.Password, true, &driver.NopLogger{}
	connector, err := driver.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Skipf("the sample database is not at hand: %v", err)
	}
	first := sql.OpenDB(connector)
	statements := []string{"create database " + name, "create or replace user reader_" + name + " identified by 'magpie-reader'", "grant select, show view on " + name + ".* to reader_" + name}
	for _, statement := range statements {
		if _, err := first.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	_ = first.Close()
	config.DBName = name
	if connector, err = driver.NewConnector(config); err != nil {
		t.Fatal(err)
	}
	s := &shop{server: server, admin: sql.OpenDB(connector), name: name}
	t.Cleanup(func() { _ = s.admin.Close() })
	script = ""
	for line := range strings.Lines(string(text)) {
		if upper := strings.ToUpper(line); !strings.HasPrefix(upper, "DROP DATABASE") && !strings.HasPrefix(upper, "CREATE DATABASE") && !strings.HasPrefix(upper, "USE ") {
			script += line
		}
	}
	if _, err := s.admin.ExecContext(t.Context(), script); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *shop) reader() map[string]string {
	return map[string]string{"user": "reader_" + s.name, "password": "magpie-reader"}
}

func (s *shop) owner() map[string]string {
	return map[string]string{"user": s.server.User, "password": s.server.Password}
}

func (s *shop) attach(t *testing.T, credentials map[string]string, more map[string]any) connectors.Database {
	t.Helper()
	registry, err := connectors.NewRegistry(mysql.Kind((&net.Dialer{}).DialContext))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("mariadb")
	config := map[string]any{"host": s.server.Host, "port": float64(s.server.Port), "database": s.name}
	for name, value := range more {
		config[name] = value
	}
	database, err := kind.Attach(t.Context(), connectors.Settings{Config: config, Credentials: credentials})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	return database
}

// state returns everything that a statement could have changed.
func (s *shop) state(t *testing.T) string {
	t.Helper()
	var state string
	for _, statement := range []string{
		"select concat_ws('|', (select group_concat(concat_ws(',', order_id, customer_id, total, state) order by order_id) from orders), (select count(*) from order_line), (select count(*) from customers), (select count(*) from secrets))",
		"select group_concat(concat_ws(',', table_schema, table_name, table_type, ifnull(create_options, '')) order by table_schema, table_name) from information_schema.tables where table_schema not in ('information_schema', 'performance_schema', 'sys')",
		"select group_concat(concat_ws(',', table_name, column_name, column_type) order by table_name, ordinal_position) from information_schema.columns where table_schema = database()",
		"select group_concat(concat_ws(',', routine_schema, routine_name) order by 1) from information_schema.routines", "select count(*) from information_schema.triggers", "select count(*) from information_schema.events",
		"select group_concat(concat_ws(',', user, host) order by user, host) from mysql.user", "select group_concat(schema_name order by 1) from information_schema.schemata",
	} {
		var part sql.NullString
		if err := s.admin.QueryRowContext(t.Context(), statement).Scan(&part); err != nil {
			t.Fatal(err)
		}
		state += part.String + "\n"
	}
	return state
}

// All tests share one server.
func TestMariaDB(t *testing.T) {
	t.Parallel()
	server := testkit.MariaDB(t)
	for name, test := range map[string]func(*testing.T, *devstack.MariaDB){
		"attacks": attacksAreRefused, "unchecked": attacksHaveNoEffectAtTheServer, "answers": statementsReturnRows, "bounds": resultsAreBounded,
		"samples": columnsAreSampled, "schema": schemaIsRead, "checks": checkRequiresAReadOnlyLogin, "chinook": chinook,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
}

func attacksAreRefused(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_attacked", "testdata/shop.sql")
	database := s.attach(t, s.reader(), map[string]any{"excludeTables": []any{"secrets"}})
	before := s.state(t)
	list := attacks()
	if len(list) < 120 {
		t.Errorf("only %d attacks", len(list))
	}
	for _, a := range list {
		if rows, err := database.Query(t.Context(), a.sql, connectors.QueryLimits{Timeout: 5 * time.Second}); !refused(err) {
			t.Errorf("%q was not refused: %v, %v", a.sql, rows, err)
		}
	}
	if after := s.state(t); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
}

// The server refuses what the guard would allow: statements run
// without the guard, with an account that has all rights but access to files,
// from which no transaction protects, and which Check never accepts.
func attacksHaveNoEffectAtTheServer(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_unchecked", "testdata/shop.sql")
	for _, statement := range []string{"create user strong identified by 'magpie-strong'", "grant all on shop_unchecked.* to strong", "grant create user, reload, process on *.* to strong"} {
		if _, err := s.admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	database := s.attach(t, map[string]string{"user": "strong", "password": "magpie-strong"}, map[string]any{"allowWriteAccess": true})
	before := s.state(t)
	for _, a := range attacks() {
		rows, err := mysql.QueryUnchecked(t.Context(), database, a.sql, connectors.QueryLimits{Timeout: 400 * time.Millisecond})
		if err == nil && !a.harmless {
			t.Errorf("%q ran: %v", a.sql, rows.Values)
		}
		if after := s.state(t); after != before {
			t.Fatalf("%q changed something:\n%s\n%s", a.sql, before, after)
		}
	}
	for _, sql := range []string{"set session transaction read write; delete from orders", "delete from orders", "create table x (a int)"} {
		if _, err := mysql.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{}); err == nil {
			t.Errorf("%s ran", sql)
		}
	}
}

func statementsReturnRows(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_answers", "testdata/shop.sql")
	database := s.attach(t, s.reader(), nil)
	for _, sql := range reads() {
		// MariaDB has no ->> of MySQL's.
		if _, err := database.Query(t.Context(), sql, connectors.QueryLimits{}); err != nil && !strings.Contains(sql, "->>") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	rows, err := database.Query(t.Context(), "select order_id, sku, quantity, weight, gift, null as nothing, 12.50 as exact, placed, state, raw from order_line join orders using (order_id) order by order_id, line_no", connectors.QueryLimits{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{int64(1), "A-1", int64(3), 1.5, int64(1), nil, json.Number("12.50"), "2026-01-02 03:04:05", "paid", `\x00ff`},
		{int64(1), "B-2", json.Number("18446744073709551615"), nil, int64(0), nil, json.Number("12.50"), "2026-01-02 03:04:05", "paid", nil},
		{int64(3), "C-3", nil, 0.1, nil, nil, json.Number("12.50"), nil, "shipped", "abc"},
	}
	if !reflect.DeepEqual(rows.Values, want) || rows.Truncated != "" {
		t.Errorf("rows %#v", rows.Values)
	}
	for sql, part := range map[string]string{
		"select nme from customers": "Unknown column 'nme'", "select * from customer": "doesn't exist", "select * from (select 1": "cannot be read",
	} {
		_, err := database.Query(t.Context(), sql, connectors.QueryLimits{})
		wrong, ok := errors.AsType[*connectors.QueryError](err)
		if !ok || !strings.Contains(wrong.Message, part) || wrong.Code == "" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := database.Sample(t.Context(), "", "orders", 2); !errors.Is(err, connectors.ErrNoSamples) {
		t.Errorf("samples: %v", err)
	}
	if rows, err := s.attach(t, s.reader(), map[string]any{"sampleRows": true}).Sample(t.Context(), "", "orders", 2); err != nil || len(rows.Values) != 2 {
		t.Errorf("samples: %v", err)
	}
}

func columnsAreSampled(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_sampled", "testdata/shop.sql")
	if _, err := s.admin.ExecContext(t.Context(), "alter table customers modify name text; insert into customers (customer_id, name) values (3, '"+connectortest.LongName()+"')"); err != nil {
		t.Fatal(err)
	}
	attach := func(t *testing.T, options map[string]any) connectors.Database {
		return s.attach(t, s.reader(), options)
	}
	connectortest.RunSampleColumns(t, "shop_sampled", attach)
	rows, err := attach(t, map[string]any{"sampleRows": true}).SampleColumns(t.Context(), "", "orders", []string{"state"})
	if err != nil || len(rows.Values) != 3 || rows.Values[0][0] != "paid" {
		t.Errorf("values of an enumeration: %+v, %v", rows, err)
	}
}

func resultsAreBounded(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_bounds", "testdata/shop.sql")
	database := s.attach(t, s.reader(), nil)
	many := "with recursive g(n) as (select 1 union all select n + 1 from g where n < 900) select "
	rows, err := database.Query(t.Context(), many+"n from g", connectors.QueryLimits{Rows: 7})
	if err != nil || len(rows.Values) != 7 || rows.Truncated != "rows" {
		t.Fatalf("rows: %+v %v", rows, err)
	}
	if rows, err = database.Query(t.Context(), many+"repeat('x', 1000) from g", connectors.QueryLimits{Bytes: 10_000, Rows: 800}); err != nil || len(rows.Values) > 10 || rows.Truncated != "bytes" {
		t.Errorf("bytes: %v", err)
	}
	const five = "repeat('a', 3000) a, repeat('b', 3000) b, repeat('c', 3000) c, repeat('d', 3000) d, repeat('e', 3000) e"
	for sql, want := range map[string]struct {
		limits                connectors.QueryLimits
		rows, left, oversized int
		uncounted             bool
		notice                string
	}{
		"select " + five:                               {connectors.QueryLimits{Bytes: 10_000}, 0, 1, 1, false, "Row 1 alone is larger than the 10000 bytes"},
		many + "n from g where n <= 7":                 {connectors.QueryLimits{Rows: 7}, 7, 0, 0, false, ""},
		many + "n from g where n <= 20":                {connectors.QueryLimits{Rows: 7}, 7, 13, 0, false, "Rows left out: 13. An answer has 7 rows at most here."},
		many + "repeat('x', 998) from g where n <= 50": {connectors.QueryLimits{Bytes: 10_000}, 10, 40, 0, false, "Rows left out: 40. The first 10 fill the 10000 bytes"},
		"select 'a' a, '' b, '' c, '' d, '' e union all select " + five + " union all select 'z', '', '', '', ''": {connectors.QueryLimits{Bytes: 10_000}, 1, 2, 2, false, "Row 2 alone is larger than the 10000 bytes that an answer may have. It is left out, with what comes behind it: 2 in all. Select fewer columns"},
		many + "a.n from g a, g b": {connectors.QueryLimits{Rows: 7}, 7, 10_000, 0, true, "Rows left out: at least 10000."},
	} {
		rows, err := database.Query(t.Context(), sql, want.limits)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if len(rows.Values) != want.rows || rows.Omitted != want.left || rows.OversizedRow != want.oversized || rows.OmittedAtLeast != want.uncounted {
			t.Errorf("%s: %d rows, %d left out, row %d oversized, uncounted %v", sql, len(rows.Values), rows.Omitted, rows.OversizedRow, rows.OmittedAtLeast)
		}
		if notice := rows.Notice(); !strings.Contains(notice, want.notice) || (notice == "") != (want.notice == "") {
			t.Errorf("%s: notice %q, want %q in it", sql, notice, want.notice)
		}
	}
	_, err = database.Query(t.Context(), "select count(*) from information_schema.columns a, information_schema.columns b, information_schema.columns c", connectors.QueryLimits{Timeout: 300 * time.Millisecond})
	if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || !strings.Contains(wrong.Message, "stopped after 300ms") {
		t.Errorf("a slow statement: %v", err)
	}
	// The end of a context also stops the statement at the server. The account may
	// see and end its own statements.
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := database.Query(ctx, "select count(*) as forgotten from information_schema.columns a, information_schema.columns b, information_schema.columns c", connectors.QueryLimits{Timeout: time.Minute}); err == nil {
		t.Error("it went on")
	}
	deadline := time.Now().Add(time.Minute)
	for running := 1; running > 0; {
		if err := s.admin.QueryRowContext(t.Context(), "select count(*) from information_schema.processlist where info like '%forgotten%' and id <> connection_id()").Scan(&running); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the statement still runs at the server")
		}
	}
}

func schemaIsRead(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_schema", "testdata/shop.sql")
	tables, err := s.attach(t, s.reader(), map[string]any{"excludeTables": []any{"SEC*"}}).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	by := map[string]connectors.Table{}
	for _, table := range tables {
		names += " " + table.Name
		by[table.Name] = table
	}
	if names != " big_orders customers order_line orders" {
		t.Errorf("tables%s", names)
	}
	orders := by["orders"]
	if orders.View || !reflect.DeepEqual(orders.PrimaryKey, []string{"order_id"}) ||
		!reflect.DeepEqual(orders.ForeignKeys, []connectors.ForeignKey{{Columns: []string{"customer_id"}, Schema: s.name, Table: "customers", References: []string{"customer_id"}}}) {
		t.Errorf("%+v", orders)
	}
	if c := orders.Columns[2]; c.Name != "total" || c.Type != "decimal(10,2)" || c.Default != "0.00" || !c.Nullable {
		t.Errorf("%+v", c)
	}
	if c := orders.Columns[4]; c.Type != "enum('open','paid','shipped')" {
		t.Errorf("%+v", c)
	}
	if c := by["customers"]; c.Comment != "People who buy things" || c.Columns[1].Comment != "Full name" || c.Columns[1].Nullable {
		t.Errorf("%+v", c)
	}
	if v := by["big_orders"]; !v.View || v.Rows != -1 || v.Comment != "" || !reflect.DeepEqual(by["order_line"].PrimaryKey, []string{"order_id", "line_no"}) {
		t.Errorf("%+v", v)
	}
}

func checkRequiresAReadOnlyLogin(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "shop_checks", "testdata/shop.sql")
	if err := s.attach(t, s.reader(), nil).Check(t.Context()); err != nil {
		t.Errorf("the reader: %v", err)
	}
	if err := s.attach(t, s.owner(), map[string]any{"allowWriteAccess": true}).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "files of the server") {
		t.Errorf("the owner: %v", err)
	}
	for _, statement := range []string{"create user writer identified by 'magpie-writer'", "grant select, insert on shop_checks.* to writer", "create role maker", "grant delete on shop_checks.* to maker", "create user member identified by 'magpie-writer'", "grant select on shop_checks.* to member", "grant maker to member", "set default role maker for member"} {
		if _, err := s.admin.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for user, part := range map[string]string{"writer": "INSERT", "member": "DELETE"} {
		login := map[string]string{"user": user, "password": "magpie-writer"}
		if err := s.attach(t, login, nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", user, err)
		}
		if err := s.attach(t, login, map[string]any{"allowWriteAccess": true}).Check(t.Context()); err != nil {
			t.Errorf("%s, accepted: %v", user, err)
		}
	}
	if err := s.attach(t, map[string]string{"user": "writer", "password": "hunter22"}, nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("a wrong password: %v", err)
	}
	if _, again := connectors.RetryAfterOf(s.attach(t, s.reader(), map[string]any{"port": 1.0}).Check(t.Context())); !again {
		t.Error("a closed port cannot be tried again")
	}
	if err := s.attach(t, s.reader(), map[string]any{"tls": "verify-full"}).Check(t.Context()); err == nil {
		t.Error("a server without a certificate was verified")
	}
}

func chinook(t *testing.T, server *devstack.MariaDB) {
	s := newShop(t, server, "chinook", filepath.Join("..", "..", "..", "shared", "databases", "chinook", "Chinook_MySql.sql"))
	database := s.attach(t, s.reader(), nil)
	tables, err := database.Schema(t.Context())
	if err != nil || len(tables) != 11 {
		t.Fatalf("%d tables, %v", len(tables), err)
	}
	rows, err := database.Query(t.Context(), "select g.Name, count(*) as n from Track t join Genre g on g.GenreId = t.GenreId group by g.Name order by n desc limit 1", connectors.QueryLimits{})
	if err != nil || !reflect.DeepEqual(rows.Values, [][]any{{"Rock", int64(1297)}}) {
		t.Errorf("%v, %v", rows, err)
	}
}
