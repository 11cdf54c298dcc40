package dashboard_test

import (
	"encoding/json"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/model/embed"
)

// world is a workspace in use: something is on every page.
type world struct {
	*stacktest.Magpie
	model *standIn
	// desk is the stand-in of the system behind the webhook.
	desk *desk

	collection, connector, document, agent, key, automation, integration, tool, inbound string
	// What isUsed makes.
	database, acting, run, approval, conversation string
}

// newWorld makes a workspace with documents, an agent, a tool that acts, and so on. Further settings are names and values.
func newWorld(t *testing.T, settings ...string) *world {
	t.Helper()
	m := &world{model: chatModel(t), desk: openDesk(t)}
	m.Magpie = stacktest.Start(t, append(settings,
		"LLM_BASE_URL", m.model.url, "LLM_MODEL", "stand-in", "ALLOWED_PRIVATE_NETWORKS", "127.0.0.0/8", "IDEMPOTENCY_WINDOW", "0s")...)
	m.collection = m.make(t, `mutation($m: String!) { createCollection(input: {name: "Handbook", description: "How we work", embeddingModel: $m}) { id } }`,
		object{"m": embed.BuiltinModel})
	m.connector = m.make(t, `mutation($c: ID!) { createConnector(input: {name: "Files", type: "file_upload", collection: $c}) { id } }`, object{"c": m.collection})
	m.Upload(m.connector, map[string]string{
		"office/lamps.md":   "# Lamps\n\nA broken lamp is replaced by the night shift. Call 4711.\n\n## Spare lamps\n\nSpare lamps are in room 12.\n",
		"office/coffee.md":  "# Coffee\n\nThe coffee machine is cleaned on Fridays.\n",
		"office/parking.md": "# Parking\n\nVisitors park behind the house. The barrier opens at seven.\n",
		"bad.docx":          "this is no document",
	})
	m.agent = m.make(t, `mutation { createAgent(input: {name: "Caretaker", systemPrompt: "You look after the house.", tools: ["search_documents"]}) { id } }`, nil)
	m.key = m.make(t, `mutation($c: ID!) { createAPIKey(input: {name: "Site", allowedHosts: ["example.com"], allowedCollections: [$c]}) { apiKey { id } } }`, object{"c": m.collection})
	m.integration = m.make(t, `mutation($url: String!) { createToolIntegration(input: {provider: "webhook", name: "Desk", slug: "desk", config: {url: $url}}) { id } }`, object{"url": m.desk.url})
	m.tool = m.make(t, `mutation($id: ID!, $schema: Map!) { saveWebhookTool(integrationId: $id, input: {name: "create_ticket", title: "Create a ticket", description: "Creates a ticket", method: "POST", path: "/tickets", inputSchema: $schema}) { id } }`,
		object{"id": m.integration, "schema": object{"type": "object", "properties": object{"title": object{"type": "string"}}, "required": []string{"title"}}})
	m.inbound = m.make(t, `mutation { createInboundIntegration(input: {provider: "github", name: "Code"}) { integration { id } } }`, nil)
	m.automation = m.make(t, `mutation($a: ID!) { createAutomation(input: {name: "Reports", agentId: $a, kind: SCHEDULE, trigger: {cron: "0 9 * * 1"}, instructions: "Write a report."}) { id } }`, object{"a": m.agent})
	var found struct {
		Documents struct {
			Edges []struct{ Node struct{ ID string } }
		}
	}
	m.GraphQL(&found, `{ documents(matching: "lamps", first: 1) { edges { node { id } } } }`, nil)
	if len(found.Documents.Edges) == 0 {
		t.Fatal("no document was indexed")
	}
	m.document = found.Documents.Edges[0].Node.ID
	return m
}

// isUsed adds what people and agents leave: a conversation, a run that waits for an approval, and an attached database,
// which is not there.
func (m *world) isUsed(t *testing.T) {
	t.Helper()
	m.database = m.make(t, `mutation($input: CreateConnectorInput!) { createConnector(input: $input) { id } }`, object{"input": object{
		"name": "House", "type": "postgresql", "collection": m.collection, "credentials": object{"user": "reader", "password": "secret"},
		"config": object{"host": "127.0.0.1", "port": 1, "database": "house"},
	}})
	m.Follow(`subscription { chat(input: {message: "Who replaces a broken lamp?"}) { __typename } }`, nil, "ChatDone")
	m.acting = m.actingAgent()
	m.Follow(`subscription($a: ID!) { runAgent(input: {agentId: $a, message: "Create a ticket"}) { __typename } }`, object{"a": m.acting}, "AgentRunWaiting")
	var made struct {
		Conversations struct {
			Edges []struct{ Node struct{ ID string } }
		}
		Approvals struct {
			Edges []struct{ Node struct{ ID, RunID string } }
		}
	}
	m.GraphQL(&made, `{ conversations(kind: CHAT, first: 1) { edges { node { id } } } approvals(first: 1) { edges { node { id runId } } } }`, nil)
	if len(made.Conversations.Edges) == 0 || len(made.Approvals.Edges) == 0 {
		t.Fatalf("nothing was made: %+v", made)
	}
	m.conversation = made.Conversations.Edges[0].Node.ID
	m.approval, m.run = made.Approvals.Edges[0].Node.ID, made.Approvals.Edges[0].Node.RunID
}

// make runs a mutation and returns the id of what it makes.
func (m *world) make(t *testing.T, query string, variables object) string {
	t.Helper()
	var made map[string]json.RawMessage
	m.GraphQL(&made, query, variables)
	for _, value := range made {
		var entity struct {
			ID          string
			APIKey      struct{ ID string }
			Integration struct{ ID string }
		}
		if err := json.Unmarshal(value, &entity); err != nil {
			t.Fatal(err)
		}
		for _, id := range []string{entity.ID, entity.APIKey.ID, entity.Integration.ID} {
			if id != "" {
				return id
			}
		}
	}
	t.Fatal("nothing was made")
	return ""
}
