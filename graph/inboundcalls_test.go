package graph_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/inboundevent"
	"github.com/magpie-search/magpie/internal/event/inbox"
)

// anIntegration creates an inbound integration.
func anIntegration(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	return must[inbox.Shown](t)(h.resolver.Events.Create(n.system(t), inbox.Draft{Provider: "github", Name: "Hooks of " + n.email})).Integration.ID
}

// anEvent creates an event that was ignored.
func anEvent(t *testing.T, h *fixture, n *tenant) uuid.UUID {
	t.Helper()
	now := must[*ent.InboundIntegration](t)(h.db.Ent.InboundIntegration.Get(n.system(t), n.integration)).CreatedAt
	return must[*ent.InboundEvent](t)(h.db.Ent.InboundEvent.Create().SetIntegrationID(n.integration).SetProviderEventID(uuid.NewString()).SetType("issues.opened").
		SetSummary("An event of " + n.email).SetReceivedAt(now).SetPayload([]byte("sealed")).SetStatus(inboundevent.StatusIgnored).Save(n.system(t))).ID
}

// inboundTrials has a case for each root field of inbound integrations.
func inboundTrials(ada *tenant) map[string]trial {
	id := func(v uuid.UUID) map[string]any { return map[string]any{"i": v} }
	return map[string]trial{
		"Query.inboundIntegrations": {"{ inboundIntegrations { edges { node { id name url } } totalCount } }", nil, ""},
		"Query.inboundIntegration":  {"query($i: ID!) { inboundIntegration(id: $i) { name url token config } }", id(ada.integration), "not_found"},
		"Query.inboundProviders":    {"{ inboundProviders { name } }", nil, ""},
		"Query.inboundEvents":       {"query($i: ID!) { inboundEvents(integrationId: $i) { edges { node { id summary } } totalCount } }", id(ada.integration), "not_found"},
		"Mutation.createInboundIntegration": {
			`mutation($c: Map) { createInboundIntegration(input: {provider: "zoom", name: "Mine", config: $c, credentials: {secret: "s"}}) { url } }`,
			map[string]any{"c": map[string]any{"collection": ada.collection}}, "not_found",
		},
		"Mutation.updateInboundIntegration": {`mutation($i: ID!) { updateInboundIntegration(id: $i, input: {name: "Mine"}) { name } }`, id(ada.integration), "not_found"},
		"Mutation.deleteInboundIntegration": {"mutation($i: ID!) { deleteInboundIntegration(id: $i) }", id(ada.integration), "not_found"},
		"Mutation.rotateInboundSecret":      {"mutation($i: ID!) { rotateInboundSecret(id: $i) { url secret } }", id(ada.integration), "not_found"},
		"Mutation.testInboundIntegration":   {"mutation($i: ID!) { testInboundIntegration(id: $i) { ok message } }", id(ada.integration), "not_found"},
		"Mutation.resendInboundEvent":       {"mutation($i: ID!) { resendInboundEvent(id: $i) { summary } }", id(ada.inbound), "not_found"},
	}
}

func inboundCalls() map[string]maker {
	return map[string]maker{
		"Query.inboundIntegrations": fixed("{ inboundIntegrations { totalCount } }", nil),
		"Query.inboundIntegration":  on("query($i: ID!) { inboundIntegration(id: $i) { name } }", anIntegration),
		"Query.inboundEvents":       fixed("{ inboundEvents { totalCount } }", nil),
		"Mutation.createInboundIntegration": fixed(
			`mutation { createInboundIntegration(input: {provider: "github", name: "New"}) { integration { id } secret } }`, nil),
		"Mutation.updateInboundIntegration": on(`mutation($i: ID!) { updateInboundIntegration(id: $i, input: {name: "Other"}) { id } }`, anIntegration),
		"Mutation.deleteInboundIntegration": on("mutation($i: ID!) { deleteInboundIntegration(id: $i) }", anIntegration),
		"Mutation.rotateInboundSecret":      on("mutation($i: ID!) { rotateInboundSecret(id: $i) { secret } }", anIntegration),
		"Mutation.testInboundIntegration":   on("mutation($i: ID!) { testInboundIntegration(id: $i) { ok } }", anIntegration),
		"Mutation.resendInboundEvent":       on("mutation($i: ID!) { resendInboundEvent(id: $i) { status } }", anEvent),
	}
}

func TestASecretIsShownOnce(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	made := h.ask(t, ada.viewer, `mutation { createInboundIntegration(input: {provider: "postmark", name: "Support"}) { integration { id url token status } url secret instructions } }`, nil)
	if made.code() != "" {
		t.Fatal(made.body)
	}
	word, _ := made.at("createInboundIntegration.secret").(string)
	id := made.id(t, "createInboundIntegration.integration.id")
	want := "https://magpie:" + word + "@magpie.example.com/api/v1/webhooks/email/postmark/" + id.String()
	if made.at("createInboundIntegration.url") != want || len(word) < 20 || made.at("createInboundIntegration.integration.status") != "UNVERIFIED" {
		t.Errorf("created: %s", made.body)
	}
	again := h.ask(t, ada.viewer, "query($i: ID!) { inboundIntegration(id: $i) { id url config status lastError } node(id: $i) { id ... on InboundIntegration { name } } }", map[string]any{"i": id})
	if again.code() != "" || strings.Contains(again.body, word) {
		t.Errorf("read again: %s", again.body)
	}
	rotated := h.ask(t, ada.viewer, "mutation($i: ID!) { rotateInboundSecret(id: $i) { secret integration { previousUntil } } }", map[string]any{"i": id})
	if next, _ := rotated.at("rotateInboundSecret.secret").(string); next == word || next == "" || rotated.at("rotateInboundSecret.integration.previousUntil") == nil {
		t.Errorf("rotated: %s", rotated.body)
	}
	for _, e := range h.entries(t, ada) {
		for _, c := range e.Changes {
			if text, ok := c["new"].(string); ok && strings.Contains(text, word) {
				t.Errorf("the audit log has the secret: %v", e)
			}
		}
	}
}

func TestSettingsOfIntegrationsAreChecked(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	for input, want := range map[string]string{
		`{provider: "fax", name: "x"}`:                                                         "provider: must be one of",
		`{provider: "github", name: " "}`:                                                      "name: ",
		`{provider: "github", name: "x", config: {repos: ["a/b"]}}`:                            "config.repos: unknown field; known ones are repositories",
		`{provider: "salesforce", name: "x"}`:                                                  "config.organization_id: required",
		`{provider: "salesforce", name: "x", config: {organization_id: "7"}}`:                  "config.organization_id: must have 15 or 18 characters",
		`{provider: "zoom", name: "x", credentials: {secret: "s"}, config: {collection: "7"}}`: "config.collection: must be the id of a collection",
		`{provider: "ses", name: "x", config: {topic_arns: ["mails"]}}`:                        "config.topic_arns: has a value that is no ARN of an SNS topic",
		`{provider: "github", name: "x", credentials: {secret: 7}}`:                            "credentials.secret: must be a string",
	} {
		got := h.ask(t, ada.viewer, "mutation { createInboundIntegration(input: "+input+") { url } }", nil)
		if got.code() != "invalid_request" || !strings.Contains(got.body, want) {
			t.Errorf("%s: %s", input, got.body)
		}
	}
	zendesk := h.ask(t, ada.viewer, `mutation { createInboundIntegration(input: {provider: "zendesk", name: "Desk"}) { secret integration { id } } }`, nil)
	id := zendesk.id(t, "createInboundIntegration.integration.id")
	if zendesk.at("createInboundIntegration.secret") != nil {
		t.Errorf("a secret was made that Zendesk makes: %s", zendesk.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { rotateInboundSecret(id: $i) { url } }", map[string]any{"i": id}); got.code() != "invalid_request" {
		t.Errorf("rotated without a secret: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { testInboundIntegration(id: $i) { ok message } }", map[string]any{"i": id}); got.at("testInboundIntegration.ok") != false {
		t.Errorf("a test without a secret: %s", got.body)
	}
}

func TestTheSubscriptionOfAnIntegrationIsShown(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	made := h.ask(t, ada.viewer, `mutation { createInboundIntegration(input: {provider: "teams", name: "Calls", config: {tenant_id: "t"}}) { integration { id subscription { error } } } }`, nil)
	id := made.id(t, "createInboundIntegration.integration.id")
	if made.at("createInboundIntegration.integration.subscription") != nil {
		t.Errorf("created: %s", made.body)
	}
	_, err := h.db.Pool.Exec(t.Context(), `insert into inbound_subscriptions (integration_id, workspace_id, provider, config, external_id, expires_at, next_at, seen_at, error)
		select id, workspace_id, provider, config, 's', '2026-11-27T12:00:00Z', '2026-11-26T00:00:00Z', updated_at, 'Refused.' from inbound_integrations where id = $1`, id)
	if err != nil {
		t.Fatal(err)
	}
	got := h.ask(t, ada.viewer, "query($i: ID!) { inboundIntegration(id: $i) { subscription { expiresAt renewsAt error } } }", map[string]any{"i": id})
	const at = "inboundIntegration.subscription."
	if got.at(at+"expiresAt") != "2026-11-27T12:00:00Z" || got.at(at+"renewsAt") != "2026-11-26T00:00:00Z" || got.at(at+"error") != "Refused." {
		t.Errorf("shown: %s", got.body)
	}
}
