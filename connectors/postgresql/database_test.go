package postgresql_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"go.uber.org/goleak"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/postgresql"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A shop is a database with a login that may read it, and one that owns it.
type shop struct {
	admin  *pgx.Conn
	dial   connectors.Dial // to the server of the tests, which may listen at a socket alone
	config map[string]any
	reader map[string]string
	owner  map[string]string
}

func newShop(t *testing.T, script string) *shop {
	t.Helper()
	database := testkit.EmptyDatabase(t)
	admin, err := pgx.Connect(t.Context(), database.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close(context.Background()) })
	text, err := os.ReadFile(script)
	if err != nil {
		t.Skipf("the sample database is not at hand: %v", err)
	}
	if _, err := admin.PgConn().Exec(t.Context(), stripScript(string(text))).ReadAll(); err != nil {
		t.Fatal(err)
	}
	address, err := url.Parse(database.AppURL)
	if err != nil {
		t.Fatal(err)
	}
	owner, err := url.Parse(database.OwnerURL)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := admin.PgConn().Exec(t.Context(), `grant usage on schema public to public; grant select on all tables in schema public to public; revoke all on all tables in schema public from `+
		pgx.Identifier{address.User.Username()}.Sanitize()+`; revoke create on schema public from public`).ReadAll(); err != nil {
		t.Fatal(err)
	}
	s := &shop{admin: admin, config: map[string]any{"host": "db.example.com", "database": strings.TrimPrefix(address.Path, "/"), "sslMode": "disable"}}
	config := admin.Config()
	network, place := pgconn.NetworkAddress(config.Host, config.Port)
	s.dial = func(ctx context.Context, _, address string) (net.Conn, error) {
		if address != "db.example.com:5432" {
			return nil, errors.New("connection refused")
		}
		return (&net.Dialer{}).DialContext(ctx, network, place)
	}
	s.reader, s.owner = login(address), login(owner)
	return s
}

func login(address *url.URL) map[string]string {
	password, _ := address.User.Password()
	return map[string]string{"user": address.User.Username(), "password": password}
}

// stripScript removes commands of psql and settings of the server from a script.
func stripScript(script string) string {
	var b strings.Builder
	for line := range strings.Lines(script) {
		if upper := strings.ToUpper(line); !strings.HasPrefix(line, `\`) && !strings.HasPrefix(upper, "DROP DATABASE") && !strings.HasPrefix(upper, "CREATE DATABASE") {
			b.WriteString(line)
		}
	}
	return b.String()
}

func (s *shop) attach(t *testing.T, credentials map[string]string, more map[string]any) connectors.Database {
	t.Helper()
	registry, err := connectors.NewRegistry(postgresql.Kind(s.dial))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("postgres")
	config := map[string]any{}
	for _, part := range []map[string]any{s.config, more} {
		for name, value := range part {
			config[name] = value
		}
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
	err := s.admin.QueryRow(t.Context(), `select concat_ws('|', (select md5(string_agg(o::text, ',' order by order_id)) from orders o), (select md5(string_agg(o::text, ',' order by order_id, line_no)) from order_line o),
		(select md5(string_agg(o::text, ',' order by customer_id)) from customers o), (select last_value::text || is_called from order_numbers), (select count(*) from pg_largeobject_metadata),
		(select md5(string_agg(relname || relkind::text || coalesce(relacl::text, ''), ',' order by relnamespace, relname)) from pg_class where relnamespace not in (select oid from pg_namespace where nspname like 'pg\_toast%' or nspname like 'pg\_temp%')),
		(select md5(string_agg(proname, ',' order by oid)) from pg_proc), (select md5(string_agg(rolname || rolsuper::text, ',' order by oid)) from pg_roles where rolname = current_user), (select string_agg(extname, ',') from pg_extension))`).Scan(&state)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	database := s.attach(t, s.reader, map[string]any{"excludeTables": []any{"secrets"}})
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
// without the guard, with a login that owns everything.
func TestAttacksHaveNoEffectAtTheServer(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	database := s.attach(t, s.owner, map[string]any{"allowWriteAccess": true})
	before := s.state(t)
	for _, a := range attacks() {
		rows, err := postgresql.QueryUnchecked(t.Context(), database, a.sql, connectors.QueryLimits{Timeout: 400 * time.Millisecond})
		if err == nil && !a.harmless {
			t.Errorf("%q ran: %v", a.sql, rows.Values)
		}
		if after := s.state(t); after != before {
			t.Fatalf("%q changed something:\n%s\n%s", a.sql, before, after)
		}
	}
	// The transaction cannot be made writable.
	for _, sql := range []string{"set transaction read write", "select set_config('transaction_read_only', 'off', false)", "set session characteristics as transaction read write; delete from orders", "abort; delete from orders"} {
		if _, err := postgresql.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{}); err == nil {
			t.Errorf("%s ran", sql)
		}
	}
}

func TestStatementsReturnRows(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	database := s.attach(t, s.reader, nil)
	for _, sql := range reads() {
		if _, err := database.Query(t.Context(), sql, connectors.QueryLimits{}); err != nil && !strings.Contains(err.Error(), "does not exist") {
			t.Errorf("%s: %v", sql, err)
		}
	}
	rows, err := database.Query(t.Context(), `select order_id, sku, quantity, weight, gift, null as nothing, 12.50 as exact, 'NaN'::numeric, placed, state, '\x00ff'::bytea as raw, twice(2)
		from order_line join orders using (order_id) order by order_id, line_no`, connectors.QueryLimits{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"order_id", "sku", "quantity", "weight", "gift", "nothing", "exact", "numeric", "placed", "state", "raw", "twice"}; !reflect.DeepEqual(rows.Columns, want) {
		t.Errorf("columns %v", rows.Columns)
	}
	want := [][]any{
		{int64(1), "A-1", int64(3), 1.5, true, nil, json.Number("12.50"), "NaN", rows.Values[0][8], "paid", `\x00ff`, int64(4)},
		{int64(1), "B-2", int64(9007199254740993), "NaN", false, nil, json.Number("12.50"), "NaN", rows.Values[0][8], "paid", `\x00ff`, int64(4)},
		{int64(3), "C-3", nil, "Infinity", nil, nil, json.Number("12.50"), "NaN", nil, "shipped", `\x00ff`, int64(4)},
	}
	if !reflect.DeepEqual(rows.Values, want) || rows.Truncated != "" {
		t.Errorf("rows %#v", rows.Values)
	}
	if _, err := json.Marshal(rows.Values); err != nil {
		t.Error(err)
	}
	if empty, err := database.Query(t.Context(), "select name from customers where false", connectors.QueryLimits{}); err != nil || len(empty.Columns) != 1 || empty.Values == nil || len(empty.Values) != 0 {
		t.Errorf("no rows: %+v, %v", empty, err)
	}
	// Errors say how to correct a statement.
	for sql, part := range map[string]string{
		"select nme from customers": "column \"nme\" does not exist", "select * from customer": "does not exist", "select 1/0": "division by zero",
		"select sum(name) from customers": "Hint", "select * from (select 1": "cannot be read", "select 'a'::int": "invalid input syntax",
	} {
		_, err := database.Query(t.Context(), sql, connectors.QueryLimits{})
		wrong, ok := errors.AsType[*connectors.QueryError](err)
		if !ok || !strings.Contains(wrong.Message, part) || wrong.Code == "" {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

func TestNoticesDescribeOmittedRows(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	database := s.attach(t, s.reader, nil)
	const five = "repeat('a', 3000) a, repeat('b', 3000) b, repeat('c', 3000) c, repeat('d', 3000) d, repeat('e', 3000) e"
	for sql, want := range map[string]struct {
		limits                connectors.QueryLimits
		rows, left, oversized int
		uncounted             bool
		truncated, notice     string
	}{
		"select " + five:                                        {connectors.QueryLimits{Bytes: 10_000}, 0, 1, 1, false, "bytes", "Row 1 alone is larger than the 10000 bytes"},
		"select 1 union all select 2":                           {connectors.QueryLimits{}, 2, 0, 0, false, "", ""},
		"select g from generate_series(1, 20) g":                {connectors.QueryLimits{Rows: 7}, 7, 13, 0, false, "rows", "Rows left out: 13. An answer has 7 rows at most here."},
		"select g from generate_series(1, 7) g":                 {connectors.QueryLimits{Rows: 7}, 7, 0, 0, false, "", ""},
		"select g from generate_series(1, 5000000) g":           {connectors.QueryLimits{Rows: 7}, 7, 10_000, 0, true, "rows", "Rows left out: at least 10000."},
		"select repeat('x', 998) from generate_series(1, 50) g": {connectors.QueryLimits{Bytes: 10_000}, 10, 40, 0, false, "bytes", "Rows left out: 40. The first 10 fill the 10000 bytes"},
		"select 'a' a, '' b, '' c, '' d, '' e union all select * from (select " + five + ") big union all select 'z', '', '', '', ''": {connectors.QueryLimits{Bytes: 10_000}, 1, 2, 2, false, "bytes",
			"Row 2 alone is larger than the 10000 bytes that an answer may have. It is left out, with what comes behind it: 2 in all. Select fewer columns"},
		"select 1 / (9 - g) from generate_series(1, 20) g": {connectors.QueryLimits{Rows: 7}, 7, 1, 0, true, "rows", "at least 1"},
		"select g, (select count(*) from generate_series(1, case when g > 8 then 30000 else 1 end) a, generate_series(1, 30000) b) from generate_series(1, 20) g": {connectors.QueryLimits{Rows: 7, Timeout: 4 * time.Second}, 7, 1, 0, true, "rows", "at least 1"},
	} {
		t.Run(sql[:min(len(sql), 60)], func(t *testing.T) {
			t.Parallel()
			rows, err := database.Query(t.Context(), sql, want.limits)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows.Values) != want.rows || rows.Omitted != want.left || rows.OversizedRow != want.oversized || rows.OmittedAtLeast != want.uncounted || rows.Truncated != want.truncated {
				t.Errorf("%d rows, %d left out, row %d oversized, uncounted %v, truncated by %q", len(rows.Values), rows.Omitted, rows.OversizedRow, rows.OmittedAtLeast, rows.Truncated)
			}
			if notice := rows.Notice(); !strings.Contains(notice, want.notice) || (notice == "") != (want.notice == "") {
				t.Errorf("notice %q, want %q in it", notice, want.notice)
			}
		})
	}
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	database := s.attach(t, s.reader, nil)
	rows, err := database.Query(t.Context(), "select generate_series(1, 1000000000) g", connectors.QueryLimits{Rows: 7})
	if err != nil || len(rows.Values) != 7 || rows.Truncated != "rows" {
		t.Fatalf("rows: %+v %v", rows, err)
	}
	if rows, err = database.Query(t.Context(), "select g from generate_series(1, 5000) g", connectors.QueryLimits{Rows: 1 << 20}); err != nil || len(rows.Values) != 1000 || rows.Truncated != "rows" {
		t.Errorf("many rows: %d %v", len(rows.Values), err)
	}
	if rows, err = database.Query(t.Context(), "select repeat('x', 1000) from generate_series(1, 500) g", connectors.QueryLimits{Bytes: 10_000}); err != nil || len(rows.Values) > 10 || rows.Truncated != "bytes" {
		t.Errorf("bytes: %d %v", len(rows.Values), err)
	}
	if rows, err = database.Query(t.Context(), "select repeat('ä', 1000000) as long", connectors.QueryLimits{Bytes: 8_000}); err != nil || len(rows.Values) != 1 || len(rows.Values[0][0].(string)) > 2100 || !strings.HasSuffix(rows.Values[0][0].(string), "[2000000 bytes]") {
		t.Errorf("a long value: %v", err)
	}
	if _, err = database.Query(t.Context(), "select repeat('x', 30000000)", connectors.QueryLimits{}); err == nil {
		t.Error("a row of 30 MB was taken")
	}
	_, err = database.Query(t.Context(), "select count(*) from generate_series(1, 1000000000) a", connectors.QueryLimits{Timeout: 300 * time.Millisecond})
	if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || !strings.Contains(wrong.Message, "stopped after 300ms") {
		t.Errorf("a slow statement: %v", err)
	}
	// The end of a context also stops the statement at the server.
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if _, err := database.Query(ctx, "select count(*) as forgotten from generate_series(1, 10000000000) a", connectors.QueryLimits{Timeout: time.Minute}); err == nil {
		t.Error("it went on")
	}
	deadline := time.Now().Add(time.Minute)
	for running := 1; running > 0; {
		if err := s.admin.QueryRow(t.Context(), "select count(*) from pg_stat_activity where query like '%forgotten%' and state = 'active' and pid <> pg_backend_pid()").Scan(&running); err != nil {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatal("the statement still runs at the server")
		}
	}
}

func TestSchemaIsRead(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	tables, err := s.attach(t, s.reader, map[string]any{"excludeTables": []any{"SEC*"}, "schema": "public, private"}).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	by := map[string]connectors.Table{}
	for _, table := range tables {
		names += " " + table.Schema + "." + table.Name
		by[table.Name] = table
	}
	if names != " public.big_orders public.customers public.order_line public.orders public.totals" {
		t.Errorf("tables%s", names)
	}
	orders := by["orders"]
	if orders.Rows != 3 || orders.View || !reflect.DeepEqual(orders.PrimaryKey, []string{"order_id"}) ||
		!reflect.DeepEqual(orders.ForeignKeys, []connectors.ForeignKey{{Columns: []string{"customer_id"}, Schema: "public", Table: "customers", References: []string{"customer_id"}}}) {
		t.Errorf("%+v", orders)
	}
	if c := orders.Columns[2]; c.Name != "total" || c.Type != "numeric(10,2)" || c.Default != "0" || !c.Nullable {
		t.Errorf("%+v", c)
	}
	if c := orders.Columns[4]; !reflect.DeepEqual(c.Values, []string{"open", "paid", "shipped"}) {
		t.Errorf("%+v", c)
	}
	if c := by["customers"]; c.Comment != "People who buy things" || c.Columns[1].Comment != "Full name" || c.Columns[1].Nullable {
		t.Errorf("%+v", c)
	}
	if !by["big_orders"].View || by["big_orders"].Rows != -1 || !reflect.DeepEqual(by["order_line"].PrimaryKey, []string{"order_id", "line_no"}) {
		t.Errorf("%+v", by["big_orders"])
	}
}

func TestCheckRequiresAReadOnlyLogin(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	if err := s.attach(t, s.reader, nil).Check(t.Context()); err != nil {
		t.Errorf("the reader: %v", err)
	}
	if err := s.attach(t, s.owner, nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "allowWriteAccess") {
		t.Errorf("the owner: %v", err)
	}
	if err := s.attach(t, s.owner, map[string]any{"allowWriteAccess": true}).Check(t.Context()); err != nil {
		t.Errorf("the owner, accepted: %v", err)
	}
	if err := s.attach(t, s.reader, map[string]any{"schema": "nowhere"}).Check(t.Context()); !connectors.IsFatal(err) {
		t.Errorf("a schema that is not there: %v", err)
	}
	if err := s.attach(t, s.reader, map[string]any{"schema": "private"}).Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("a schema without tables: %v", err)
	}
	if err := s.attach(t, s.reader, map[string]any{"database": "nowhere"}).Check(t.Context()); !connectors.IsFatal(err) {
		t.Errorf("a database that is not there: %v", err)
	}
	if err := s.attach(t, map[string]string{"user": "nobody_here", "password": "hunter22"}, nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "hunter22") {
		t.Errorf("a wrong password: %v", err)
	}
	if _, again := connectors.RetryAfterOf(s.attach(t, s.reader, map[string]any{"port": 1.0}).Check(t.Context())); !again {
		t.Error("a closed port cannot be tried again")
	}
}

func TestSamplesNeedTheOption(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	if _, err := s.attach(t, s.reader, nil).Sample(t.Context(), "public", "orders", 2); !errors.Is(err, connectors.ErrNoSamples) {
		t.Errorf("got %v", err)
	}
	rows, err := s.attach(t, s.reader, map[string]any{"sampleRows": true}).Sample(t.Context(), "public", "orders", 2)
	if err != nil || len(rows.Values) != 2 {
		t.Errorf("got %+v, %v", rows, err)
	}
}

func TestColumnsAreSampled(t *testing.T) {
	t.Parallel()
	s := newShop(t, "testdata/shop.sql")
	if _, err := s.admin.Exec(t.Context(), "insert into customers (customer_id, name) values (3, $1)", connectortest.LongName()); err != nil {
		t.Fatal(err)
	}
	connectortest.RunSampleColumns(t, "public", func(t *testing.T, options map[string]any) connectors.Database { return s.attach(t, s.reader, options) })
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	kind := postgresql.Kind(nil)
	good := map[string]any{"host": "db.example.com", "database": "sales"}
	for name, bad := range map[string]any{
		"host": "/var/run/postgresql", "port": 0.0, "schema": "pg_catalog", "sslMode": "maybe", "includeTables": []any{"a.b.c"}, "database": " x", "caCertificate": 7.0, "service": "x",
	} {
		config := map[string]any{name: bad}
		for key, value := range good {
			if key != name {
				config[key] = value
			}
		}
		var wrong *connectors.OptionError
		if err := kind.Validate(config, map[string]string{"user": "u"}); !errors.As(err, &wrong) || wrong.Field != "config."+name {
			t.Errorf("%s %v: %v", name, bad, err)
		}
	}
	for _, host := range []string{"a b", "a,b", "host=x", "a@b", "-x", "../x", "x/y", "a:5432", "@abstract"} {
		if kind.Validate(map[string]any{"host": host, "database": "x"}, map[string]string{"user": "u"}) == nil {
			t.Errorf("the host %q was taken", host)
		}
	}
	if err := kind.Validate(good, nil); err == nil || !strings.Contains(err.Error(), "credentials.user") {
		t.Errorf("no user: %v", err)
	}
	if err := kind.Validate(good, map[string]string{"user": "u"}); err != nil {
		t.Error(err)
	}
}

// The questions of the Chinook music store return their rows, if it exists.
func TestChinookQuestionsReturnTheirRows(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "..", "shared", "databases", "chinook")
	s := newShop(t, filepath.Join(folder, "Chinook_PostgreSql.sql"))
	database := s.attach(t, s.reader, nil)
	file, err := os.Open(filepath.Join(folder, "questions.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	questions, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range questions[1:] {
		rows, err := database.Query(t.Context(), q[2], connectors.QueryLimits{})
		if err != nil {
			t.Errorf("%s: %v", q[1], err)
			continue
		}
		var want [][]any
		if err := json.Unmarshal([]byte(q[3]), &want); err != nil {
			t.Fatal(err)
		}
		if got, expected := comparable(rows.Values), comparable(want); got != expected {
			t.Errorf("%s: %s, want %s", q[1], got, expected)
		}
	}
	t.Logf("%d questions", len(questions)-1)
}

// comparable formats rows so that 1 and 1.00 are equal.
func comparable(rows [][]any) string {
	var b strings.Builder
	for _, row := range rows {
		for _, value := range row {
			text := fmt.Sprint(value)
			if f, err := strconv.ParseFloat(text, 64); err == nil {
				text = strconv.FormatFloat(f, 'f', -1, 64)
			}
			b.WriteString(text + "|")
		}
		b.WriteString("\n")
	}
	return b.String()
}
