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

// Lifetimes of codes and access tokens.
const (
	codeLifetime  = time.Minute
	tokenLifetime = time.Hour
)

// Client is a registered OAuth client.
type Client struct {
	ID string
	// Secret is empty for a public client, which uses PKCE only.
	Secret string
	// Redirects are the allowed redirect URIs.
	Redirects []string
	// Scopes are the allowed scopes; empty allows any.
	Scopes []string
}

// Account is the user who is signed in at the server.
type Account struct {
	Subject, Email, Name string
	// Verified is the claim email_verified.
	Verified bool
	// Claims are further claims of the ID token, which override the others.
	Claims map[string]any
	// Denies makes the user deny access.
	Denies bool
}

// Server is a running authorization server. Its methods are safe for concurrent
// use.
type Server struct {
	// URL is its base URL and its issuer.
	URL string

	mu       sync.Mutex
	clients  map[string]Client
	account  Account
	codes    map[string]*code
	access   map[string]*grant
	refresh  map[string]*grant
	keys     []signer
	serial   int
	faults   map[string][]Fault
	requests map[string]int
	now      func() time.Time
	lifetime time.Duration
	keep     bool // keep refresh tokens instead of rotating them
	forge    bool

	alterClaims func(claims map[string]any)
	issued      func(token string, of Account)
}

// code is an authorization code.
type code struct {
	client, redirect, challenge, nonce string
	scopes                             []string
	account                            Account
	expires                            time.Time
	grant                              *grant // set when the code is exchanged
}

// grant is a grant with all its tokens.
type grant struct {
	client  string
	scopes  []string
	account Account
	nonce   string
	current string               // the valid refresh token
	expires map[string]time.Time // of access tokens
	revoked bool
}

// Start starts a server, which stops at the end of the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{
		clients: map[string]Client{}, codes: map[string]*code{}, access: map[string]*grant{}, refresh: map[string]*grant{},
		faults: map[string][]Fault{}, requests: map[string]int{}, now: time.Now, lifetime: tokenLifetime,
		account: Account{Subject: "subject-1", Email: "ada@example.com", Name: "Ada", Verified: true},
	}
	s.RotateKeys(ES256) // cheaper than RS256
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Register adds or replaces a client.
func (s *Server) Register(c Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c.ID] = c
}

// SignIn changes the signed-in user.
func (s *Server) SignIn(a Account) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account = a
}

// SetClock replaces the clock.
func (s *Server) SetClock(now func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// SetLifetime sets the lifetime of further access tokens. With 0 the answer has
// no expires_in.
func (s *Server) SetLifetime(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lifetime = d
}

// KeepRefreshTokens disables rotation: the answer to a refresh has no refresh
// token, and the old one stays valid.
func (s *Server) KeepRefreshTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep = true
}

// OnToken calls a function with each further access token and its user, as a service learns which tokens it may accept.
func (s *Server) OnToken(issued func(token string, of Account)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued = issued
}

// Requests returns the number of requests to a path.
func (s *Server) Requests(path string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests[path]
}

// RevokeEverything revokes all grants.
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

// ValidToken reports whether an access token is valid.
func (s *Server) ValidToken(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grantOf(token) != nil
}

// grantOf returns the grant of a valid access token, or nil.
func (s *Server) grantOf(token string) *grant {
	f := s.access[token]
	if f == nil || f.revoked || !s.now().Before(f.expires[token]) {
		return nil
	}
	return f
}

// ServeHTTP serves all endpoints.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.fail(w, r) {
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
	f := s.grantOf(token)
	if !ok || f == nil {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
		writeError(w, http.StatusUnauthorized, "invalid_token", "the token is not valid")
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

// get sends a GET request and does not follow redirects.
func get(ctx context.Context, address string) (*http.Response, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(r)
}
