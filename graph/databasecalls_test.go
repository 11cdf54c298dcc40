package graph_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	askSchema = `query($c: ID) { databaseSchema(query: "orders", collectionId: $c) { table columns { name } } }`
	askRows   = `query($c: ID) { queryDatabase(sql: "select 1", collectionId: $c) { rows } }`
)

// databaseTrials has a case for each root field of databases, groups and the system.
// TestDatabasesAreForRolesAndForKeysWithTheFlag tries some of them at /mcp, and
// TestPeopleBrowseTheCatalogsOfTheirWorkspace has databases with a catalog.
func databaseTrials(ada *tenant) map[string]trial {
	return map[string]trial{
		"Query.system":          {"{ system { version workers { id } queues { name } collections { id name } warnings { text } } }", nil, ""},
		"Query.sourceGroups":    {`query($i: ID!) { sourceGroups(connectorId: $i) { totalCount edges { node { id } } } }`, map[string]any{"i": ada.connector}, "not_found"},
		"Query.sourceGroup":     {`query($i: ID!) { sourceGroup(connectorId: $i, groupId: "staff") { name emails } }`, map[string]any{"i": ada.connector}, "not_found"},
		"Query.directoryGroups": {`{ directoryGroups { totalCount edges { node { id name } } } }`, nil, ""},
		"Query.databases":       {`query($c: ID) { databases(collectionId: $c) { id name } }`, map[string]any{"c": ada.collection}, "not_found"},
		"Query.databaseTables":  {`query($i: ID!) { databaseTables(databaseId: $i) { totalCount edges { node { table } } } }`, map[string]any{"i": ada.connector}, "not_found"},
		"Query.databaseTable":   {`query($i: ID!) { databaseTable(databaseId: $i, table: "orders") { table } }`, map[string]any{"i": ada.connector}, "not_found"},
		"Query.databaseSchema":  {askSchema, map[string]any{"c": ada.collection}, "not_found"},
		"Query.queryDatabase":   {askRows, map[string]any{"c": ada.collection}, "not_found"},
	}
}

// databaseCalls has a valid call for each of these root fields that needs a role.
func databaseCalls() map[string]maker {
	return map[string]maker{
		"Query.system":       fixed("{ system { version } }", nil),
		"Query.sourceGroups": on("query($i: ID!) { sourceGroups(connectorId: $i) { totalCount } }", aConnector),
		"Query.sourceGroup": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			id := uuid.NewString()
			h.aGroup(t, n, id)
			return call{query: `query($i: ID!, $g: String!) { sourceGroup(connectorId: $i, groupId: $g) { name } }`, variables: map[string]any{"i": n.connector, "g": id}}
		},
		"Query.directoryGroups": fixed("{ directoryGroups { totalCount } }", nil),
		"Query.databases":       fixed("{ databases { name } }", nil),
		"Query.databaseTables":  on("query($i: ID!) { databaseTables(databaseId: $i) { totalCount } }", aDatabase),
		"Query.databaseTable":   on(`query($i: ID!) { databaseTable(databaseId: $i, table: "orders") { table } }`, aDatabase),
	}
}

// aDatabase attaches a database whose catalog has the table orders, without a sync.
func aDatabase(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	row := must[*ent.Connector](t)(h.db.Ent.Connector.Create().SetName("Shop of " + n.email).SetType("postgresql").SetCollectionID(n.collection).
		SetConfig(map[string]any{"host": "127.0.0.1", "port": 1, "database": "shop"}).Save(n.system(t)))
	h.aTable(t, n, row.ID, "orders", "What customers of "+n.email+" bought")
	return row.ID
}

// aTable adds a table to the catalog of a database, as a schema sync does.
func (h *fixture) aTable(t *testing.T, n *tenant, database uuid.UUID, name, comment string) {
	t.Helper()
	if _, err := h.db.Pool.Exec(t.Context(), `insert into database_schemas as s (workspace_id, connector_id, synced_at) values ($1, $2, now())
		on conflict (connector_id) do update set revision = s.revision + 1`, n.viewer.Workspace, database); err != nil {
		t.Fatal(err)
	}
	columns := []connectors.Column{{Name: "id", Type: "bigint"}, {Name: name + "_total", Type: "numeric", Nullable: true, Comment: "With tax"}}
	if _, err := h.db.Pool.Exec(t.Context(), `insert into database_tables (workspace_id, connector_id, schema_name, name, is_view, comment, row_estimate, columns, primary_key, foreign_keys, digest, changed_at)
		values ($1, $2, 'public', $3, false, $4, 7, $5, '["id"]', '[]', '', now())`, n.viewer.Workspace, database, name, comment, columns); err != nil {
		t.Fatal(err)
	}
}

var tableNames = regexp.MustCompile(`public\.\w+`)

func TestPeopleBrowseTheCatalogsOfTheirWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	shop := aDatabase(t, h, ada)
	for _, name := range []string{"customers", "b_invoices", "Orders2"} {
		h.aTable(t, ada, shop, name, "About "+name)
	}
	aDatabase(t, h, eve)
	reader := h.member(t, ada, "reader@example.com", membership.RoleViewer)
	const list = "{ databases { id name dialect collectionId schemaSyncedAt tables lastError } }"
	got := h.ask(t, reader, list, nil)
	if !strings.Contains(got.body, `[{"id":"`+shop.String()+`","name":"Shop of ada@example.com","dialect":"PostgreSQL","collectionId":"`+ada.collection.String()+`","schemaSyncedAt":"`) ||
		!strings.Contains(got.body, `Z","tables":4,"lastError":null}]`) {
		t.Errorf("databases: %s", got.body)
	}
	// Two pages in the order of the names have every table once.
	const tables = "query($i: ID!, $m: String, $a: Cursor) { databaseTables(databaseId: $i, matching: $m, after: $a, first: 3) { totalCount pageInfo { hasNextPage endCursor } edges { node { table columns { name } matchedColumns primaryKey estimatedRows } } } }"
	first := h.ask(t, reader, tables, map[string]any{"i": shop})
	named := func(a answer) string {
		return strings.Join(tableNames.FindAllString(a.body, -1), " ")
	}
	if first.at("databaseTables.totalCount") != 4.0 || first.at("databaseTables.pageInfo.hasNextPage") != true || named(first) != "public.Orders2 public.b_invoices public.customers" ||
		!strings.Contains(first.body, `"primaryKey":["id"],"estimatedRows":7`) {
		t.Errorf("first page: %s", first.body)
	}
	second := h.ask(t, reader, tables, map[string]any{"i": shop, "a": first.at("databaseTables.pageInfo.endCursor")})
	if second.at("databaseTables.pageInfo.hasNextPage") != false || named(second) != "public.orders" {
		t.Errorf("second page: %s", second.body)
	}
	for matching, count := range map[string]float64{"ORDERS": 2, "invoices_total": 1, "with TAX": 4, "of ada@": 1, "nothing": 0} {
		if got := h.ask(t, reader, tables, map[string]any{"i": shop, "m": matching}); got.at("databaseTables.totalCount") != count {
			t.Errorf("matching %q: %s", matching, got.body)
		}
	}
	const table = "query($i: ID!, $t: String!) { databaseTable(databaseId: $i, table: $t) { table comment columns { name comment nullable } sampleRows { rows } } }"
	if got := h.ask(t, reader, table, map[string]any{"i": shop, "t": "public.orders"}); !strings.Contains(got.body, `{"name":"orders_total","comment":"With tax","nullable":true}`) || got.at("databaseTable.comment") != "What customers of ada@example.com bought" {
		t.Errorf("a table: %s", got.body)
	}
	demoted := ada.viewer
	demoted.Role = ""
	cursor := h.ask(t, ada.viewer, "{ agentTemplates(first: 1) { pageInfo { endCursor } } }", nil).at("agentTemplates.pageInfo.endCursor")
	for _, c := range []struct {
		name      string
		who       viewer.Viewer
		query     string
		variables map[string]any
		code      string
	}{
		{"another workspace's tables", eve.viewer, tables, map[string]any{"i": shop}, "not_found"},
		{"another workspace's table", eve.viewer, table, map[string]any{"i": shop, "t": "orders"}, "not_found"},
		{"tables without a role", demoted, tables, map[string]any{"i": shop}, "forbidden"},
		{"a connector of files", reader, tables, map[string]any{"i": ada.connector}, "not_found"},
		{"no table", reader, table, map[string]any{"i": shop, "t": "order"}, "not_found"},
		{"a blank table", reader, table, map[string]any{"i": shop, "t": " "}, "invalid_request"},
		{"a cursor of another list", reader, tables, map[string]any{"i": shop, "a": cursor}, "invalid_request"},
		{"a long text", reader, tables, map[string]any{"i": shop, "m": strings.Repeat("x", 201)}, "invalid_request"},
	} {
		if got := h.ask(t, c.who, c.query, c.variables); got.code() != c.code || strings.Contains(got.body, "of ada") {
			t.Errorf("%s: %s", c.name, got.body)
		}
	}
}

// The error of a connector may name its host and login, which viewers need not know.
func TestWhyASyncFailedIsForThoseWhoMayChangeTheConnector(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	shop := aDatabase(t, h, ada)
	const reason = `PostgreSQL at db.internal:5432 says: password authentication failed for user \"magpie_reader\"`
	if err := h.db.Ent.Connector.UpdateOneID(shop).SetLastError(strings.ReplaceAll(reason, `\`, "")).Exec(ada.system(t)); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		who  viewer.Viewer
		full bool
	}{
		"an owner": {ada.viewer, true}, "an editor": {h.member(t, ada, "editor@example.com", membership.RoleEditor), true},
		"a reader": {h.member(t, ada, "reader@example.com", membership.RoleViewer), false},
	} {
		got := h.ask(t, c.who, "{ databases { lastError } }", nil)
		if strings.Contains(got.body, reason) != c.full || strings.Contains(got.body, "The last sync failed.") == c.full {
			t.Errorf("%s: %s", name, got.body)
		}
	}
}

func TestDatabasesAreForRolesAndForKeysWithTheFlag(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	made, err := h.resolver.Keys.Create(viewer.With(t.Context(), ada.viewer), authn.KeyDraft{
		Name: "Programs", Collections: []uuid.UUID{ada.collection}, Hosts: []string{"*"}, DatabaseTools: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	byKey := func(key string) viewer.Viewer {
		t.Helper()
		k, err := h.resolver.Keys.Authenticate(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		return k.Viewer
	}
	plain := byKey(made.Secret)
	plain.DatabaseTools = false
	demoted := ada.viewer
	demoted.Role = ""
	other := h.tenant(t, "bob")
	for _, c := range []struct {
		name       string
		who        viewer.Viewer
		collection any
		code, part string
	}{
		{"an owner", ada.viewer, ada.collection, "not_found", "No database is attached"},
		{"an owner, everywhere", ada.viewer, nil, "not_found", "No database is attached"},
		{"a reader", h.member(t, ada, "reader@example.com", membership.RoleViewer), ada.collection, "not_found", "No database is attached"},
		{"a person without a role", demoted, nil, "forbidden", "role viewer"},
		{"another workspace's owner", eve.viewer, ada.collection, "not_found", "Collection"},
		{"a key", byKey(made.Secret), ada.collection, "not_found", "No database is attached"},
		{"a key for another workspace's collection", byKey(made.Secret), eve.collection, "not_found", "Collection"},
		{"a key without the flag", plain, nil, "forbidden", "--database-tools"},
		{"a key without the flag for another's collection", plain, other.collection, "forbidden", "--database-tools"},
		{"a publishable key", byKey(made.Publishable), nil, "forbidden", "--database-tools"},
	} {
		c.who.Surface = viewer.SurfaceMCP
		for _, query := range []string{askSchema, askRows} {
			if got := h.ask(t, c.who, query, map[string]any{"c": c.collection}); got.code() != c.code || !strings.Contains(got.body, c.part) {
				t.Errorf("%s: %s", c.name, got.body)
			}
		}
	}
	ada.viewer.Surface = viewer.SurfaceMCP
	for query, part := range map[string]string{
		`{ databaseSchema { table } }`: "query: or table", `{ databaseSchema(query: "x", table: "y") { table } }`: "query: or table",
		`{ databaseSchema(query: "x", limit: 51) { table } }`: "limit: must be between 1 and 50", `{ queryDatabase(sql: " ") { rows } }`: "sql: must not be blank",
		`{ queryDatabase(sql: "select 1", limit: 1001) { rows } }`:                       "limit: must be between 1 and 1000",
		`{ queryDatabase(sql: "` + strings.Repeat("x", 10_001) + `") { rows } }`:         "sql: must have at most 10000",
		`{ databaseSchema(table: "` + strings.Repeat("x", 301) + `") { table } }`:        "table: must have at most 300",
		`{ databaseSchema(query: "` + strings.Repeat("x", 501) + `") { table } }`:        "query: must have at most 500",
		`{ queryDatabase(sql: "x", database: "` + strings.Repeat("x", 201) + `"){rows}}`: "database: must have at most 200",
	} {
		if got := h.ask(t, ada.viewer, query, nil); got.code() != "invalid_request" || !strings.Contains(got.body, part) {
			t.Errorf("%.60s: %s", query, got.body)
		}
	}
}
