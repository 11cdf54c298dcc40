package stack_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// mint creates a token for programs in the caller's workspace.
func (s *service) mint(name string) (id, secret string) {
	s.t.Helper()
	var made struct {
		CreatePersonalToken struct {
			Secret string
			Token  struct{ ID string }
		}
	}
	s.graphql(&made, `mutation($n: String!) { createPersonalToken(input: {name: $n}) { secret token { id } } }`, map[string]any{"n": name})
	return made.CreatePersonalToken.Token.ID, made.CreatePersonalToken.Secret
}

func TestProgramsUseTheManagementInterfacesByToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	session := s.token
	connector := s.connector()
	id, secret := s.mint("CI")
	made := s.call(http.MethodPost, "/api/v1/tokens", map[string]any{"name": "Deploy", "role": "editor", "groups": []string{"connectors"}})
	var service struct {
		Data struct {
			Secret string
			Token  struct{ ID string }
		}
	}
	if err := json.Unmarshal([]byte(made.body), &service); err != nil || made.status != http.StatusCreated {
		t.Fatalf("%d %s", made.status, made.body)
	}
	as := func(token, method, path, body string, headers ...string) (int, string) {
		t.Helper()
		s.token = token
		defer func() { s.token = session }()
		kind := ""
		if body != "" {
			kind = "application/json"
		}
		response := s.request(method, path, kind, strings.NewReader(body), headers...)
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response.StatusCode, string(text)
	}
	const search, list = "/v1/docs/search", "/api/v1/connectors"
	wrong := secret[:len(secret)-1] + map[bool]string{true: "1", false: "0"}[secret[len(secret)-1] == '0']
	for _, c := range []struct {
		name, token, method, path, body string
		status                          int
		contains                        string
	}{
		{"a personal token", secret, http.MethodGet, list, "", 200, connector},
		{"itself", secret, http.MethodGet, "/api/v1/auth/me", "", 200, "owner"},
		{"a service token", service.Data.Secret, http.MethodGet, list, "", 200, connector},
		{"another group", service.Data.Secret, http.MethodGet, "/api/v1/collections", "", 403, "needs the group COLLECTIONS"},
		{"another role", service.Data.Secret, http.MethodGet, "/api/v1/members", "", 403, "PEOPLE"},
		{"the person of a service token", service.Data.Secret, http.MethodGet, "/api/v1/auth/me", "", 403, "service token"},
		{"GraphQL", service.Data.Secret, http.MethodPost, "/graphql", `{"query": "{ connectors { totalCount } }"}`, 200, `"totalCount":1`},
		{"GraphQL of another group", service.Data.Secret, http.MethodPost, "/graphql", `{"query": "{ members { totalCount } }"}`, 200, `"forbidden"`},
		{"a new token", secret, http.MethodPost, "/api/v1/tokens/mine", `{"name": "Another"}`, 403, "sign in"},
		{"a new key", secret, http.MethodPost, "/api/v1/api-keys", `{"name": "Another", "allowedHosts": ["*"], "allowAllCollections": true}`, 403, "sign in"},
		{"an invitation", secret, http.MethodPost, "/api/v1/invitations", `{"email": "eve@example.com", "role": "admin"}`, 403, "sign in"},
		{"the end of sessions", secret, http.MethodPost, "/api/v1/auth/logout-everywhere", "", 403, "sign in"},
		{"a wrong checksum", wrong, http.MethodGet, list, "", 401, "Invalid token"},
		{"a wrong checksum at GraphQL", wrong, http.MethodPost, "/graphql", `{"query": "{ limits { uploadFiles } }"}`, 401, "Invalid token"},
		{"the public interface", secret, http.MethodPost, search, `{"query": "key"}`, 401, "Tokens are for /api/v1 and /graphql"},
		{"the Model Context Protocol without a person", service.Data.Secret, http.MethodPost, "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "ping"}`, 401, "not valid"},
		{"a key", "svc_sk_x", http.MethodGet, list, "", 401, "API keys are for /v1"},
		{"a query string", "", http.MethodGet, list + "?access_token=" + secret, "", 401, "Session required"},
		{"a query string at GraphQL", "", http.MethodPost, "/graphql?access_token=" + secret, `{"query": "{ me { role } }"}`, 200, "unauthorized"},
	} {
		if status, text := as(c.token, c.method, c.path, c.body); status != c.status || !strings.Contains(text, c.contains) {
			t.Errorf("%s: %d %s", c.name, status, text)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	socket := s.dial(ctx, map[string]any{"authorization": "Bearer " + secret})
	defer func() { _ = socket.CloseNow() }()
	s.send(ctx, socket, map[string]any{"id": "1", "type": "subscribe", "payload": map[string]any{
		"query": "subscription($c: ID!) { connectorSync(connectorId: $c) { __typename } }", "variables": map[string]any{"c": connector}}})
	s.token = service.Data.Secret
	events := s.request(http.MethodPost, "/graphql", "application/json", encode(t, map[string]any{
		"query": "subscription($c: ID!) { connectorSync(connectorId: $c) { __typename } }", "variables": map[string]any{"c": connector}}), "Accept", "text/event-stream")
	s.token = session
	for _, token := range []string{id, service.Data.Token.ID} {
		if a := s.call(http.MethodDelete, "/api/v1/tokens/"+token, nil); a.status != http.StatusNoContent {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	for {
		_, message, err := socket.Read(ctx)
		if err == nil {
			if strings.Contains(string(message), `"error"`) {
				t.Fatalf("the subscription: %s", message)
			}
			continue
		}
		if got := websocket.CloseStatus(err); got != 4401 || !strings.Contains(err.Error(), "Token ended") {
			t.Errorf("the WebSocket of a revoked token ends with %d %v", got, err)
		}
		break
	}
	if text, err := io.ReadAll(events.Body); err != nil || !strings.Contains(string(text), "Token ended") {
		t.Errorf("the events of a revoked token end with %s %v", text, err)
	}
	for _, token := range []string{secret, service.Data.Secret} {
		if status, text := as(token, http.MethodGet, list, ""); status != 401 || !strings.Contains(text, "Invalid token") {
			t.Errorf("a revoked token: %d %s", status, text)
		}
	}
	if a := s.call(http.MethodGet, "/api/v1/tokens/mine", nil); a.status != 200 || !strings.Contains(a.body, `"status":"revoked"`) || strings.Contains(a.body, secret) {
		t.Errorf("the list: %d %s", a.status, a.body)
	}
}
