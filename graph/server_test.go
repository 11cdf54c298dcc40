package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/viewer"
)

func TestIntrospectionIsForSignedInPeople(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const query = "{ __schema { queryType { name } } }"
	if got := h.ask(t, ada.viewer, query, nil); got.at("__schema.queryType.name") != "Query" {
		t.Errorf("signed in: %s", got.body)
	}
	if got := h.ask(t, viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard}, query, nil); got.code() == "" {
		t.Errorf("anonymous: %s", got.body)
	}
}

func TestOperationsAreBounded(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	deep := "{ collections(first: 1) { edges { node { connectors(first: 1) { edges { node { collection { connectors(first: 1) { edges { node { collection { id } } } } } } } } } } } }"
	wide := "{ collections(first: 200) { edges { node { documents(first: 200) { edges { node { id title } } } } } } }"
	for name, query := range map[string]string{
		"nested too deeply":    deep,
		"too much at once":     wide,
		"an unpaged edge":      "{ collections(first: 2) { edges { node { documents { totalCount } } } } }",
		"a page out of range":  "{ collections(first: 201) { totalCount } }",
		"a page of nothing":    "{ collections(first: 0) { totalCount } }",
		"a negative page":      "{ collections(last: -1) { totalCount } }",
		"an unknown field":     "{ collections(first: 1) { secrets } }",
		"not GraphQL":          "{ collections(",
		"a wrong type":         `{ collection(id: 7) { id } }`,
		"a malformed id":       `{ collection(id: "x") { id } }`,
		"a missing variable":   "query($i: ID!) { collection(id: $i) { id } }",
		"a blank search":       `{ search(input: {query: "  "}) { total } }`,
		"a limit out of range": `{ search(input: {query: "x", limit: 101}) { total } }`,
		"a negative offset":    `{ search(input: {query: "x", offset: -1}) { total } }`,
		"a score out of range": `{ search(input: {query: "x", minScore: 1.5}) { total } }`,
		"no date":              `{ search(input: {query: "x", filters: {dateAfter: "yesterday"}}) { total } }`,
		"a blank message":      `subscription { chat(input: {message: " "}) { __typename } }`,
		"a long message":       `subscription { chat(input: {message: "` + strings.Repeat("é", 4001) + `"}) { __typename } }`,
	} {
		if got := h.ask(t, ada.viewer, query, nil); got.code() != "invalid_request" {
			t.Errorf("%s: %.300s", name, got.body)
		}
	}
	ok := "{ collections(first: 10) { edges { node { name documents(first: 20) { edges { node { id title } } } } } } }"
	if got := h.ask(t, ada.viewer, ok, nil); got.code() != "" {
		t.Errorf("an ordinary operation: %s", got.body)
	}
}

// writes returns the mutations that change a workspace, with the lowest role of each.
func writes(n *tenant) map[string]struct {
	role      membership.Role
	variables map[string]any
} {
	type write = struct {
		role      membership.Role
		variables map[string]any
	}
	i := func(v any) map[string]any { return map[string]any{"i": v} }
	return map[string]write{
		`mutation { createCollection(input: {name: "New"}) { id } }`:                                                           {membership.RoleEditor, nil},
		`mutation($i: ID!) { updateCollection(id: $i, input: {name: "New"}) { id } }`:                                          {membership.RoleEditor, i(n.collection)},
		`mutation($i: ID!) { refreshCollectionStats(id: $i) { documentCount } }`:                                               {membership.RoleEditor, i(n.collection)},
		`mutation($i: ID!) { createConnector(input: {name: "x", type: "file", collection: $i}) { id type } }`:                  {membership.RoleEditor, i(n.collection)},
		`mutation($i: ID!) { updateConnector(id: $i, input: {name: "New"}) { id } }`:                                           {membership.RoleEditor, i(n.connector)},
		`mutation($i: ID!) { startSync(connectorId: $i) { id } }`:                                                              {membership.RoleEditor, i(n.connector)},
		`mutation($i: [ID!]!) { createAPIKey(input: {name: "x", allowedHosts: ["*"], allowedCollections: $i}) { secretKey } }`: {membership.RoleAdmin, i([]any{n.collection})},
		`mutation($i: ID!) { revokeAPIKey(id: $i) { id } }`:                                                                    {membership.RoleAdmin, i(n.key)},
	}
}

func TestRolesDecideWhoMayChangeWhat(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	people := map[membership.Role]viewer.Viewer{membership.RoleOwner: ada.viewer}
	for _, role := range []membership.Role{membership.RoleViewer, membership.RoleEditor, membership.RoleAdmin} {
		people[role] = h.member(t, ada, strings.ToLower(string(role))+"@example.com", role)
	}
	for query, write := range writes(ada) {
		for role, v := range people {
			allowed := v.Role.AtLeast(viewer.Role(strings.ToLower(string(write.role))))
			got := h.ask(t, v, query, write.variables)
			if want := map[bool]string{true: "", false: "forbidden"}[allowed]; got.code() != want {
				t.Errorf("%s as %s: %s", query, role, got.body)
			}
		}
	}
	if got := h.ask(t, people[membership.RoleViewer], "{ collections { totalCount } }", nil); got.at("collections.totalCount") == nil {
		t.Errorf("a viewer reads: %s", got.body)
	}
	if got := h.ask(t, people[membership.RoleEditor], "{ apiKeys { totalCount } }", nil); got.code() != "forbidden" {
		t.Errorf("an editor lists keys: %s", got.body)
	}
}

func TestCredentialsAreNeverShownAndPartialUpdatesKeepOtherFields(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const fields = "{ id name type status enabled config docSync { syncStrategy scheduleInterval } nextSyncAt }"
	made := h.ask(t, ada.viewer, `mutation($i: ID!) { createConnector(input: {name: "Bucket", type: "s3", collection: $i,
		config: {bucket: "docs", region: "eu-1", prefix: "a/"}, credentials: {accessKeyId: "AKIA", secretAccessKey: "hush-hush"}}) `+fields+` }`,
		map[string]any{"i": ada.collection})
	id := made.at("createConnector.id")
	if made.code() != "" || made.at("createConnector.status") != "ACTIVE" || strings.Contains(made.body, "hush") {
		t.Fatalf("create: %s", made.body)
	}
	changed := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {config: {prefix: "b/", region: null},
		docSync: {syncStrategy: SCHEDULED, scheduleInterval: "15m"}}) `+fields+` }`, map[string]any{"i": id})
	config := fmt.Sprint(changed.at("updateConnector.config"))
	if config != "map[bucket:docs prefix:b/]" || changed.at("updateConnector.name") != "Bucket" ||
		changed.at("updateConnector.docSync.scheduleInterval") != "15m" || changed.at("updateConnector.nextSyncAt") == nil {
		t.Fatalf("update: %s", changed.body)
	}
	paused := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {enabled: false, docSync: {syncStrategy: MANUAL}}) `+fields+` }`, map[string]any{"i": id})
	if paused.at("updateConnector.status") != "PAUSED" || paused.at("updateConnector.nextSyncAt") != nil || paused.at("updateConnector.docSync.scheduleInterval") != "15m" {
		t.Fatalf("pause: %s", paused.body)
	}
	for name, input := range map[string]string{
		"config.bucket":           `config: {bucket: null}`,
		"config.nonsense":         `config: {nonsense: 1}`,
		"credentials.accessKeyId": `credentials: {accessKeyId: 1}`,
		"ConnectorSyncStrategy":   `docSync: {syncStrategy: SOMETIMES}`,
		"scheduleInterval":        `docSync: {scheduleInterval: "5m"}`,
		"name":                    `name: " "`,
	} {
		got := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {`+input+`}) { id } }`, map[string]any{"i": id})
		if got.code() != "invalid_request" || !strings.Contains(got.Errors[0].Message, name) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, `mutation($i: ID!) { startSync(connectorId: $i) { id } }`, map[string]any{"i": id}); got.code() != "conflict" {
		t.Errorf("a sync of a paused connector: %s", got.body)
	}
}

func TestDeletingACollectionDeletesItsContents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	stats := "query($i: ID!) { collection(id: $i) { connectorIds stats { documentCount embeddingCount storageBytes } } }"
	if got := h.ask(t, ada.viewer, stats, map[string]any{"i": ada.collection}); got.at("collection.stats.documentCount") != 1.0 || got.at("collection.stats.storageBytes") == 0.0 {
		t.Fatalf("before: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { deleteCollection(id: $i) }", map[string]any{"i": ada.collection}); got.code() != "" {
		t.Fatalf("delete: %s", got.body)
	}
	for _, query := range []string{"{ collections { totalCount } }", "{ connectors { totalCount } }", "{ documents { totalCount } }"} {
		if got := h.ask(t, ada.viewer, query, nil); !strings.Contains(got.body, `"totalCount":0`) {
			t.Errorf("%s after: %s", query, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, `{ search(input: {query: "xylophone", minScore: 0}) { total } }`, nil); got.at("search.total") != 0.0 {
		t.Errorf("search after: %s", got.body)
	}
}

func TestADocumentDeletedByHandIsGoneEverywhere(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	find := `{ search(input: {query: "xylophone secret word", minScore: 0}) { total results { title score snippet collection source } } }`
	if got := h.ask(t, ada.viewer, find, nil); got.at("search.total") != 1.0 || !strings.Contains(got.body, "Guide of ada") {
		t.Fatalf("before: %s", got.body)
	}
	wrong := map[string]any{"i": ada.document, "c": ada.collection}
	remove := "mutation($i: ID!, $c: ID!) { deleteDocument(id: $i, connectorId: $c) }"
	if got := h.ask(t, ada.viewer, remove, wrong); got.code() != "not_found" {
		t.Errorf("by another connector: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, remove, map[string]any{"i": ada.document, "c": ada.connector}); got.code() != "" {
		t.Fatalf("delete: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, find, nil); got.at("search.total") != 0.0 {
		t.Errorf("search after: %s", got.body)
	}
	for _, query := range []string{"query($i: ID!) { document(id: $i) { content } }", "query($i: ID!) { document(id: $i) { summary } }"} {
		if got := h.ask(t, ada.viewer, query, map[string]any{"i": ada.document}); got.code() != "not_found" {
			t.Errorf("%s after: %s", query, got.body)
		}
	}
}

func TestListsCostAFixedNumberOfStatements(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for i := range 30 {
		h.put(t, ada, fmt.Sprintf("page-%d.md", i), fmt.Sprintf("Page %d", i), "Some text about pages and what stands on them.")
	}
	got := h.ask(t, ada.viewer, "{ documents(first: 50) { totalCount edges { node { title collectionName source allMetadata } } } }", nil)
	if got.code() != "" || got.at("documents.totalCount") != 31.0 {
		t.Fatalf("documents: %s", got.body)
	}
	if n := strings.Count(got.body, `"collectionName":"Docs of ada"`); n != 31 {
		t.Errorf("%d of 31 documents name their collection", n)
	}
	for _, f := range graph.NewSchema(h.resolver).Schema().Types["Session"].Fields {
		if f.Name == "generation" || f.Name == "user" || strings.Contains(strings.ToLower(f.Name), "hash") {
			t.Errorf("%s of a session is shown by GraphQL", f.Name)
		}
	}
}
