package mssql_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/mssql"
	"github.com/magpie-search/magpie/internal/connector/attached"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/testkit/tdsserver"
)

func TestMain(m *testing.M) { connectortest.Main(m) }

type column = tdsserver.Column

// columns returns columns of a type.
func columns(kind tdsserver.Type, names ...string) []column {
	out := make([]column, len(names))
	for i, name := range names {
		out[i] = column{Name: name, Type: kind}
	}
	return out
}

// A shop is what a server has. rights are those of its login, and grants those that a part
// of the question finds.
type shop struct {
	rights  []string
	grants  map[string]string
	answers map[string]tdsserver.Reply
	asked   chan string
}

func (s *shop) answer(q tdsserver.Query) tdsserver.Reply {
	text, names := q.Text, func(n int) []column { return columns(tdsserver.NVarChar, slices.Repeat([]string{"x"}, n)...) }
	switch {
	case strings.Contains(text, "is_srvrolemember"):
		reply := tdsserver.Reply{Columns: names(1)}
		for _, right := range s.rights {
			reply.Rows = append(reply.Rows, []any{right})
		}
		for part, right := range s.grants {
			if strings.Contains(text, part) {
				reply.Rows = append(reply.Rows, []any{right})
			}
		}
		return reply
	case strings.Contains(text, "object_id(@p1)"):
		reply := tdsserver.Reply{Columns: names(3)}
		for name, row := range map[string][]any{
			"orders": {"dbo", "orders", "U"}, "customers": {"dbo", "customers", "U"}, "order_line": {"dbo", "order_line", "U"}, "secrets": {"dbo", "secrets", "U"}, "synonym_of_secrets": {"dbo", "synonym_of_secrets", "SN"},
		} {
			if argument := strings.Trim(strings.TrimPrefix(strings.ToLower(q.Arguments[0]), "[dbo]."), "[]"); argument == name {
				reply.Rows = append(reply.Rows, row)
			}
		}
		return reply
	case strings.Contains(text, "sys.foreign_keys"):
		return tdsserver.Reply{Columns: names(7), Rows: [][]any{{"dbo", "orders", "fk", "customer_id", "dbo", "customers", "customer_id"}, {"dbo", "hidden", "fk2", "a", "dbo", "b", "c"}}}
	case strings.Contains(text, "from sys.columns"):
		kinds := slices.Concat(names(4), columns(tdsserver.Int, "length", "precision", "scale", "nullable"), names(2), columns(tdsserver.Int, "key"))
		return tdsserver.Reply{Columns: kinds, Rows: [][]any{
			{"dbo", "customers", "customer_id", "int", 4, 10, 0, 0, "", "", 1}, {"dbo", "customers", "name", "nvarchar", 200, 0, 0, 0, "", "Full name", 0},
			{"dbo", "orders", "order_id", "int", 4, 10, 0, 0, "", "", 2}, {"dbo", "orders", "customer_id", "int", 4, 10, 0, 1, "", "", 1}, {"dbo", "orders", "total", "decimal", 9, 10, 2, 1, "((0))", "", 0},
			{"dbo", "orders", "note", "nvarchar", -1, 0, 0, 1, "", "", 0}, {"dbo", "secrets", "word", "varchar", 20, 0, 0, 1, "", "", 0}, {"hr", "salaries", "amount", "money", 8, 19, 4, 1, "", "", 0},
		}}
	case strings.Contains(text, "from sys.objects"):
		kinds := slices.Concat(names(2), columns(tdsserver.Int, "view"), names(1), columns(tdsserver.BigInt, "rows"))
		return tdsserver.Reply{Columns: kinds, Rows: [][]any{
			{"dbo", "big_orders", 1, "", -1}, {"dbo", "customers", 0, "People who buy things", 2}, {"dbo", "orders", 0, "", 3}, {"dbo", "secrets", 0, "", 1}, {"hr", "salaries", 0, "", 1},
		}}
	}
	select {
	case s.asked <- text:
	default:
	}
	return s.answers[text]
}

func start(t *testing.T, s *shop, more func(*tdsserver.Options)) *tdsserver.Server {
	t.Helper()
	o := tdsserver.Options{Answer: s.answer, Authenticate: func(l tdsserver.Login) *tdsserver.Error {
		if l.User != "reader" || l.Password != "magpie-reader" || l.Application != "Magpie" {
			return &tdsserver.Error{Number: 18456, Message: "Login failed for user '" + l.User + "'."}
		}
		if l.Database != "shop" {
			return &tdsserver.Error{Number: 4060, Message: "Cannot open database \"" + l.Database + "\" requested by the login. The login failed."}
		}
		return nil
	}}
	if more != nil {
		more(&o)
	}
	return tdsserver.Start(t, o)
}

func settings(server *tdsserver.Server, more map[string]any) connectors.Settings {
	config := map[string]any{"host": server.Host, "port": float64(server.Port), "database": "shop", "encrypt": "false", "schema": "dbo"}
	maps.Copy(config, more)
	return connectors.Settings{Config: config, Credentials: map[string]string{"username": "reader", "password": "magpie-reader"}}
}

func attach(t *testing.T, s connectors.Settings) connectors.Database {
	t.Helper()
	registry, err := connectors.NewRegistry(mssql.Kind((&net.Dialer{}).DialContext))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("sqlserver")
	database, err := kind.Attach(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = database.Close() })
	return database
}

func TestHostileStatementsAreRefused(t *testing.T) {
	t.Parallel()
	s := &shop{asked: make(chan string, 1)}
	server := start(t, s, nil)
	database := attach(t, settings(server, map[string]any{"excludeTables": []any{"secrets"}}))
	list := statements(t, "hostile.txt")
	if len(list) < 120 {
		t.Errorf("only %d hostile statements", len(list))
	}
	for _, sql := range list {
		if rows, err := database.Query(t.Context(), sql, connectors.QueryLimits{}); !isRefused(err) {
			t.Errorf("%q was not refused: %v, %v", sql, rows, err)
		}
	}
	select {
	case sql := <-s.asked:
		t.Errorf("the server was sent %q", sql)
	default:
	}
}

// What would pass the check by mistake is sent inside of a transaction that is rolled back.
func TestUncheckedStatementsAreRolledBack(t *testing.T) {
	t.Parallel()
	var asked []tdsserver.Query
	server := tdsserver.Start(t, tdsserver.Options{Answer: func(q tdsserver.Query) tdsserver.Reply {
		asked = append(asked, q) // one at a time
		return tdsserver.Reply{}
	}})
	database := attach(t, settings(server, nil))
	for i, sql := range statements(t, "hostile.txt") {
		before := server.Counts()
		asked = nil
		if _, err := mssql.QueryUnchecked(t.Context(), database, sql, connectors.QueryLimits{}); err != nil {
			t.Errorf("line %d, %q: %v", i+1, sql, err)
		}
		after := server.Counts()
		if after.Began != before.Began+1 || after.RolledBack != after.Began || after.Open != 0 {
			t.Errorf("line %d, %q: %+v", i+1, sql, after)
		}
		for _, q := range asked {
			if !q.Transaction {
				t.Errorf("line %d, %q was sent outside of a transaction", i+1, sql)
			}
		}
		if !slices.ContainsFunc(asked, func(q tdsserver.Query) bool { return q.Text == sql }) && sql != "begin transaction" {
			t.Errorf("line %d, %q was not sent, but %+v", i+1, sql, asked)
		}
	}
}

// Each statement has a transaction, which is rolled back.
func TestStatementsReturnRows(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	kinds := slices.Concat(columns(tdsserver.Int, "n"), columns(tdsserver.BigInt, "big"), columns(tdsserver.NVarChar, "text", "nothing"), columns(tdsserver.Decimal, "exact"), columns(tdsserver.Float, "float"),
		columns(tdsserver.Bit, "bit"), columns(tdsserver.VarBinary, "raw"), columns(tdsserver.DateTime, "at"), columns(tdsserver.UniqueIdentifier, "id"))
	s := &shop{answers: map[string]tdsserver.Reply{
		"select * from orders":                 {Columns: kinds, Rows: [][]any{{1, int64(1) << 60, "日本 'x'", nil, "-12.50", 1.5, true, []byte{0, 255}, at, []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}}},
		"select nme from orders":               {Error: &tdsserver.Error{Number: 207, Message: "Invalid column name 'nme'."}},
		"select 7":                             {Error: &tdsserver.Error{Number: 1222, Message: "Lock request time out period exceeded."}},
		"select top (2) * from [dbo].[orders]": {Columns: columns(tdsserver.Int, "n"), Rows: [][]any{{1}, {2}}},
	}}
	server := start(t, s, nil)
	database := attach(t, settings(server, map[string]any{"sampleRows": true}))
	rows, err := database.Query(t.Context(), "select * from orders -- all", connectors.QueryLimits{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{{int64(1), int64(1) << 60, "日本 'x'", nil, json.Number("-12.50"), 1.5, true, `\x00ff`, "2026-01-02 03:04:05", "03020100-0504-0706-0809-0A0B0C0D0E0F"}}
	if !reflect.DeepEqual(rows.Values, want) || rows.Columns[4] != "exact" || rows.Types[2] != "nvarchar" {
		t.Errorf("rows %#v, types %v", rows.Values, rows.Types)
	}
	_, err = database.Query(t.Context(), "select nme from orders", connectors.QueryLimits{})
	if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || wrong.Code != "207" || wrong.Message != "Invalid column name 'nme'." {
		t.Errorf("a wrong statement: %v", err)
	}
	if _, err = database.Query(t.Context(), "select 7", connectors.QueryLimits{}); !isRetryable(err) {
		t.Errorf("a lock: %v", err)
	}
	_, err = database.Query(t.Context(), "select * from nothing", connectors.QueryLimits{})
	if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || wrong.Code != "208" {
		t.Errorf("a table that does not exist: %v", err)
	}
	if rows, err := database.Sample(t.Context(), "dbo", "orders", 2); err != nil || len(rows.Values) != 2 {
		t.Errorf("samples: %v", err)
	}
	if _, err := attach(t, settings(server, nil)).Sample(t.Context(), "dbo", "orders", 2); !errors.Is(err, connectors.ErrNoSamples) {
		t.Errorf("samples: %v", err)
	}
	if counts := server.Counts(); counts.Began != 5 || counts.RolledBack != counts.Began || counts.Open != 0 {
		t.Errorf("%+v", counts)
	}
}

func isRetryable(err error) bool {
	_, retryable := connectors.RetryAfterOf(err)
	return retryable
}

func TestResultsAreBounded(t *testing.T) {
	t.Parallel()
	many := make([][]any, 20)
	for i := range many {
		many[i] = []any{strings.Repeat("x", 998)}
	}
	s := &shop{answers: map[string]tdsserver.Reply{"select 1": {Columns: columns(tdsserver.NVarChar, "x"), Rows: many}, "select 2": {Wait: true}}, asked: make(chan string, 10)}
	server := start(t, s, nil)
	database := attach(t, settings(server, nil))
	for _, c := range []struct {
		limits     connectors.QueryLimits
		rows, left int
		truncated  string
	}{{connectors.QueryLimits{}, 20, 0, ""}, {connectors.QueryLimits{Rows: 7}, 7, 13, "rows"}, {connectors.QueryLimits{Bytes: 10_000}, 10, 10, "bytes"}} {
		rows, err := database.Query(t.Context(), "select 1", c.limits)
		if err != nil || len(rows.Values) != c.rows || rows.Omitted != c.left || rows.Truncated != c.truncated || rows.OmittedAtLeast {
			t.Errorf("%+v: %+v %v", c.limits, rows, err)
		}
	}
	// A statement that takes too long, or whose run is canceled, gets an attention.
	_, err := database.Query(t.Context(), "select 2", connectors.QueryLimits{Timeout: 100 * time.Millisecond})
	if wrong, ok := errors.AsType[*connectors.QueryError](err); !ok || !strings.Contains(wrong.Message, "stopped after 100ms") {
		t.Errorf("a slow statement: %v", err)
	}
	for len(s.asked) > 0 {
		<-s.asked
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := database.Query(ctx, "select 2", connectors.QueryLimits{Timeout: time.Minute})
		done <- err
	}()
	<-s.asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled statement: %v", err)
	}
	if counts := server.Counts(); counts.Attentions != 2 {
		t.Errorf("%+v", counts)
	}
	testkit.WaitFor(t, "the last connection is closed", func() bool { return server.Counts().Open == 0 })
}

func TestSchemaIsRead(t *testing.T) {
	t.Parallel()
	server := start(t, &shop{}, nil)
	tables, err := attach(t, settings(server, map[string]any{"excludeTables": []any{"SEC*"}})).Schema(t.Context())
	if err != nil || len(tables) != 3 {
		t.Fatalf("%v, %v", tables, err)
	}
	if v := tables[0]; v.Name != "big_orders" || !v.View || v.Rows != -1 {
		t.Errorf("%+v", v)
	}
	if c := tables[1]; c.Comment != "People who buy things" || c.Columns[1].Comment != "Full name" || c.Columns[1].Type != "nvarchar(100)" || c.Columns[1].Nullable || c.Rows != 2 {
		t.Errorf("%+v", c)
	}
	want := connectors.Table{
		Schema: "dbo", Name: "orders", Rows: 3, PrimaryKey: []string{"customer_id", "order_id"},
		ForeignKeys: []connectors.ForeignKey{{Columns: []string{"customer_id"}, Schema: "dbo", Table: "customers", References: []string{"customer_id"}}},
		Columns:     []connectors.Column{{Name: "order_id", Type: "int"}, {Name: "customer_id", Type: "int", Nullable: true}, {Name: "total", Type: "decimal(10,2)", Nullable: true, Default: "((0))"}, {Name: "note", Type: "nvarchar(max)", Nullable: true}},
	}
	if !reflect.DeepEqual(tables[2], want) {
		t.Errorf("%+v", tables[2])
	}
}

func TestCheckRefusesALoginThatMayWrite(t *testing.T) {
	t.Parallel()
	reader := start(t, &shop{}, nil)
	if err := attach(t, settings(reader, nil)).Check(t.Context()); err != nil {
		t.Errorf("the reader: %v", err)
	}
	writer := start(t, &shop{rights: []string{"the role sysadmin", "INSERT", "INSERT"}}, nil)
	err := attach(t, settings(writer, map[string]any{"schema": "dbo, h]r"})).Check(t.Context())
	for _, part := range []string{"(the role sysadmin, INSERT)", "CREATE LOGIN magpie_reader WITH PASSWORD", "GRANT SELECT ON SCHEMA::[dbo] TO magpie_reader; GRANT SELECT ON SCHEMA::[h]]r] TO magpie_reader;"} {
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("a login that may write: %v", err)
		}
	}
	if err := attach(t, settings(reader, map[string]any{"schema": "empty"})).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "sees no table") {
		t.Errorf("an empty schema: %v", err)
	}
	wrong := settings(reader, nil)
	wrong.Credentials = map[string]string{"username": "reader", "password": "hunter22"}
	if err := attach(t, wrong).Check(t.Context()); !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "hunter22") || !strings.Contains(err.Error(), "Login failed for user 'reader'.") {
		t.Errorf("a wrong password: %v", err)
	}
	if err := attach(t, settings(reader, map[string]any{"database": "nix"})).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "nix") {
		t.Errorf("no database: %v", err)
	}
	if err := attach(t, settings(reader, map[string]any{"port": 1.0})).Check(t.Context()); !isRetryable(err) {
		t.Errorf("a closed port: %v", err)
	}
}

// TestSchemaSyncNeedsFewStatements logs the statements and the time of a schema sync, which
// reads everything each time, of 1,000 tables with ten columns.
func TestSchemaSyncNeedsFewStatements(t *testing.T) {
	t.Parallel()
	const tables, columnsOfEach = 1000, 10
	s, asked := &shop{}, 0
	server := start(t, s, func(o *tdsserver.Options) {
		o.Answer = func(q tdsserver.Query) tdsserver.Reply {
			asked++ // one connection at a time
			reply := s.answer(q)
			switch {
			case strings.Contains(q.Text, "from sys.columns"):
				reply.Rows = nil
				for i := range tables * columnsOfEach {
					reply.Rows = append(reply.Rows, []any{"dbo", fmt.Sprintf("t%04d", i/columnsOfEach), fmt.Sprintf("c%d", i%columnsOfEach), "int", 4, 10, 0, 0, "", "", 0})
				}
			case strings.HasPrefix(q.Text, "select schema_name(o.schema_id)"):
				reply.Rows = nil
				for i := range tables {
					reply.Rows = append(reply.Rows, []any{"dbo", fmt.Sprintf("t%04d", i), 0, "", 3})
				}
			}
			return reply
		}
	})
	database := attach(t, settings(server, nil))
	for _, sync := range []string{"first", "unchanged"} {
		asked = 0
		began, before := time.Now(), server.Counts().Began
		if err := database.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := database.Schema(t.Context())
		if err != nil || len(found) != tables || len(found[tables-1].Columns) != columnsOfEach {
			t.Fatalf("%d tables, %v", len(found), err)
		}
		connections := server.Counts().Began - before
		t.Logf("%s: %d statements in %d connections, %.2f s", sync, asked, connections, time.Since(began).Seconds())
		if asked > 5 || connections > 2 {
			t.Errorf("%s: %d statements in %d connections", sync, asked, connections)
		}
	}
}

func TestColumnsAreSampled(t *testing.T) {
	t.Parallel()
	shown := string([]rune(connectortest.LongName())[:connectors.MaxSampledText])
	s := &shop{answers: map[string]tdsserver.Reply{
		"select top (1000) left(cast([name] as nvarchar(max)), 61), left(cast([mood] as nvarchar(max)), 61) from [dbo].[customers]": {
			Columns: columns(tdsserver.NVarChar, "", ""), Rows: [][]any{{"Ada", "good"}, {"Eve", nil}, {shown, nil}},
		},
		"select top (1000) left(cast([no_such_column] as nvarchar(max)), 61) from [dbo].[customers]": {Error: &tdsserver.Error{Number: 207, Message: "Invalid column name."}},
	}}
	server := start(t, s, nil)
	connectortest.RunSampleColumns(t, "dbo", func(t *testing.T, options map[string]any) connectors.Database {
		return attach(t, settings(server, options))
	})
	if counts := server.Counts(); counts.RolledBack != counts.Began || counts.Open != 0 {
		t.Errorf("%+v", counts)
	}
}

// TestSamplesNeedOneStatementForEachTable counts the statements that a schema sync sends more
// with the option sampleRows, and finds the columns in them.
func TestSamplesNeedOneStatementForEachTable(t *testing.T) {
	t.Parallel()
	s, asked := &shop{}, []string{}
	server := start(t, s, func(o *tdsserver.Options) {
		o.Answer = func(q tdsserver.Query) tdsserver.Reply {
			asked = append(asked, q.Text) // one connection at a time
			return s.answer(q)
		}
	})
	for _, allowed := range []bool{false, true} {
		database := attach(t, settings(server, map[string]any{"sampleRows": allowed, "excludeTables": []any{"secrets"}}))
		tables, err := database.Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		asked = nil
		before := server.Counts().Began
		if sampling, err := attached.SampleValues(t.Context(), database, tables); err != nil || sampling.Failure != nil {
			t.Fatal(sampling.Failure, err)
		}
		began := server.Counts().Began - before
		t.Logf("allowed: %v, %d statements in %d connections for %d tables", allowed, len(asked), began, len(tables))
		var read []string
		for _, text := range asked {
			if strings.Contains(text, "left(") {
				read = append(read, text)
			}
		}
		// Of the three tables, two have columns of text.
		want := []string{"select top (1000) left(cast([name] as nvarchar(max)), 61) from [dbo].[customers]", "select top (1000) left(cast([note] as nvarchar(max)), 61) from [dbo].[orders]"}
		if !allowed {
			want = nil
		}
		if !slices.Equal(read, want) || began != len(want) || len(asked) > 2*len(want) {
			t.Errorf("allowed: %v, asked %q in %d connections", allowed, asked, began)
		}
	}
}

// What a login may do is asked of all that rights can be granted on.
func TestCheckAsksForRightsOnEverything(t *testing.T) {
	t.Parallel()
	for part, right := range map[string]string{
		"fn_my_permissions(null, 'SERVER')":                         "ADMINISTER BULK OPERATIONS on the server",
		"fn_my_permissions(null, 'DATABASE')":                       "EXECUTE",
		"sys.schemas s cross apply fn_my_permissions(quotename(":    "INSERT on the schema dbo",
		"'OBJECT') where o.type in ('U', 'V')":                      "write access to 2 tables",
		"'OBJECT') where o.type in ('P', 'PC', 'RF', 'X')":          "EXECUTE on 1 procedures",
		"permission_name like 'CONTROL%'":                           "CONTROL SERVER on the server",
		"permission_name like 'ADMINISTER%'":                        "ADMINISTER BULK OPERATIONS on the server",
		"permission_name in ('INSERT', 'UPDATE', 'DELETE', 'TAKE O": "TAKE OWNERSHIP",
	} {
		server := start(t, &shop{grants: map[string]string{part: right}}, nil)
		if err := attach(t, settings(server, nil)).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "("+right+")") {
			t.Errorf("%s: %v", part, err)
		}
	}
}

// A public is a connection that seems to lead to the internet.
type public struct{ net.Conn }

func (public) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(8, 8, 8, 8), Port: 1433} }

// The login is sent to a public address only with encryption and a valid certificate.
func TestUnverifiedServersOnTheInternetAreRefused(t *testing.T) {
	t.Parallel()
	certificate := tdsserver.Certificate(t)
	logins := make(chan string, 10)
	server := start(t, &shop{}, func(o *tdsserver.Options) {
		o.Encryption, o.Certificate = tdsserver.Supported, &certificate
		o.Authenticate = func(l tdsserver.Login) *tdsserver.Error {
			logins <- l.User
			return nil
		}
	})
	registry, err := connectors.NewRegistry(mssql.Kind(func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return public{conn}, err
	}))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("mssql")
	for name, c := range map[string]struct {
		config map[string]any
		ok     bool
	}{
		"plain":                {map[string]any{"encrypt": "false"}, false},
		"any certificate":      {map[string]any{"encrypt": "true", "trustServerCertificate": true}, false},
		"a verified one":       {map[string]any{"encrypt": "true", "caCertificate": tdsserver.PEM(certificate)}, true},
		"plain, with trust":    {map[string]any{"encrypt": "false", "trustServerCertificate": true}, false},
		"strict, without care": {map[string]any{"encrypt": "strict", "trustServerCertificate": true}, false},
	} {
		database, err := kind.Attach(t.Context(), settings(server, c.config))
		if err != nil {
			t.Fatal(err)
		}
		err = database.Check(t.Context())
		if c.ok && err != nil || !c.ok && (!connectors.IsFatal(err) || !strings.Contains(err.Error(), "config.trustServerCertificate")) {
			t.Errorf("%s: %v", name, err)
		}
		if sent := len(logins) > 0; sent != c.ok {
			t.Errorf("%s: the login was sent: %v", name, sent)
		}
		for len(logins) > 0 {
			<-logins
		}
		_ = database.Close()
	}
}

func TestEncryption(t *testing.T) {
	t.Parallel()
	certificate := tdsserver.Certificate(t)
	encrypted := func(mode tdsserver.Encryption) *tdsserver.Server {
		return start(t, &shop{}, func(o *tdsserver.Options) { o.Encryption, o.Certificate = mode, &certificate })
	}
	plain := start(t, &shop{}, nil)
	for name, c := range map[string]struct {
		server *tdsserver.Server
		config map[string]any
		ok     bool
	}{
		"required, not trusted":     {encrypted(tdsserver.Supported), map[string]any{"encrypt": "true"}, false},
		"required, trusted blindly": {encrypted(tdsserver.Supported), map[string]any{"encrypt": "true", "trustServerCertificate": true}, true},
		"required, by an authority": {encrypted(tdsserver.Supported), map[string]any{"encrypt": "true", "caCertificate": tdsserver.PEM(certificate)}, true},
		"required, not there":       {plain, map[string]any{"encrypt": "true"}, false},
		"the login alone":           {encrypted(tdsserver.LoginOnly), map[string]any{"encrypt": "false"}, true},
		"none":                      {plain, map[string]any{"encrypt": "false"}, true},
	} {
		if err := attach(t, settings(c.server, c.config)).Check(t.Context()); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFaultInjection(t *testing.T) {
	t.Parallel()
	connectortest.RunWireFaultInjection(t, func(t *testing.T) connectortest.WireFaultInjection {
		s := &shop{answers: map[string]tdsserver.Reply{"select 1 as one": {Columns: columns(tdsserver.Int, "one"), Rows: [][]any{{1}}}}}
		return connectortest.WireFaultInjection{Kind: mssql.Kind, Settings: settings(start(t, s, nil), nil), Query: "select 1 as one"}
	})
}

func TestNamedInstancesAreRefused(t *testing.T) {
	t.Parallel()
	for _, option := range mssql.Kind(nil).Options {
		if option.Name == "host" {
			if err := option.Check(`db\SQLEXPRESS`); err == nil || !strings.Contains(err.Error(), "config.port") {
				t.Error(fmt.Sprint(err))
			}
		}
	}
}
