package stack_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// A tool server becomes an integration: its tools are read, called with the person's
// token, and not called any more when they change, until an editor accepts that.
func TestTheToolsOfAServerAreReadCalledAndPinned(t *testing.T) {
	t.Parallel()
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	offer := func(description string) {
		server.AddTool(&sdk.Tool{Name: "issues.get", Description: description, InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)},
			func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "issue " + string(r.Params.Arguments)}}}, nil
			})
	}
	offer("Reads an issue.")
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	remote := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-owner" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(remote.Close)

	s := start(t, map[string]string{"ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8,::1/128"})
	ask := func(method, path string, body any, status int, into any) {
		t.Helper()
		answered := s.call(method, path, body)
		if answered.status != status {
			t.Fatalf("%s %s: %d %s", method, path, answered.status, answered.body)
		}
		if into == nil {
			return
		}
		text, err := json.Marshal(answered.data)
		if err == nil {
			err = json.Unmarshal(text, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	type tool struct {
		ID, Name, Risk string
		Enabled        bool
		Drift          map[string]any
	}
	type integration struct {
		ID, Status string
		Tools      []tool
	}
	const all = "/api/v1/tool-integrations"
	var made integration
	ask(http.MethodPost, all, map[string]any{"provider": "mcp", "name": "Tracker", "slug": "tracker", "config": map[string]any{"url": remote.URL}, "credentials": map[string]any{"token": "wrong"}}, http.StatusCreated, &made)
	var tested struct {
		OK        bool
		NeedsAuth bool
	}
	ask(http.MethodPost, all+"/"+made.ID+"/test", nil, http.StatusOK, &tested)
	if tested.OK || !tested.NeedsAuth {
		t.Errorf("a wrong token: %+v", tested)
	}
	ask(http.MethodPut, all+"/"+made.ID+"/connection", map[string]any{"credentials": map[string]any{"token": "token-of-owner"}}, http.StatusOK, nil)

	var read struct {
		Integration integration
		Changed     []string
	}
	refresh := func() tool {
		t.Helper()
		ask(http.MethodPost, all+"/"+made.ID+"/refresh", nil, http.StatusOK, &read)
		if len(read.Integration.Tools) != 1 || read.Integration.Tools[0].Name != "issues_get" {
			t.Fatalf("the tools are %+v", read)
		}
		return read.Integration.Tools[0]
	}
	found := refresh()
	if found.Risk != "write" {
		t.Errorf("the risk of an unknown tool is %s", found.Risk)
	}
	var called struct {
		OK   bool
		Text string
	}
	call := func() {
		t.Helper()
		ask(http.MethodPost, "/api/v1/tools/"+found.ID+"/call", map[string]any{"arguments": map[string]any{"n": 7}, "confirm": true}, http.StatusOK, &called)
	}
	if !found.Enabled {
		ask(http.MethodPut, "/api/v1/tools/"+found.ID, map[string]any{"enabled": true}, http.StatusOK, nil)
	}
	if call(); !called.OK || called.Text != `issue {"n":7}` {
		t.Errorf("the call gave %+v", called)
	}

	offer("Reads an issue.\u200b") // what nobody sees
	if changed := refresh(); changed.Drift == nil || len(read.Changed) != 1 {
		t.Errorf("the change is not seen: %+v", read)
	}
	if answered := s.call(http.MethodPost, "/api/v1/tools/"+found.ID+"/call", map[string]any{"arguments": map[string]any{"n": 7}, "confirm": true}); answered.status == http.StatusOK && answered.data["ok"] == true {
		t.Errorf("the changed tool is called: %s", answered.body)
	}
	ask(http.MethodPost, "/api/v1/tools/"+found.ID+"/accept", nil, http.StatusOK, nil)
	if call(); !called.OK {
		t.Errorf("the accepted tool gave %+v", called)
	}
}
