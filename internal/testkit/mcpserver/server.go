package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server is a running server. Its access tokens are "PERSON-text". Fields that tests set may
// be set at any time.
type Server struct {
	// URL is the address of the tool server, Issuer that of the authorization server. Events
	// is the address of the same tool server for the old transport; it needs no tokens.
	URL, Issuer, Events string
	// Tools is the tool server. Its tool whoami answers with the person whose token was
	// sent.
	Tools *sdk.Server

	// Refreshes, Registrations and Requests count requests for new tokens, those for new
	// clients, and all requests to the tool server.
	Refreshes, Registrations, Requests atomic.Int64

	Scope       atomic.Pointer[string] // that calls need; nil: none
	BreakTokens atomic.Bool            // the token endpoint fails with 503
	// OtherIssuer and OtherResource are in the metadata in place of the right ones.
	OtherIssuer, OtherResource atomic.Pointer[string]
	// Documents accepts clients whose ids are the https addresses of their metadata.
	Documents atomic.Bool
	// Open needs no tokens.
	Open atomic.Bool

	mu        sync.Mutex
	clients   map[string]client
	valid     map[string]string // of access token: person
	refresh   map[string]string // of refresh token: person; each works once
	challenge map[string]code
}

type client struct {
	secret    string
	redirects []string
}

type code struct{ challenge, person, client, redirect string }

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	t.Helper()
	s := &Server{clients: map[string]client{}, valid: map[string]string{}, refresh: map[string]string{}, challenge: map[string]code{}}
	s.Tools = sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	s.Tools.AddTool(&sdk.Tool{Name: "whoami", Description: "Says who asks.", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			person, _, _ := strings.Cut(strings.TrimPrefix(r.Extra.Header.Get("Authorization"), "Bearer "), "-")
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: person}}}, nil
		})
	of := func(*http.Request) *sdk.Server { return s.Tools }
	stateless := sdk.NewStreamableHTTPHandler(of, &sdk.StreamableHTTPOptions{Stateless: true})
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL, s.Issuer, s.Events = server.URL+"/mcp", server.URL, server.URL+"/events"
	mux.Handle("/events", sdk.NewSSEHandler(of, nil))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		s.Requests.Add(1)
		switch scope := or(&s.Scope, ""); {
		case !s.Open.Load() && !s.Valid(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")):
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/meta"`)
			w.WriteHeader(http.StatusUnauthorized)
		case scope != "":
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="`+scope+`"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			stateless.ServeHTTP(w, r)
		}
	})
	mux.HandleFunc("/meta", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{"resource": or(&s.OtherResource, s.URL), "authorization_servers": []string{server.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, map[string]any{
			"issuer": or(&s.OtherIssuer, server.URL), "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
			"registration_endpoint": server.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}, "authorization_response_iss_parameter_supported": true,
			"client_id_metadata_document_supported": s.Documents.Load(),
		})
	})
	mux.HandleFunc("/register", s.register)
	mux.HandleFunc("/token", s.token)
	return s
}

func or(p *atomic.Pointer[string], standard string) string {
	if text := p.Load(); text != nil {
		return *text
	}
	return standard
}

func respond(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// register is the endpoint for new clients.
func (s *Server) register(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Redirects []string `json:"redirect_uris"`
	}
	if json.NewDecoder(r.Body).Decode(&wanted) != nil || len(wanted.Redirects) == 0 {
		respond(w, http.StatusBadRequest, map[string]any{"error": "invalid_client_metadata"})
		return
	}
	id := "client" + rand.Text()
	s.Register(id, "", wanted.Redirects...)
	s.Registrations.Add(1)
	respond(w, http.StatusCreated, map[string]any{"client_id": id, "token_endpoint_auth_method": "none", "redirect_uris": wanted.Redirects})
}

// Register registers a client by hand.
func (s *Server) Register(id, secret string, redirects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[id] = client{secret: secret, redirects: redirects}
}

// token is the token endpoint.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	if s.BreakTokens.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.Form.Get("client_id"), r.Form.Get("client_secret")
	}
	known, registered := s.clients[id]
	if !registered && !s.isDocument(id) || known.secret != secret {
		respond(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	person, ok := "", false
	if r.Form.Get("grant_type") == "refresh_token" {
		s.Refreshes.Add(1)
		person, ok = s.refresh[r.Form.Get("refresh_token")]
		delete(s.refresh, r.Form.Get("refresh_token"))
	} else {
		var kept code
		kept, ok = s.challenge[r.Form.Get("code")]
		delete(s.challenge, r.Form.Get("code"))
		sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
		person = kept.person
		ok = ok && kept.client == id && kept.redirect == r.Form.Get("redirect_uri") && kept.challenge == base64.RawURLEncoding.EncodeToString(sum[:])
	}
	if !ok || r.Form.Get("resource") != s.URL {
		respond(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
		return
	}
	access, refresh := person+"-"+rand.Text(), rand.Text()
	s.valid[access], s.refresh[refresh] = person, person
	respond(w, http.StatusOK, map[string]any{"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": 3600})
}

func (s *Server) isDocument(id string) bool {
	return s.Documents.Load() && strings.HasPrefix(id, "https://")
}

// Agree is the person at the address of an authorization: they grant access. It returns
// the parameters with which the browser goes back.
func (s *Server) Agree(t testing.TB, address, person string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(address, s.Issuer+"/authorize?") {
		t.Fatalf("%q is not an address of the authorization server: %v", address, err)
	}
	q := u.Query()
	s.mu.Lock()
	defer s.mu.Unlock()
	known, registered := s.clients[q.Get("client_id")]
	if q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("resource") != s.URL || q.Get("state") == "" || q.Get("response_type") != "code" ||
		!registered && !s.isDocument(q.Get("client_id")) || registered && !slices.Contains(known.redirects, q.Get("redirect_uri")) {
		t.Fatalf("the authorization server refuses %s", address)
	}
	text := rand.Text()
	s.challenge[text] = code{challenge: q.Get("code_challenge"), person: person, client: q.Get("client_id"), redirect: q.Get("redirect_uri")}
	return url.Values{"state": {q.Get("state")}, "code": {text}, "iss": {s.Issuer}}
}

// Valid reports whether an access token works.
func (s *Server) Valid(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.valid[token]
	return ok
}

// Expire makes all access tokens invalid.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.valid)
}

// Forget makes all refresh tokens invalid.
func (s *Server) Forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refresh)
}

// ForgetClients makes all registered clients unknown.
func (s *Server) ForgetClients() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.clients)
}
