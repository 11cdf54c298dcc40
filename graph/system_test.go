package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/system"
	"github.com/magpie-search/magpie/internal/viewer"
)

// aGroup adds a group with two members to those that the source of the tenant's
// connector reported.
func (h *fixture) aGroup(t *testing.T, n *tenant, id string) {
	t.Helper()
	for _, statement := range []string{
		"update connectors set groups_generation = 1, groups_attempt = 1, groups_at = now() where workspace_id = $1 and id = $2 and $3 <> ''",
		"insert into principal_groups (workspace_id, connector_id, generation, principal, name) values ($1, $2, 1, 'group:' || $3::text, 'Name of ' || $3::text)",
		"insert into principal_members (workspace_id, connector_id, generation, principal, member) values ($1, $2, 1, 'group:' || $3::text, 'user:a@' || $3::text), ($1, $2, 1, 'group:' || $3::text, 'group:other')",
	} {
		if _, err := h.db.Pool.Exec(t.Context(), statement, n.viewer.Workspace, n.connector, id); err != nil {
			t.Fatal(err)
		}
	}
}

// aDirectoryGroup adds a group of the workspace's directory with people whom it manages, as SCIM does.
func (h *fixture) aDirectoryGroup(t *testing.T, n *tenant, name string, members ...viewer.Viewer) uuid.UUID {
	t.Helper()
	id := uuid.New()
	if _, err := h.db.Pool.Exec(t.Context(), "insert into directory_groups (id, workspace_id, name, name_key, created_at, updated_at) values ($1, $2, $3, lower($3), now(), now())",
		id, n.viewer.Workspace, name); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if _, err := h.db.Pool.Exec(t.Context(), "insert into directory_group_members (workspace_id, group_id, user_id) values ($1, $2, $3)", n.viewer.Workspace, id, m.Subject); err != nil {
			t.Fatal(err)
		}
		if _, err := h.db.Pool.Exec(t.Context(), `insert into directory_users (workspace_id, user_id, user_name, user_name_key, display_name, given_name, family_name, updated_at)
			values ($1, $2, $3, $3, '', '', '', now()) on conflict do nothing`, n.viewer.Workspace, m.Subject, m.Email); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func TestAdministratorsSeeTheGroupsOfTheDirectory(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	for _, name := range []string{"beta", "Alpha", "Gamma"} {
		h.aDirectoryGroup(t, ada, name, editor)
	}
	h.aDirectoryGroup(t, eve, "Strangers")
	const list = "query($m: String, $a: Cursor) { directoryGroups(matching: $m, after: $a, first: 2) { totalCount pageInfo { hasNextPage endCursor } edges { node { name memberCount } } } }"
	first := h.ask(t, ada.viewer, list, nil)
	if !strings.Contains(first.body, `[{"node":{"name":"Alpha","memberCount":1}},{"node":{"name":"beta","memberCount":1}}]`) || first.at("directoryGroups.totalCount") != 3.0 || first.at("directoryGroups.pageInfo.hasNextPage") != true {
		t.Errorf("first page: %s", first.body)
	}
	second := h.ask(t, ada.viewer, list, map[string]any{"a": first.at("directoryGroups.pageInfo.endCursor")})
	if !strings.Contains(second.body, `"edges":[{"node":{"name":"Gamma"`) || second.at("directoryGroups.pageInfo.hasNextPage") != false {
		t.Errorf("second page: %s", second.body)
	}
	if got := h.ask(t, ada.viewer, list, map[string]any{"m": "ET"}); got.at("directoryGroups.totalCount") != 1.0 {
		t.Errorf("matching: %s", got.body)
	}
	if got := h.ask(t, eve.viewer, list, nil); got.at("directoryGroups.totalCount") != 1.0 || strings.Contains(got.body, "Alpha") {
		t.Errorf("another workspace: %s", got.body)
	}
	if got := h.ask(t, editor, list, nil); got.code() != "forbidden" {
		t.Errorf("an editor: %s", got.body)
	}
}

func TestAdministratorsSeeTheGroupsOfTheSources(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	for _, id := range []string{"b", "a", "c/d"} {
		h.aGroup(t, ada, id)
	}
	h.aGroup(t, eve, "strangers")
	const list = "query($i: ID!, $m: String, $a: Cursor) { sourceGroups(connectorId: $i, matching: $m, after: $a, first: 2) { totalCount pageInfo { hasNextPage endCursor } edges { node { id name memberCount } } } }"
	first := h.ask(t, ada.viewer, list, map[string]any{"i": ada.connector})
	if !strings.Contains(first.body, `{"id":"a","name":"Name of a","memberCount":2}},{"node":{"id":"b",`) || first.at("sourceGroups.totalCount") != 3.0 || first.at("sourceGroups.pageInfo.hasNextPage") != true {
		t.Errorf("first page: %s", first.body)
	}
	second := h.ask(t, ada.viewer, list, map[string]any{"i": ada.connector, "a": first.at("sourceGroups.pageInfo.endCursor")})
	if !strings.Contains(second.body, `"edges":[{"node":{"id":"c/d"`) || second.at("sourceGroups.pageInfo.hasNextPage") != false {
		t.Errorf("second page: %s", second.body)
	}
	if got := h.ask(t, ada.viewer, list, map[string]any{"i": ada.connector, "m": "OF B"}); got.at("sourceGroups.totalCount") != 1.0 {
		t.Errorf("matching: %s", got.body)
	}
	const one = "query($i: ID!, $g: String!) { sourceGroup(connectorId: $i, groupId: $g) { id name memberCount emails groups domains } }"
	if got := h.ask(t, ada.viewer, one, map[string]any{"i": ada.connector, "g": "c/d"}); !strings.Contains(got.body, `"memberCount":2,"emails":["a@c/d"],"groups":["other"],"domains":[]`) {
		t.Errorf("one group: %s", got.body)
	}
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	for name, got := range map[string]answer{
		"forbidden": h.ask(t, editor, list, map[string]any{"i": ada.connector}),
		"not_found": h.ask(t, eve.viewer, one, map[string]any{"i": ada.connector, "g": "a"}),
	} {
		if got.code() != name || strings.Contains(got.body, "Name of") {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	if got := h.ask(t, eve.viewer, one, map[string]any{"i": eve.connector, "g": "a"}); got.code() != "not_found" {
		t.Errorf("another workspace's group at the own connector: %s", got.body)
	}
}

func TestTheSystemPageIsForAdministratorsAndNamesNoOtherWorkspace(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	h.quarantine(t, eve, eve.connector, "one.md")
	const ask = `{ system { version startedAt schemaVersion services { name version reachable } workers { id status concurrency running { name } } queues { name pending active retry archived oldestSeconds }
		models { kind name failing } collections { id name resident passages bytes } warnings { code text action } } }`
	if found := h.ask(t, ada.viewer, "query($i: ID!) { search(input: {query: \"xylophone\", collection: $i}) { total } }", map[string]any{"i": ada.collection}); found.code() != "" {
		t.Fatal(found.body)
	}
	got := h.ask(t, ada.viewer, ask, nil)
	for _, part := range []string{
		`"version":"`, `{"name":"PostgreSQL","version":"`, `{"name":"pgvector","version":"0.`, `{"name":"Redis","version":"`, `{"name":"magpie","pending":`, `{"name":"magpie-upkeep"`,
		`{"code":"NO_WORKER"`, `"name":"Docs of ada"`, `{"kind":"embedding"`,
	} {
		if !strings.Contains(got.body, part) {
			t.Errorf("%s is missing: %s", part, got.body)
		}
	}
	if strings.Contains(got.body, "of eve") || strings.Contains(got.body, eve.collection.String()) || strings.Contains(got.body, "QUARANTINE") {
		t.Errorf("it shows another workspace: %s", got.body)
	}
	if got := h.ask(t, eve.viewer, ask, nil); !strings.Contains(got.body, "QUARANTINE_WAITING") || strings.Contains(got.body, "of ada") {
		t.Errorf("the other workspace: %s", got.body)
	}
	for _, role := range []membership.Role{membership.RoleViewer, membership.RoleEditor} {
		if got := h.ask(t, h.member(t, ada, strings.ToLower(string(role))+"@example.com", role), ask, nil); got.code() != "forbidden" {
			t.Errorf("%s: %s", role, got.body)
		}
	}
}

// With open sign-up, strangers are administrators of their own workspaces.
func TestTheSystemPageOfAnOpenInstallationIsRestricted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const ask = `{ system { restricted workers { id } queues { name } models { name failing lastFailure { at reason } } warnings { code } } }`
	options := system.Options{
		Pool: h.db.Pool, Redis: h.redis, Queue: queue.NewAsynq(h.redis), Loaded: h.resolver.Search.Loaded, Now: time.Now,
		Models: []system.ConfiguredModel{{Kind: "chat", Name: "large", IsFailing: func() bool { return true }, LastFailure: func() (system.Failure, bool) {
			return system.Failure{At: time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), Reason: "The service took too long."}, true
		}}},
	}
	const failure = `"failing":true,"lastFailure":{"at":"2026-11-01T08:00:00Z","reason":"The service took too long."}`
	h.resolver.System = system.New(options)
	if got := h.ask(t, ada.viewer, ask, nil); got.at("system.restricted") != false || !strings.Contains(got.body, failure) || !strings.Contains(got.body, `"queues":[{`) {
		t.Errorf("closed: %s", got.body)
	}
	options.IsOpen = true
	h.resolver.System = system.New(options)
	if got := h.ask(t, ada.viewer, ask, nil); got.at("system.restricted") != true || !strings.Contains(got.body, `"workers":[],"queues":[],"models":[{"name":"large","failing":true,"lastFailure":null}]`) ||
		!strings.Contains(got.body, "NO_WORKER") {
		t.Errorf("open: %s", got.body)
	}
}

func TestTheLimitsAreThoseOfTheInstallation(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.resolver.Limits = model.Limits{UploadFileBytes: 5 << 20, UploadRequestBytes: 1 << 30, UploadFiles: 7}
	if got := h.ask(t, h.member(t, ada, "reader@example.com", membership.RoleViewer), "{ limits { uploadFileBytes uploadRequestBytes uploadFiles } }", nil); !strings.Contains(got.body, `{"uploadFileBytes":5242880,"uploadRequestBytes":1073741824,"uploadFiles":7}`) {
		t.Error(got.body)
	}
}
