package graph_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/memory"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/agentrun"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/graph"
	"github.com/magpie-search/magpie/internal/collection/document"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/viewer"
)

// lists returns a query of every field that returns a connection, with all fields of a row
// that need statements, and a few nested lists.
func lists(n *tenant) map[string]trial {
	id := func(v any) map[string]any { return map[string]any{"i": v} }
	const page = " totalCount pageInfo { hasNextPage endCursor } "
	return map[string]trial{
		"Query.collections":                  {"{ collections {" + page + "edges { node { name stats { documentCount lastSync } connectorIds } } } }", nil, ""},
		"Query.connectors":                   {"{ connectors {" + page + "edges { node { name docSync { syncStrategy } storedCredentials pendingDeletion { documents } freshness { waiting lastDay { p95 } } history { total } collection { name stats { documentCount } } jobs(first: 1) { edges { node { status } } } } } } }", nil, ""},
		"Query.documents":                    {"{ documents(first: 80) {" + page + "edges { node { title content summary collectionName source allMetadata } } } }", nil, ""},
		"Query.documentRestrictions":         {"{ documentRestrictions(first: 40) {" + page + "edges { node { documentId readers { kind id } restrictedBy } } } }", nil, ""},
		"passages and history":               {"{ documents(first: 120) { edges { node { title restricted passages(first: 2) { totalCount edges { node { text } } } history(first: 2) { kind jobId } } } } }", nil, ""},
		"Query.inboundIntegrations":          {"{ inboundIntegrations {" + page + "edges { node { name url status } } } }", nil, ""},
		"Query.automations":                  {"{ automations {" + page + "edges { node { name kind trigger nextRunAt } } } }", nil, ""},
		"Query.automationRuns":               {"{ automationRuns {" + page + "edges { node { title status output deliveries { kind status } } } } }", nil, ""},
		"Query.toolIntegrations":             {"{ toolIntegrations {" + page + "edges { node { name slug status storedCredentials tools { name risk } connections { status } } } } }", nil, ""},
		"Query.approvals":                    {"{ approvals {" + page + "edges { node { title arguments status mayDecide approverRole approverIds } } } }", nil, ""},
		"Query.toolGrants":                   {"query($i: ID!) { toolGrants(agentId: $i) {" + page + "edges { node { tool scope } } } }", id(n.agent), ""},
		"Query.inboundEvents":                {"{ inboundEvents {" + page + "edges { node { summary type status automationIds } } } }", nil, ""},
		"Query.sourceGroups":                 {"query($i: ID!) { sourceGroups(connectorId: $i, first: 40) {" + page + "edges { node { id name memberCount } } } }", id(n.connector), ""},
		"Query.directoryGroups":              {"{ directoryGroups(first: 40) {" + page + "edges { node { id name memberCount } } } }", nil, ""},
		"Query.databaseTables":               {"query($i: ID!) { databaseTables(databaseId: $i) {" + page + "edges { node { table columns { name } joins } } } }", id(n.database), ""},
		"Query.syncJobs":                     {"query($i: ID!) { syncJobs(connectorId: $i) {" + page + "edges { node { status startedAt duration pages bytesFetched progress { indexed } stats { added } } } } }", id(n.connector), ""},
		"Query.syncItems":                    {"query($i: ID!) { syncItems(connectorId: $i) {" + page + "edges { node { path status reason } } } }", id(n.connector), ""},
		"Query.quarantinedDocuments":         {"query($i: ID!) { quarantinedDocuments(connectorId: $i, first: 40) {" + page + "edges { node { title content source } } } }", id(n.connector), ""},
		"plan":                               {"query($i: ID!) { syncPlan(jobId: $i) { counts { added } items(first: 40) {" + page + "edges { node { path action reason } } } } }", id(n.plan), ""},
		"Query.conversations":                {"{ conversations {" + page + "edges { node { title messages(last: 1) { totalCount edges { node { content } } } } } } }", nil, ""},
		"Query.apiKeys":                      {"{ apiKeys {" + page + "edges { node { name status } } } }", nil, ""},
		"Query.tokens":                       {"{ tokens(first: 40) {" + page + "edges { node { name kind status role groups } } } }", nil, ""},
		"Query.agents":                       {"{ agents {" + page + "edges { node { name tools collections } } } }", nil, ""},
		"Query.agentTemplates":               {`{ agentTemplates(first: 40, category: "rows") {` + page + "edges { node { name category builtIn systemPrompt } } } }", nil, ""},
		"Query.agentMemories":                {"query($i: ID!) { agentMemories(agentId: $i, first: 40) {" + page + "edges { node { content kind shared } } } }", id(n.agent), ""},
		"Query.runs":                         {"query($i: ID!) { runs(agentId: $i, first: 40) {" + page + "edges { node { status message answer events(limit: 2) { seq type } } } } }", id(n.agent), ""},
		"Query.sourceFiles":                  {"query($i: ID!) { sourceFiles(connectorId: $i, first: 40) {" + page + "edges { node { path } } } }", id(n.connector), ""},
		"Query.members":                      {"{ members(first: 40) {" + page + "edges { node { role user { name email } } } } }", nil, ""},
		"Query.invitations":                  {"{ invitations(first: 40) {" + page + "edges { node { email role status } } } }", nil, ""},
		"Query.oauthGrants":                  {"{ oauthGrants(first: 40) {" + page + "edges { node { provider account status personId } } } }", nil, ""},
		"Query.auditLog":                     {`{ auditLog(first: 40, filter: {action: "collection.create", matching: "row-"}) {` + page + "edges { node { action changes { field } } } } }", nil, ""},
		"collections, connectors, documents": {"{ collections(first: 20) { edges { node { name connectors(first: 3) { totalCount edges { node { name collection { name } documents(first: 3) { totalCount edges { node { title source collectionName } } } } } } } } } }", nil, ""},
		"files":                              {"query($i: ID!) { connector(id: $i) { files(first: 40) {" + page + "edges { node { path } } } } }", id(n.connector), ""},
		"messages":                           {"query($i: ID!) { conversation(id: $i) { messages(first: 40) {" + page + "edges { node { content } } } } }", id(n.talk), ""},
	}
}

func TestEveryListHasACaseOfItsStatements(t *testing.T) {
	t.Parallel()
	cases := lists(&tenant{})
	for _, f := range graph.NewSchema(&graph.Resolver{}).Schema().Query.Fields {
		if strings.HasSuffix(f.Type.Name(), "Connection") && cases["Query."+f.Name].query == "" {
			t.Errorf("Query.%s has no case: give it one in lists (graph/statements_test.go), and rows in rowsOf", f.Name)
		}
	}
}

// counted runs an operation and counts its statements.
func (h *fixture) counted(t *testing.T, v viewer.Viewer, try trial) (answer, int64) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"query": try.query, "variables": try.variables})
	if err != nil {
		t.Fatal(err)
	}
	ctx, counter := store.Counting(viewer.With(t.Context(), v))
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/graphql", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	h.server.ServeHTTP(w, r)
	a := answer{body: w.Body.String()}
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("%s: %v", a.body, err)
	}
	return a, counter.Statements()
}

// rowsOf adds one row to each list.
func (h *fixture) rowsOf(t *testing.T, n *tenant, number int) {
	t.Helper()
	system, owner := n.system(t), viewer.With(t.Context(), n.viewer)
	name := fmt.Sprintf("row-%03d", number)
	c := must[*ent.Collection](t)(h.db.Ent.Collection.Create().SetName(name).SetEmbeddingModel(h.models.Default().Model()).Save(owner))
	connector := must[*ent.Connector](t)(h.db.Ent.Connector.Create().SetName(name).SetType("file_upload").SetCollectionID(c.ID).Save(system))
	other := *n
	other.collection, other.connector = c.ID, connector.ID
	for _, place := range []*tenant{n, &other} {
		document := h.put(t, place, name+".md", name, "The text of "+name+".")
		scope, err := viewer.System(n.viewer.Workspace).Scope()
		if err != nil {
			t.Fatal(err)
		}
		if err := h.resolver.Index.SetSummary(t.Context(), scope, document, "Kept."); err != nil {
			t.Fatal(err)
		}
	}
	restricted := h.put(t, n, name+" restricted.md", name+" restricted", "The text of "+name+".")
	if err := h.resolver.Documents.Restrict(owner, restricted, document.Named{Users: []string{n.viewer.Email}}); err != nil {
		t.Fatal(err)
	}
	if err := h.resolver.Index.SetSummary(viewer.With(t.Context(), viewer.System(n.viewer.Workspace)), must[viewer.Scope](t)(viewer.System(n.viewer.Workspace).Scope()), restricted, "Kept."); err != nil {
		t.Fatal(err)
	}
	must[*ent.SyncJob](t)(h.resolver.Jobs.Start(system, connector.ID, syncjob.StartOptions{}))
	job := must[*ent.SyncJob](t)(h.db.Ent.SyncJob.Create().SetConnectorID(n.connector).SetStatus("COMPLETED").Save(system))
	must[*ent.SyncItem](t)(h.db.Ent.SyncItem.Create().SetConnectorID(n.connector).SetJobID(job.ID).SetSourceID(name).SetPath(name).SetStatus("INDEXED").Save(system))
	must[*ent.PlanItem](t)(h.db.Ent.PlanItem.Create().SetConnectorID(n.connector).SetJobID(n.plan).SetSourceID(name).SetPath(name).SetAction("ADD").Save(system))
	h.quarantine(t, n, n.connector, name+" missing.md")
	must[*ent.SourceFile](t)(h.files.Upload(system, n.connector, sourcefile.Upload{Path: name + ".md", MediaType: "text/markdown", Content: strings.NewReader("x"), Size: 1}))
	must[*authn.CreatedKey](t)(h.resolver.Keys.Create(system, authn.KeyDraft{Name: name, Collections: []uuid.UUID{c.ID}, Hosts: []string{"*"}}))
	h.peopleOf(t, n, name)
	must[*ent.Agent](t)(h.db.Ent.Agent.Create().SetName(name).SetSystemPrompt("Help.").SetCollections([]uuid.UUID{c.ID}).Save(owner))
	must[*ent.AgentTemplate](t)(h.db.Ent.AgentTemplate.Create().SetName(name).SetCategory("rows").SetSystemPrompt("Help.").Save(owner))
	must[*ent.AgentMemory](t)(h.resolver.Memories.Create(owner, n.agent, memory.Input{Content: "The number of " + name}))
	must[*ent.AgentRun](t)(h.db.Ent.AgentRun.Create().SetAgentID(n.agent).SetConversationID(n.talk).SetMessage(name).SetStatus(agentrun.StatusCompleted).Save(owner))
	aToken(t, h, n, viewer.Viewer{})
	anIntegration(t, h, n)
	anEvent(t, h, n)
	anAutomation(t, h, n)
	aRun(t, h, n)
	aToolIntegration(t, h, n)
	anApproval(t, h, n)
	aToolGrant(t, h, n, uuid.Nil)
	h.aTable(t, n, n.database, name, "")
	h.aGroup(t, n, name)
	h.aDirectoryGroup(t, n, name)
	talk := must[*ent.Conversation](t)(h.db.Ent.Conversation.Create().SetTitle(name).Save(owner))
	for _, id := range []uuid.UUID{talk.ID, n.talk} {
		must[*ent.Message](t)(h.db.Ent.Message.Create().SetConversationID(id).SetRole("USER").SetContent(name).Save(owner))
	}
}

// peopleOf adds a member, an invitation and a grant.
func (h *fixture) peopleOf(t *testing.T, n *tenant, name string) {
	t.Helper()
	all, owner := viewer.With(t.Context(), viewer.System(uuid.Nil)), viewer.With(t.Context(), n.viewer)
	person := must[*ent.User](t)(h.resolver.Accounts.CreatePerson(all, authn.PersonDraft{Email: name + "@rows.example", Name: name}))
	must[*ent.Membership](t)(h.resolver.Accounts.Join(all, n.viewer.Workspace, person.ID, membership.RoleEditor))
	h.invited(t, n.viewer, name+"@guests.example")
	must[*ent.OAuthGrant](t)(h.db.Ent.OAuthGrant.Create().SetProvider("google").SetAccount(name + "@google.example").SetPersonID(person.ID).SetTokens([]byte("sealed")).Save(owner))
}

func TestTheStatementsOfAListDoNotGrowWithItsRows(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	scope, err := viewer.System(ada.viewer.Workspace).Scope()
	if err != nil {
		t.Fatal(err)
	}
	if err := h.resolver.Index.SetSummary(t.Context(), scope, ada.document, "Kept."); err != nil {
		t.Fatal(err)
	}
	ada.database = aDatabase(t, h, ada)
	sizes := []int{3, 30}
	found := map[string][]int64{}
	bytes := map[string][]int{}
	made := 0
	for _, size := range sizes {
		for ; made < size; made++ {
			h.rowsOf(t, ada, made)
		}
		for name, try := range lists(ada) {
			got, n := h.counted(t, ada.viewer, try)
			if got.code() != "" {
				t.Fatalf("%s: %s", name, got.body)
			}
			found[name], bytes[name] = append(found[name], n), append(bytes[name], len(got.body))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		n, size := found[name], bytes[name]
		t.Logf("%s: %d statements", name, n[0])
		if n[0] != n[1] || n[0] == 0 {
			t.Errorf("%s: %d statements for %d rows, %d for %d", name, n[0], sizes[0], n[1], sizes[1])
		}
		if size[1] < 3*size[0] {
			t.Errorf("%s: %d bytes for %d rows, %d for %d: it shows no more rows", name, size[0], sizes[0], size[1], sizes[1])
		}
	}
}
