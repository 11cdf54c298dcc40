package stack_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A directory manages people with a token that can do nothing else.
func TestADirectoryManagesPeopleByItsToken(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"SCIM_DEFAULT_ROLE": "editor"})
	var made struct {
		CreateServiceToken struct{ Secret string }
	}
	s.graphql(&made, `mutation { createServiceToken(input: {name: "Directory", role: ADMIN, groups: [SCIM]}) { secret } }`, nil)
	token := made.CreateServiceToken.Secret
	row, err := s.app.DB.Ent.Membership.Query().Only(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.app.Accounts.AddMember(t.Context(), row.WorkspaceID, "ada@example.com", "Ada", password, membership.RoleViewer); err != nil {
		t.Fatal(err)
	}
	ada := &service{t: t, app: s.app, url: s.url, http: s.http}
	ada.token = ada.signIn("ada@example.com")
	directory := &service{t: t, app: s.app, url: s.url, http: s.http, token: token}
	ask := func(method, path, body string) (status int, out map[string]any) {
		t.Helper()
		var sent io.Reader
		kind := ""
		if body != "" {
			sent, kind = strings.NewReader(body), "application/scim+json"
		}
		response := directory.request(method, path, kind, sent)
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 0 && json.Unmarshal(text, &out) != nil {
			t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
		}
		return response.StatusCode, out
	}
	status, bob := ask(http.MethodPost, "/scim/v2/Users", `{"userName":"bob@example.com","displayName":"Bob"}`)
	if roles, _ := bob["roles"].([]any); status != http.StatusCreated || len(roles) != 1 || roles[0].(map[string]any)["value"] != "editor" {
		t.Errorf("%d %v", status, bob)
	}
	status, found := ask(http.MethodGet, "/scim/v2/Users?filter=userName%20eq%20%22ada%40example.com%22", "")
	resources, _ := found["Resources"].([]any)
	if status != http.StatusOK || len(resources) != 1 {
		t.Fatalf("%d %v", status, found)
	}
	id, _ := resources[0].(map[string]any)["id"].(string)
	if me := ada.call(http.MethodGet, "/api/v1/auth/me", nil); me.status != http.StatusOK {
		t.Fatalf("before: %d %s", me.status, me.body)
	}
	if status, changed := ask(http.MethodPatch, "/scim/v2/Users/"+id, `{"Operations":[{"op":"Replace","path":"active","value":"False"}]}`); status != http.StatusOK || changed["active"] != false {
		t.Errorf("%d %v", status, changed)
	}
	if me := ada.call(http.MethodGet, "/api/v1/auth/me", nil); me.status != http.StatusUnauthorized {
		t.Errorf("the session of a suspended person: %d %s", me.status, me.body)
	}
	s.signOnRefused("ada@example.com")

	// Administrators see who is suspended, and may remove them.
	var members struct {
		Members struct {
			Edges []struct {
				Node struct {
					ID          string
					SuspendedAt *string
				}
			}
		}
	}
	s.graphql(&members, `{ members { edges { node { id suspendedAt } } } }`, nil)
	suspended := 0
	for _, e := range members.Members.Edges {
		if e.Node.SuspendedAt != nil && e.Node.ID == id {
			suspended++
		}
	}
	if suspended != 1 || len(members.Members.Edges) != 3 {
		t.Errorf("the members are %+v", members)
	}
	if removed := s.call(http.MethodDelete, "/api/v1/members/"+id, nil); removed.status != http.StatusNoContent {
		t.Errorf("%d %s", removed.status, removed.body)
	}

	for _, path := range []string{"/api/v1/members", "/api/v1/collections", "/api/v1/tokens", "/api/v1/audit-log", "/api/v1/workspace"} {
		if refused := directory.call(http.MethodGet, path, nil); refused.status != http.StatusForbidden {
			t.Errorf("the token of the directory at %s: %d %s", path, refused.status, refused.body)
		}
	}
	directory.token = ""
	if status, refused := ask(http.MethodGet, "/scim/v2/Users", ""); status != http.StatusUnauthorized || refused["detail"] == nil {
		t.Errorf("without a token: %d %v", status, refused)
	}
	if status, refused := ask(http.MethodGet, "/scim/v3/Users", ""); status != http.StatusNotFound || refused["Resources"] != nil {
		t.Errorf("another version: %d %v", status, refused)
	}
}

// signOnRefused fails if a person can sign in with the password.
func (s *service) signOnRefused(email string) {
	s.t.Helper()
	other := &service{t: s.t, app: s.app, url: s.url, http: s.http}
	if answer := other.call(http.MethodPost, "/api/v1/auth/login", map[string]any{"email": email, "password": password}); answer.status != http.StatusUnauthorized {
		s.t.Errorf("signing in: %d %s", answer.status, answer.body)
	}
}
