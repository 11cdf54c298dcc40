package authserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// Paths of the endpoints, below the server's URL.
const (
	DiscoveryPath = "/.well-known/openid-configuration"
	AuthorizePath = "/authorize"
	TokenPath     = "/token"
	RevokePath    = "/revoke"
	UserinfoPath  = "/userinfo"
	KeysPath      = "/jwks"
)

// Lifetimes of what the server gives.
const (
	codeLifetime  = time.Minute
	tokenLifetime = time.Hour
)

// Client is a program that may ask for grants.
type Client struct {
	ID string
	// Secret is empty for a public client, which proves itself by PKCE alone.
	Secret string
	// Redirects are the exact addresses that the browser may be sent back to.
	Redirects []string
	// Scopes are those that it may ask for; empty is any.
	Scopes []string
}

// Account is the person at the browser, who is signed in at the server already.
type Account struct {
	Subject, Email, Name string
	// Verified is the claim email_verified.
	Verified bool
	// Claims are further ones of the ID token; they win over the others.
	Claims map[string]any
	// Denies says that the person refuses what is asked for.
	Denies bool
}

// Server is a running authorization server. Its methods may be called at any
// time, also while it answers.
type Server struct {
	// URL is its address, and its issuer.
	URL string

	mu       sync.Mutex
	clients  map[string]Client
	account  Account
	codes    map[string]*code
	access   map[string]*family
	refresh  map[string]*family
	keys     []signer
	serial   int
	faults   map[string][]Fault
	requests map[string]int
	issued   int
	now      func() time.Time
	lifetime time.Duration
	sticky   bool
	refused  []string
	idToken  func(claims map[string]any)
	forge    bool
}

// code is an authorization code on its way.
type code struct {
	client, redirect, challenge, nonce string
	scopes                             []string
	account                            Account
	expires                            time.Time
	used                               *family // what it was exchanged for
}

// family is a grant with all the tokens that came of it.
type family struct {
	client  string
	scopes  []string
	account Account
	nonce   string
	current string // the refresh token that works
	expires map[string]time.Time
	revoked bool
}

// Start runs a server until the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		clients: map[string]Client{}, codes: map[string]*code{}, access: map[string]*family{}, refresh: map[string]*family{},
		faults: map[string][]Fault{}, requests: map[string]int{}, now: time.Now, lifetime: tokenLifetime,
		account: Account{Subject: "subject-1", Email: "ada@example.com", Name: "Ada", Verified: true},
	}
	s.RotateKeys(ES256) // cheaper to make
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Register makes a client known.
func (s *Server) Register(c Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c.ID] = c
}

// SignIn puts another person before the browser.
func (s *Server) SignIn(a Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = a
}

// SetClock makes the server take its time from now.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// SetLifetime is how long access tokens work from now on; 0 gives tokens of
// which nothing is said.
func (s *Server) SetLifetime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetime = d
}

// KeepRefreshTokens ends rotation: a refresh answers no refresh token, and the
// one that was given goes on working.
func (s *Server) KeepRefreshTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sticky = true
}

// Requests counts the requests to a path so far.
func (s *Server) Requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// RevokeEverything ends all grants, as an administrator of the service can.
func (s *Server) RevokeEverything() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.refresh {
		f.revoked = true
	}
	for _, f := range s.access {
		f.revoked = true
	}
}

// Works reports whether an access token opens the server's own resource now.
func (s *Server) Works(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.valid(token) != nil
}

func (s *Server) valid(token string) *family {
	f := s.access[token]
	if f == nil || f.revoked || !s.now().Before(f.expires[token]) {
		return nil
	}
	return f
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.failed(w, r) {
		return
	}
	switch r.URL.Path {
	case DiscoveryPath:
		s.discovery(w)
	case AuthorizePath:
		s.authorize(w, r)
	case TokenPath:
		s.token(w, r)
	case RevokePath:
		s.revoke(w, r)
	case UserinfoPath:
		s.userinfo(w, r)
	case KeysPath:
		s.keySet(w)
	default:
		http.NotFound(w, r)
	}
}

func (s *Server) discovery(w http.ResponseWriter) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer": s.URL, "authorization_endpoint": s.URL + AuthorizePath, "token_endpoint": s.URL + TokenPath,
		"userinfo_endpoint": s.URL + UserinfoPath, "jwks_uri": s.URL + KeysPath, "revocation_endpoint": s.URL + RevokePath,
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code", "refresh_token"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{string(RS256), string(ES256)},
		"code_challenge_methods_supported":               []string{"S256"},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"scopes_supported":                               []string{"openid", "email", "profile", "offline_access"},
		"authorization_response_iss_parameter_supported": true,
	})
}

func (s *Server) userinfo(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	token, ok := bearer(r)
	f := s.valid(token)
	if !ok || f == nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeError(w, http.StatusUnauthorized, "invalid_token", "the token does not work")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"sub": f.account.Subject, "email": f.account.Email, "email_verified": f.account.Verified, "name": f.account.Name,
	})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // the client has left
}

func writeError(w http.ResponseWriter, status int, code, description string) {
	writeJSON(w, status, map[string]any{"error": code, "error_description": description})
}

func random() string { return rand.Text() + rand.Text() }

// get is a plain request of the browser that does not follow redirects.
func get(ctx context.Context, address string) (*http.Response, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(r)
}
