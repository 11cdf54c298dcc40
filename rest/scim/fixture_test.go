package scim_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
	"github.com/magpie-search/magpie/rest/scim"
)

const passphrase = "a long enough passphrase"

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type uploads struct{}

func (uploads) WorkspaceBlobKeys(context.Context, uuid.UUID) ([]string, error) { return nil, nil }
func (uploads) DeleteBlobs(context.Context, []string) error                    { return nil }

// fixture is an installation with a workspace and its directory.
type fixture struct {
	db        *store.DB
	accounts  *authn.Accounts
	people    *people.People
	handler   *scim.Handler
	workspace uuid.UUID
	owner     uuid.UUID
	token     string
}

func newFixture(t *testing.T, options ...people.DirectoryOptions) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 12)
	must(t, err)
	t.Cleanup(db.Close)
	h := &fixture{db: db}
	h.accounts, err = authn.NewAccounts(db.Ent, authn.NewPasswords(), bytes.Repeat([]byte{7}, 32), nil)
	must(t, err)
	t.Cleanup(h.accounts.Close)
	h.people = people.New(db.Ent, h.accounts, people.Options{Attempts: ratelimit.New(ratelimit.Options{}), Uploads: uploads{}, Dashboard: "https://magpie.example.com"})
	var o people.DirectoryOptions
	if len(options) > 0 {
		o = options[0]
	}
	h.handler = scim.New(scim.Options{Accounts: h.accounts, Directory: people.NewDirectory(h.people, o), BaseURL: "https://magpie.example.com"})
	h.workspace, h.owner = h.house(t, "owner@example.com")
	h.token = h.service(t, h.workspace, h.owner, viewer.RoleAdmin, people.GroupDirectory)
	return h
}

func system(ctx context.Context) context.Context { return viewer.With(ctx, viewer.System(uuid.Nil)) }

// house makes a workspace with its owner.
func (h *fixture) house(t *testing.T, email string) (workspace, owner uuid.UUID) {
	t.Helper()
	person, err := h.accounts.CreateOwner(t.Context(), "House of "+email, email, "Owner", passphrase)
	must(t, err)
	row, err := h.db.Ent.Membership.Query().Where(membership.UserID(person.ID)).Only(system(t.Context()))
	must(t, err)
	return row.WorkspaceID, person.ID
}

// as returns the context of a person in a workspace.
func as(t *testing.T, workspace, person uuid.UUID, role viewer.Role) context.Context {
	t.Helper()
	return viewer.With(t.Context(), viewer.Viewer{Workspace: workspace, Subject: person, Session: uuid.New(), Kind: viewer.KindSession, Role: role, AllCollections: true})
}

// service makes a service token.
func (h *fixture) service(t *testing.T, workspace, owner uuid.UUID, role viewer.Role, groups ...viewer.Group) string {
	t.Helper()
	made, err := h.accounts.CreateServiceToken(as(t, workspace, owner, viewer.RoleOwner), authn.TokenDraft{Name: "Directory " + uuid.NewString(), Role: role, Groups: groups})
	must(t, err)
	return made.Secret
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

func (a answer) id() string { id, _ := a.body["id"].(string); return id }

func (a answer) resources() []any { list, _ := a.body["Resources"].([]any); return list }

// field returns a member of nested objects and lists: emails.0.value.
func (a answer) field(path string) any {
	var value any = a.body
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			if i := int(name[0] - '0'); i < len(v) {
				value = v[i]
			} else {
				return nil
			}
		default:
			return nil
		}
	}
	return value
}

// ask sends a request with the token of the directory. The body is JSON as text.
func (h *fixture) ask(t testing.TB, method, path, body string, headers ...string) answer {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), method, "https://magpie.example.com/scim/v2"+path, strings.NewReader(body))
	request.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		request.Header.Set("Content-Type", "application/scim+json; charset=utf-8")
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	recorder := httptest.NewRecorder()
	h.handler.ServeHTTP(recorder, request)
	a := answer{status: recorder.Code, header: recorder.Header(), text: recorder.Body.String()}
	if a.text != "" {
		if err := json.Unmarshal([]byte(a.text), &a.body); err != nil {
			t.Fatalf("%s %s: %d %s", method, path, a.status, a.text)
		}
		if kind := a.header.Get("Content-Type"); !strings.HasPrefix(kind, "application/scim+json") {
			t.Errorf("%s %s has the type %s", method, path, kind)
		}
	}
	return a
}

// want is ask, and fails for another status.
func (h *fixture) want(t testing.TB, status int, method, path, body string, headers ...string) answer {
	t.Helper()
	a := h.ask(t, method, path, body, headers...)
	if a.status != status {
		t.Fatalf("%s %s: %d %s, want %d", method, path, a.status, a.text, status)
	}
	if status >= 400 && (a.field("schemas.0") != "urn:ietf:params:scim:api:messages:2.0:Error" || a.body["status"] == nil || a.body["detail"] == "") {
		t.Errorf("%s %s is no error of SCIM: %s", method, path, a.text)
	}
	return a
}

// user makes a person and returns their ID.
func (h *fixture) user(t testing.TB, email string) string {
	t.Helper()
	return h.want(t, http.StatusCreated, http.MethodPost, "/Users", `{"userName":"`+email+`","active":true}`).id()
}

// actions returns the actions in the audit log of the workspace by the directory.
func (h *fixture) actions(t *testing.T) []string {
	t.Helper()
	rows, err := h.db.Ent.AuditEntry.Query().Order(auditentry.ByCreatedAt(), auditentry.ByID()).All(viewer.With(t.Context(), viewer.System(h.workspace)))
	must(t, err)
	var out []string
	for _, row := range rows {
		if row.ActorKind == auditentry.ActorKindToken {
			if row.TokenID == nil || !strings.HasPrefix(row.TokenName, "Directory") {
				t.Errorf("%s names no token: %+v", row.Action, row)
			}
			out = append(out, row.Action)
		}
	}
	return out
}
