package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/mcp"
	"github.com/magpie-search/magpie/internal/apierr"
)

// handler answers a call of a test's tool.
type handler = func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error)

func answer(text string) handler {
	return func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil
	}
}

// newServer returns a server of the protocol with one tool.
func newServer(t *sdk.Tool, h handler) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	if t != nil {
		if t.InputSchema == nil {
			t.InputSchema = json.RawMessage(`{"type":"object"}`)
		}
		s.AddTool(t, h)
	}
	return s
}

// serve serves a server of the protocol by streamable HTTP and returns its address.
func serve(t *testing.T, s *sdk.Server, stateless bool) string {
	t.Helper()
	return listen(t, sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, &sdk.StreamableHTTPOptions{Stateless: stateless}))
}

func listen(t *testing.T, h http.Handler) string {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return server.URL + "/mcp"
}

func newClient(t *testing.T, limits mcp.Limits) *mcp.Client {
	t.Helper()
	client := mcp.NewClient(mcp.Options{Dial: (&net.Dialer{}).DialContext, Limits: limits})
	t.Cleanup(client.Close)
	return client
}

func open(t *testing.T, client *mcp.Client, server mcp.Server) *mcp.Session {
	t.Helper()
	if server.Key == "" {
		server.Key = server.URL
	}
	if server.Name == "" {
		server.Name = "Tracker"
	}
	session := client.Open(server)
	t.Cleanup(session.Close)
	return session
}

// session returns a session at an address.
func session(t *testing.T, address string) *mcp.Session {
	t.Helper()
	return open(t, newClient(t, mcp.Limits{}), mcp.Server{Transport: mcp.HTTP, URL: address})
}

// find returns a tool of a server.
func find(t *testing.T, s *mcp.Session, name string) *mcp.Tool {
	t.Helper()
	tools, skipped, err := s.Tools(t.Context())
	if err != nil {
		t.Fatalf("list the tools: %v", err)
	}
	for i := range tools {
		if tools[i].Name == name {
			return &tools[i]
		}
	}
	t.Fatalf("%s is not among %v, skipped %v", name, tools, skipped)
	return nil
}

// wantError fails the test unless err is for models and people, of a code, and
// contains a text.
func wantError(t *testing.T, err error, code apierr.Code, text string) {
	t.Helper()
	var safe *apierr.Error
	if !errors.As(err, &safe) || safe.Code != code || !strings.Contains(safe.Message, text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}
