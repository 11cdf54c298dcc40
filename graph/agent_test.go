package graph_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/tools"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/viewer"
)

// agentTrials returns the cases of agents, their templates and memories.
func agentTrials(ada *tenant) map[string]trial {
	id := func(name string, v any) map[string]any { return map[string]any{name: v} }
	page := "{ edges { node { id } } totalCount }"
	both := map[string]any{"i": ada.memory, "a": ada.agent}
	return map[string]trial{
		"Query.agents":         {"{ agents " + page + " }", nil, ""},
		"Query.agent":          {"query($i: ID!) { agent(id: $i) { name systemPrompt collections } }", id("i", ada.agent), "not_found"},
		"Query.agentTools":     {"{ agentTools { name title description parameters } }", nil, ""},
		"Query.agentTemplates": {"{ agentTemplates(first: 200) { edges { node { id name } } totalCount } }", nil, ""},
		"Query.agentTemplate":  {"query($i: ID!) { agentTemplate(id: $i) { name systemPrompt } }", id("i", ada.template), "not_found"},
		"Query.agentMemories":  {"query($i: ID!) { agentMemories(agentId: $i) " + page + " }", id("i", ada.agent), "not_found"},
		"Query.agentMemory":    {"query($i: ID!) { agentMemory(id: $i) { content } }", id("i", ada.memory), "not_found"},
		"Query.searchAgentMemories": {"query($i: ID!) { searchAgentMemories(agentId: $i, query: \"xylophone\") { memory { content } score } }",
			id("i", ada.agent), "not_found"},

		"Mutation.createAgent": {"mutation($i: [ID!]) { createAgent(input: {name: \"x\", systemPrompt: \"x\", collections: $i}) { id } }",
			id("i", []any{ada.collection}), "not_found"},
		"Mutation.updateAgent": {"mutation($i: ID!) { updateAgent(id: $i, input: {name: \"Mine\"}) { id name } }", id("i", ada.agent), "not_found"},
		"Mutation.deleteAgent": {"mutation($i: ID!) { deleteAgent(id: $i) }", id("i", ada.agent), "not_found"},
		"Mutation.createAgentFromTemplate": {"mutation($i: ID!) { createAgentFromTemplate(templateId: $i) { id systemPrompt } }",
			id("i", ada.template), "not_found"},
		"Mutation.createAgentTemplate": {"mutation($i: ID!) { createAgentTemplate(input: {fromAgent: $i}) { id systemPrompt } }", id("i", ada.agent), "not_found"},
		"Mutation.updateAgentTemplate": {"mutation($i: ID!) { updateAgentTemplate(id: $i, input: {name: \"Mine\"}) { name } }", id("i", ada.template), "not_found"},
		"Mutation.deleteAgentTemplate": {"mutation($i: ID!) { deleteAgentTemplate(id: $i) }", id("i", ada.template), "not_found"},
		"Mutation.createAgentMemory":   {"mutation($i: ID!) { createAgentMemory(agentId: $i, input: {content: \"x\"}) { id } }", id("i", ada.agent), "not_found"},
		"Mutation.updateAgentMemory": {"mutation($i: ID!, $a: ID!) { updateAgentMemory(id: $i, agentId: $a, input: {content: \"x\"}) { content } }",
			both, "not_found"},
		"Mutation.deleteAgentMemory": {"mutation($i: ID!) { deleteAgentMemory(id: $i) }", id("i", ada.memory), "not_found"},
	}
}

// furnishAgents adds to a workspace an agent, a template and a memory.
func (h *fixture) furnishAgents(t *testing.T, n *tenant, name string) {
	t.Helper()
	got := h.ask(t, n.viewer, `mutation($n: String!, $c: [ID!], $t: [String!]) {
		createAgent(input: {name: $n, systemPrompt: $n, collections: $c, tools: $t}) { id }
		createAgentTemplate(input: {name: $n, systemPrompt: $n}) { id }
	}`, map[string]any{"n": "Agent of " + name, "c": []any{n.collection}, "t": tools.Names()})
	n.agent, n.template = got.id(t, "createAgent.id"), got.id(t, "createAgentTemplate.id")
	got = h.ask(t, n.viewer, `mutation($a: ID!, $c: String!) { createAgentMemory(agentId: $a, input: {content: $c}) { id } }`,
		map[string]any{"a": n.agent, "c": "The xylophone is " + name + "'s."})
	n.memory = got.id(t, "createAgentMemory.id")
}

func (a answer) id(t *testing.T, path string) uuid.UUID {
	t.Helper()
	text, _ := a.at(path).(string)
	id, err := uuid.Parse(text)
	if err != nil {
		t.Fatalf("%s: %s", path, a.body)
	}
	return id
}

const agentFields = "{ id name description systemPrompt tools collections allCollections startMessage model }"

func (h *fixture) updateAgent(t *testing.T, n *tenant, input map[string]any) answer {
	t.Helper()
	return h.ask(t, n.viewer, "mutation($i: ID!, $in: UpdateAgentInput!) { agent: updateAgent(id: $i, input: $in) "+agentFields+" }",
		map[string]any{"i": n.agent, "in": input})
}

func TestAnAgentIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	got := h.ask(t, ada.viewer, "mutation($in: CreateAgentInput!) { agent: createAgent(input: $in) "+agentFields+" }", map[string]any{"in": map[string]any{
		"name": "  Guide ", "description": "Helps", "systemPrompt": "You help.", "tools": []any{"calculate", "search_documents"},
		"collections": []any{ada.collection, ada.collection}, "startMessage": "Hello!", "model": "small",
	}})
	want := map[string]any{
		"id": got.at("agent.id"), "name": "Guide", "description": "Helps", "systemPrompt": "You help.", "tools": []any{"calculate", "search_documents"},
		"collections": []any{ada.collection.String()}, "allCollections": false, "startMessage": "Hello!", "model": "small",
	}
	check := func(what string, got answer) {
		t.Helper()
		if fmt.Sprint(got.at("agent")) != fmt.Sprint(want) {
			t.Errorf("%s: %s, want %v", what, got.body, want)
		}
	}
	check("made", got)
	ada.agent = got.id(t, "agent.id")
	for _, step := range []struct{ input, want map[string]any }{
		{map[string]any{}, nil},
		{map[string]any{"name": "Helper"}, map[string]any{"name": "Helper"}},
		{map[string]any{"name": nil, "systemPrompt": nil, "allCollections": nil}, nil},
		{map[string]any{"tools": []any{"get_document"}}, map[string]any{"tools": []any{"get_document"}}},
		{map[string]any{"description": nil, "startMessage": " ", "model": nil}, map[string]any{"description": nil, "startMessage": nil, "model": nil}},
		{map[string]any{"tools": nil}, map[string]any{"tools": []any{}}},
		{map[string]any{"collections": []any{}}, map[string]any{"collections": []any{}, "allCollections": false}},
		{map[string]any{"collections": nil}, map[string]any{"collections": []any{}, "allCollections": true}},
		{map[string]any{"collections": []any{ada.collection}}, map[string]any{"collections": []any{ada.collection.String()}, "allCollections": false}},
		{map[string]any{"allCollections": true, "collections": []any{}}, map[string]any{"collections": []any{}, "allCollections": true}},
		{map[string]any{"allCollections": false}, map[string]any{"allCollections": false}},
	} {
		for name, value := range step.want {
			want[name] = value
		}
		check(fmt.Sprint(step.input), h.updateAgent(t, ada, step.input))
	}
	check("read", h.ask(t, ada.viewer, "query($i: ID!) { agent(id: $i) "+agentFields+" }", map[string]any{"i": ada.agent}))
	check("as a node", h.ask(t, ada.viewer, "query($i: ID!) { agent: node(id: $i) { ... on Agent "+agentFields+" } }", map[string]any{"i": ada.agent}))

	h.furnishAgents(t, ada, "ada")
	ctx := viewer.With(t.Context(), ada.viewer)
	talk, err := h.db.Ent.Conversation.Create().SetAgentID(ada.agent).Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Ent.AgentRun.Create().SetAgentID(ada.agent).SetConversationID(talk.ID).SetMessage("Hello").Save(ctx); err != nil {
		t.Fatal(err)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { deleteAgent(id: $i) }", map[string]any{"i": ada.agent}); got.code() != "" {
		t.Fatal(got.body)
	}
	for table := range strings.FieldsSeq("agent_memories agent_runs conversations") {
		var left int
		if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from "+table+" where agent_id = $1", ada.agent).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d %s are left, %v", left, table, err)
		}
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { deleteAgent(id: $i) }", map[string]any{"i": ada.agent}); got.code() != "not_found" {
		t.Errorf("deleted again: %s", got.body)
	}
}

func TestHostileAgentsAreRefused(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, eve := h.tenant(t, "ada"), h.tenant(t, "eve")
	long := func(n int) string { return strings.Repeat("ä", n) }
	for _, c := range []struct {
		input   map[string]any
		code    string
		message string
	}{
		{map[string]any{"name": " "}, "invalid_request", "name: must not be blank"},
		{map[string]any{"name": long(201)}, "invalid_request", "name: must have at most 200 characters"},
		{map[string]any{"name": "a\x07b"}, "invalid_request", "name: must not have control characters"},
		{map[string]any{"description": long(4001)}, "invalid_request", "description: must have"},
		{map[string]any{"description": "a\x00"}, "invalid_request", "description: must not contain the character U+0000"},
		{map[string]any{"systemPrompt": "\n"}, "invalid_request", "systemPrompt: must not be blank"},
		{map[string]any{"systemPrompt": long(32001)}, "invalid_request", "systemPrompt: must have"},
		{map[string]any{"tools": []any{"calculate", "rm_rf"}}, "invalid_request", "tools[1]: must be one of search_documents"},
		{map[string]any{"tools": []any{"calculate", "Calculate"}}, "invalid_request", "tools[1]: must be one of"},
		{map[string]any{"tools": []any{"calculate", "get_document", "calculate"}}, "invalid_request", "tools[2]: is there twice"},
		{map[string]any{"startMessage": long(4001)}, "invalid_request", "startMessage: must have"},
		{map[string]any{"model": "huge"}, "invalid_request", "model: must be one of large, small"},
		{map[string]any{"collections": []any{"x"}}, "invalid_request", "collections: must be a UUID"},
		{map[string]any{"collections": []any{uuid.New()}}, "not_found", "Collection not found"},
		{map[string]any{"collections": []any{ada.collection, eve.collection}}, "not_found", "Collection not found"},
		{map[string]any{"collections": []any{ada.document}}, "not_found", "Collection not found"},
		{map[string]any{"collections": []any{ada.collection}, "allCollections": true}, "invalid_request", "collections: must be empty"},
	} {
		if got := h.updateAgent(t, ada, c.input); got.code() != c.code || !strings.HasPrefix(got.Errors[0].Message, c.message) {
			t.Errorf("changed to %.60v: %s", c.input, got.body)
		}
		whole := map[string]any{"name": "x", "systemPrompt": "x"}
		for name, value := range c.input {
			whole[name] = value
		}
		got := h.ask(t, ada.viewer, "mutation($in: CreateAgentInput!) { createAgent(input: $in) { id } }", map[string]any{"in": whole})
		if got.code() != c.code || !strings.HasPrefix(got.Errors[0].Message, c.message) {
			t.Errorf("made of %.60v: %s", c.input, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, "{ agents { totalCount } }", nil); got.at("agents.totalCount") != 1.0 {
		t.Errorf("something was created: %s", got.body)
	}
}

// An agent of some collections has no access to others after these were deleted.
func TestAnAgentWhoseCollectionsAreDeletedSearchesNone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	second := h.ask(t, ada.viewer, `mutation { createCollection(input: {name: "Second"}) { id } }`, nil).id(t, "createCollection.id")
	h.updateAgent(t, ada, map[string]any{"collections": []any{ada.collection, second}})
	for _, step := range []struct{ goes, stays uuid.UUID }{{ada.collection, second}, {second, uuid.Nil}} {
		if got := h.ask(t, ada.viewer, "mutation($i: ID!) { deleteCollection(id: $i) }", map[string]any{"i": step.goes}); got.code() != "" {
			t.Fatal(got.body)
		}
		want := []uuid.UUID{}
		if step.stays != uuid.Nil {
			want = append(want, step.stays)
		}
		got := h.ask(t, ada.viewer, "query($i: ID!) { agent(id: $i) "+agentFields+" }", map[string]any{"i": ada.agent})
		if fmt.Sprint(got.at("agent.collections")) != fmt.Sprint(want) || got.at("agent.allCollections") != false {
			t.Errorf("shown: %s", got.body)
		}
	}
	if got := h.updateAgent(t, ada, map[string]any{"name": "Still here"}); got.at("agent.allCollections") != false {
		t.Errorf("a new name gives access to everything: %s", got.body)
	}
	// An update with the list that the API returned gives no access either.
	if got := h.updateAgent(t, ada, map[string]any{"collections": []any{}}); got.at("agent.allCollections") != false {
		t.Errorf("an empty list gives access to everything: %s", got.body)
	}
}

func TestRolesOfAgents(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleViewer)
	cyd := h.member(t, ada, "cyd@example.com", membership.RoleEditor)
	for name, try := range agentTrials(ada) {
		if strings.HasPrefix(name, "Query.") {
			if got := h.ask(t, bob, try.query, try.variables); got.code() != "" {
				t.Errorf("%s as a viewer: %s", name, got.body)
			}
			continue
		}
		if name == "Mutation.createAgentMemory" {
			continue // one's own
		}
		if got := h.ask(t, bob, try.query, try.variables); got.code() != "forbidden" {
			t.Errorf("%s as a viewer: %s", name, got.body)
		}
	}
	for name, try := range agentTrials(ada) {
		if strings.Contains(name, "delete") {
			continue
		}
		if got := h.ask(t, cyd, try.query, try.variables); got.code() != "" {
			t.Errorf("%s as an editor: %s", name, got.body)
		}
	}
}

func TestTemplatesBuiltInAndOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	const fields = "id name description category systemPrompt tools startMessage builtIn createdAt"
	type node = map[string]any
	read := func(arguments string) (nodes []node, got answer) {
		t.Helper()
		got = h.ask(t, ada.viewer, "{ t: agentTemplates"+arguments+" { edges { cursor node { "+fields+" } } pageInfo { hasNextPage endCursor } totalCount } }", nil)
		edges, _ := got.at("t.edges").([]any)
		for _, e := range edges {
			nodes = append(nodes, e.(node)["node"].(node))
		}
		return nodes, got
	}
	all, got := read("(first: 200)")
	if len(all) != 13 || got.at("t.totalCount") != 13.0 || all[12]["builtIn"] != false || all[12]["id"] != ada.template.String() || all[12]["category"] != "custom" {
		t.Fatalf("%d templates: %s", len(all), got.body)
	}
	var paged []node
	for after := ""; ; {
		part, got := read("(first: 5" + after + ")")
		paged = append(paged, part...)
		if got.at("t.totalCount") != 13.0 || len(paged) > 13 {
			t.Fatalf("pages: %s", got.body)
		}
		if got.at("t.pageInfo.hasNextPage") != true {
			break
		}
		after = fmt.Sprintf(", after: %q", got.at("t.pageInfo.endCursor"))
	}
	if fmt.Sprint(paged) != fmt.Sprint(all) {
		t.Error("the pages are not the whole list")
	}
	if some, got := read(`(category: " Engineering")`); len(some) != 2 || got.at("t.totalCount") != 2.0 {
		t.Errorf("of a category: %s", got.body)
	}
	if some, _ := read(`(category: "nothing")`); len(some) != 0 {
		t.Errorf("of no category: %v", some)
	}
	builtin := all[0]["id"]
	for what, query := range map[string]string{
		"changed": "mutation($i: ID!) { updateAgentTemplate(id: $i, input: {name: \"Mine\"}) { name } }",
		"deleted": "mutation($i: ID!) { deleteAgentTemplate(id: $i) }",
	} {
		if got := h.ask(t, ada.viewer, query, map[string]any{"i": builtin}); got.code() != "conflict" {
			t.Errorf("a built-in one is %s: %s", what, got.body)
		}
	}

	// An agent from a built-in template, with and without overrides.
	made := h.ask(t, ada.viewer, "mutation($i: ID!) { a: createAgentFromTemplate(templateId: $i) "+agentFields+" }", map[string]any{"i": builtin})
	if made.at("a.name") != all[0]["name"] || made.at("a.systemPrompt") != all[0]["systemPrompt"] || fmt.Sprint(made.at("a.tools")) != fmt.Sprint(all[0]["tools"]) ||
		made.at("a.startMessage") != all[0]["startMessage"] || made.at("a.allCollections") != true {
		t.Errorf("from a template: %s", made.body)
	}
	made = h.ask(t, ada.viewer, "mutation($i: ID!, $in: CreateAgentFromTemplateInput) { a: createAgentFromTemplate(templateId: $i, input: $in) "+agentFields+" }",
		map[string]any{"i": builtin, "in": map[string]any{"name": "Ours", "tools": []any{}, "collections": []any{ada.collection}, "startMessage": "Hi", "model": "large"}})
	if made.at("a.name") != "Ours" || fmt.Sprint(made.at("a.tools")) != "[]" || made.at("a.startMessage") != "Hi" || made.at("a.model") != "large" ||
		made.at("a.systemPrompt") != all[0]["systemPrompt"] || fmt.Sprint(made.at("a.collections")) != fmt.Sprint([]any{ada.collection}) {
		t.Errorf("from a template with overrides: %s", made.body)
	}
	// A template from that agent is changed, used and deleted.
	own := h.ask(t, ada.viewer, "mutation($a: ID!) { t: createAgentTemplate(input: {fromAgent: $a, category: \" Support \"}) { "+fields+" } }",
		map[string]any{"a": made.at("a.id")})
	if own.at("t.name") != "Ours" || own.at("t.category") != "support" || own.at("t.builtIn") != false || own.at("t.createdAt") == nil ||
		own.at("t.systemPrompt") != all[0]["systemPrompt"] || own.at("t.startMessage") != "Hi" {
		t.Errorf("of an agent: %s", own.body)
	}
	id := own.at("t.id")
	changed := h.ask(t, ada.viewer, "mutation($i: ID!) { t: updateAgentTemplate(id: $i, input: {startMessage: null, description: null, tools: [\"calculate\"]}) { "+fields+" } }",
		map[string]any{"i": id})
	if changed.at("t.startMessage") != nil || changed.at("t.description") != "" || fmt.Sprint(changed.at("t.tools")) != "[calculate]" || changed.at("t.name") != "Ours" {
		t.Errorf("changed: %s", changed.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { createAgentFromTemplate(templateId: $i) { tools description } }", map[string]any{"i": id}); got.code() != "" {
		t.Errorf("used: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, "mutation($i: ID!) { deleteAgentTemplate(id: $i) }", map[string]any{"i": id}); got.code() != "" {
		t.Errorf("deleted: %s", got.body)
	}
	for input, message := range map[string]string{
		`{}`:          "name: must not be blank",
		`{name: "x"}`: "systemPrompt: must not be blank",
		`{name: "x", systemPrompt: "x", category: ""}`:                                 "category: must not be blank",
		`{name: "x", systemPrompt: "x", tools: ["x"]}`:                                 "tools[0]: must be one of",
		`{name: "x", systemPrompt: "x", category: "` + strings.Repeat("c", 101) + `"}`: "category: must have at most 100",
	} {
		if got := h.ask(t, ada.viewer, "mutation { createAgentTemplate(input: "+input+") { id } }", nil); got.code() != "invalid_request" || !strings.HasPrefix(got.Errors[0].Message, message) {
			t.Errorf("%.60s: %s", input, got.body)
		}
	}
	if got := h.ask(t, ada.viewer, "query($i: ID!) { node(id: $i) { id } }", map[string]any{"i": ada.template}); got.code() != "not_found" {
		t.Errorf("a template is no node: %s", got.body)
	}
}

func TestMemoriesOverGraphQL(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bob := h.member(t, ada, "bob@example.com", membership.RoleViewer)
	cyd := h.member(t, ada, "cyd@example.com", membership.RoleEditor)
	got := h.ask(t, bob, "mutation($a: ID!) { m: createAgentMemory(agentId: $a, input: {content: \"Bob collects stamps.\", kind: PREFERENCE, importance: 1}) { id shared personId kind importance } }",
		map[string]any{"a": ada.agent})
	id := got.id(t, "m.id")
	if got.at("m.shared") != false || got.at("m.personId") != bob.Subject.String() || got.at("m.kind") != "PREFERENCE" || got.at("m.importance") != 1.0 {
		t.Errorf("made: %s", got.body)
	}
	paths := map[string]string{
		"node":        "query($i: ID!, $a: ID!) { node(id: $i) { ... on AgentMemory { content } } agent(id: $a) { id } }",
		"nodes":       "query($i: ID!, $a: ID!) { nodes(ids: [$i, $a]) { ... on AgentMemory { content } } }",
		"agentMemory": "query($i: ID!, $a: ID!) { agentMemory(id: $i, agentId: $a) { content } }",
		"list":        "query($i: ID!, $a: ID!) { agentMemories(agentId: $a, kind: PREFERENCE) { edges { node { content } } totalCount } agentMemory(id: $i) { id } }",
		"plain list":  "query($a: ID!) { agentMemories(agentId: $a) { edges { node { content } } totalCount } }",
		"search":      "query($a: ID!) { searchAgentMemories(agentId: $a, query: \"who collects stamps\", limit: 100) { memory { content } score } }",
		"update":      "mutation($i: ID!) { updateAgentMemory(id: $i, input: {importance: 0.9}) { content } }",
		"other list":  "query($a: ID!) { agentMemories(agentId: $a, last: 5, orderBy: [{field: UPDATED_AT}]) { edges { node { content } } } }",
	}
	eve := h.tenant(t, "eve")
	for name, query := range paths {
		variables := map[string]any{}
		for v, value := range map[string]any{"i": id, "a": ada.agent} {
			if strings.Contains(query, "$"+v+":") {
				variables[v] = value
			}
		}
		if got := h.ask(t, bob, query, variables); !strings.Contains(got.body, "stamps") {
			t.Errorf("bob by %s: %s", name, got.body)
		}
		for who, v := range map[string]viewer.Viewer{"the owner": ada.viewer, "an editor": cyd, "a stranger": eve.viewer} {
			if got := h.ask(t, v, query, variables); strings.Contains(got.body, "stamps") {
				t.Errorf("%s by %s: %s", who, name, got.body)
			}
		}
	}
	if got := h.ask(t, bob, "query($i: ID!, $a: ID!) { agentMemory(id: $i, agentId: $a) { content } }", map[string]any{"i": id, "a": uuid.New()}); got.code() != "not_found" {
		t.Errorf("of another agent: %s", got.body)
	}
	if got := h.ask(t, cyd, "mutation($i: ID!) { deleteAgentMemory(id: $i) }", map[string]any{"i": id}); got.code() != "not_found" {
		t.Errorf("an editor deletes bob's memory: %s", got.body)
	}
	if got := h.ask(t, bob, "mutation($i: ID!) { deleteAgentMemory(id: $i) }", map[string]any{"i": id}); got.code() != "" {
		t.Errorf("bob deletes his memory: %s", got.body)
	}
	// The memories of a person are deleted when the person leaves.
	h.ask(t, bob, "mutation($a: ID!) { createAgentMemory(agentId: $a, input: {content: \"Bob collects coins.\"}) { id } }", map[string]any{"a": ada.agent})
	if _, err := h.db.Ent.Membership.Delete().Where(membership.UserID(bob.Subject)).Exec(viewer.With(t.Context(), viewer.System(uuid.Nil))); err != nil {
		t.Fatal(err)
	}
	var left int
	if err := h.db.Pool.QueryRow(t.Context(), "select count(*) from agent_memories where person_id = $1", bob.Subject).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d memories are left, %v", left, err)
	}
}
