package graph_test

import (
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/usage/quota"
)

const runAgent = `subscription($i: ID!, $m: String!, $c: ID) { runAgent(input: {agentId: $i, message: $m, conversationId: $c}) { __typename
	... on AgentRunStart { seq runId conversationId } ... on AgentIteration { seq number status } ... on AgentToolCall { seq tool params callId }
	... on AgentToolResult { seq tool success callId message } ... on AgentContent { seq content } ... on AgentError { seq code message }
	... on AgentRunComplete { seq usage { totalTokens } sources { id title url } } } }`

func TestAnAgentRunsAndIsReadAgain(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	got := h.ask(t, ada.viewer, runAgent, map[string]any{"i": ada.agent, "m": "What is the secret word of ada, and what is 6*7?"})
	for _, want := range []string{"AgentRunStart", `"status":"planning"`, `"tool":"calculate"`, `"success":true`, "6*7 = 42", "xylophone", "AgentRunComplete", `"totalTokens":0`, ada.document.String()} {
		if !strings.Contains(got.body, want) {
			t.Errorf("no %s in %s", want, got.body)
		}
	}
	listed := h.ask(t, ada.viewer, `query($i: ID!) { runs(agentId: $i, first: 5, orderBy: [{field: CREATED_AT, direction: DESC}]) { totalCount edges { node { id status answer conversationId events(limit: 2) { seq type } } } } }`,
		map[string]any{"i": ada.agent})
	edges, _ := listed.at("runs.edges").([]any)
	if len(edges) != 2 {
		t.Fatalf("%s", listed.body)
	}
	node, _ := edges[0].(map[string]any)["node"].(map[string]any)
	if node["status"] != "COMPLETED" || !strings.Contains(node["answer"].(string), "xylophone") || len(node["events"].([]any)) != 2 {
		t.Errorf("%v", node)
	}
	again := h.ask(t, ada.viewer, `subscription($i: ID!) { agentRun(runId: $i, after: 1) { __typename ... on AgentIteration { seq } ... on AgentRunComplete { seq } } }`, map[string]any{"i": node["id"]})
	if strings.Contains(again.body, "AgentRunStart") || !strings.Contains(again.body, `"AgentIteration","seq":2`) || !strings.Contains(again.body, "AgentRunComplete") {
		t.Errorf("%s", again.body)
	}
	one := h.ask(t, ada.viewer, `query($i: ID!) { run(id: $i) { message events { seq type data createdAt } } }`, map[string]any{"i": node["id"]})
	if !strings.Contains(one.body, `"run_start"`) || !strings.Contains(one.body, `"run_complete"`) || !strings.Contains(one.body, `"callId"`) {
		t.Errorf("%s", one.body)
	}
	on := h.ask(t, ada.viewer, runAgent, map[string]any{"i": ada.agent, "m": "And 7*7?", "c": node["conversationId"]})
	if !strings.Contains(on.body, "7*7 = 49") || !strings.Contains(on.body, node["conversationId"].(string)) {
		t.Errorf("%s", on.body)
	}
	if ended := h.ask(t, ada.viewer, `mutation($i: ID!) { cancelRun(id: $i) { status } }`, map[string]any{"i": node["id"]}); ended.at("cancelRun.status") != "COMPLETED" {
		t.Errorf("%s", ended.body)
	}
	// A colleague of any role may run the agent and does not see her runs.
	bob := h.member(t, ada, "bob@example.com", membership.RoleViewer)
	for query, variables := range map[string]map[string]any{
		`query($i: ID!) { run(id: $i) { answer } }`:                    {"i": node["id"]},
		`mutation($i: ID!) { cancelRun(id: $i) { id } }`:               {"i": node["id"]},
		`subscription($i: ID!) { agentRun(runId: $i) { __typename } }`: {"i": node["id"]},
		runAgent: {"i": ada.agent, "m": "x", "c": node["conversationId"]},
	} {
		if got := h.ask(t, bob, query, variables); got.code() != "not_found" {
			t.Errorf("%s: %s", query, got.body)
		}
	}
	if got := h.ask(t, bob, `query($i: ID!) { runs(agentId: $i) { totalCount } }`, map[string]any{"i": ada.agent}); got.at("runs.totalCount") != 0.0 {
		t.Errorf("%s", got.body)
	}
	if got := h.ask(t, bob, runAgent, map[string]any{"i": ada.agent, "m": "What is 2*3?"}); !strings.Contains(got.body, "2*3 = 6") {
		t.Errorf("%s", got.body)
	}
}

func TestARunCountsAsOneQuery(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	h.resolver.Quota = quota.New(t.Context(), h.db.Pool, quota.Options{Limit: 1, MaxLimitAge: time.Nanosecond})
	t.Cleanup(h.resolver.Quota.Close)
	if got := h.ask(t, ada.viewer, runAgent, map[string]any{"i": ada.agent, "m": " "}); got.code() != "invalid_request" {
		t.Errorf("a blank message: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, runAgent, map[string]any{"i": ada.agent, "m": "What is 2*3?"}); !strings.Contains(got.body, "AgentRunComplete") {
		t.Errorf("the first: %s", got.body)
	}
	if got := h.ask(t, ada.viewer, runAgent, map[string]any{"i": ada.agent, "m": "What is 2*3?"}); got.code() != "quota_exceeded" {
		t.Errorf("the second: %s", got.body)
	}
}
