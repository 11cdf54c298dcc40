package clickhouse_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/clickhouse"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/internal/devstack"
	"github.com/magpie-search/magpie/internal/testkit"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

// A shop is a server with a database. reader may read it, admin may do everything.
type shop struct {
	host string
	port int
}

func newServer(t *testing.T) *devstack.ClickHouse {
	t.Helper()
	return testkit.ClickHouse(t,
		devstack.ClickHouseUser{Name: "admin", Password: "magpie-admin"},
		devstack.ClickHouseUser{Name: "reader", Password: "magpie-reader", Readonly: 2, Databases: []string{"shop", "system"}},
		devstack.ClickHouseUser{Name: "locked", Password: "magpie-locked", Readonly: 1},
		devstack.ClickHouseUser{Name: "empty", Password: "magpie-empty", Readonly: 2})
}

func newShop(t *testing.T, server *devstack.ClickHouse) *shop {
	t.Helper()
	s := &shop{host: server.Host, port: server.Port}
	s.fill(t)
	return s
}

func (s *shop) fill(t *testing.T) {
	t.Helper()
	script, err := os.ReadFile("testdata/shop.sql")
	if err != nil {
		t.Fatal(err)
	}
	s.ask(t, "default", "create database shop")
	for statement := range strings.SplitSeq(string(script), ";\n") {
		if statement != "" {
			s.ask(t, "shop", statement)
		}
	}
}

// ask runs a statement as the administrator and returns the server's answer.
func (s *shop) ask(t *testing.T, database, statement string) string {
	t.Helper()
	query := url.Values{"user": {"admin"}, "password": {"magpie-admin"}, "database": {database}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, fmt.Sprintf("http://%s:%d/?%s", s.host, s.port, query.Encode()), strings.NewReader(statement))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s %v", statement, response.StatusCode, answer, err)
	}
	return string(answer)
}

func login(user string) map[string]string {
	return map[string]string{"username": user, "password": "magpie-" + user}
}

func (s *shop) attach(t *testing.T, credentials map[string]string, more map[string]any) connectors.Database {
	t.Helper()
	registry, err := connectors.NewRegistry(clickhouse.Kind((&net.Dialer{}).DialContext))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("clickhouse")
	config := map[string]any{"host": s.host, "port": float64(s.port), "database": "shop", "secure": false}
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
	var state strings.Builder
	for _, table := range []string{"customers", "orders", "order_line", "secrets", "visits"} {
		state.WriteString(s.ask(t, "shop", "select * from "+table+" format TSV"))
	}
	state.WriteString(s.ask(t, "system", "select database, name, engine, create_table_query from tables where database != 'system' order by database, name format TSV"))
	state.WriteString(s.ask(t, "system", "select name from databases order by name format TSV"))
	return state.String()
}

// All tests share one server.
func TestClickHouse(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	s := newShop(t, server)
	t.Run("attacks", func(t *testing.T) { hostileStatementsAreRefused(t, s) })
	t.Run("unchecked", func(t *testing.T) { hostileStatementsHaveNoEffectAtTheServer(t, s) })
	// Debian's server is of 2018: it does not know these yet.
	newer := []string{" over (", "explain ", "JSONExtract", "with totals as", "avgOrNull", "match(", "'a', \"name\"", "::", "except (", "toTypeName({", "OrNull", " final "}
	t.Run("answers", func(t *testing.T) { statementsReturnRows(t, s, newer) })
	t.Run("values", func(t *testing.T) { valuesAreExact(t, s, "12.50") })
	t.Run("errors", func(t *testing.T) { errorsSayWhatToDo(t, s, server.NativePort) })
	t.Run("bounds", func(t *testing.T) { resultsAreBounded(t, s) })
	t.Run("cancel", func(t *testing.T) { canceledStatementsEndAtTheServer(t, s) })
	t.Run("samples", func(t *testing.T) { columnsAreSampled(t, s) })
	t.Run("schema", func(t *testing.T) { schemaIsRead(t, s) })
	t.Run("checks", func(t *testing.T) { checkRequiresAReadOnlyLogin(t, s) })
}

func hostileStatementsAreRefused(t *testing.T, s *shop) {
	database := s.attach(t, login("reader"), map[string]any{"excludeTables": []any{"secrets"}})
	before := s.state(t)
	refused, harmless := hostile(t)
	for _, sql := range append(refused, harmless...) {
		if rows, err := database.Query(t.Context(), sql, connectors.QueryLimits{Timeout: 5 * time.Second}); !isRefused(err) {
			t.Errorf("%q was not refused: %v, %v", sql, rows, err)
		}
	}
	if after := s.state(t); after != before {
		t.Errorf("something was changed:\n%s\n%s", before, after)
	}
}

// The server refuses what the guard would allow: statements run without the guard,
// as a user that may do everything.
func hostileStatementsHaveNoEffectAtTheServer(t *testing.T, s *shop) {
	database := s.attach(t, login("admin"), map[string]any{"allowWriteAccess": true})
	before := s.state(t)
	refused, harmless := hostile(t)
	for _, sql := range refused {
		if rows, err := clickhouse.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{Timeout: time.Second}); err == nil {
			t.Errorf("%q ran: %v", sql, rows.Values)
		}
		if after := s.state(t); after != before {
			t.Fatalf("%q changed something:\n%s\n%s", sql, before, after)
		}
	}
	var running sync.WaitGroup
	for _, sql := range harmless {
		running.Go(func() {
			_, _ = clickhouse.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{Timeout: time.Second})
		})
	}
	running.Wait()
	if after := s.state(t); after != before {
		t.Fatalf("something was changed:\n%s\n%s", before, after)
	}
	// The same statements would have had an effect.
	s.ask(t, "shop", "create table proof (a UInt8) engine = Memory")
	s.ask(t, "shop", "drop table proof")
}

// statementsReturnRows runs statements that read. Those with a text of newer may fail.
func statementsReturnRows(t *testing.T, s *shop, newer []string) {
	database := s.attach(t, login("reader"), nil)
	for _, sql := range statements(t, "reads.txt") {
		_, err := database.Query(t.Context(), sql, connectors.QueryLimits{})
		if err != nil && !containsAny(sql, newer) {
			t.Errorf("%s: %v", sql, err)
		}
	}
	if _, err := database.Sample(t.Context(), "", "orders", 2); !errors.Is(err, connectors.ErrNoSamples) {
		t.Errorf("samples: %v", err)
	}
	if rows, err := s.attach(t, login("reader"), map[string]any{"sampleRows": true}).Sample(t.Context(), "shop", "orders", 2); err != nil || len(rows.Values) != 2 {
		t.Errorf("samples: %v", err)
	}
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// valuesAreExact reads values of all types. Newer servers write decimals without zeros at the end.
func valuesAreExact(t *testing.T, s *shop, decimal json.Number) {
	database := s.attach(t, login("reader"), nil)
	rows, err := database.Query(t.Context(), `select order_id, sku, quantity, weight, raw, toDecimal64('12.50', 2) as exact, placed, state, note, [sku, 'x'] as list, (order_id, 'a') as pair, -1 as minus
		from order_line all inner join orders using order_id order by order_id, line_no`, connectors.QueryLimits{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{int64(1), "A-1", int64(3), 1.5, "a\\b\"c\n", decimal, "2026-01-02 03:04:05", "paid", "first", `["A-1","x"]`, `[1,"a"]`, int64(-1)},
		{int64(1), "B-2", json.Number("18446744073709551615"), "nan", "", decimal, "2026-01-02 03:04:05", "paid", "first", `["B-2","x"]`, `[1,"a"]`, int64(-1)},
		{int64(3), "C-3", nil, "inf", "日本", decimal, "2026-03-04 00:00:00", "it's lost", "x", `["C-3","x"]`, `[3,"a"]`, int64(-1)},
	}
	if !reflect.DeepEqual(rows.Values, want) || rows.Truncated != "" || rows.Types[2] != "Nullable(UInt64)" || rows.Columns[0] != "order_id" {
		t.Errorf("rows %#v, types %v", rows.Values, rows.Types)
	}
}

func errorsSayWhatToDo(t *testing.T, s *shop, nativePort int) {
	database := s.attach(t, login("reader"), nil)
	for sql, part := range map[string]string{
		"select nme from customers": "nme", "select * from customer": "customer doesn't exist", "select * from (select 1": "cannot be read", "select sum(name) from customers": "Illegal type",
	} {
		_, err := database.Query(t.Context(), sql, connectors.QueryLimits{})
		wrong, ok := errors.AsType[*connectors.QueryError](err)
		if !ok || !strings.Contains(wrong.Message, part) || wrong.Code == "" {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for name, c := range map[string]struct {
		config map[string]any
		login  map[string]string
		part   string
		is     func(error) bool
	}{
		"the native port":      {map[string]any{"port": float64(nativePort)}, login("reader"), "clickhouse-client; set config.port", connectors.IsFatal},
		"no database":          {map[string]any{"database": "nix"}, login("reader"), "nix", func(err error) bool { return err != nil }},
		"a wrong password":     {nil, map[string]string{"username": "reader", "password": "hunter22"}, "assword", connectors.IsNeedsAuth},
		"an unknown user":      {nil, map[string]string{"username": "nobody"}, "nobody", connectors.IsNeedsAuth},
		"encryption":           {map[string]any{"secure": true}, login("reader"), "cannot be reached", isRetryable},
		"a closed native port": {map[string]any{"port": 9000.0}, login("reader"), "the HTTP interface has 8123 and 8443", isRetryable},
		"an empty database":    {map[string]any{"database": "default"}, login("empty"), "sees no table", connectors.IsNeedsAuth},
	} {
		err := s.attach(t, c.login, c.config).Check(t.Context())
		if !c.is(err) || !strings.Contains(err.Error(), c.part) || strings.Contains(err.Error(), "hunter22") || strings.ContainsAny(err.Error(), "\r\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func isRetryable(err error) bool {
	_, retryable := connectors.RetryAfterOf(err)
	return retryable
}

func resultsAreBounded(t *testing.T, s *shop) {
	database := s.attach(t, login("reader"), nil)
	numbers := func(n int) string { return fmt.Sprintf("select arrayJoin(range(%d)) as n", n) }
	repeat := func(n int) string { return fmt.Sprintf("arrayStringConcat(arrayMap(i -> 'a', range(%d)))", n) }
	five := repeat(3000) + " as a, concat(a, '') as b, concat(a, '') as c, concat(a, '') as d, concat(a, '') as e"
	for sql, want := range map[string]struct {
		limits                connectors.QueryLimits
		rows, left, oversized int
		uncounted             bool
		truncated             string
	}{
		numbers(7):       {connectors.QueryLimits{Rows: 7}, 7, 0, 0, false, ""},
		numbers(20):      {connectors.QueryLimits{Rows: 7}, 7, 13, 0, false, "rows"},
		numbers(100_000): {connectors.QueryLimits{Rows: 7}, 7, 10_000, 0, true, "rows"},
		"select " + five: {connectors.QueryLimits{Bytes: 10_000}, 0, 1, 1, false, "bytes"},
		"select " + repeat(998) + " as x from (" + numbers(50) + ")": {connectors.QueryLimits{Bytes: 10_000}, 10, 40, 0, false, "bytes"},
	} {
		rows, err := database.Query(t.Context(), sql, want.limits)
		if err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
		if len(rows.Values) != want.rows || rows.Omitted != want.left || rows.OversizedRow != want.oversized || rows.OmittedAtLeast != want.uncounted || rows.Truncated != want.truncated {
			t.Errorf("%s: %d rows, %d left out, row %d oversized, uncounted %v, truncated by %q", sql, len(rows.Values), rows.Omitted, rows.OversizedRow, rows.OmittedAtLeast, rows.Truncated)
		}
	}
	// The server ends the result itself.
	rows, err := database.Query(t.Context(), "select "+repeat(200_000)+" as x, n from ("+numbers(1_000_000)+")", connectors.QueryLimits{Bytes: 1000, Timeout: 30 * time.Second})
	if wrong, failed := errors.AsType[*connectors.QueryError](err); failed && !strings.Contains(wrong.Message, "Ask for less") || err == nil && !rows.OmittedAtLeast || err != nil && !failed {
		t.Errorf("a large result: %v", err)
	}
	for sql, part := range map[string]string{
		"select count() from system.numbers": "stopped after 1s",
		"select length(groupArray(arrayMap(i -> (i, i), range(2000)))) from (select arrayJoin(range(1000000)) as n)": "more memory than it may have",
	} {
		_, err = clickhouse.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{Timeout: time.Second})
		if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || !strings.Contains(wrong.Message, part) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}

// The end of a context also stops the statement at the server.
func canceledStatementsEndAtTheServer(t *testing.T, s *shop) {
	database := s.attach(t, login("reader"), nil)
	ctx, cancel := context.WithCancel(t.Context())
	running := func() string {
		return s.ask(t, "system", "select count() from processes where query like '%forgotten%' and user = 'reader'")
	}
	done := make(chan error, 1)
	go func() {
		_, err := clickhouse.QueryUnchecked(ctx, database, "select count() as forgotten from system.numbers", connectors.QueryLimits{Timeout: time.Minute})
		done <- err
	}()
	deadline := time.Now().Add(20 * time.Second)
	for running() != "1\n" && time.Now().Before(deadline) {
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	for deadline = time.Now().Add(20 * time.Second); running() != "0\n"; {
		if time.Now().After(deadline) {
			t.Fatal("the statement still runs at the server")
		}
	}
}

func columnsAreSampled(t *testing.T, s *shop) {
	for _, statement := range []string{
		"create database samples", "create table samples.customers (name String, mood Nullable(String), country FixedString(4)) engine = Log", "create table samples.secrets (word String) engine = Log",
		"insert into samples.customers values ('Ada', 'good', 'UK'), ('Eve', null, 'US'), ('" + connectortest.LongName() + "', null, '')",
	} {
		s.ask(t, "default", statement)
	}
	defer s.ask(t, "default", "drop database samples")
	attach := func(t *testing.T, options map[string]any) connectors.Database {
		config := map[string]any{"database": "samples", "allowWriteAccess": true}
		maps.Copy(config, options)
		return s.attach(t, login("admin"), config)
	}
	connectortest.RunSampleColumns(t, "samples", attach)
	rows, err := attach(t, map[string]any{"sampleRows": true}).SampleColumns(t.Context(), "samples", "customers", []string{"country"})
	if err != nil || len(rows.Values) != 3 || strings.TrimRight(rows.Values[0][0].(string), "\x00") != "UK" {
		t.Errorf("%+v, %v", rows, err)
	}
}

func schemaIsRead(t *testing.T, s *shop) {
	tables, err := s.attach(t, login("reader"), map[string]any{"excludeTables": []any{"SEC*"}}).Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	names := ""
	by := map[string]connectors.Table{}
	for _, table := range tables {
		names += " " + table.Schema + "." + table.Name
		by[table.Name] = table
	}
	if names != " shop.big_orders shop.customers shop.order_line shop.orders shop.visits" {
		t.Errorf("tables%s", names)
	}
	orders := by["orders"]
	if orders.View || !reflect.DeepEqual(orders.PrimaryKey, []string{"order_id", "customer_id"}) || orders.Rows != 3 || len(orders.ForeignKeys) != 0 {
		t.Errorf("%+v", orders)
	}
	if c := orders.Columns[2]; c.Name != "total" || c.Type != "Decimal(10, 2)" || c.Nullable || !strings.Contains(c.Default, "0") {
		t.Errorf("%+v", c)
	}
	if c := orders.Columns[4]; !reflect.DeepEqual(c.Values, []string{"it's lost", "open", "paid"}) {
		t.Errorf("%+v", c)
	}
	if c := orders.Columns[5]; !c.Nullable || c.Type != "Nullable(String)" {
		t.Errorf("%+v", c)
	}
	if c := by["customers"].Columns[1]; c.Name != "name" || c.Comment != "Full name" {
		t.Errorf("%+v", c)
	}
	if c := by["order_line"].Columns[6]; c.Name != "label" || c.Default != "MATERIALIZED concat(sku, '!')" {
		t.Errorf("%+v", c)
	}
	if v := by["big_orders"]; !v.View || v.Rows != -1 || len(v.Columns) != 6 || by["visits"].Rows != -1 {
		t.Errorf("%+v", v)
	}
}

func checkRequiresAReadOnlyLogin(t *testing.T, s *shop) {
	if err := s.attach(t, login("reader"), nil).Check(t.Context()); err != nil {
		t.Errorf("the reader: %v", err)
	}
	if err := s.attach(t, login("admin"), nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "readonly = 2") || !strings.Contains(err.Error(), "allowWriteAccess") {
		t.Errorf("the administrator: %v", err)
	}
	if err := s.attach(t, login("admin"), map[string]any{"allowWriteAccess": true}).Check(t.Context()); err != nil {
		t.Errorf("the administrator, accepted: %v", err)
	}
	if err := s.attach(t, login("locked"), nil).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "accepts no limits") {
		t.Errorf("a profile that accepts no limits: %v", err)
	}
}

func TestCredentialsAreAUserOrAToken(t *testing.T) {
	t.Parallel()
	kind := clickhouse.Kind((&net.Dialer{}).DialContext)
	for _, c := range []struct {
		credentials map[string]string
		field       string
	}{
		{map[string]string{}, "credentials.username"}, {map[string]string{"password": "x"}, "credentials.username"}, {map[string]string{"username": "a", "accessToken": "t"}, "credentials.accessToken"},
		{map[string]string{"username": "a"}, ""}, {map[string]string{"accessToken": "t"}, ""},
	} {
		err := kind.CheckSettings(connectors.Settings{Config: map[string]any{"secure": true}, Credentials: c.credentials})
		wrong, _ := errors.AsType[*connectors.OptionError](err)
		if (err != nil) != (c.field != "") || err != nil && wrong.Field != c.field {
			t.Errorf("%v: %v", c.credentials, err)
		}
	}
}

// A connector of a database at a public address does not send credentials without
// encryption.
func TestHowCredentialsAreSent(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 10)
	server := httptestServer(t, func(w http.ResponseWriter, r *http.Request) {
		seen <- r.Header.Clone()
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, "Code: 516. DB::Exception: ada: Authentication failed. (AUTHENTICATION_FAILED) (version 26.7.2.1)")
	})
	for _, credentials := range []map[string]string{{"accessToken": "a.b.c"}, {"username": "ada", "password": "pass"}} {
		err := server.attach(t, credentials, nil).Check(t.Context())
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "says: ada: Authentication failed. (AUTHENTICATION_FAILED) (516)") {
			t.Errorf("%v: %v", credentials, err)
		}
		header := <-seen
		if credentials["accessToken"] != "" && (header.Get("Authorization") != "Bearer a.b.c" || header.Get("X-ClickHouse-User") != "") ||
			credentials["username"] != "" && (header.Get("X-ClickHouse-User") != "ada" || header.Get("X-ClickHouse-Key") != "pass" || header.Get("Authorization") != "") {
			t.Errorf("%v: %v", credentials, header)
		}
	}
}

// Newer servers may write an error into the JSON of a result.
func TestErrorsInsideAResult(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		header string
		body   string
		code   string
	}{
		"after rows": {200, "", `{"meta": [{"name": "a", "type": "UInt8"}], "data": [[1]], "rows": 1, "exception": "Code: 395. DB::Exception: Value passed: while executing. (FUNCTION_THROW_IF) (version 26.7.2.1)"}`, "395"},
		"instead":    {500, "395", `{"exception": "Code: 395. DB::Exception: Value passed"}`, "395"},
		"header":     {404, "60", "Unknown table", "60"},
	} {
		server := httptestServer(t, func(w http.ResponseWriter, _ *http.Request) {
			if c.header != "" {
				w.Header().Set("X-ClickHouse-Exception-Code", c.header)
			}
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		})
		_, err := server.attach(t, login("reader"), nil).Query(t.Context(), "select 1", connectors.QueryLimits{})
		if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || wrong.Code != c.code || strings.Contains(wrong.Message, "version") || strings.Contains(wrong.Message, "Code:") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// httptestServer returns a shop whose server is a function.
func httptestServer(t *testing.T, handler http.HandlerFunc) *shop {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-done })
	address, ok := listener.Addr().(*net.TCPAddr)
	if !ok {
		t.Fatal("no TCP")
	}
	return &shop{host: "127.0.0.1", port: address.Port}
}
