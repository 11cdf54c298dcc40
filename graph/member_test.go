package graph_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
)

// countRows returns the number of rows of a workspace in each table that has some and
// that the application may read.
func (h *fixture) countRows(t *testing.T, workspace uuid.UUID) map[string]int {
	t.Helper()
	tx, err := h.db.Pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	if _, err := tx.Exec(t.Context(), "select set_config('magpie.workspace', $1, true)", workspace.String()); err != nil {
		t.Fatal(err)
	}
	rows, err := tx.Query(t.Context(), `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'workspace_id'
		where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and has_table_privilege(c.oid, 'select')`)
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		tables = append(tables, name)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, name := range tables {
		var n int
		if err := tx.QueryRow(t.Context(), "select count(*) from "+name+" where workspace_id = $1", workspace).Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			counts[name] = n
		}
	}
	return counts
}

func TestDeletingAWorkspaceLeavesNothingOfIt(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	for _, n := range []*tenant{ada, eve} {
		if got := h.ask(t, n.viewer, `{ search(input: {query: "xylophone", minScore: 0}) { total } }`, nil); got.code() != "" {
			t.Fatalf("%s", got.body)
		}
		// Reading the usage stores the counts. The query must have been counted before.
		if got := h.ask(t, n.viewer, `{ usage { queries } }`, nil); got.at("usage.queries") != 1.0 {
			t.Fatalf("%s", got.body)
		}
	}
	before, others := h.countRows(t, ada.viewer.Workspace), h.countRows(t, eve.viewer.Workspace)
	for _, table := range []string{"memberships", "sessions", "invitations", "collections", "documents", "passages", "api_keys", "conversations", "sync_jobs", "source_files", "usage_counters"} {
		if before[table] == 0 {
			t.Errorf("the fixture has no row in %s", table)
		}
	}
	remove := "mutation($n: String!) { deleteWorkspace(input: {name: $n}) }"
	if got := h.ask(t, ada.viewer, remove, map[string]any{"n": "Ada"}); got.code() != "invalid_request" {
		t.Errorf("by another name: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, remove, map[string]any{"n": "ada"}); got.code() != "" {
		t.Fatalf("%s", got.body)
	}
	if left := h.countRows(t, ada.viewer.Workspace); len(left) > 0 {
		t.Errorf("rows left: %v", left)
	}
	for table, n := range h.countRows(t, eve.viewer.Workspace) {
		if n != others[table] {
			t.Errorf("another workspace has %d of %d rows of %s", n, others[table], table)
		}
	}
}

func TestAnInvitationsIDDoesNotBypassARole(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for role, want := range map[membership.Role]string{membership.RoleViewer: "forbidden", membership.RoleEditor: "forbidden", membership.RoleAdmin: ""} {
		v := h.member(t, ada, strings.ToLower(string(role))+"@example.com", role)
		if got := h.ask(t, v, "query($i: ID!) { node(id: $i) { id } }", map[string]any{"i": ada.invitation}); got.code() != want {
			t.Errorf("as %s: %s", role, got.body)
		}
		if got := h.ask(t, v, "query($i: ID!) { node(id: $i) { ... on Member { role user { email } } } }", map[string]any{"i": ada.member}); got.at("node.role") != "OWNER" {
			t.Errorf("a member as %s: %s", role, got.body)
		}
	}
}

func TestAPersonOverGraphQL(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	signUp := `mutation { signUp(input: {workspace: "Acme", email: "ada@example.com", name: "Ada", password: "correct horse battery"}) { accessToken refreshToken } }`
	if got := h.ask(t, anonymous(), "{ signUpAllowed }", nil); got.at("signUpAllowed") != true {
		t.Errorf("%s", got.body)
	}
	got := h.ask(t, anonymous(), signUp, nil)
	token, _ := got.at("signUp.accessToken").(string)
	ada, err := h.resolver.Accounts.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatalf("%v: %s", err, got.body)
	}
	ada.Surface = "DASHBOARD"
	if got := h.ask(t, anonymous(), signUp, nil); got.code() != "forbidden" {
		t.Errorf("the second: %s", got.body)
	}
	if got := h.ask(t, ada, `mutation { updateProfile(input: {name: " Ada L. "}) { name } }`, nil); got.at("updateProfile.name") != "Ada L." {
		t.Errorf("%s", got.body)
	}
	h.preferencesArePersonal(t, ada)
	if got := h.ask(t, ada, `mutation { updateProfile(input: {name: "\u00a0"}) { name } }`, nil); got.code() != "invalid_request" {
		t.Errorf("%s", got.body)
	}
	if got := h.ask(t, ada, "{ me { user { name } workspace { name } role hasPassword } mySessions { current workspaceId } myWorkspaces { name role current } }", nil); got.body !=
		`{"data":{"me":{"user":{"name":"Ada L."},"workspace":{"name":"Acme"},"role":"OWNER","hasPassword":true},`+
			`"mySessions":[{"current":true,"workspaceId":"`+ada.Workspace.String()+`"}],"myWorkspaces":[{"name":"Acme","role":"OWNER","current":true}]}}` {
		t.Errorf("%s", got.body)
	}
	made := h.ask(t, ada, `mutation { inviteMember(input: {email: "grace@example.com", role: EDITOR}) { token invitation { role status } } }`, nil)
	if made.at("inviteMember.invitation.status") != "PENDING" || made.at("inviteMember.invitation.role") != "EDITOR" {
		t.Fatalf("%s", made.body)
	}
	accepted := h.ask(t, anonymous(), `mutation($t: String!) { acceptInvitation(input: {token: $t, name: "Grace", password: "another horse battery"}) { accessToken } }`,
		map[string]any{"t": made.at("inviteMember.token")})
	if accepted.code() != "" {
		t.Fatalf("%s", accepted.body)
	}
	list := h.ask(t, ada, `{ members(text: "GRACE") { totalCount edges { node { id role user { name email } } } } invitations(status: ACCEPTED) { totalCount } }`, nil)
	if list.at("members.totalCount") != 1.0 || list.at("invitations.totalCount") != 1.0 || !strings.Contains(list.body, `"role":"EDITOR","user":{"name":"Grace"`) {
		t.Fatalf("%s", list.body)
	}
	member := list.at("members.edges").([]any)[0].(map[string]any)["node"].(map[string]any)["id"]
	if got := h.ask(t, ada, "mutation($i: ID!) { updateMember(id: $i, input: {role: ADMIN}) { role user { email } } }", map[string]any{"i": member}); got.at("updateMember.role") != "ADMIN" {
		t.Errorf("%s", got.body)
	}
	if got := h.ask(t, ada, "mutation($i: ID!) { removeMember(id: $i) }", map[string]any{"i": member}); got.at("removeMember") != member {
		t.Errorf("%s", got.body)
	}
	if got := h.ask(t, ada, "mutation { signOutEverywhere }", nil); got.code() != "" {
		t.Errorf("%s", got.body)
	}
	if _, err := h.resolver.Accounts.Authenticate(t.Context(), token); err == nil {
		t.Error("the old token is accepted")
	}
}

// preferencesArePersonal changes a person's preferences, which others do not see.
func (h *fixture) preferencesArePersonal(t *testing.T, ada viewer.Viewer) {
	t.Helper()
	const shown = "{ me { preferences { language theme timeZone } user { preferences { theme } } } }"
	if got := h.ask(t, ada, shown, nil); got.at("me.preferences.theme") != "SYSTEM" || got.at("me.preferences.language") != nil || got.at("me.preferences.timeZone") != nil {
		t.Errorf("at first: %s", got.body)
	}
	set := func(input string) answer {
		return h.ask(t, ada, "mutation { updateProfile(input: "+input+") { name preferences { language theme timeZone hideFirstSteps } } }", nil)
	}
	if got := set(`{preferences: {language: "de", theme: DARK, timeZone: "Europe/Berlin"}}`); got.at("updateProfile.preferences.theme") != "DARK" || got.at("updateProfile.name") != "Ada L." {
		t.Errorf("set: %s", got.body)
	}
	if got := set(`{preferences: {timeZone: null}}`); got.at("updateProfile.preferences.timeZone") != nil || got.at("updateProfile.preferences.language") != "de" {
		t.Errorf("cleared: %s", got.body)
	}
	if got := h.ask(t, ada, shown, nil); got.at("me.preferences.theme") != "DARK" || got.at("me.user.preferences.theme") != "DARK" {
		t.Errorf("kept: %s", got.body)
	}
	// The first steps are those of a workspace.
	for _, hide := range []bool{true, true, false, true} {
		if got := set(fmt.Sprintf(`{preferences: {hideFirstSteps: %v}}`, hide)); got.at("updateProfile.preferences.hideFirstSteps") != hide || got.at("updateProfile.preferences.language") != "de" {
			t.Errorf("first steps: %s", got.body)
		}
	}
	elsewhere := ada
	elsewhere.Workspace = uuid.New()
	if got := h.ask(t, elsewhere, `mutation { updateProfile(input: {name: "Ada L."}) { preferences { theme hideFirstSteps } } }`, nil); got.at("updateProfile.preferences.hideFirstSteps") != false || got.at("updateProfile.preferences.theme") != "DARK" {
		t.Errorf("in another workspace: %s", got.body)
	}
	other := ada
	other.Subject = uuid.New()
	if got := h.ask(t, other, "{ members { edges { node { user { name preferences { theme } } } } } }", nil); got.code() != "" || !strings.Contains(got.body, "Ada L.") || strings.Contains(got.body, "DARK") {
		t.Errorf("others see: %s", got.body)
	}
	for input, part := range map[string]string{
		`{}`: "or preferences must be given", `{preferences: {}}`: "or preferences must be given", `{preferences: {language: "german language"}}`: "language tag",
		`{preferences: {timeZone: "Mars/Olympus"}}`: "time zone database", `{preferences: {timeZone: "Local"}}`: "time zone database", `{preferences: {timeZone: "../etc/passwd"}}`: "time zone database",
		`{preferences: {language: ""}}`: "language tag",
	} {
		if got := set(input); got.code() != "invalid_request" || !strings.Contains(got.body, part) {
			t.Errorf("%s: %s", input, got.body)
		}
	}
}
