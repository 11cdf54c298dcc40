package graph_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/vektah/gqlparser/v2/ast"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

// aToken returns a new token that who sees: a personal one of a person, or else a
// service token.
func aToken(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) uuid.UUID {
	t.Helper()
	draft := authn.TokenDraft{Name: "Token " + uuid.NewString()}
	if who.Kind != viewer.KindSession {
		draft.Role, draft.Groups = viewer.RoleViewer, []viewer.Group{"SEARCH"}
		return must[*authn.CreatedToken](t)(h.resolver.Accounts.CreateServiceToken(viewer.With(t.Context(), n.viewer), draft)).Row.ID
	}
	who.Token = uuid.Nil
	return must[*authn.CreatedToken](t)(h.resolver.Accounts.CreatePersonalToken(viewer.With(t.Context(), who), draft)).Row.ID
}

// answerLogin is the begin of an answer to the command line.
const answerLogin = `mutation { answerLogin(input: {redirectUri: "http://127.0.0.1:1234/callback", state: "s", codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",`

func tokenCalls() map[string]maker {
	return map[string]maker{
		"Query.myTokens": fixed("{ myTokens { name kind status role groups } }", nil),
		"Query.tokens":   fixed("{ tokens(kind: SERVICE) { totalCount } }", nil),
		"Mutation.createPersonalToken": func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
			return call{query: "mutation($n: String!) { createPersonalToken(input: {name: $n, role: VIEWER, groups: [SEARCH]}) { token { id } } }", variables: map[string]any{"n": uuid.NewString()}}
		},
		"Mutation.createServiceToken": func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
			return call{query: "mutation($n: String!) { createServiceToken(input: {name: $n, role: ADMIN, groups: [SEARCH]}) { token { id } } }", variables: map[string]any{"n": uuid.NewString()}}
		},
		"Mutation.answerLogin": fixed(answerLogin+` token: {name: "Laptop", role: VIEWER, groups: [SEARCH]}}) { redirectUrl } }`, nil),
		"Mutation.revokeToken": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			return call{query: "mutation($i: ID!) { revokeToken(id: $i) { id status } }", variables: map[string]any{"i": aToken(t, h, n, who)}}
		},
	}
}

// Whatever a token may reach belongs to a group: each root field, and each kind of
// object, which links lead to.
func TestEveryRootFieldAndEveryKindOfObjectHasAGroup(t *testing.T) {
	t.Parallel()
	schema := graph.NewSchema(&graph.Resolver{}).Schema()
	for _, root := range []*ast.Definition{schema.Query, schema.Mutation, schema.Subscription} {
		for _, f := range root.Fields {
			if n := len(f.Directives.ForNames("group")); n != 1 && !strings.HasPrefix(f.Name, "__") {
				t.Errorf("%s.%s is in %d groups: give it one by @group", root.Name, f.Name, n)
			}
		}
	}
	for _, kind := range schema.GetPossibleTypes(schema.Types["Node"]) {
		if n := len(kind.Directives.ForNames("group")); n != 1 {
			t.Errorf("%s is in %d groups: add it to graph/schema/group.graphql", kind.Name, n)
		}
	}
}

// by returns the viewer of a token.
func (h *fixture) by(t *testing.T, secret string) (viewer.Viewer, error) {
	t.Helper()
	v, err := h.resolver.Accounts.Authenticate(t.Context(), secret)
	v.Surface = viewer.SurfaceDashboard
	return v, err
}

func (h *fixture) personal(t *testing.T, who viewer.Viewer, draft authn.TokenDraft) *authn.CreatedToken {
	t.Helper()
	draft.Name = "Token " + uuid.NewString()
	return must[*authn.CreatedToken](t)(h.resolver.Accounts.CreatePersonalToken(viewer.With(t.Context(), who), draft))
}

func TestATokenIsLimitedToItsGroupsWhereverAnOperationLeads(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	token := must[viewer.Viewer](t)(h.by(t, h.personal(t, ada.viewer, authn.TokenDraft{Groups: []viewer.Group{"COLLECTIONS"}}).Secret))
	id := map[string]any{"i": ada.collection, "c": ada.connector}
	for query, missing := range map[string]string{
		"{ collections { edges { node { name } } } }":                                                                          "",
		"{ me { user { email } role } }":                                                                                       "",
		"{ __schema { queryType { name } } }":                                                                                  "",
		"query($i: ID!) { node(id: $i) { id ... on Collection { name } } }":                                                    "",
		"{ connectors { totalCount } }":                                                                                        "CONNECTORS",
		"{ collections { totalCount } connectors { totalCount } }":                                                             "CONNECTORS",
		"{ ...all } fragment all on Query { ... { connectors { totalCount } } }":                                               "CONNECTORS",
		"{ connectors @skip(if: true) { totalCount } }":                                                                        "CONNECTORS",
		"query($i: ID!) { collection(id: $i) { connectors(first: 1) { edges { node { name } } } } }":                           "CONNECTORS",
		"query($i: ID!) { collection(id: $i) { ...c } } fragment c on Collection { name connectors(first: 1) { totalCount } }": "CONNECTORS",
		"query($c: ID!) { node(id: $c) { ... on Connector { name } } }":                                                        "CONNECTORS",
		"query($c: ID!) { node(id: $c) { ...c } } fragment c on Connector { name }":                                            "CONNECTORS",
		"query($c: ID!) { nodes(ids: [$c]) { ... on Node { ... on Connector { documents(first: 1) { totalCount } } } } }":      "CONNECTORS",
		"{ apiKeys { totalCount } }":                                                                                           "KEYS",
		"subscription($c: ID!) { connectorSync(connectorId: $c) { __typename } }":                                              "CONNECTORS",
		"mutation { createConnector(input: {name: \"x\", type: \"file_upload\", collection: \"x\"}) { id } }":                  "CONNECTORS",
		"mutation { createPersonalToken(input: {name: \"x\"}) { secret } }":                                                    "sign in",
		"mutation { signIn(input: {email: \"ada@example.com\", password: \"correct horse battery\"}) { accessToken } }":        "sign in",
	} {
		used := map[string]any{}
		for name, value := range id {
			if strings.Contains(query, "$"+name+":") {
				used[name] = value
			}
		}
		got := h.ask(t, token, query, used)
		if missing == "" && got.code() != "" {
			t.Errorf("%s: %s", query, got.body)
		}
		if missing != "" && (got.code() != "forbidden" || !strings.Contains(got.body, missing)) {
			t.Errorf("%s: %s, want %s", query, got.body, missing)
		}
	}
	if got := h.ask(t, token, "query($i: ID!) { collection(id: $i) { name } }", map[string]any{"i": eve.collection}); got.code() != "not_found" {
		t.Errorf("a collection of another workspace: %s", got.body)
	}
}

func TestAPersonalTokenNeverOutranksItsPerson(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	full := h.personal(t, editor, authn.TokenDraft{})
	low := must[viewer.Viewer](t)(h.by(t, h.personal(t, editor, authn.TokenDraft{Role: viewer.RoleViewer}).Secret))
	const create = `mutation { createCollection(input: {name: "By a token"}) { id } }`
	if got := h.ask(t, low, create, nil); got.code() != "forbidden" || !strings.Contains(got.body, "editor") {
		t.Errorf("with a lower role: %s", got.body)
	}
	v := must[viewer.Viewer](t)(h.by(t, full.Secret))
	if got := h.ask(t, v, create, nil); got.code() != "" {
		t.Errorf("with the role of the person: %s", got.body)
	}
	made := h.entries(t, ada)
	last := made[len(made)-1]
	if last.ActorKind != auditentry.ActorKindPerson || last.ActorName != "editor@example.com" || last.TokenID == nil || *last.TokenID != full.Row.ID || last.TokenName != full.Row.Name {
		t.Errorf("the entry names %s %q by the token %v %q", last.ActorKind, last.ActorName, last.TokenID, last.TokenName)
	}
	if _, err := h.resolver.Accounts.CreatePersonalToken(viewer.With(t.Context(), editor), authn.TokenDraft{Name: "Up", Role: viewer.RoleAdmin}); apierr.From(err).Code != apierr.Forbidden {
		t.Errorf("a token above its person: %v", err)
	}
	member := must[uuid.UUID](t)(h.db.Ent.Membership.Query().Where(membership.UserID(editor.Subject)).OnlyID(viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))))
	owner := viewer.With(t.Context(), ada.viewer)
	must[*ent.Membership](t)(h.resolver.People.SetRole(owner, member, membership.RoleViewer))
	if v = must[viewer.Viewer](t)(h.by(t, full.Secret)); v.Role != viewer.RoleViewer {
		t.Errorf("after its person was demoted, the token has the role %s", v.Role)
	}
	if err := h.resolver.People.Remove(owner, member); err != nil {
		t.Fatal(err)
	}
	if _, err := h.by(t, full.Secret); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("after its person was removed: %v", err)
	}
}

func TestAServiceTokenReadsWhatEverybodyMayRead(t *testing.T) {
	t.Parallel()
	d := newDossier(t)
	made := must[*authn.CreatedToken](t)(d.h.resolver.Accounts.CreateServiceToken(viewer.With(t.Context(), d.viewer),
		authn.TokenDraft{Name: "CI", Role: viewer.RoleAdmin, Groups: []viewer.Group{"DOCUMENTS", "SEARCH", "COLLECTIONS", "KEYS"}}))
	v := must[viewer.Viewer](t)(d.h.by(t, made.Secret))
	if got := d.h.ask(t, v, "query($i: ID!) { document(id: $i) { title } }", map[string]any{"i": d.document}); got.code() != "not_found" {
		t.Errorf("a document of few readers: %s", got.body)
	}
	got := d.h.ask(t, v, `{ search(input: {query: "the island of the quokka"}) { results { title } } }`, nil)
	if got.code() != "" || strings.Contains(got.body, marker) {
		t.Errorf("a search finds it: %s", got.body)
	}
	if got := d.h.ask(t, v, `mutation { createCollection(input: {name: "By CI"}) { id } }`, nil); got.code() != "" {
		t.Errorf("a change: %s", got.body)
	}
	entries := d.h.entries(t, d.tenant)
	if last := entries[len(entries)-1]; last.ActorKind != auditentry.ActorKindToken || last.ActorName != "CI" || last.ActorID == nil || *last.ActorID != made.Row.ID {
		t.Errorf("the entry names %s %q", last.ActorKind, last.ActorName)
	}
	if got := d.h.ask(t, v, "mutation($i: ID!) { revokeToken(id: $i) { status } }", map[string]any{"i": made.Row.ID}); got.at("revokeToken.status") != "REVOKED" {
		t.Errorf("its own revocation: %s", got.body)
	}
	if _, err := d.h.by(t, made.Secret); apierr.From(err).Code != apierr.Unauthorized {
		t.Errorf("after its revocation: %v", err)
	}
}

func TestTokensOfOthersAreNotFound(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	mine := aToken(t, h, ada, editor)
	const revoke = "mutation($i: ID!) { revokeToken(id: $i) { status } }"
	if got := h.ask(t, editor, revoke, map[string]any{"i": ada.token}); got.code() != "not_found" {
		t.Errorf("the token of the owner: %s", got.body)
	}
	if got := h.ask(t, editor, "query($i: ID!) { node(id: $i) { ... on Token { name } } }", map[string]any{"i": ada.token}); got.code() != "not_found" {
		t.Errorf("the node of the owner's token: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, revoke, map[string]any{"i": mine}); got.at("revokeToken.status") != "REVOKED" {
		t.Errorf("by an administrator: %s", got.body)
	}
	within := time.Now().Add(time.Hour)
	for name, make := range map[string]func(context.Context) error{
		"an owner's service token": func(ctx context.Context) error {
			_, err := h.resolver.Accounts.CreateServiceToken(ctx, authn.TokenDraft{Name: "Up", Role: viewer.RoleOwner, Groups: []viewer.Group{"SEARCH"}, ExpiresAt: &within})
			return err
		},
		"one without groups": func(ctx context.Context) error {
			_, err := h.resolver.Accounts.CreateServiceToken(ctx, authn.TokenDraft{Name: "None", Role: viewer.RoleViewer})
			return err
		},
	} {
		if err := make(viewer.With(t.Context(), ada.viewer)); apierr.From(err).Code != apierr.InvalidRequest {
			t.Errorf("%s: %v", name, err)
		}
	}
}
