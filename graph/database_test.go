package graph_test

import (
	"strings"
	"testing"
)

func TestDatabasesHaveASchemaSync(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const fields = "{ id type docSync { syncStrategy } schemaSync { syncStrategy scheduleInterval } nextSyncAt storedCredentials }"
	const settings = `config: {host: "127.0.0.1", port: 1, database: "sales"}, credentials: {user: "reader", password: "hunter22"}`
	made := h.ask(t, ada.viewer, `mutation($i: ID!) { createConnector(input: {name: "Sales", type: "postgres", collection: $i, `+settings+`,
		schemaSync: {syncStrategy: SCHEDULED, scheduleInterval: "12h"}}) `+fields+` }`, map[string]any{"i": ada.collection})
	id := made.at("createConnector.id")
	if made.code() != "" || made.at("createConnector.type") != "postgresql" || made.at("createConnector.schemaSync.scheduleInterval") != "12h" ||
		made.at("createConnector.schemaSync.syncStrategy") != "SCHEDULED" || made.at("createConnector.nextSyncAt") == nil || strings.Contains(made.body, "hunter22") ||
		!strings.Contains(made.body, `"storedCredentials":["password","user"]`) {
		t.Fatalf("create: %s", made.body)
	}
	changed := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {schemaSync: {scheduleInterval: "1h"}}) `+fields+` }`, map[string]any{"i": id})
	if changed.at("updateConnector.schemaSync.scheduleInterval") != "1h" || changed.at("updateConnector.schemaSync.syncStrategy") != "SCHEDULED" {
		t.Errorf("update: %s", changed.body)
	}
	both := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {schemaSync: {scheduleInterval: "1h"}, docSync: {scheduleInterval: "2h"}}) { id } }`, map[string]any{"i": id})
	if both.code() != "invalid_request" || !strings.Contains(both.body, "schemaSync: ") {
		t.Errorf("both: %s", both.body)
	}
	bucket := h.ask(t, ada.viewer, `mutation($i: ID!) { createConnector(input: {name: "Bucket", type: "s3", collection: $i, config: {bucket: "docs"}}) `+fields+` }`, map[string]any{"i": ada.collection})
	if bucket.at("createConnector.schemaSync") != nil || !strings.Contains(bucket.body, `"storedCredentials":[]`) {
		t.Errorf("a bucket: %s", bucket.body)
	}
	wrong := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {schemaSync: {scheduleInterval: "1h"}}) { id } }`, map[string]any{"i": bucket.at("createConnector.id")})
	if wrong.code() != "invalid_request" || !strings.Contains(wrong.body, "schemaSync: ") {
		t.Errorf("a bucket's schema: %s", wrong.body)
	}
	// Both ways of trying a connection open the database; nothing listens there.
	for name, got := range map[string]any{
		"testConnector":  h.ask(t, ada.viewer, `mutation($i: ID!) { testConnector(id: $i) { ok message details } }`, map[string]any{"i": id}).at("testConnector.ok"),
		"testConnection": h.ask(t, ada.viewer, `mutation { testConnection(input: {type: "mariadb", `+settings+`}) { ok message details } }`, nil).at("testConnection.ok"),
	} {
		if got != false {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := h.ask(t, ada.viewer, `mutation { testConnection(input: {type: "postgresql", config: {host: "a b", database: "x"}, credentials: {user: "u"}}) { ok } }`, nil); got.code() != "invalid_request" || !strings.Contains(got.body, "config.host") {
		t.Errorf("a host that is none: %s", got.body)
	}
	kinds := h.ask(t, ada.viewer, "{ connectorKinds { name category database options { name } } }", nil)
	if !strings.Contains(kinds.body, `"name":"postgresql","category":"database","database":true`) || !strings.Contains(kinds.body, `"name":"mysql","category":"database","database":true`) {
		t.Errorf("kinds: %s", kinds.body)
	}
}
