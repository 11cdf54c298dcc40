package toolserver_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/integration"
	"github.com/magpie-search/magpie/agents/integration/toolserver"
	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/agents/policy"
	"github.com/magpie-search/magpie/connectors"
)

// serve serves tools and returns the account of a person with a token.
func serve(t *testing.T, server *sdk.Server) func(token string) integration.Account {
	t.Helper()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer token-of-") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(listener.Close)
	return func(token string) integration.Account {
		return integration.Account{Settings: connectors.Settings{
			ConnectorID: t.Name(), Config: map[string]any{"url": listener.URL}, Credentials: map[string]string{"token": token},
		}}
	}
}

func newServers(t *testing.T) *toolserver.Servers {
	t.Helper()
	client := mcp.NewClient(mcp.Options{Dial: (&net.Dialer{}).DialContext})
	t.Cleanup(client.Close)
	return toolserver.New(client, nil, toolserver.OAuth{})
}

func newServer(names ...string) *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	for _, name := range names {
		server.AddTool(&sdk.Tool{
			Name: name, Description: "Does it.", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true},
		}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: r.Params.Name + " as " + strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer token-of-") + " by " + r.Extra.Header.Get("Authorization")}}}, nil
		})
	}
	return server
}

func TestATwoPersonsCallIsMadeWithTheirOwnToken(t *testing.T) {
	t.Parallel()
	s, account := newServers(t), serve(t, newServer("issues.get"))
	found, _, err := s.Discover(t.Context(), account("token-of-ada"))
	if err != nil || len(found) != 1 || found[0].Name != "issues_get" || found[0].Risk != policy.Write {
		t.Fatalf("got %+v, %v", found, err)
	}
	tool, err := s.Tool(found[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, person := range []string{"ada", "bob", "ada"} {
		result, err := tool.Call(t.Context(), account("token-of-"+person), json.RawMessage(`{"n":1}`))
		if want := "issues.get as " + person + " by Bearer [hidden]"; err != nil || result.Text != want {
			t.Errorf("got %q, %v, want %q", result.Text, err, want)
		}
	}
	if _, err := tool.Call(t.Context(), account("revoked"), json.RawMessage(`{}`)); !connectors.IsNeedsAuth(err) {
		t.Errorf("a refused token: %v", err)
	}
	if err := s.Provider().Check(t.Context(), account("revoked")); !connectors.IsNeedsAuth(err) {
		t.Errorf("a test with a refused token: %v", err)
	}
	if err := s.Provider().Check(t.Context(), account("token-of-ada")); err != nil {
		t.Errorf("a test: %v", err)
	}
}

func TestOnlyTrustedAnnotationsLowerTheRisk(t *testing.T) {
	t.Parallel()
	account := serve(t, newServer("read"))("token-of-ada")
	account.Config["trustAnnotations"] = true
	found, _, err := newServers(t).Discover(t.Context(), account)
	if err != nil || len(found) != 1 || found[0].Risk != policy.Read {
		t.Errorf("got %+v, %v", found, err)
	}
}

func TestNamesFitTheWire(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 60)
	found, skipped, err := newServers(t).Discover(t.Context(), serve(t, newServer("a.b", "a_b", long+"1", long+"2"))("token-of-ada"))
	if err != nil || len(found) != 3 || len(skipped) != 1 {
		t.Fatalf("got %+v, %v, %v", found, skipped, err)
	}
	names := map[string]bool{}
	for _, d := range found {
		if len(d.Name) > toolserver.MaxName || strings.Contains(d.Name, ".") || names[d.Name] {
			t.Errorf("the name %q", d.Name)
		}
		names[d.Name] = true
	}
}

func TestAChangedToolHasAnotherDefinition(t *testing.T) {
	t.Parallel()
	server := newServer("a")
	s, account := newServers(t), serve(t, server)("token-of-ada")
	before, _, err := s.Discover(t.Context(), account)
	if err != nil {
		t.Fatal(err)
	}
	server.AddTool(&sdk.Tool{Name: "a", Description: "Does it.\u200b", InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
		func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return &sdk.CallToolResult{}, nil
		})
	after, _, err := s.Discover(t.Context(), account)
	if err != nil || before[0].Definition["pin"] == after[0].Definition["pin"] {
		t.Errorf("the pin stays %v, %v", after, err)
	}
}

func TestSettingsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	p := newServers(t).Provider()
	for _, c := range []struct {
		config map[string]any
		token  string
		field  string
	}{
		{map[string]any{}, "", "url"},
		{map[string]any{"url": "ftp://example.com"}, "", "url"},
		{map[string]any{"url": "https://user:pass@example.com"}, "", "url"},
		{map[string]any{"url": "http://example.com/mcp"}, "secret", "url"},
		{map[string]any{"url": "https://example.com/mcp", "headerName": "Host"}, "", "headerName"},
		{map[string]any{"url": "https://example.com/mcp", "headerName": "X\r\nY"}, "", "headerName"},
		{map[string]any{"url": "https://example.com/mcp", "transport": "stdio"}, "", "transport"},
		{map[string]any{"url": "https://example.com/mcp", "headerName": "X-Key"}, "secret", ""},
		{map[string]any{"url": "http://localhost:3000/mcp"}, "secret", ""},
	} {
		err := connectors.CheckOptions("config", p.Config, c.config)
		if err == nil {
			err = p.CheckSettings(connectors.Settings{Config: c.config, Credentials: map[string]string{"token": c.token}})
		}
		if c.field == "" && err != nil || c.field != "" && (err == nil || !strings.Contains(err.Error(), c.field)) {
			t.Errorf("%v: got %v, want %q", c.config, err, c.field)
		}
	}
}
