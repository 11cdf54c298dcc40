package stack_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/rest"
)

// belongings are the ids of somebody's things.
type belongings struct {
	collection, connector, document, job, item string
	passage                                    string // of the document
	plan                                       string // a job, as job is
	conversation, message                      string // of a chat, and its answer
	agent, template, memory, run, dialogue     string // dialogue is the conversation of the run
	key, publishableKey, secretKey             string
	minted                                     string // a token
	integration, event                         string // of inbound integrations
	automation, automated                      string // and a run of it
	tools, tool                                string // an integration with tools and a tool of it
	approval, allowed                          string // a pending approval of the run, and a grant for the agent
	seat
	// journey is what is under way at a provider; of those who have begun something there.
	journey
}

const (
	canary  = "xylophone"
	theFile = "canary.md"
)

// furnish fills the workspace of the session with one of everything.
func (s *service) furnish(name string) belongings {
	s.t.Helper()
	b := belongings{connector: s.connector()}
	var rows struct {
		Connector struct{ Collection struct{ ID string } }
		Documents struct {
			Edges []struct{ Node struct{ ID string } }
		}
		SyncItems struct {
			Edges []struct{ Node struct{ ID string } }
		}
		CreateAPIKey struct {
			PublishableKey, SecretKey string
			APIKey                    struct{ ID string } `json:"apiKey"`
		}
		Conversation struct {
			Messages struct {
				Edges []struct{ Node struct{ ID, Role string } }
			}
		}
		Conversations struct {
			Edges []struct{ Node struct{ ID string } }
		}
	}
	s.graphql(&rows, `query($c: ID!) { connector(id: $c) { collection { id } } }`, map[string]any{"c": b.connector})
	b.collection = rows.Connector.Collection.ID
	var uploaded struct{ UploadFiles []struct{ Path string } }
	s.decode(&uploaded, s.upload(b.connector, map[string]string{theFile: "# The " + canary + " of " + name + "\n\nThe " + canary + " of " + name + " is kept under the bed.\n"}))
	b.job = s.startSync(b.connector)
	s.watchOverSSE(b.job)
	var planned struct{ PlanSync struct{ ID string } }
	s.graphql(&planned, `mutation($c: ID!) { planSync(connectorId: $c) { id } }`, map[string]any{"c": b.connector})
	b.plan = planned.PlanSync.ID
	s.watchOverSSE(b.plan)
	s.graphql(&rows, `query($c: ID!) { documents(connectorId: $c) { edges { node { id } } } syncItems(connectorId: $c) { edges { node { id } } } }`, map[string]any{"c": b.connector})
	s.graphql(&rows, `mutation($c: [ID!]) { createAPIKey(input: {name: "Site", allowedHosts: ["*"], allowedCollections: $c}) { publishableKey secretKey apiKey { id } } }`,
		map[string]any{"c": []string{b.collection}})
	talk := s.request(http.MethodPost, "/graphql", "application/json", encode(s.t, map[string]any{
		"query": `subscription { chat(input: {message: "Where is the ` + canary + `?"}) { __typename } }`,
	}), "Accept", "text/event-stream")
	if _, err := io.ReadAll(talk.Body); err != nil {
		s.t.Fatal(err)
	}
	s.graphql(&rows, `{ conversations { edges { node { id } } } }`, nil)
	if len(rows.Documents.Edges) != 1 || len(rows.SyncItems.Edges) != 1 || len(rows.Conversations.Edges) != 1 {
		s.t.Fatalf("%s has %+v", name, rows)
	}
	b.document, b.item, b.conversation = rows.Documents.Edges[0].Node.ID, rows.SyncItems.Edges[0].Node.ID, rows.Conversations.Edges[0].Node.ID
	var read struct {
		Document struct {
			Passages struct {
				Edges []struct{ Node struct{ ID string } }
			}
		}
	}
	s.graphql(&read, `query($d: ID!) { document(id: $d) { passages(first: 1) { edges { node { id } } } } }`, map[string]any{"d": b.document})
	b.passage = read.Document.Passages.Edges[0].Node.ID
	b.key, b.publishableKey, b.secretKey = rows.CreateAPIKey.APIKey.ID, rows.CreateAPIKey.PublishableKey, rows.CreateAPIKey.SecretKey
	s.graphql(&rows, `query($c: ID!) { conversation(id: $c) { messages(first: 2) { edges { node { id role } } } } }`, map[string]any{"c": b.conversation})
	for _, m := range rows.Conversation.Messages.Edges {
		if m.Node.Role == "ASSISTANT" {
			b.message = m.Node.ID
		}
	}
	var made struct {
		CreateAgent, CreateAgentTemplate, CreateAgentMemory struct{ ID string }
	}
	s.graphql(&made, `mutation($n: String!, $c: [ID!]) {
		createAgent(input: {name: $n, systemPrompt: $n, collections: $c}) { id }
		createAgentTemplate(input: {name: $n, systemPrompt: $n}) { id }
	}`, map[string]any{"n": "Agent of " + name, "c": []string{b.collection}})
	b.agent, b.template = made.CreateAgent.ID, made.CreateAgentTemplate.ID
	s.graphql(&made, `mutation($a: ID!, $c: String!) { createAgentMemory(agentId: $a, input: {content: $c}) { id } }`,
		map[string]any{"a": b.agent, "c": "The " + canary + " of " + name})
	b.memory = made.CreateAgentMemory.ID
	b.run, b.dialogue = s.runOf(b.agent)
	b.integration, b.event = s.integrate(name)
	b.automation, b.automated = s.automate(name, b.agent)
	b.tools, b.tool = s.equip(name)
	b.approval, b.allowed = s.askApproval(name, b.agent, b.run)
	b.minted, _ = s.mint("Token of " + name)
	b.seat = s.sit("guest-of-" + name + "@example.com")
	for i, id := range b.ids() {
		if id == "" {
			s.t.Fatalf("%s has none of thing %d: %+v", name, i, b)
		}
	}
	return b
}

// runOf runs an agent to the end.
func (s *service) runOf(agent string) (run, conversation string) {
	s.t.Helper()
	stream := s.request(http.MethodPost, "/api/v1/agents/"+agent+"/execute/stream", "application/json",
		encode(s.t, map[string]any{"message": "Where is the " + canary + "?"}))
	events, err := io.ReadAll(stream.Body)
	if err != nil || stream.StatusCode != http.StatusOK {
		s.t.Fatalf("%d %s %v", stream.StatusCode, events, err)
	}
	runs := s.call(http.MethodGet, "/api/v1/agents/"+agent+"/runs", nil)
	if len(runs.list) != 1 {
		s.t.Fatalf("%s\n%s", events, runs.body)
	}
	run, _ = runs.list[0]["id"].(string)
	conversation, _ = runs.list[0]["conversationId"].(string)
	return run, conversation
}

// intrusion is what a stranger sends on a route to get at somebody's things.
type intrusion struct {
	path   string // after the route's pattern, with the owner's ids
	body   any
	status int // of the refusal; 200 and 201 for answers that must hold nothing of the owner's
}

// intrusions has one case for each route.
func intrusions(ada belongings) map[string]intrusion {
	collection, connector := "/api/v1/collections/"+ada.collection, "/api/v1/connectors/"+ada.connector
	agent, memory := "/api/v1/agents/"+ada.agent, "/api/v1/agents/"+ada.agent+"/memories/"+ada.memory
	ask := map[string]any{"query": canary, "collection": ada.collection, "min_score": 0}
	all := map[string]intrusion{
		"POST /v1/docs/search": {"/v1/docs/search", ask, 403},
		"GET /v1/docs/search":  {"/v1/docs/search?min_score=0&query=" + canary + "&collection=" + ada.collection, nil, 403},
		"GET /v1/docs/suggest": {"/v1/docs/suggest?q=" + canary[:len(canary)-1] + "&collection=" + ada.collection, nil, 403},
		"POST /v1/docs/events": {"/v1/docs/events", map[string]any{
			"type": "click", "request_id": "6f1c2a34-5b6d-4e7f-8a90-b1c2d3e4f506", "document_id": ada.document,
		}, 202},
		"POST /v1/chat/stream": {"/v1/chat/stream", map[string]any{"message": canary, "conversation_id": ada.conversation}, 404},
		"POST /v1/analytics/events": {"/v1/analytics/events", map[string]any{
			"type": "click", "request_id": "request-of-ada", "document_id": ada.document,
		}, 202},
		"POST /api/v1/auth/login":                               {"/api/v1/auth/login", map[string]any{"email": email, "password": "a bad password"}, 401},
		"POST /api/v1/auth/refresh":                             {"/api/v1/auth/refresh", map[string]any{"refresh_token": "guess"}, 401},
		"GET /api/v1/collections":                               {"/api/v1/collections", nil, 200},
		"POST /api/v1/collections":                              {"/api/v1/collections", map[string]any{"name": "Mine"}, 201},
		"GET /api/v1/collections/{id}":                          {collection, nil, 404},
		"PUT /api/v1/collections/{id}":                          {collection, map[string]any{"name": "Mine"}, 404},
		"DELETE /api/v1/collections/{id}":                       {collection, nil, 404},
		"POST /api/v1/collections/{id}/refresh-stats":           {collection + "/refresh-stats", nil, 404},
		"GET /api/v1/documents/{id}/content":                    {"/api/v1/documents/" + ada.document + "/content", nil, 404},
		"GET /api/v1/documents/{id}/why":                        {"/api/v1/documents/" + ada.document + "/why?user=ada@example.com", nil, 404},
		"GET /api/v1/documents/{id}/passages":                   {"/api/v1/documents/" + ada.document + "/passages", nil, 404},
		"GET /api/v1/documents/{id}/history":                    {"/api/v1/documents/" + ada.document + "/history", nil, 404},
		"GET /api/v1/documents/{id}/readers":                    {"/api/v1/documents/" + ada.document + "/readers", nil, 404},
		"PUT /api/v1/documents/{id}/restriction":                {"/api/v1/documents/" + ada.document + "/restriction", map[string]any{"users": []string{"eve@example.com"}, "directoryGroups": []string{}}, 404},
		"DELETE /api/v1/documents/{id}/restriction":             {"/api/v1/documents/" + ada.document + "/restriction", nil, 404},
		"GET /api/v1/directory-groups":                          {"/api/v1/directory-groups", nil, 200},
		"GET /api/v1/document-restrictions":                     {"/api/v1/document-restrictions?connector=" + ada.connector, nil, 200},
		"GET /api/v1/passages/{id}":                             {"/api/v1/passages/" + ada.passage, nil, 404},
		"GET /api/v1/documents/{id}/summary":                    {"/api/v1/documents/" + ada.document + "/summary", nil, 404},
		"GET /api/v1/connectors":                                {"/api/v1/connectors?collection=" + ada.collection, nil, 200},
		"POST /api/v1/connectors":                               {"/api/v1/connectors", map[string]any{"name": "x", "type": "file_upload", "collection": ada.collection}, 404},
		"POST /api/v1/connectors/test":                          {"/api/v1/connectors/test", map[string]any{"type": "file_upload"}, 200},
		"GET /api/v1/connectors/{id}":                           {connector, nil, 404},
		"PUT /api/v1/connectors/{id}":                           {connector, map[string]any{"name": "Mine"}, 404},
		"PATCH /api/v1/connectors/{id}":                         {connector, map[string]any{"doc_sync": map[string]any{"sync_strategy": "scheduled"}}, 404},
		"DELETE /api/v1/connectors/{id}":                        {connector, nil, 404},
		"POST /api/v1/connectors/{id}/test":                     {connector + "/test", nil, 404},
		"POST /api/v1/connectors/{id}/sync":                     {connector + "/sync", nil, 404},
		"GET /api/v1/connectors/{id}/sync/{jobId}":              {connector + "/sync/" + ada.job, nil, 404},
		"GET /api/v1/connectors/{id}/documents":                 {connector + "/documents", nil, 404},
		"GET /api/v1/connectors/{id}/documents/{documentId}":    {connector + "/documents/" + ada.document, nil, 404},
		"DELETE /api/v1/connectors/{id}/documents/{documentId}": {connector + "/documents/" + ada.document, nil, 404},
		"GET /api/v1/connectors/{id}/files":                     {connector + "/files", nil, 404},
		"POST /api/v1/connectors/{id}/files/upload":             {connector + "/files/upload", form{theFile: "mine"}, 404},
		"DELETE /api/v1/connectors/{id}/files":                  {connector + "/files", map[string]any{"paths": []string{theFile}}, 404},
		"GET /api/v1/search":                                    {"/api/v1/search?min_score=0&query=" + canary + "&collection=" + ada.collection, nil, 404},
		"GET /api/v1/agents":                                    {"/api/v1/agents", nil, 200},
		"POST /api/v1/agents":                                   {"/api/v1/agents", map[string]any{"name": "x", "systemPrompt": "x", "collections": []string{ada.collection}}, 404},
		"GET /api/v1/agents/{id}":                               {agent, nil, 404},
		"PUT /api/v1/agents/{id}":                               {agent, map[string]any{"name": "Mine", "collections": []string{ada.collection}}, 404},
		"DELETE /api/v1/agents/{id}":                            {agent, nil, 404},
		"GET /api/v1/agent-templates":                           {"/api/v1/agent-templates?limit=200", nil, 200},
		"GET /api/v1/agent-templates/{id}":                      {"/api/v1/agent-templates/" + ada.template, nil, 404},
		"POST /api/v1/agents/from-template/{templateId}":        {"/api/v1/agents/from-template/" + ada.template, map[string]any{"collections": []string{ada.collection}}, 404},
		"GET /api/v1/agents/{id}/memories":                      {agent + "/memories", nil, 404},
		"POST /api/v1/agents/{id}/memories":                     {agent + "/memories", map[string]any{"content": "x"}, 404},
		"GET /api/v1/agents/{id}/memories/search":               {agent + "/memories/search?q=" + canary, nil, 404},
		"GET /api/v1/agents/{id}/memories/{memoryId}":           {memory, nil, 404},
		"PUT /api/v1/agents/{id}/memories/{memoryId}":           {memory, map[string]any{"content": "x"}, 404},
		"DELETE /api/v1/agents/{id}/memories/{memoryId}":        {memory, nil, 404},
		"GET /api/v1/audit-log":                                 {"/api/v1/audit-log?targetId=" + ada.connector, nil, 200},
		"GET /api/v1/audit-log.csv":                             {"/api/v1/audit-log.csv?targetId=" + ada.connector, nil, 200},
		"GET /api/v1/audit-log.jsonl":                           {"/api/v1/audit-log.jsonl", nil, 200},
		"POST /api/v1/auth/logout":                              {"/api/v1/auth/logout", nil, 200},
	}
	for _, more := range []map[string]intrusion{
		peopleIntrusions(ada.seat), signOnIntrusions(ada), runIntrusions(ada), talkIntrusions(ada), keyIntrusions(ada), sourceIntrusions(ada), inboundIntrusions(ada), automationIntrusions(ada), toolIntrusions(ada), approvalIntrusions(ada), databaseIntrusions(ada),
	} {
		maps.Copy(all, more)
	}
	return all
}

// form is a multipart body of files.
type form map[string]string

func (f form) encode(t *testing.T) (kind string, body io.Reader) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, content := range f {
		part, err := w.CreateFormFile("files", name)
		if err == nil {
			_, err = io.WriteString(part, content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), &b
}

func (s *service) intrude(method string, try intrusion, key string) (int, string) {
	s.t.Helper()
	kind, body := "", io.Reader(nil)
	switch content := try.body.(type) {
	case nil:
	case form:
		kind, body = content.encode(s.t)
	default:
		kind, body = "application/json", encode(s.t, content)
	}
	response := s.request(method, try.path, kind, body, "X-Service-Key", key)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestNoRouteGivesAStrangerAnything(t *testing.T) {
	t.Parallel()
	s, provider := startBeside(t)
	ada := s.furnish("ada")
	ada.journey = s.depart(provider)
	owner, before := s.token, s.fingerprint(ada.workspace)
	if _, err := s.app.Accounts.CreateOwner(t.Context(), "Other", "eve@example.com", "Eve", password); err != nil {
		t.Fatal(err)
	}
	s.token = ""
	s.token = s.signIn("eve@example.com")
	eve := s.furnish("eve")

	tries := intrusions(ada)
	secrets := append(ada.ids(), "of ada", ada.secretKey)
	ran := 0
	run := func(route rest.Route) {
		name := route.Method + " " + route.Pattern
		try, known := tries[name]
		if !known {
			t.Errorf("%s has no two-tenant case", name)
			return
		}
		ran++
		status, body := s.intrude(route.Method, try, eve.secretKey)
		if status != try.status {
			t.Errorf("%s: %d, not %d: %s", name, status, try.status, body)
		}
		for _, secret := range secrets {
			if strings.Contains(body, secret) {
				t.Errorf("%s tells %q: %s", name, secret, body)
			}
		}
	}
	routes := rest.Routes()
	isLogout := func(r rest.Route) bool { return strings.Contains(r.Pattern, "/logout") }
	for _, route := range routes {
		if !isLogout(route) { // it ends the session that the others need
			run(route)
		}
	}
	for _, route := range routes {
		if isLogout(route) {
			s.token = ""
			s.token = s.signIn("eve@example.com")
			run(route)
		}
	}
	if ran != len(routes) || len(tries) != len(routes) {
		t.Errorf("%d cases of %d were run for %d routes", ran, len(tries), len(routes))
	}

	// Nothing of ada's was changed.
	if after := s.fingerprint(ada.workspace); !maps.Equal(before, after) {
		t.Errorf("ada's rows were\n%v\nand are\n%v", before, after)
	}
	s.token = owner
	var content struct{ Data struct{ Content string } }
	response := s.request(http.MethodGet, "/api/v1/documents/"+ada.document+"/content", "", nil)
	if err := json.NewDecoder(response.Body).Decode(&content); err != nil || !strings.Contains(content.Data.Content, canary+" of ada") {
		t.Errorf("ada's document: %d %+v %v", response.StatusCode, content, err)
	}
	status, body := s.intrude(http.MethodGet, intrusion{path: fmt.Sprintf("/api/v1/connectors/%s/files", ada.connector)}, "")
	if status != http.StatusOK || !strings.Contains(body, theFile) {
		t.Errorf("ada's files: %d %s", status, body)
	}
}
