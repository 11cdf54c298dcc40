package graph_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/identity/people"
	"github.com/magpie-search/magpie/internal/identity/signon"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/testkit/samlserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

const nextPassword = "another horse battery"

// newOpenFixture returns a fixture where everybody may sign up, with a provider of OAuth
// grants and of sign-ins.
func newOpenFixture(t *testing.T) *fixture {
	t.Helper()
	h := newFixture(t)
	h.resolver.People = people.New(h.db.Ent, h.resolver.Accounts, people.Options{
		SignUp: people.SignUpOpen, Attempts: ratelimit.New(ratelimit.Options{}), Uploads: h.files, Dashboard: "https://app.example.com",
	})
	kinds := h.resolver.Kinds
	h.provider = withOAuth(t, h)
	h.resolver.Kinds = kinds
	h.changeConnectors(func(o *connector.Options) { o.Kinds = kinds })
	const base = "https://magpie.example.com"
	h.provider.Register(authserver.Client{ID: "sign-in", Secret: "s3cret", Redirects: []string{base + signon.CallbackPath}})
	h.resolver.SignOn = signon.New(h.db.Ent, h.db.Pool, oauth.NewFlows(h.db.Pool, h.box, nil), h.resolver.Accounts, signon.Options{
		Issuer: h.provider.URL, ClientID: "sign-in", ClientSecret: "s3cret", Name: "Example ID", BaseURL: base, Attempts: ratelimit.New(ratelimit.Options{}), Log: h.resolver.Log,
	})
	t.Cleanup(h.resolver.SignOn.Close)
	h.idp = samlserver.Start(t)
	client := oauth.NewHTTPClient()
	t.Cleanup(client.CloseIdleConnections)
	h.resolver.SAML = signon.NewSAML(h.db.Ent, h.db.Pool, oauth.NewFlows(h.db.Pool, h.box, nil), h.resolver.Accounts, signon.SAMLOptions{
		LoadMetadata: signon.FetchMetadata(client, h.idp.MetadataURL), BaseURL: base, Attempts: ratelimit.New(ratelimit.Options{}), Log: h.resolver.Log,
	})
	return h
}

// somebody adds a member with a role and signs them in.
func (h *fixture) somebody(t *testing.T, n *tenant, role membership.Role) viewer.Viewer {
	t.Helper()
	return h.member(t, n, uuid.NewString()+"@people.example", role)
}

// double adds a member with who's role. It returns the zero viewer if who has none.
func (h *fixture) double(t *testing.T, n *tenant, who viewer.Viewer) viewer.Viewer {
	t.Helper()
	if who.Kind != viewer.KindSession {
		return viewer.Viewer{}
	}
	double := h.somebody(t, n, roleRow(who.Role))
	double.Token, double.AllGroups = who.Token, who.AllGroups
	return double
}

func roleRow(role viewer.Role) membership.Role {
	return map[viewer.Role]membership.Role{
		viewer.RoleViewer: membership.RoleViewer, viewer.RoleEditor: membership.RoleEditor, viewer.RoleAdmin: membership.RoleAdmin, viewer.RoleOwner: membership.RoleOwner,
	}[role]
}

// person returns who, or the tenant's owner if who is not a person.
func (n *tenant) person(who viewer.Viewer) viewer.Viewer {
	if who.Kind != viewer.KindSession {
		return n.viewer
	}
	return who
}

// ownerElsewhere returns the owner of another workspace with the given name.
func (h *fixture) ownerElsewhere(t *testing.T, name string) viewer.Viewer {
	t.Helper()
	email := uuid.NewString() + "@elsewhere.example"
	must[*ent.User](t)(h.resolver.Accounts.CreateOwner(t.Context(), name, email, "Somebody else", password))
	return h.signIn(t, email)
}

func (h *fixture) membership(t *testing.T, v viewer.Viewer) uuid.UUID {
	t.Helper()
	return must[uuid.UUID](t)(h.db.Ent.Membership.Query().Where(membership.UserID(v.Subject), membership.WorkspaceID(v.Workspace)).
		OnlyID(viewer.With(t.Context(), viewer.System(v.Workspace))))
}

func anEditor(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return h.membership(t, h.somebody(t, n, membership.RoleEditor))
}

// invited returns an open invitation by a workspace's owner.
func (h *fixture) invited(t *testing.T, owner viewer.Viewer, email string) *people.SentInvitation {
	t.Helper()
	return must[*people.SentInvitation](t)(h.resolver.People.Invite(viewer.With(t.Context(), owner), email, membership.RoleViewer))
}

func anInvitation(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	return h.invited(t, n.viewer, uuid.NewString()+"@guests.example").Row.ID
}

func peopleCalls() map[string]maker {
	return map[string]maker{
		"Query.members":      fixed("{ members { totalCount edges { node { role user { email } } } } }", nil),
		"Query.member":       on("query($i: ID!) { member(id: $i) { role user { email } } }", anEditor),
		"Query.invitations":  fixed("{ invitations { totalCount edges { node { email status } } } }", nil),
		"Query.invitation":   on("query($i: ID!) { invitation(id: $i) { email status } }", anInvitation),
		"Query.mySessions":   fixed("{ mySessions { id current } }", nil),
		"Query.myWorkspaces": fixed("{ myWorkspaces { id name role } }", nil),

		"Mutation.signUp": func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
			return call{query: `mutation($e: String!, $p: String!) { signUp(input: {workspace: "New", name: "New", email: $e, password: $p}) { accessToken } }`,
				variables: map[string]any{"e": uuid.NewString() + "@new.example", "p": password}}
		},
		"Mutation.signIn": func(_ *testing.T, _ *fixture, n *tenant, _ viewer.Viewer) call {
			return call{query: "mutation($e: String!, $p: String!) { signIn(input: {email: $e, password: $p}) { accessToken } }", variables: map[string]any{"e": n.email, "p": password}}
		},
		"Mutation.refreshSession": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			tokens := must[authn.Tokens](t)(h.resolver.Accounts.SignIn(t.Context(), n.email, password))
			return call{query: "mutation($r: String!) { refreshSession(refreshToken: $r) { accessToken } }", variables: map[string]any{"r": tokens.Refresh}}
		},
		"Mutation.signOut":           byDouble("mutation { signOut }", nil),
		"Mutation.signOutEverywhere": byDouble("mutation { signOutEverywhere }", nil),
		"Mutation.endSession": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			as := h.double(t, n, who)
			other := n.viewer.Session
			if as.Email != "" {
				other = h.signIn(t, as.Email).Session
			}
			return call{query: "mutation($i: ID!) { endSession(id: $i) }", variables: map[string]any{"i": other}, as: as}
		},
		"Mutation.changePassword": byDouble("mutation($p: String!, $n: String!) { changePassword(input: {currentPassword: $p, newPassword: $n}) }",
			map[string]any{"p": password, "n": nextPassword}),
		"Mutation.resetPassword": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			made := must[*people.PasswordReset](t)(h.resolver.People.CreateReset(viewer.With(t.Context(), n.viewer), anEditor(t, h, n)))
			return call{query: "mutation($t: String!, $p: String!) { resetPassword(input: {token: $t, password: $p}) { accessToken } }",
				variables: map[string]any{"t": made.Token, "p": nextPassword}}
		},
		"Mutation.updateProfile": byDouble(`mutation { updateProfile(input: {name: "Another name"}) { name } }`, nil),
		"Mutation.switchWorkspace": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			other, as := h.ownerElsewhere(t, "Elsewhere"), h.double(t, n, who)
			if as.Kind != "" {
				must[*ent.Membership](t)(h.resolver.Accounts.Join(viewer.With(t.Context(), viewer.System(uuid.Nil)), other.Workspace, as.Subject, membership.RoleViewer))
			}
			return call{query: "mutation($i: ID!) { switchWorkspace(id: $i) { accessToken } }", variables: map[string]any{"i": other.Workspace}, as: as}
		},
		"Mutation.createWorkspace": byDouble(`mutation { createWorkspace(input: {name: "Further"}) { name } }`, nil),
		"Mutation.leaveWorkspace":  byDouble("mutation { leaveWorkspace }", nil),
		"Mutation.updateWorkspace": fixed(`mutation { updateWorkspace(input: {name: "Renamed"}) { name } }`, nil),
		"Mutation.deleteWorkspace": func(t *testing.T, h *fixture, _ *tenant, who viewer.Viewer) call {
			c := call{query: `mutation { deleteWorkspace(input: {name: "Doomed"}) }`}
			doomed := h.ownerElsewhere(t, "Doomed")
			switch {
			case who.Kind != viewer.KindSession:
			case who.Role == viewer.RoleOwner:
				c.as = doomed
			default:
				c.as = h.double(t, &tenant{viewer: doomed}, who)
			}
			return c
		},
		"Mutation.inviteMember": func(*testing.T, *fixture, *tenant, viewer.Viewer) call {
			return call{query: "mutation($e: String!) { inviteMember(input: {email: $e, role: EDITOR}) { invitation { id } } }",
				variables: map[string]any{"e": uuid.NewString() + "@guests.example"}}
		},
		"Mutation.resendInvitation": on("mutation($i: ID!) { resendInvitation(id: $i) { invitation { id } } }", anInvitation),
		"Mutation.revokeInvitation": on("mutation($i: ID!) { revokeInvitation(id: $i) { status } }", anInvitation),
		// A signed-in person accepts an invitation to another workspace, other callers to this one.
		"Mutation.acceptInvitation": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			if as := h.double(t, n, who); as.Kind != "" {
				return call{query: "mutation($t: String!) { acceptInvitation(input: {token: $t}) { accessToken } }",
					variables: map[string]any{"t": h.invited(t, h.ownerElsewhere(t, "Elsewhere"), as.Email).Token}, as: as}
			}
			return call{query: `mutation($t: String!, $p: String!) { acceptInvitation(input: {token: $t, name: "Guest", password: $p}) { accessToken } }`,
				variables: map[string]any{"t": h.invited(t, n.viewer, uuid.NewString()+"@guests.example").Token, "p": password}}
		},
		"Mutation.updateMember":        on("mutation($i: ID!) { updateMember(id: $i, input: {role: VIEWER}) { role } }", anEditor),
		"Mutation.removeMember":        on("mutation($i: ID!) { removeMember(id: $i) }", anEditor),
		"Mutation.createPasswordReset": on("mutation($i: ID!) { createPasswordReset(memberId: $i) { url } }", anEditor),
	}
}

// signOnCalls returns the calls that need the provider of newOpenFixture.
func signOnCalls() map[string]maker {
	return map[string]maker{
		"Query.oauthGrants":   fixed("{ oauthGrants { totalCount edges { node { account } } } }", nil),
		"Mutation.startOAuth": fixed(`mutation { startOAuth(input: {provider: "google"}) { authorizationUrl } }`, nil),
		// The session must be the one that began. A viewer's connection is refused.
		"Mutation.finishOAuth": func(t *testing.T, h *fixture, n *tenant, who viewer.Viewer) call {
			h.browser(uuid.NewString() + "@google.example")
			begun, err := h.resolver.Grants.Begin(viewer.With(t.Context(), n.person(who)), oauth.AuthorizationRequest{Provider: "google"})
			if err != nil {
				t.Fatal(err)
			}
			back := h.provider.Browse(t, begun.URL).Query()
			return call{query: `mutation($s: String!, $b: String!, $c: String!) { finishOAuth(input: {provider: "google", state: $s, binding: $b, code: $c}) { grantId } }`,
				variables: map[string]any{"s": back.Get("state"), "b": begun.Binding, "c": back.Get("code")}}
		},
		"Mutation.revokeOAuthGrant": on("mutation($i: ID!) { revokeOAuthGrant(id: $i) }", func(t *testing.T, h *fixture, n *tenant) uuid.UUID {
			h.browser(uuid.NewString() + "@google.example")
			return h.grantOf(t, h.provider, n.viewer, map[string]any{"provider": "google"}).id(t, "finishOAuth.grantId")
		}),
		"Mutation.startOIDCSignIn": fixed("mutation { startOIDCSignIn { authorizationUrl } }", nil),
		"Mutation.answerOIDCSignIn": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			back, _ := h.returned(t, n)
			return call{query: "mutation($s: String!, $c: String!, $i: String!) { answerOIDCSignIn(input: {state: $s, code: $c, issuer: $i}) { code } }",
				variables: map[string]any{"s": back.State, "c": back.Code, "i": back.Issuer}}
		},
		"Mutation.finishOIDCSignIn": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			back, binding := h.returned(t, n)
			answered, err := h.resolver.SignOn.HandleCallback(t.Context(), back)
			if err != nil {
				t.Fatal(err)
			}
			return call{query: "mutation($c: String!, $b: String!) { finishOIDCSignIn(code: $c, binding: $b) { accessToken } }",
				variables: map[string]any{"c": answered.Code, "b": binding}}
		},
		"Mutation.startSAMLSignIn": fixed("mutation { startSAMLSignIn { authorizationUrl } }", nil),
		"Mutation.answerSAMLSignIn": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			posted, _ := h.posted(t, n)
			return call{query: "mutation($r: String!, $s: String!) { answerSAMLSignIn(input: {response: $r, relayState: $s}) { code } }",
				variables: map[string]any{"r": posted.Response, "s": posted.RelayState}}
		},
		"Mutation.finishSAMLSignIn": func(t *testing.T, h *fixture, n *tenant, _ viewer.Viewer) call {
			posted, binding := h.posted(t, n)
			answered, err := h.resolver.SAML.HandleResponse(t.Context(), posted)
			if err != nil {
				t.Fatal(err)
			}
			return call{query: "mutation($c: String!, $b: String!) { finishSAMLSignIn(code: $c, binding: $b) { accessToken } }",
				variables: map[string]any{"c": answered.Code, "b": binding}}
		},
	}
}

// browser signs in the holder of an address at the provider.
func (h *fixture) browser(email string) {
	h.provider.SignIn(authserver.Account{Subject: email, Email: email, Name: "Somebody", Verified: true})
}

// returned returns the callback of the OpenID provider for a new member.
func (h *fixture) returned(t *testing.T, n *tenant) (back signon.Callback, binding string) {
	t.Helper()
	h.browser(h.somebody(t, n, membership.RoleEditor).Email)
	begun, err := h.resolver.SignOn.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	q := h.provider.Browse(t, begun.URL).Query()
	return signon.Callback{State: q.Get("state"), Code: q.Get("code"), Issuer: q.Get("iss")}, begun.Binding
}

// posted returns the response of the SAML identity provider for a new member.
func (h *fixture) posted(t *testing.T, n *tenant) (posted signon.SAMLResponse, binding string) {
	t.Helper()
	email := h.somebody(t, n, membership.RoleEditor).Email
	begun, err := h.resolver.SAML.Start(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	posted.Response, posted.RelayState = h.idp.Respond(t, begun.URL, samlserver.Person{NameID: email, Email: email})
	return posted, begun.Binding
}
