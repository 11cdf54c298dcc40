package command_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
	"github.com/magpie-search/magpie/internal/model/llm"
	"github.com/magpie-search/magpie/internal/model/llm/llmtest"
)

func TestAnAgentRunsOverHTTPAndOnTheStores(t *testing.T) {
	t.Parallel()
	chats := llmtest.NewServer(t, llmtest.Reply{Parts: []string{"It is ", "forty-two."}, Usage: &[2]int{100, 7}})
	m := stacktest.Start(t, "LLM_BASE_URL", chats.URL, "LLM_API_KEY", "hunter3", "LLM_MODEL", "small")
	over := as(t, m, personalToken(m))
	on := &shell{t: t, flags: []string{"--config", settingsFile(t, m.Settings()...)}}
	over.ok("agents", "create", "Helper", "--prompt", "You help.")
	for name, s := range map[string]*shell{"over HTTP": over, "on the stores": on} {
		o := s.run("agents", "run", "Helper", "How", "much?")
		if o.code != 0 || strings.TrimSpace(o.out) != "It is forty-two." || !strings.Contains(o.err, "conversation ") {
			t.Errorf("%s: %+v", name, o)
		}
		o = s.run("agents", "run", "Helper", "How much?", "--json")
		kinds := ""
		for line := range strings.Lines(o.out) {
			var event struct{ Type string }
			if err := json.Unmarshal([]byte(line), &event); err != nil {
				t.Errorf("%s: %q: %v", name, line, err)
			}
			kinds += event.Type + " "
		}
		if o.code != 0 || !strings.HasPrefix(kinds, "AgentRunStart ") || !strings.HasSuffix(kinds, "AgentRunComplete ") {
			t.Errorf("%s: %s %+v", name, kinds, o)
		}
	}
	if o := over.run("agents", "run", "Helper", "Hello", "--decide"); o.code != 2 {
		t.Errorf("%+v", o)
	}
	on.fails("no such member", "agents", "run", "Helper", "Hello", "--as", "eve@example.com")
}

// Who runs an agent on the stores answers its questions, and decides on what it does.
func TestCallsOfAnAgentAreDecidedFromTheInput(t *testing.T) {
	t.Parallel()
	var tickets atomic.Int32
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		tickets.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id": 7}`)
	}))
	t.Cleanup(desk.Close)
	call := func(name, arguments string) llmtest.Reply {
		return llmtest.Reply{Calls: []llm.ToolCall{{ID: "call_1", Name: name, Arguments: arguments}}}
	}
	ask, open := call("ask_human", `{"question": "Which lamp?", "options": ["Hall", "Stairs"]}`), call("desk_create_ticket", `{"title": "Dark stairs"}`)
	done := llmtest.Reply{Parts: []string{"It is done."}}
	chats := llmtest.NewServer(t, ask, done, open, done, open, done, open, done)
	m := stacktest.Start(t, "LLM_BASE_URL", chats.URL, "LLM_API_KEY", "hunter3", "LLM_MODEL", "small", "ALLOWED_PRIVATE_NETWORKS", "127.0.0.0/8")
	var made struct{ CreateToolIntegration struct{ ID string } }
	m.GraphQL(&made, `mutation($url: String!) { createToolIntegration(input: {provider: "webhook", name: "Desk", slug: "desk", config: {url: $url}}) { id } }`, map[string]any{"url": desk.URL})
	m.GraphQL(nil, `mutation($id: ID!, $schema: Map!) { saveWebhookTool(integrationId: $id, input: {name: "create_ticket", title: "Create a ticket", description: "Creates a ticket", method: "POST", path: "/tickets", inputSchema: $schema}) { id } }`,
		map[string]any{"id": made.CreateToolIntegration.ID, "schema": map[string]any{"type": "object", "properties": map[string]any{"title": map[string]any{"type": "string"}}}})
	s := &shell{t: t, flags: []string{"--config", settingsFile(t, m.Settings()...)}}
	s.ok("agents", "create", "Clerk", "--prompt", "You help.", "--tool", "ask_human,desk.create_ticket")

	run := func(input string) outcome {
		return s.runWith(input, "agents", "run", "Clerk", "Please help", "--decide")
	}
	if o := run("Stairs\n"); o.code != 0 || !strings.Contains(o.err, "Which lamp?") || !strings.Contains(o.err, "Answer (Hall, Stairs): ") || !strings.Contains(o.out, "It is done.") {
		t.Errorf("a question: %+v", o)
	}
	if o := run("no\n"); o.code != 0 || tickets.Load() != 0 || !strings.Contains(o.err, "Type yes to allow it") || !strings.Contains(o.out, "It is done.") {
		t.Errorf("refused: %+v, %d tickets", o, tickets.Load())
	}
	if o := run("yes\n"); o.code != 0 || tickets.Load() != 1 || !strings.Contains(o.out, "It is done.") {
		t.Errorf("allowed: %+v, %d tickets", o, tickets.Load())
	}
	if o := run(""); o.code != 1 || tickets.Load() != 1 || !strings.Contains(o.err, "no decision was given; decide at ") {
		t.Errorf("without a decision: %+v, %d tickets", o, tickets.Load())
	}
}
