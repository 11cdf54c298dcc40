package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

const (
	askSchema = `query($c: ID) { databaseSchema(query: "orders", collection: $c) { table columns { name } } }`
	askRows   = `query($c: ID) { queryDatabase(sql: "select 1", collection: $c) { rows } }`
)

// databaseTrials has a case for each root field of databases, which the dashboard
// does not have. TestDatabasesAreForRolesAndForKeysWithTheFlag tries them at /mcp.
func databaseTrials(ada *tenant) map[string]trial {
	return map[string]trial{
		"Query.databaseSchema": {askSchema, map[string]any{"c": ada.collection}, "forbidden"},
		"Query.queryDatabase":  {askRows, map[string]any{"c": ada.collection}, "forbidden"},
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
