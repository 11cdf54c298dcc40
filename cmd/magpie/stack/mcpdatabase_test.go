package stack_test

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/internal/testkit"
)

const privateNetworks = "127.0.0.0/8,::1/128"

// attach attaches a database with a shop to a new collection and reads its schema.
func (s *service) attach(name string) (collection, connector string) {
	s.t.Helper()
	script, err := os.ReadFile("../../../connectors/postgresql/testdata/shop.sql")
	if err != nil {
		s.t.Fatal(err)
	}
	urls := testkit.EmptyDatabase(s.t)
	owner, err := pgx.Connect(s.t.Context(), urls.OwnerURL)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = owner.Close(s.t.Context()) }()
	if _, err := owner.PgConn().Exec(s.t.Context(), string(script)+"; grant usage on schema public to public; grant select on all tables in schema public to public").ReadAll(); err != nil {
		s.t.Fatal(err)
	}
	host, port, login := testkit.TCP(s.t, urls.AppURL)
	password, _ := login.Password()
	var made struct {
		CreateCollection struct{ ID string }
		CreateConnector  struct{ ID string }
	}
	s.graphql(&made, `mutation($n: String!) { createCollection(input: {name: $n}) { id } }`, map[string]any{"n": "Data of " + name})
	collection = made.CreateCollection.ID
	s.graphql(&made, `mutation($i: CreateConnectorInput!) { createConnector(input: $i) { id } }`, map[string]any{"i": map[string]any{
		"name": "Shop of " + name, "type": "postgresql", "collection": collection,
		"config":      map[string]any{"host": host, "port": port, "database": urls.Name, "allowWriteAccess": true, "sslMode": "disable"},
		"credentials": map[string]any{"user": login.Username(), "password": password},
	}})
	states := s.watchOverSSE(s.startSync(made.CreateConnector.ID))
	if last := states[len(states)-1].SyncProgress; last.Status != "COMPLETED" {
		s.t.Fatalf("%+v", states)
	}
	return collection, made.CreateConnector.ID
}

// programKey makes a key of one collection.
func (s *service) programKey(collection string, databases bool) (id, secret string) {
	s.t.Helper()
	var made struct {
		CreateAPIKey struct {
			SecretKey string
			APIKey    struct{ ID string } `json:"apiKey"`
		}
	}
	s.graphql(&made, `mutation($c: [ID!], $d: Boolean) { createAPIKey(input: {name: "Program", allowedHosts: ["*"], allowedCollections: $c, databaseTools: $d}) { secretKey apiKey { id } } }`,
		map[string]any{"c": []string{collection}, "d": databases})
	return made.CreateAPIKey.APIKey.ID, made.CreateAPIKey.SecretKey
}

// databaseTools lists the database tools of a session, and fails if one is not
// marked as read-only.
func (s *service) databaseTools(session *protocol.ClientSession) string {
	s.t.Helper()
	listed, err := session.ListTools(s.t.Context(), nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var names []string
	for _, tool := range listed.Tools {
		if strings.Contains(tool.Name, "database") {
			names = append(names, tool.Name)
			if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
				s.t.Errorf("%s is not marked as read-only", tool.Name)
			}
		}
	}
	return strings.Join(names, " ")
}

func (s *service) assistantWith(token string) *protocol.ClientSession {
	s.t.Helper()
	session, err := s.assistant("Authorization", "Bearer "+token)
	if err != nil {
		s.t.Fatal(err)
	}
	return session
}

func TestAnAssistantQueriesDatabasesByAKeyWithTheFlag(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": privateNetworks})
	collection, _ := s.attach("Ada")
	closed, hidden := s.attach("the office")
	id, secret := s.programKey(collection, true)
	session := s.assistantWith(secret)
	if names := s.databaseTools(session); names != "database_schema query_database" {
		t.Errorf("tools %s", names)
	}
	var schema struct {
		Tables []struct {
			Database, Table, Kind string
			Columns               []struct{ Name, Type string }
		}
	}
	text, failed := s.tool(session, "database_schema", map[string]any{"query": "people who buy things"}, &schema)
	if failed || len(schema.Tables) == 0 || schema.Tables[0].Table != "public.customers" || schema.Tables[0].Database != "Shop of Ada" || !strings.Contains(text, "customer_id") || strings.Contains(text, "office") {
		t.Errorf("database_schema: %v %+v\n%s", failed, schema, text)
	}
	if text, failed = s.tool(session, "database_schema", map[string]any{"table": "order_line"}, &schema); failed || len(schema.Tables) != 1 || len(schema.Tables[0].Columns) != 6 || !strings.Contains(text, "join: ") {
		t.Errorf("one table: %v %+v\n%s", failed, schema, text)
	}
	var rows struct {
		Columns, Types []string
		Rows           [][]any
		Truncated      string
		LeftOut        int `json:"left_out"`
	}
	text, failed = s.tool(session, "query_database", map[string]any{"sql": "select name, mood from customers order by 1", "collection": collection}, &rows)
	if failed || len(rows.Rows) != 2 || rows.Rows[0][0] != "Ada" || rows.Rows[1][1] != nil || text != "[\"name\",\"mood\"]\n[\"Ada\",\"good\"]\n[\"Eve\",null]\n" {
		t.Errorf("query_database: %v %+v\n%s", failed, rows, text)
	}
	if text, failed = s.tool(session, "query_database", map[string]any{"sql": "select quantity from order_line where line_no = 2", "limit": 1}, nil); failed || !strings.Contains(text, "[9007199254740993]") {
		t.Errorf("a large number: %v %s", failed, text)
	}
	if text, failed = s.tool(session, "query_database", map[string]any{"sql": "select * from orders", "limit": 2}, &rows); failed || len(rows.Rows) != 2 || rows.Truncated != "rows" || rows.LeftOut != 1 || !strings.Contains(text, "left out") {
		t.Errorf("a limit: %v %+v\n%s", failed, rows, text)
	}
	for name, c := range map[string]struct {
		tool, part string
		arguments  map[string]any
	}{
		"a write":                       {"query_database", "Refused", map[string]any{"sql": "delete from customers"}},
		"a function that writes":        {"query_database", "Refused", map[string]any{"sql": "select wipe_orders()"}},
		"two statements":                {"query_database", "Refused", map[string]any{"sql": "select 1; drop table customers"}},
		"a wrong column":                {"query_database", "does not exist", map[string]any{"sql": "select nme from customers"}},
		"too many rows":                 {"query_database", "limit: must be between 1 and 1000", map[string]any{"sql": "select 1", "limit": 1001}},
		"another collection's database": {"query_database", "no such database", map[string]any{"sql": "select 1", "database": hidden}},
		"its schema":                    {"database_schema", "no such database", map[string]any{"query": "orders", "database": hidden}},
		"another collection":            {"query_database", "Collection not found", map[string]any{"sql": "select 1", "collection": closed}},
		"another collection's schema":   {"database_schema", "Collection not found", map[string]any{"table": "orders", "collection": closed}},
		"no argument":                   {"database_schema", "query: or table", nil},
		"a collection by its name":      {"database_schema", "collection: must be an id", map[string]any{"query": "orders", "collection": "Data of Ada"}},
	} {
		if text, failed := s.tool(session, c.tool, c.arguments, nil); !failed || !strings.Contains(text, c.part) || strings.Contains(text, "office") {
			t.Errorf("%s: %v %s", name, failed, text)
		}
	}
	var log struct {
		AuditLog struct {
			Edges []struct {
				Node struct {
					ActorKind, ActorID, TargetName string
					Changes                        []struct {
						Field string
						New   any
					}
				}
			}
		}
	}
	s.graphql(&log, `{ auditLog(first: 50, filter: {action: "database.query"}) { edges { node { actorKind actorId targetName changes { field new } } } } }`, nil)
	outcomes := map[string]int{}
	for _, e := range log.AuditLog.Edges {
		if e.Node.ActorKind != "KEY" || e.Node.ActorID != id || e.Node.TargetName != "Shop of Ada" {
			t.Errorf("audit entry %+v", e.Node)
		}
		for _, change := range e.Node.Changes {
			if outcome, ok := change.New.(string); ok && change.Field == "outcome" {
				outcomes[outcome]++
			}
		}
	}
	if outcomes["answered"] != 3 || outcomes["refused"] != 3 || outcomes["failed"] != 1 {
		t.Errorf("audited %v", outcomes)
	}
	var used struct{ Usage struct{ Queries int } }
	if s.graphql(&used, `{ usage { queries } }`, nil); used.Usage.Queries != 7 {
		t.Errorf("%d queries were counted", used.Usage.Queries)
	}
	// A key that loses the flag loses the tools, and the change is audited.
	s.graphql(&struct{}{}, `mutation($i: ID!) { updateAPIKey(id: $i, input: {databaseTools: false}) { id } }`, map[string]any{"i": id})
	testkit.WaitFor(t, "the key to change", func() bool { return s.databaseTools(session) == "" })
	s.graphql(&log, `{ auditLog(filter: {action: "api_key.update"}) { edges { node { actorKind actorId targetName changes { field new } } } } }`, nil)
	if edges := log.AuditLog.Edges; len(edges) != 1 || len(edges[0].Node.Changes) != 1 || edges[0].Node.Changes[0].Field != "database_tools" || edges[0].Node.Changes[0].New != false {
		t.Errorf("the change of the key: %+v", edges)
	}
}

func TestDatabaseToolsAreOffUnlessTheyAreSwitchedOn(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		t.Run("people "+strconv.FormatBool(on), func(t *testing.T) {
			t.Parallel()
			s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": privateNetworks, "MCP_DATABASE_TOOLS": strconv.FormatBool(on)})
			collection, connector := s.attach("Ada")
			_, plain := s.programKey(collection, false)
			session := s.assistantWith(plain)
			if names := s.databaseTools(session); names != "" {
				t.Errorf("a key without the flag has %s", names)
			}
			for tool, arguments := range map[string]map[string]any{"query_database": {"sql": "select 1"}, "database_schema": {"query": "orders"}} {
				if text, failed := s.tool(session, tool, arguments, nil); !failed || !strings.Contains(text, "--database-tools") {
					t.Errorf("%s by a key without the flag: %s", tool, text)
				}
			}
			person := s.assistantWith(s.connected())
			query := map[string]any{"sql": "select name from customers order by 1", "database": connector}
			if !on {
				if names := s.databaseTools(person); names != "" {
					t.Errorf("a person has %s", names)
				}
				if result, err := person.CallTool(t.Context(), &protocol.CallToolParams{Name: "query_database", Arguments: query}); err == nil && !result.IsError {
					t.Errorf("a person was answered %+v", result)
				}
				return
			}
			if names := s.databaseTools(person); names != "database_schema query_database" {
				t.Errorf("a person has %s", names)
			}
			if text, failed := s.tool(person, "query_database", query, nil); failed || !strings.Contains(text, `["Ada"]`) {
				t.Errorf("query_database: %s", text)
			}
			// Nobody of another workspace gets anything of this one.
			if _, err := s.app.Accounts.CreateOwner(t.Context(), "Other", "bob@example.com", "Bob", password); err != nil {
				t.Fatal(err)
			}
			stranger := *s
			stranger.token = s.signIn("bob@example.com")
			own, _ := stranger.attach("Bob")
			_, foreign := stranger.programKey(own, true)
			for name, token := range map[string]string{"key": foreign, "person": stranger.connected()} {
				session := s.assistantWith(token)
				for _, c := range []struct {
					tool      string
					arguments map[string]any
				}{
					{"query_database", query}, {"query_database", map[string]any{"sql": "select 1", "database": "Shop of Ada"}}, {"query_database", map[string]any{"sql": "select 1", "collection": collection}},
					{"database_schema", map[string]any{"query": "orders", "database": connector}}, {"database_schema", map[string]any{"table": "orders", "collection": collection}},
				} {
					if text, failed := s.tool(session, c.tool, c.arguments, nil); !failed || !strings.Contains(text, "no such database") && !strings.Contains(text, "not found") || strings.Contains(text, "Ada") {
						t.Errorf("another workspace's %s: %s %v gives %s", name, c.tool, c.arguments, text)
					}
				}
				if text, failed := s.tool(session, "query_database", map[string]any{"sql": "select name from customers order by 1 limit 1"}, nil); failed {
					t.Errorf("another workspace's %s, at its own: %s", name, text)
				}
			}
			var pair struct {
				CreateAPIKey struct{ PublishableKey string }
			}
			s.graphql(&pair, `mutation($c: [ID!]) { createAPIKey(input: {name: "Site", allowedHosts: ["*"], allowedCollections: $c, databaseTools: true}) { publishableKey } }`, map[string]any{"c": []string{collection}})
			s.token = ""
			const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"query_database","arguments":{"sql":"select 1"}}}`
			if response, body := s.protocol(http.MethodPost, call, []string{"X-Service-Key", pair.CreateAPIKey.PublishableKey}); response.StatusCode != http.StatusForbidden || !strings.Contains(body, "publishable") {
				t.Errorf("a publishable key: %d %s", response.StatusCode, body)
			}
		})
	}
}
