package graph_test

import (
	"context"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/integration/webhook"
	"github.com/magpie-search/magpie/agents/loop"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/integrationtool"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/toolintegration"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	basestore "github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit/mcpserver"
	"github.com/magpie-search/magpie/internal/viewer"
)

// note is the input of the tools of the provider board.
type note struct {
	Text string `json:"text" rule:"required,max=4000" about:"The text."`
}

// boardProvider is a platform that answers without a network.
func boardProvider() integration.Provider {
	say := func(_ context.Context, a integration.Account, in note) (loop.Result, error) {
		return integration.Result(map[string]any{"text": in.Text, "by": a.Credentials["token"]}, "said")
	}
	return integration.Provider{
		Name: "board", Title: "Board", Summary: "A board with notes.", Group: integration.Business,
		Config:      []connectors.Option{{Name: "url", Title: "Address", Type: connectors.TypeString, Destination: true}},
		Credentials: []connectors.Option{{Name: "token", Title: "Token", Type: connectors.TypeString, Sensitive: true}},
		OAuth:       &integration.OAuth{Provider: "google", Scopes: []string{"https://board.example/notes"}},
		Tools: []integration.Tool{
			integration.Define(integration.Tool{Name: "search", Title: "Search", Description: "Finds notes.", Risk: policy.Read}, nil, say),
			integration.Define(integration.Tool{Name: "post", Title: "Post", Description: "Posts a note.", Risk: policy.Send},
				func(in note) loop.Preview {
					return integration.Show("Post a note", integration.Field{Name: "Text", Value: in.Text})
				}, say),
		},
		Check: func(context.Context, integration.Account) error { return nil },
	}
}

func toolStore(t *testing.T, db *basestore.DB, box *secret.Box, grants *oauth.Grants) *store.Store {
	t.Helper()
	registry := must[*integration.Registry](t)(integration.NewRegistry(boardProvider()))
	client := mcp.NewClient(mcp.Options{Dial: httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).DialContext})
	t.Cleanup(client.Close)
	servers := toolserver.New(client, nil, toolserver.OAuth{RedirectURL: "https://magpie.example.com/api/v1/oauth/callback/mcp"})
	return store.New(store.Options{
		Ent: db.Ent, Box: box, Grants: grants, Dial: httpx.NewGuard(nil).DialContext,
		Sources: map[toolintegration.Kind]store.Source{
			toolintegration.KindPack: store.Packs(registry), toolintegration.KindWebhook: store.Webhooks(),
			toolintegration.KindMCP: store.ToolServers(servers, slog.New(slog.DiscardHandler)),
		},
	})
}

func aSlug() string { return "s" + strings.ReplaceAll(uuid.NewString(), "-", "")[:20] }

// aToolIntegration creates an integration of the workspace.
func aToolIntegration(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.ToolIntegration](t)(h.resolver.Integrations.Create(n.system(t), store.Draft{Provider: "board", Slug: aSlug(), Name: "Board of " + n.email})).ID
}

// aTool returns a tool that reads of a new integration.
func aTool(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.IntegrationTool](t)(h.db.Ent.IntegrationTool.Query().
		Where(integrationtool.IntegrationID(aToolIntegration(t, h, n)), integrationtool.Name("search")).Only(n.system(t))).ID
}

func ownIntegration(own context.Context, t *testing.T, h *fixture, _ *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.ToolIntegration](t)(h.resolver.Integrations.Create(own, store.Draft{
		Provider: "board", Slug: aSlug(), Name: "My board", Personal: true, Credentials: map[string]any{"token": "t0ken-of-mine"},
	})).ID
}

func ownWebhook(own context.Context, t *testing.T, h *fixture, _ *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.ToolIntegration](t)(h.resolver.Integrations.Create(own, store.Draft{
		Provider: "webhook", Slug: aSlug(), Name: "My API", Personal: true, Config: map[string]any{"url": "https://api.example.com"},
	})).ID
}

func ownTool(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.IntegrationTool](t)(h.db.Ent.IntegrationTool.Query().
		Where(integrationtool.IntegrationID(ownIntegration(own, t, h, n)), integrationtool.Name("post")).Only(own)).ID
}

// driftedTool returns a tool that its source describes otherwise now.
func driftedTool(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.IntegrationTool](t)(h.db.Ent.IntegrationTool.UpdateOneID(ownTool(own, t, h, n)).SetDrift(map[string]any{
		"title": "Post", "description": "Posts a note to everybody.", "risk": "send", "inputSchema": map[string]any{"type": "object"},
	}).Save(own)).ID
}

func webhookToolOf(own context.Context, t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[*ent.IntegrationTool](t)(h.resolver.Integrations.SaveTool(own, ownWebhook(own, t, h, n), store.WebhookTool{
		Name: "ping", Description: "Pings.", Endpoint: webhook.Endpoint{Method: "GET", Path: "/ping"}, Schema: map[string]any{"type": "object"},
	})).ID
}

const (
	webhookInput = `{name: "ping", description: "Pings.", method: "GET", path: "/ping", inputSchema: {type: "object"}}`
	smallSpec    = `{\"openapi\":\"3.0.3\",\"info\":{\"title\":\"x\",\"version\":\"1\"},\"paths\":{\"/ping\":{\"get\":{\"operationId\":\"ping\",\"summary\":\"Pings\",\"responses\":{\"200\":{\"description\":\"ok\"}}}}}}`
)

// toolTrials has a case for each root field of integrations with tools.
func toolTrials(ada *tenant) map[string]trial {
	id := func(v uuid.UUID) map[string]any { return map[string]any{"i": v} }
	return map[string]trial{
		"Query.toolProviders":                {"{ toolProviders { name tools { name risk policy } } }", nil, ""},
		"Query.toolIntegrations":             {"{ toolIntegrations { edges { node { id name slug status tools { id } connections { id } } } totalCount } }", nil, ""},
		"Query.toolIntegration":              {"query($i: ID!) { toolIntegration(id: $i) { name config } }", id(ada.tools), "not_found"},
		"Mutation.createToolIntegration":     {`mutation { createToolIntegration(input: {provider: "board", name: "Mine"}) { name } }`, nil, ""},
		"Mutation.updateToolIntegration":     {`mutation($i: ID!) { updateToolIntegration(id: $i, input: {name: "Mine"}) { name } }`, id(ada.tools), "not_found"},
		"Mutation.deleteToolIntegration":     {"mutation($i: ID!) { deleteToolIntegration(id: $i) }", id(ada.tools), "not_found"},
		"Mutation.connectToolIntegration":    {`mutation($i: ID!) { connectToolIntegration(id: $i, credentials: {token: "t"}) { name } }`, id(ada.tools), "not_found"},
		"Mutation.disconnectToolIntegration": {"mutation($i: ID!) { disconnectToolIntegration(id: $i) { name } }", id(ada.tools), "not_found"},
		"Mutation.authorizeToolIntegration":  {"mutation($i: ID!) { authorizeToolIntegration(id: $i) { authorizationUrl } }", id(ada.tools), "not_found"},
		"Mutation.testToolIntegration":       {"mutation($i: ID!) { testToolIntegration(id: $i) { ok message } }", id(ada.tools), "not_found"},
		"Mutation.refreshTools":              {"mutation($i: ID!) { refreshTools(id: $i) { added } }", id(ada.tools), "not_found"},
		"Mutation.acceptTool":                {"mutation($i: ID!) { acceptTool(id: $i) { name } }", id(ada.tool), "not_found"},
		"Mutation.setToolPolicy":             {"mutation($i: ID!) { setToolPolicy(id: $i, input: {enabled: false}) { name } }", id(ada.tool), "not_found"},
		"Mutation.saveWebhookTool":           {"mutation($i: ID!) { saveWebhookTool(integrationId: $i, input: " + webhookInput + ") { name } }", id(ada.tools), "not_found"},
		"Mutation.deleteWebhookTool":         {"mutation($i: ID!) { deleteWebhookTool(id: $i) }", id(ada.tool), "not_found"},
		"Mutation.importTools":               {"mutation($i: ID!) { importTools(integrationId: $i, input: {spec: \"" + smallSpec + "\"}) { skipped } }", id(ada.tools), "not_found"},
		"Mutation.callTool":                  {`mutation($i: ID!) { callTool(id: $i, arguments: {text: "x"}, confirm: true) { ok text } }`, id(ada.tool), "not_found"},
	}
}

func toolCalls() map[string]maker {
	return map[string]maker{
		"Mutation.createToolIntegration": fixed(
			`mutation { createToolIntegration(input: {provider: "board", name: "New", slug: "mine", ownerScope: PERSONAL}) { id } }`, nil),
		"Mutation.updateToolIntegration":     onOwn(`mutation($i: ID!) { updateToolIntegration(id: $i, input: {name: "Other"}) { id } }`, ownIntegration),
		"Mutation.deleteToolIntegration":     onOwn("mutation($i: ID!) { deleteToolIntegration(id: $i) }", ownIntegration),
		"Mutation.connectToolIntegration":    onOwn(`mutation($i: ID!) { connectToolIntegration(id: $i, credentials: {token: "another t0ken"}) { id } }`, ownIntegration),
		"Mutation.disconnectToolIntegration": onOwn("mutation($i: ID!) { disconnectToolIntegration(id: $i) { id } }", ownIntegration),
		"Mutation.authorizeToolIntegration":  onOwn("mutation($i: ID!) { authorizeToolIntegration(id: $i) { expiresAt } }", ownIntegration),
		"Mutation.testToolIntegration":       onOwn("mutation($i: ID!) { testToolIntegration(id: $i) { ok } }", ownIntegration),
		"Mutation.refreshTools":              onOwn("mutation($i: ID!) { refreshTools(id: $i) { added } }", ownIntegration),
		"Mutation.acceptTool":                onOwn("mutation($i: ID!) { acceptTool(id: $i) { description } }", driftedTool),
		"Mutation.setToolPolicy":             onOwn("mutation($i: ID!) { setToolPolicy(id: $i, input: {policy: ALLOW}) { callPolicy } }", ownTool),
		"Mutation.saveWebhookTool":           onOwn("mutation($i: ID!) { saveWebhookTool(integrationId: $i, input: "+webhookInput+") { name } }", ownWebhook),
		"Mutation.deleteWebhookTool":         onOwn("mutation($i: ID!) { deleteWebhookTool(id: $i) }", webhookToolOf),
		"Mutation.importTools":               onOwn("mutation($i: ID!) { importTools(integrationId: $i, input: {spec: \""+smallSpec+"\"}) { operations { name } } }", ownWebhook),
		"Mutation.callTool":                  onOwn(`mutation($i: ID!) { callTool(id: $i, arguments: {text: "x"}, confirm: true) { ok } }`, ownTool),
	}
}

func TestToolsOfIntegrationsAreGivenToAgents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	made := h.ask(t, ada.viewer, `mutation { createToolIntegration(input: {provider: "board", name: "Board", slug: "notes", credentials: {token: "s3cret-t0ken"}}) { id slug status storedCredentials tools { id name risk enabled } connections { status personId } } }`, nil)
	if made.code() != "" || made.at("createToolIntegration.status") != "ACTIVE" || !strings.Contains(made.body, `"storedCredentials":["token"]`) {
		t.Fatal(made.body)
	}
	tools := h.ask(t, ada.viewer, "{ agentTools { name risk policy integrationId unavailable } }", nil)
	if !strings.Contains(tools.body, `{"name":"notes.post","risk":"SEND","policy":"ASK","integrationId":"`+made.id(t, "createToolIntegration.id").String()+`","unavailable":null}`) {
		t.Errorf("the tools of agents: %s", tools.body)
	}
	agent := h.ask(t, ada.viewer, `mutation { createAgent(input: {name: "Scribe", systemPrompt: "Write.", tools: ["calculate", "notes.post", "board.search"]}) { id tools toolIntegrations { name tools { name } } } }`, nil)
	if agent.code() != "" || !strings.Contains(agent.body, `"toolIntegrations":[{"name":"Board"`) {
		t.Errorf("the agent: %s", agent.body)
	}
	for name, want := range map[string]string{"notes.paint": "tools[1]: is no tool of an integration", "fax.send": "tools[1]: is no tool", "notes": "tools[1]: must be one of"} {
		got := h.ask(t, ada.viewer, `mutation { createAgent(input: {name: "x", systemPrompt: "x", tools: ["calculate", "`+name+`"]}) { id } }`, nil)
		if got.code() != "invalid_request" || !strings.Contains(got.body, want) {
			t.Errorf("%s: %s", name, got.body)
		}
	}
	guest := h.member(t, ada, "guest@example.com", membership.RoleViewer)
	seen := h.ask(t, guest, "query($i: ID!) { toolIntegration(id: $i) { name status storedCredentials connections { id } } }", map[string]any{"i": made.id(t, "createToolIntegration.id")})
	if seen.code() != "" || seen.at("toolIntegration.status") != "ACTIVE" || !strings.Contains(seen.body, `"storedCredentials":[],"connections":[]`) {
		t.Errorf("another member sees %s", seen.body)
	}
	if strings.Contains(made.body+tools.body+agent.body+seen.body, "s3cret") {
		t.Error("the credentials are shown")
	}
	for _, e := range h.entries(t, ada) {
		for _, c := range e.Changes {
			if text, ok := c["new"].(string); ok && strings.Contains(text, "s3cret") {
				t.Errorf("the audit log has the credentials: %v", e)
			}
		}
	}
}

func TestAMemberIsRefusedWhatEditorsAndAdministratorsDo(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	guest, editor := h.member(t, ada, "guest@example.com", membership.RoleViewer), h.member(t, ada, "editor@example.com", membership.RoleEditor)
	id := map[string]any{"i": ada.tools}
	for query, variables := range map[string]map[string]any{
		`mutation { createToolIntegration(input: {provider: "board", name: "x", slug: "other"}) { id } }`: nil,
		`mutation($i: ID!) { updateToolIntegration(id: $i, input: {name: "x"}) { id } }`:                  id,
		`mutation($i: ID!) { deleteToolIntegration(id: $i) }`:                                             id,
		`mutation($i: ID!) { refreshTools(id: $i) { added } }`:                                            id,
		`mutation($i: ID!) { setToolPolicy(id: $i, input: {policy: ALLOW}) { id } }`:                      {"i": ada.tool},
		`mutation($i: ID!) { callTool(id: $i, arguments: {text: "x"}) { ok } }`:                           {"i": ada.tool},
	} {
		if got := h.ask(t, guest, query, variables); got.code() != "forbidden" {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	share := `mutation($i: ID!) { updateToolIntegration(id: $i, input: {credentialsOf: SHARED, credentials: {token: "shared t0ken"}}) { credentialsOf status } }`
	if got := h.ask(t, editor, share, id); got.code() != "forbidden" {
		t.Errorf("an editor shares: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, share, id); got.code() != "" || got.at("updateToolIntegration.credentialsOf") != "SHARED" {
		t.Errorf("the owner shares: %s", got.body)
	}
	for _, query := range []string{
		`mutation($i: ID!) { connectToolIntegration(id: $i, credentials: {token: "mine"}) { id } }`, `mutation($i: ID!) { disconnectToolIntegration(id: $i) { id } }`,
		`mutation($i: ID!) { authorizeToolIntegration(id: $i) { binding } }`,
	} {
		if got := h.ask(t, editor, query, id); got.code() != "forbidden" {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	tool := must[uuid.UUID](t)(h.db.Ent.IntegrationTool.Query().Where(integrationtool.IntegrationID(ada.tools), integrationtool.Name("search")).OnlyID(ada.system(t)))
	called := h.ask(t, editor, `mutation($i: ID!) { callTool(id: $i, arguments: {text: "hello"}) { ok text } }`, map[string]any{"i": tool})
	if called.at("callTool.ok") != true || !strings.Contains(called.body, "hello") || strings.Contains(called.body, "shared t0ken") {
		t.Errorf("called: %s", called.body)
	}
}

func TestAPersonConnectsAToolServerByOAuth(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	server := mcpserver.New(t)
	made := h.ask(t, ada.viewer, `mutation($c: Map) { createToolIntegration(input: {provider: "mcp", name: "Tracker", slug: "tracker", config: $c}) { id } }`,
		map[string]any{"c": map[string]any{"url": server.URL}})
	id := map[string]any{"i": made.id(t, "createToolIntegration.id")}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { testToolIntegration(id: $i) { ok needsAuth } }", id); got.at("testToolIntegration.needsAuth") != true {
		t.Fatal(got.body)
	}
	if got := h.ask(t, ada.viewer, "query($i: ID!) { toolIntegration(id: $i) { status changedTools } }", id); got.at("toolIntegration.status") != "NEEDS_AUTH" || got.at("toolIntegration.changedTools") != 0.0 {
		t.Error(got.body)
	}
	if got := h.ask(t, eve.viewer, "mutation($i: ID!) { authorizeToolIntegration(id: $i) { binding } }", id); got.code() != "not_found" {
		t.Errorf("another workspace: %s", got.body)
	}
	begun := h.ask(t, ada.viewer, "mutation($i: ID!) { authorizeToolIntegration(id: $i) { authorizationUrl binding } }", id)
	back := server.Agree(t, begun.at("authorizeToolIntegration.authorizationUrl").(string), "ada")
	finish := func(who viewer.Viewer, issuer any) answer {
		return h.ask(t, who, "mutation($i: FinishOAuthInput!) { finishOAuth(input: $i) { provider grantId redirectUrl } }", map[string]any{"i": map[string]any{
			"provider": "mcp", "state": back.Get("state"), "code": back.Get("code"), "issuer": issuer, "binding": begun.at("authorizeToolIntegration.binding"),
		}})
	}
	if got := finish(viewer.Viewer{Kind: viewer.KindAnonymous, Surface: viewer.SurfaceDashboard}, back.Get("iss")); got.code() != "" || got.at("finishOAuth.grantId") == nil {
		t.Fatal(got.body)
	}
	if got := finish(ada.viewer, back.Get("iss")); got.code() != "invalid_request" {
		t.Errorf("a replay: %s", got.body)
	}
	begun = h.ask(t, ada.viewer, "mutation($i: ID!) { authorizeToolIntegration(id: $i) { authorizationUrl binding } }", id)
	back = server.Agree(t, begun.at("authorizeToolIntegration.authorizationUrl").(string), "ada")
	if got := finish(ada.viewer, "https://evil.example"); got.code() != "invalid_request" || !strings.Contains(got.body, "iss: ") {
		t.Errorf("another issuer: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { refreshTools(id: $i) { added integration { status } } }", id); !strings.Contains(got.body, `"added":["whoami"],"integration":{"status":"ACTIVE"}`) {
		t.Error(got.body)
	}
	tool := must[uuid.UUID](t)(h.db.Ent.IntegrationTool.Query().Where(integrationtool.IntegrationID(id["i"].(uuid.UUID))).OnlyID(ada.system(t)))
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { callTool(id: $i, arguments: {}, confirm: true) { ok text } }", map[string]any{"i": tool}); got.at("callTool.text") != "ada" {
		t.Error(got.body)
	}
	guest := h.member(t, ada, "guest@example.com", membership.RoleEditor)
	got := h.ask(t, guest, "mutation($i: ID!) { callTool(id: $i, arguments: {}, confirm: true) { ok text } }", map[string]any{"i": tool})
	if got.at("callTool.ok") != false || strings.Contains(got.body, "ada") {
		t.Errorf("another member: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "{ oauthGrants { edges { node { provider status } } } }", nil); !strings.Contains(got.body, `"provider":"mcp","status":"ACTIVE"`) {
		t.Error(got.body)
	}
	if got := h.ask(t, guest, "{ oauthGrants { edges { node { provider } } } }", nil); strings.Contains(got.body, `"mcp","status":"ACTIVE"`) {
		t.Errorf("another member sees %s", got.body)
	}
}
