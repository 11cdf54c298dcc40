package stack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/internal/identity/authn"
)

// credentials adds headers to the requests of a client.
type credentials struct {
	header http.Header
	next   http.RoundTripper
}

func (c credentials) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	for name, values := range c.header {
		r.Header[name] = values
	}
	return c.next.RoundTrip(r)
}

// assistant connects a client of the Model Context Protocol with pairs of header
// names and values.
func (s *service) assistant(headers ...string) (*protocol.ClientSession, error) {
	s.t.Helper()
	header := http.Header{}
	for i := 0; i < len(headers); i += 2 {
		header.Set(headers[i], headers[i+1])
	}
	client := protocol.NewClient(&protocol.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(s.t.Context(), &protocol.StreamableClientTransport{
		Endpoint: s.url + "/mcp", HTTPClient: &http.Client{Transport: credentials{header, s.http.Transport}}, DisableStandaloneSSE: true,
	}, nil)
	if err == nil {
		s.t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

// connected returns an access token of a program that the signed-in person has
// connected.
func (s *service) connected() string {
	s.t.Helper()
	v, err := s.app.Accounts.Authenticate(s.t.Context(), s.token)
	if err != nil {
		s.t.Fatal(err)
	}
	tokens, err := s.app.Accounts.ConnectApplication(s.t.Context(), v.Subject, v.Workspace,
		authn.Application{ClientID: "test", Name: "Test", Audience: s.app.Applications.Resource()})
	if err != nil {
		s.t.Fatal(err)
	}
	return tokens.Access
}

// tool calls a tool, whose structured result is decoded into out. It returns the
// text for the model and whether the call failed.
func (s *service) tool(session *protocol.ClientSession, name string, arguments map[string]any, out any) (text string, failed bool) {
	s.t.Helper()
	result, err := session.CallTool(s.t.Context(), &protocol.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	for _, c := range result.Content {
		if content, ok := c.(*protocol.TextContent); ok {
			text += content.Text
		}
	}
	if out != nil && !result.IsError {
		encoded, err := json.Marshal(result.StructuredContent)
		if err == nil {
			err = json.Unmarshal(encoded, out)
		}
		if err != nil {
			s.t.Fatal(err)
		}
	}
	return text, result.IsError
}

func TestAnAssistantSearchesReadsAndAsksByKey(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := s.furnish("Ada")
	for _, how := range [][]string{{"Authorization", "Bearer " + ada.secretKey}, {"X-Service-Key", ada.secretKey}} {
		session, err := s.assistant(how...)
		if err != nil {
			t.Fatal(err)
		}
		listed, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range listed.Tools {
			names = append(names, tool.Name)
			if tool.Annotations == nil || !tool.Annotations.ReadOnlyHint {
				t.Errorf("%s is not marked as read-only", tool.Name)
			}
			if tool.Name == "search" && !strings.Contains(tool.Description, ada.collection) {
				t.Errorf("the description of search does not list the collections: %s", tool.Description)
			}
		}
		slices.Sort(names)
		if want := []string{"ask", "fetch", "list_collections", "list_sources", "search"}; !slices.Equal(names, want) {
			t.Errorf("tools %v, want %v", names, want)
		}
	}
	session, err := s.assistant("Authorization", "Bearer "+ada.secretKey)
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Results []struct {
			ID, Title, Text, Source string
			Score                   float64
		}
	}
	text, failed := s.tool(session, "search", map[string]any{"query": "where is the " + canary, "min_score": 0, "filters": map[string]any{"source": "file_upload"}}, &found)
	if failed || len(found.Results) == 0 || found.Results[0].ID != ada.document || !strings.Contains(text, canary) || !strings.Contains(text, ada.document) {
		t.Fatalf("search: %v %+v\n%s", failed, found, text)
	}
	var document struct {
		Text        string
		Page, Pages int
	}
	if text, failed = s.tool(session, "fetch", map[string]any{"id": ada.document}, &document); failed || !strings.Contains(document.Text, "under the bed") || document.Text != text || document.Pages != 1 {
		t.Errorf("fetch: %v %+v\n%s", failed, document, text)
	}
	var said struct {
		Answer         string
		Sources        []struct{ ID string }
		ConversationID string `json:"conversation_id"`
	}
	if text, failed = s.tool(session, "ask", map[string]any{"question": "Where is the " + canary + " kept?"}, &said); failed || !strings.Contains(said.Answer, "bed") ||
		len(said.Sources) != 1 || said.Sources[0].ID != ada.document || said.ConversationID == "" || !strings.Contains(text, "Sources:") {
		t.Errorf("ask: %v %+v\n%s", failed, said, text)
	}
	if text, failed = s.tool(session, "ask", map[string]any{"question": "And the " + canary + "?", "conversation_id": said.ConversationID}, nil); failed {
		t.Errorf("a further question: %s", text)
	}
	if text, failed = s.tool(session, "list_collections", nil, nil); failed || !strings.Contains(text, ada.collection) || !strings.Contains(text, "1 documents") {
		t.Errorf("list_collections: %s", text)
	}
	if text, failed = s.tool(session, "list_sources", nil, nil); failed || text != "file_upload: 1 documents" {
		t.Errorf("list_sources: %s", text)
	}
	read, err := session.ReadResource(t.Context(), &protocol.ReadResourceParams{URI: "magpie://document/" + ada.document})
	if err != nil || len(read.Contents) != 1 || !strings.Contains(read.Contents[0].Text, "under the bed") {
		t.Errorf("resource: %+v %v", read, err)
	}
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil || len(resources.Resources) != 1 || resources.Resources[0].URI != "magpie://collection/"+ada.collection {
		t.Fatalf("resources: %+v %v", resources, err)
	}
	if read, err = session.ReadResource(t.Context(), &protocol.ReadResourceParams{URI: resources.Resources[0].URI}); err != nil || !strings.Contains(read.Contents[0].Text, `"documents":1`) {
		t.Errorf("collection: %+v %v", read, err)
	}
	if prompts, err := session.ListPrompts(t.Context(), nil); err != nil || len(prompts.Prompts) != 0 {
		t.Errorf("prompts: %+v %v", prompts, err)
	}
	if templates, err := session.ListResourceTemplates(t.Context(), nil); err != nil || len(templates.ResourceTemplates) != 2 {
		t.Errorf("resource templates: %+v %v", templates, err)
	}
	for name, arguments := range map[string]map[string]any{
		"limit":       {"query": "x", "limit": 21},
		"collection":  {"query": "x", "collection": "docs"},
		"date_after":  {"query": "x", "filters": map[string]any{"date_after": "yesterday"}},
		"query":       {"query": " "},
		"min_score":   {"query": "x", "min_score": 2},
		"unexpected":  {"query": "x", "unexpected": true},
		"query: miss": {},
	} {
		if text, failed := s.tool(session, "search", arguments, nil); !failed || !strings.Contains(strings.ToLower(text), strings.Split(strings.Split(name, ":")[0], "_")[0]) {
			t.Errorf("search with a bad %s: %v %s", name, failed, text)
		}
	}
	if text, failed := s.tool(session, "fetch", map[string]any{"id": ada.document, "page": 2}, nil); !failed || !strings.Contains(text, "page: must be between 1 and 1") {
		t.Errorf("a page that does not exist: %s", text)
	}
}

// A key and a person get nothing of another workspace, by any tool or resource.
func TestAnAssistantGetsNothingOfAnotherWorkspace(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"MCP_RUN_AGENTS": "true"})
	ada := s.furnish("Ada")
	if _, err := s.app.Accounts.CreateOwner(t.Context(), "Other", "bob@example.com", "Bob", password); err != nil {
		t.Fatal(err)
	}
	stranger := *s
	stranger.token = s.signIn("bob@example.com")
	bob := stranger.furnish("Bob")
	for name, header := range map[string]string{"key": bob.secretKey, "person": stranger.connected()} {
		session, err := s.assistant("Authorization", "Bearer "+header)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			tool      string
			arguments map[string]any
		}{
			{"search", map[string]any{"query": canary, "collection": ada.collection, "min_score": 0}},
			{"search", map[string]any{"query": canary + " of Ada", "min_score": 0}},
			{"fetch", map[string]any{"id": ada.document}},
			{"ask", map[string]any{"question": "Where is the " + canary + " of Ada?", "collection": ada.collection}},
			{"ask", map[string]any{"question": "Where is the " + canary + " of Ada?", "conversation_id": ada.conversation}},
			{"list_collections", nil},
			{"list_sources", map[string]any{"collection": ada.collection}},
			{"list_agents", nil},
			{"run_agent", map[string]any{"agent": ada.agent, "message": "Where is the " + canary + " of Ada?"}},
		} {
			if name == "key" && strings.Contains(c.tool, "agent") {
				continue
			}
			if text, _ := s.tool(session, c.tool, c.arguments, nil); strings.Contains(text, canary+" of Ada") || strings.Contains(text, ada.document) || strings.Contains(text, ada.collection) {
				t.Errorf("%s: %s %v gives %s", name, c.tool, c.arguments, text)
			}
		}
		for _, uri := range []string{"magpie://document/" + ada.document, "magpie://collection/" + ada.collection} {
			if read, err := session.ReadResource(t.Context(), &protocol.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s: %s gives %+v", name, uri, read)
			}
		}
	}
}

// A person is offered the templates of agents as prompts and, if the operator
// allows it, the agents.
func TestAPersonRunsAgentsByAnAssistant(t *testing.T) {
	t.Parallel()
	s := start(t, map[string]string{"MCP_RUN_AGENTS": "true"})
	ada := s.furnish("Ada")
	session, err := s.assistant("Authorization", "Bearer "+s.connected())
	if err != nil {
		t.Fatal(err)
	}
	var made struct{ CreateAgent struct{ ID string } }
	s.graphql(&made, `mutation { createAgent(input: {name: "Finder", systemPrompt: "Find.", tools: ["search_documents"]}) { id } }`, nil)
	text, failed := s.tool(session, "list_agents", nil, nil)
	if failed || !strings.Contains(text, ada.agent) || !strings.Contains(text, made.CreateAgent.ID) {
		t.Errorf("list_agents: %s", text)
	}
	if text, failed = s.tool(session, "run_agent", map[string]any{"agent": made.CreateAgent.ID, "message": "Where is the " + canary + " kept?"}, nil); failed || !strings.Contains(text, "bed") {
		t.Errorf("run_agent: %v %s", failed, text)
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil || !slices.ContainsFunc(prompts.Prompts, func(p *protocol.Prompt) bool { return p.Name == ada.template }) {
		t.Fatalf("prompts: %+v %v", prompts, err)
	}
	prompt, err := session.GetPrompt(t.Context(), &protocol.GetPromptParams{Name: ada.template, Arguments: map[string]string{"task": "Find it."}})
	if err != nil || len(prompt.Messages) != 1 {
		t.Fatalf("prompt: %+v %v", prompt, err)
	}
	if content, ok := prompt.Messages[0].Content.(*protocol.TextContent); !ok || content.Text != "Agent of Ada\n\nFind it." {
		t.Errorf("prompt: %+v", prompt.Messages[0].Content)
	}
}

func TestTheProtocolEndpointRefusesBadRequests(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := s.furnish("Ada")
	var pair struct {
		CreateAPIKey struct{ PublishableKey string }
	}
	s.graphql(&pair, `mutation { createAPIKey(input: {name: "Other", allowedHosts: ["*"], allowAllCollections: true}) { publishableKey } }`, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	dashboard := s.token
	s.token = ""
	for _, c := range []struct {
		name, method, body string
		headers            []string
		status             int
		want               string
	}{
		{"no credentials", http.MethodPost, list, nil, 401, `"unauthorized"`},
		{"both headers", http.MethodPost, list, []string{"Authorization", "Bearer " + ada.secretKey, "X-Service-Key", ada.secretKey}, 401, "one header"},
		{"another scheme", http.MethodPost, list, []string{"Authorization", "Basic eA=="}, 401, "Bearer"},
		{"an unknown key", http.MethodPost, list, []string{"Authorization", "Bearer svc_sk_unknown"}, 401, `"invalid_key"`},
		{"an unknown token", http.MethodPost, list, []string{"Authorization", "Bearer unknown"}, 401, "has expired"},
		{"a token of the dashboard", http.MethodPost, list, []string{"Authorization", "Bearer " + dashboard}, 401, "has expired"},
		{"a publishable key", http.MethodPost, list, []string{"X-Service-Key", pair.CreateAPIKey.PublishableKey}, 403, "publishable"},
		{"another method", http.MethodGet, "", []string{"X-Service-Key", ada.secretKey}, 405, "POST"},
		{"a foreign host", http.MethodPost, list, []string{"X-Service-Key", ada.secretKey, "Host", "evil.example.com"}, 403, "Host"},
		{"malformed JSON", http.MethodPost, `{`, []string{"X-Service-Key", ada.secretKey}, 400, ""},
		{"a body that is too large", http.MethodPost, strings.Repeat(" ", 1<<20+1), []string{"X-Service-Key", ada.secretKey}, 413, "1 MiB"},
	} {
		response, body := s.protocol(c.method, c.body, c.headers)
		if response.StatusCode != c.status || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.name, response.StatusCode, body)
		}
		if challenge := response.Header.Get("WWW-Authenticate"); (c.status == http.StatusUnauthorized) != strings.Contains(challenge, "resource_metadata=\"http://") {
			t.Errorf("%s: WWW-Authenticate %q", c.name, challenge)
		}
	}
	if response, body := s.protocol(http.MethodPost, list, []string{"X-Service-Key", ada.secretKey}); response.StatusCode != http.StatusOK || response.Header.Get("X-RateLimit-Limit") == "" {
		t.Errorf("%d %s", response.StatusCode, body)
	}
}

// protocol sends a request to the endpoint.
func (s *service) protocol(method, body string, headers []string) (response *http.Response, content string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.url+"/mcp", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
		} else {
			request.Header.Set(headers[i], headers[i+1])
		}
	}
	if response, err = s.http.Do(request); err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Fatal(err)
	}
	return response, string(read)
}

// magpie mcp passes everything that a program on the same machine asks.
func TestTheCommandServesALocalProgram(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := s.furnish("Ada")
	t.Run("by key", func(t *testing.T) { s.serveLocally(t, ada.document, "mcp", "--url", s.url, "--key", ada.secretKey) })
	_, token := s.mint("Editor")
	settings := filepath.Join(t.TempDir(), "settings")
	if err := os.WriteFile(settings, []byte("MAGPIE_URL="+s.url+"\nMAGPIE_TOKEN="+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Run("by token", func(t *testing.T) { s.serveLocally(t, ada.document, "--config", settings, "mcp") })
	var said bytes.Buffer
	if code := command.Run(t.Context(), []string{"mcp", "--url", s.url, "--key", "svc_sk_x"}, command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: &said}); code != 1 || !strings.Contains(said.String(), "connect to") {
		t.Errorf("a bad key: %d %s", code, said.String())
	}
}

func (s *service) serveLocally(t *testing.T, document string, arguments ...string) {
	t.Helper()
	fromClient, toCommand := io.Pipe()
	fromCommand, toClient := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var errors strings.Builder
	ended := make(chan int, 1)
	go func() {
		ended <- command.Run(ctx, arguments, command.Streams{In: fromClient, Out: toClient, Err: &errors})
	}()
	client := protocol.NewClient(&protocol.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &protocol.IOTransport{Reader: fromCommand, Writer: toCommand}, nil)
	if err != nil {
		t.Fatal(err, errors.String())
	}
	if listed, err := session.ListTools(t.Context(), nil); err != nil || len(listed.Tools) != 5 {
		t.Errorf("%+v %v", listed, err)
	}
	if text, failed := s.tool(session, "search", map[string]any{"query": "where is the " + canary, "min_score": 0}, nil); failed || !strings.Contains(text, document) {
		t.Errorf("search: %s", text)
	}
	if text, failed := s.tool(session, "fetch", map[string]any{"id": "x"}, nil); !failed || !strings.Contains(text, "id: must be an id") {
		t.Errorf("fetch: %s", text)
	}
	if read, err := session.ReadResource(t.Context(), &protocol.ReadResourceParams{URI: "magpie://document/" + document}); err != nil || len(read.Contents) != 1 {
		t.Errorf("resource: %+v %v", read, err)
	}
	_ = session.Close()
	cancel()
	_ = toCommand.Close()
	if code := <-ended; code != 0 {
		t.Errorf("the command ended with %d: %s", code, errors.String())
	}
}
