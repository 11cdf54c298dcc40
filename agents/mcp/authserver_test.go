package mcp_test

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/magpie-search/magpie/agents/mcp"
)

// authServer is a tool server with an authorization server. Its access tokens are
// "PERSON-number".
type authServer struct {
	url string // of the tool server

	mu        sync.Mutex
	valid     map[string]string // of access token: person
	refresh   map[string]string // of refresh token: person; each works once
	challenge map[string]string // of code: PKCE challenge, person
	n         int

	refreshes, registrations atomic.Int64
	scope                    atomic.Pointer[string] // that calls need; nil: none
	breakTokens              atomic.Bool            // the token endpoint fails with 503
	issuer                   atomic.Pointer[string] // that the metadata names; nil: the right one
	resource                 atomic.Pointer[string]
}

func newAuthServer(t *testing.T) *authServer {
	t.Helper()
	a := &authServer{valid: map[string]string{}, refresh: map[string]string{}, challenge: map[string]string{}}
	tools := newServer(&sdk.Tool{Name: "whoami"}, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		person, _, _ := strings.Cut(strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer "), "-")
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: person}}}, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tools }, &sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	a.url = server.URL + "/mcp"
	or := func(p *atomic.Pointer[string], standard string) string {
		if text := p.Load(); text != nil {
			return *text
		}
		return standard
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		_, ok := a.valid[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		a.mu.Unlock()
		switch scope := or(&a.scope, ""); {
		case !ok:
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/meta"`)
			w.WriteHeader(http.StatusUnauthorized)
		case scope != "":
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			handler.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("/meta", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{"resource": or(&a.resource, a.url), "authorization_servers": []string{server.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{
			"issuer": or(&a.issuer, server.URL), "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
			"registration_endpoint": server.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"token_endpoint_auth_methods_supported": []string{"none"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, _ *http.Request) {
		a.registrations.Add(1)
		respond(w, http.StatusCreated, map[string]any{"client_id": "client", "token_endpoint_auth_method": "none", "redirect_uris": []string{"http://localhost:1/back"}})
	})
	mux.HandleFunc("/token", a.token)
	return a
}

func respond(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// token is the token endpoint.
func (a *authServer) token(w http.ResponseWriter, r *http.Request) {
	if a.breakTokens.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_ = r.ParseForm()
	a.mu.Lock()
	defer a.mu.Unlock()
	person, ok := "", false
	if r.Form.Get("grant_type") == "refresh_token" {
		a.refreshes.Add(1)
		person, ok = a.refresh[r.Form.Get("refresh_token")]
		delete(a.refresh, r.Form.Get("refresh_token"))
	} else {
		var kept string
		kept, ok = a.challenge[r.Form.Get("code")]
		delete(a.challenge, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		wanted, who, _ := strings.Cut(kept, " ")
		person, ok = who, ok && wanted == base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if !ok || r.Form.Get("client_id") != "client" || r.Form.Get("resource") != a.url {
		respond(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	a.n++
	access, refresh := person+"-"+rand.Text(), rand.Text()
	a.valid[access], a.refresh[refresh] = person, person
	respond(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
}

// expire makes all access tokens invalid.
func (a *authServer) expire() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.valid)
}

// forget makes all refresh tokens invalid.
func (a *authServer) forget() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.refresh)
}

// A person has tokens at a server and answers its questions.
type person struct {
	name       string
	server     *authServer
	authorizer *mcp.Authorizer
	session    *mcp.Session
	now        atomic.Int64 // offset of the clock

	locked sync.Mutex
	mu     sync.Mutex
	grant  *mcp.Grant
	flows  map[string]mcp.Flow
}

func newPerson(t *testing.T, a *authServer, client *mcp.Client, name string) *person {
	t.Helper()
	p := &person{name: name, server: a, flows: map[string]mcp.Flow{}}
	p.authorizer = mcp.NewAuthorizer(mcp.AuthOptions{
		HTTP: client.HTTP(), Server: "Tracker", URL: a.url, RedirectURL: "http://localhost:1/back", Tokens: p, Flows: p,
		Now: func() time.Time { return time.Now().Add(time.Duration(p.now.Load())) },
	})
	p.session = open(t, client, mcp.Server{Transport: mcp.HTTP, URL: a.url, OAuth: p.authorizer})
	return p
}

func (p *person) Load(context.Context) (mcp.Grant, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.grant == nil {
		return mcp.Grant{}, mcp.ErrNoGrant
	}
	return *p.grant, nil
}

func (p *person) Save(_ context.Context, grant mcp.Grant) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant = &grant
	return nil
}

func (p *person) Lock(ctx context.Context, f func(ctx context.Context) error) error {
	p.locked.Lock()
	defer p.locked.Unlock()
	return f(ctx)
}

func (p *person) Begin(_ context.Context, flow mcp.Flow) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	state := rand.Text()
	p.flows[state] = flow
	return state, nil
}

// agree grants access at an address and returns the flow with what the browser brings
// back.
func (p *person) agree(t *testing.T, address string) (mcp.Flow, mcp.Redirect) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatalf("parse the address: %v", err)
	}
	q := u.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("resource") != p.server.url || q.Get("client_id") != "client" {
		t.Errorf("the address lacks something: %s", address)
	}
	p.mu.Lock()
	flow, ok := p.flows[q.Get("state")]
	p.mu.Unlock()
	if !ok {
		t.Fatalf("the state of %s is not known", address)
	}
	code := rand.Text()
	p.server.mu.Lock()
	p.server.challenge[code] = q.Get("code_challenge") + " " + p.name
	p.server.mu.Unlock()
	return flow, mcp.Redirect{Code: code, Issuer: u.Scheme + "://" + u.Host}
}

// connect connects the person's account.
func (p *person) connect(t *testing.T) {
	t.Helper()
	address, err := p.authorizer.Begin(t.Context())
	if err != nil {
		t.Fatalf("begin: %v", err)
	}
	flow, redirect := p.agree(t, address)
	if err := p.authorizer.Finish(t.Context(), flow, redirect); err != nil {
		t.Fatalf("finish: %v", err)
	}
}

// whoami returns the person that the server takes the caller for.
func (p *person) whoami(ctx context.Context) (string, error) {
	result, err := p.session.Call(ctx, &mcp.Tool{Name: "whoami", Input: json.RawMessage(`{"type":"object"}`)}, json.RawMessage(`{}`))
	return result.Text, err
}
