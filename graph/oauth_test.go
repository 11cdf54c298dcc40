package graph_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/testkit/authserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

// drive is a connector that uses a grant or its own token.
type drive struct {
	connectors.Source
	server   *authserver.Server
	settings connectors.Settings
}

func (d drive) Check(ctx context.Context) error {
	if d.settings.Token == nil {
		return connectors.NeedsAuth(errors.New("there is no grant"))
	}
	token, _, err := d.settings.Token(ctx, "")
	if err != nil {
		return err
	}
	if !d.server.ValidToken(token) {
		return errors.New("the token does not work")
	}
	return nil
}

func (drive) Close() error { return nil }

// withOAuth adds a provider and a kind that uses it to the fixture.
func withOAuth(t *testing.T, h *fixture) *authserver.Server {
	t.Helper()
	server := authserver.Start(t)
	server.Register(authserver.Client{ID: "magpie", Secret: "s3cret", Redirects: []string{"https://magpie.example.com/api/v1/oauth/callback/google"}})
	grants := oauth.New(h.db.Ent, oauth.Options{
		Hosts: func(kind string, config map[string]any) map[string][]string {
			return h.resolver.Kinds.GrantOrigins(kind, config)
		},
		Flows: oauth.NewFlows(h.db.Pool, h.box, nil), Secrets: h.box, BaseURL: "https://magpie.example.com", Log: h.resolver.Log,
		Clients: map[string]oauth.Client{"google": {
			ID: "magpie", Secret: "s3cret", AuthURL: server.URL + authserver.AuthorizePath, TokenURL: server.URL + authserver.TokenPath,
			RevokeURL: server.URL + authserver.RevokePath, AccountURL: server.URL + authserver.UserinfoPath,
		}},
	})
	t.Cleanup(grants.Close)
	kind := connectors.Kind{
		Name: "google_drive", Title: "Google Drive",
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true}},
		CheckSettings: func(s connectors.Settings) error {
			if s.Token == nil && s.Credentials["token"] == "" {
				return &connectors.OptionError{Field: "credentials.token", Message: "is required without a grant"}
			}
			return nil
		},
		New: func(_ context.Context, s connectors.Settings) (connectors.Source, error) {
			return drive{server: server, settings: s}, nil
		},
	}
	kind.Options = []connectors.Option{{Name: "api", Title: "API", Type: connectors.TypeString, Format: connectors.FormatURL, Destination: true}}
	bucket := connectors.Kind{Name: "s3", Title: "Bucket", New: kind.New}
	files := connectors.Kind{Name: "file_upload", Title: "Files", New: kind.New}
	registry, err := connectors.NewRegistry(kind, bucket, files)
	if err != nil {
		t.Fatal(err)
	}
	h.resolver.Grants, h.resolver.Kinds = grants, registry
	h.changeConnectors(func(o *connector.Options) { o.Grants, o.Kinds = grants, registry })
	return server
}

// grantOf makes a grant through GraphQL.
func (h *fixture) grantOf(t *testing.T, server *authserver.Server, v viewer.Viewer, input map[string]any) answer {
	t.Helper()
	begun := h.ask(t, v, "mutation($i: StartOAuthInput!) { startOAuth(input: $i) { authorizationUrl expiresAt binding } }", map[string]any{"i": input})
	address, _ := begun.at("startOAuth.authorizationUrl").(string)
	if address == "" {
		t.Fatal(begun.body)
	}
	q := server.Browse(t, address).Query()
	nobody := viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard}
	return h.ask(t, nobody, "mutation($i: FinishOAuthInput!) { finishOAuth(input: $i) { provider grantId account connectorId redirectUrl } }",
		map[string]any{"i": map[string]any{"provider": "google", "state": q.Get("state"), "binding": begun.at("startOAuth.binding"), "code": q.Get("code")}})
}

const makeDrive = `mutation($c: ID!, $g: Map) { createConnector(input: {name: "Drive", type: "google_drive", collection: $c, credentials: $g}) { id status grantId } }`

func TestAConnectorUsesAGrant(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	server := withOAuth(t, h)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	done := h.grantOf(t, server, ada.viewer, map[string]any{"provider": "google"})
	grant, _ := done.at("finishOAuth.grantId").(string)
	if grant == "" || done.at("finishOAuth.account") != "ada@example.com" || done.at("finishOAuth.connectorId") != nil {
		t.Fatal(done.body)
	}
	made := h.ask(t, ada.viewer, makeDrive, map[string]any{"c": ada.collection, "g": map[string]any{"grant": grant}})
	id := made.at("createConnector.id")
	if made.at("createConnector.grantId") != grant || made.at("createConnector.status") != "ACTIVE" {
		t.Fatal(made.body)
	}
	works := func(want bool) {
		t.Helper()
		if a := h.ask(t, ada.viewer, "mutation($i: ID!) { testConnector(id: $i) { ok message } }", map[string]any{"i": id}); a.at("testConnector.ok") != want {
			t.Error(a.body)
		}
	}
	works(true)
	for what, try := range map[string]struct {
		v    viewer.Viewer
		c    uuid.UUID
		g    map[string]any
		code string
		text string
	}{
		"eve's connector with ada's grant": {eve.viewer, eve.collection, map[string]any{"grant": grant}, "not_found", "OAuth grant not found"},
		"no id":                            {ada.viewer, ada.collection, map[string]any{"grant": "drive"}, "invalid_request", "credentials.grant: "},
		"a number":                         {ada.viewer, ada.collection, map[string]any{"grant": 7}, "invalid_request", "credentials.grant: "},
		"nothing":                          {ada.viewer, ada.collection, nil, "invalid_request", "credentials.token: "},
		"null":                             {ada.viewer, ada.collection, map[string]any{"grant": nil}, "invalid_request", "credentials.token: "},
		"an unknown field beside it":       {ada.viewer, ada.collection, map[string]any{"grant": grant, "x": "y"}, "invalid_request", "credentials.x: "},
	} {
		if a := h.ask(t, try.v, makeDrive, map[string]any{"c": try.c, "g": try.g}); a.code() != try.code || !strings.Contains(a.body, try.text) {
			t.Errorf("%s: %s", what, a.body)
		}
	}
	if a := h.ask(t, ada.viewer, `mutation($c: ID!, $g: Map) { createConnector(input: {name: "B", type: "s3", collection: $c, credentials: $g}) { id } }`,
		map[string]any{"c": ada.collection, "g": map[string]any{"grant": grant}}); a.code() != "invalid_request" || !strings.Contains(a.body, "cannot use a grant of google") {
		t.Errorf("a bucket: %s", a.body)
	}
	if a := h.ask(t, ada.viewer, `mutation($g: Map) { testConnection(input: {type: "google_drive", credentials: $g}) { ok } }`, map[string]any{"g": map[string]any{"grant": grant}}); a.at("testConnection.ok") != true {
		t.Error(a.body)
	}
	// A change without a grant keeps it. Null removes it.
	if a := h.ask(t, ada.viewer, `mutation($i: ID!) { updateConnector(id: $i, input: {name: "Other", config: {}}) { grantId } }`, map[string]any{"i": id}); a.at("updateConnector.grantId") != grant {
		t.Error(a.body)
	}
	change := `mutation($i: ID!, $g: Map) { updateConnector(id: $i, input: {credentials: $g}) { grantId } }`
	if a := h.ask(t, ada.viewer, change, map[string]any{"i": id, "g": map[string]any{"grant": nil, "token": "x"}}); a.code() != "" || a.at("updateConnector.grantId") != nil {
		t.Error(a.body)
	}
	works(false)
	if a := h.ask(t, ada.viewer, change, map[string]any{"i": id, "g": map[string]any{"grant": grant, "token": nil}}); a.at("updateConnector.grantId") != grant {
		t.Error(a.body)
	}
	works(true)
	if a := h.ask(t, ada.viewer, "mutation($i: ID!) { revokeOAuthGrant(id: $i) }", map[string]any{"i": grant}); a.at("revokeOAuthGrant") != grant {
		t.Error(a.body)
	}
	if a := h.ask(t, ada.viewer, "query($i: ID!) { connector(id: $i) { status grantId } }", map[string]any{"i": id}); a.at("connector.status") != "NEEDS_AUTH" || a.at("connector.grantId") != nil {
		t.Error(a.body)
	}
	works(false)
}

func TestAGrantIsAssignedToItsConnector(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	server := withOAuth(t, h)
	ada := h.tenant(t, "ada")
	row, err := h.db.Ent.Connector.Create().SetName("Drive").SetType("google_drive").SetCollectionID(ada.collection).SetStatus("NEEDS_AUTH").
		Save(viewer.With(t.Context(), ada.viewer))
	if err != nil {
		t.Fatal(err)
	}
	done := h.grantOf(t, server, ada.viewer, map[string]any{"provider": "google", "connectorId": row.ID, "redirectUrl": "https://magpie.example.com/done"})
	place, err := url.Parse(done.at("finishOAuth.redirectUrl").(string))
	if err != nil || place.Query().Get("connector") != row.ID.String() || done.at("finishOAuth.connectorId") != row.ID.String() {
		t.Error(done.body)
	}
	if a := h.ask(t, ada.viewer, "query($i: ID!) { connector(id: $i) { status grantId } }", map[string]any{"i": row.ID}); a.at("connector.status") != "ACTIVE" ||
		a.at("connector.grantId") != done.at("finishOAuth.grantId") {
		t.Error(a.body)
	}
	list := h.ask(t, ada.viewer, `{ oauthGrants(first: 1, provider: "google", orderBy: [{field: CREATED_AT, direction: DESC}]) { totalCount edges { node { id provider account scopes status personId expiresAt createdAt } } } }`, nil)
	if list.at("oauthGrants.totalCount") != 2.0 || !strings.Contains(list.body, done.at("finishOAuth.grantId").(string)) { // the other one is the fixture's
		t.Error(list.body)
	}
	for _, field := range []string{"tokens", "leaseUntil", "generation", "workspaceID"} {
		if a := h.ask(t, ada.viewer, "{ oauthGrants { edges { node { "+field+" } } } }", nil); a.code() != "invalid_request" {
			t.Errorf("the schema shows %s: %s", field, a.body)
		}
	}
}

func TestGrantsAreForEditors(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	server := withOAuth(t, h)
	ada := h.tenant(t, "ada")
	guest := h.member(t, ada, "guest@example.com", membership.RoleViewer)
	for _, query := range []string{
		`mutation { startOAuth(input: {provider: "google"}) { authorizationUrl } }`,
		"{ oauthGrants { totalCount } }",
		`mutation { revokeOAuthGrant(id: "` + ada.grant.String() + `") }`,
	} {
		if a := h.ask(t, guest, query, nil); a.code() != "forbidden" {
			t.Errorf("%s: %s", query, a.body)
		}
	}
	editor := h.member(t, ada, "editor@example.com", membership.RoleEditor)
	if a := h.grantOf(t, server, editor, map[string]any{"provider": "google"}); a.at("finishOAuth.grantId") == nil {
		t.Error(a.body)
	}
	if a := h.ask(t, ada.viewer, `mutation { startOAuth(input: {provider: "slack"}) { authorizationUrl } }`, nil); a.code() != "invalid_request" || !strings.Contains(a.body, "OAUTH_SLACK_CLIENT_ID") {
		t.Error(a.body)
	}
	providers := h.ask(t, guest, "{ oauthProviders { name title configured connectorTypes scopes } }", nil)
	if !strings.Contains(providers.body, `"name":"google","title":"Google","configured":true,"connectorTypes":["google_drive"]`) || !strings.Contains(providers.body, `"name":"slack","title":"Slack","configured":false`) {
		t.Error(providers.body)
	}
	if soon := h.ask(t, editor, `mutation { startOAuth(input: {provider: "google"}) { expiresAt } }`, nil).at("startOAuth.expiresAt"); soon == nil {
		t.Error("the end is missing")
	} else if at, err := time.Parse(time.RFC3339Nano, soon.(string)); err != nil || time.Until(at) > 11*time.Minute {
		t.Errorf("it ends at %v, %v", soon, err)
	}
}

// Every editor may use the grants of a workspace, and nobody sees their tokens.
func TestAGrantIsSentToItsProviderAlone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	server := withOAuth(t, h)
	ada := h.tenant(t, "ada")
	grant := map[string]any{"grant": h.grantOf(t, server, ada.viewer, map[string]any{"provider": "google"}).at("finishOAuth.grantId")}
	evil, fine := map[string]any{"api": "https://evil.example.com/v1"}, map[string]any{"api": server.URL + "/v1"}
	const create = `mutation($t: ID!, $c: Map, $g: Map) { createConnector(input: {name: "Drive", type: "google_drive", collection: $t, config: $c, credentials: $g}) { id } }`
	made := h.ask(t, ada.viewer, create, map[string]any{"t": ada.collection, "c": fine, "g": grant})
	id := made.at("createConnector.id")
	if id == nil {
		t.Fatal(made.body)
	}
	const update = `mutation($i: ID!, $c: Map, $g: Map) { updateConnector(id: $i, input: {config: $c, credentials: $g}) { id } }`
	for what, a := range map[string]answer{
		"made":              h.ask(t, ada.viewer, create, map[string]any{"t": ada.collection, "c": evil, "g": grant}),
		"changed":           h.ask(t, ada.viewer, update, map[string]any{"i": id, "c": evil}),
		"changed and named": h.ask(t, ada.viewer, update, map[string]any{"i": id, "c": evil, "g": grant}),
		"tried": h.ask(t, ada.viewer, `mutation($c: Map, $g: Map) { testConnection(input: {type: "google_drive", config: $c, credentials: $g}) { ok } }`,
			map[string]any{"c": evil, "g": grant}),
		"tried with a change": h.ask(t, ada.viewer, `mutation($i: ID!, $c: Map) { testConnector(id: $i, config: $c) { ok } }`, map[string]any{"i": id, "c": evil}),
	} {
		if a.code() != "invalid_request" || !strings.Contains(a.body, "config.api: leads to evil.example.com") {
			t.Errorf("%s: %s", what, a.body)
		}
	}
	// A connection fails if the connector was pointed at another host meanwhile.
	begun := h.ask(t, ada.viewer, `mutation($i: ID!) { startOAuth(input: {provider: "google", connectorId: $i}) { authorizationUrl binding } }`, map[string]any{"i": id})
	defer func() {
		address, _ := begun.at("startOAuth.authorizationUrl").(string)
		q := server.Browse(t, address).Query()
		ended := h.ask(t, ada.viewer, "mutation($i: FinishOAuthInput!) { finishOAuth(input: $i) { grantId } }",
			map[string]any{"i": map[string]any{"provider": "google", "state": q.Get("state"), "code": q.Get("code")}})
		if ended.code() != "invalid_request" || !strings.Contains(ended.body, "config.api: ") {
			t.Errorf("a connection that began before: %s", ended.body)
		}
	}()
	// With its own token the connector may use that host, and gets no grant.
	if a := h.ask(t, ada.viewer, update, map[string]any{"i": id, "c": evil, "g": map[string]any{"grant": nil, "token": "mine"}}); a.code() != "" {
		t.Fatal(a.body)
	}
	if a := h.ask(t, ada.viewer, `mutation($i: ID!) { startOAuth(input: {provider: "google", connectorId: $i}) { authorizationUrl } }`, map[string]any{"i": id}); a.code() != "invalid_request" {
		t.Errorf("a connection for it: %s", a.body)
	}
	if a := h.ask(t, ada.viewer, update, map[string]any{"i": id, "g": grant}); a.code() != "invalid_request" {
		t.Errorf("a grant put on it: %s", a.body)
	}
}
