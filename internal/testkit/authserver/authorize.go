package authserver

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// challengePattern matches an S256 challenge: 32 bytes in base64url.
var challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize serves the authorization endpoint. The user is signed in and decides
// without a page.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	client, known := s.clients[q.Get("client_id")]
	redirect := q.Get("redirect_uri")
	// Without a valid client and redirect URI there is no redirect (RFC 6749, section 4.1.2.1).
	switch {
	case !known:
		writeError(w, http.StatusBadRequest, "invalid_request", "unknown client_id")
		return
	case !slices.Contains(client.Redirects, redirect):
		writeError(w, http.StatusBadRequest, "invalid_request", "redirect_uri is not registered")
		return
	}
	answer := url.Values{"iss": {s.URL}}
	if state := q.Get("state"); state != "" {
		answer.Set("state", state)
	}
	if problem, description := s.validate(q, client); problem != "" {
		answer.Set("error", problem)
		answer.Set("error_description", description)
	} else {
		value := random()
		s.codes[value] = &code{
			client: client.ID, redirect: redirect, challenge: q.Get("code_challenge"), nonce: q.Get("nonce"),
			scopes: strings.Fields(q.Get("scope")), account: s.account, expires: s.now().Add(codeLifetime),
		}
		answer.Set("code", value)
	}
	to, err := url.Parse(redirect)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "redirect_uri is malformed")
		return
	}
	query := to.Query()
	for name := range answer {
		query.Set(name, answer.Get(name))
	}
	to.RawQuery = query.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound) //nolint:gosec // a registered redirect URI
}

// validate checks an authorization request of a known client, and returns the
// error code and its description.
func (s *Server) validate(q url.Values, client Client) (problem, description string) {
	for name, values := range q {
		if len(values) > 1 {
			return "invalid_request", name + " is repeated"
		}
	}
	scopes := strings.Fields(q.Get("scope"))
	switch {
	case q.Get("response_type") != "code":
		return "unsupported_response_type", "only code is supported"
	case q.Get("code_challenge_method") != "S256" || !challengePattern.MatchString(q.Get("code_challenge")):
		return "invalid_request", "code_challenge with S256 is required"
	case len(client.Scopes) > 0 && slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(client.Scopes, scope) }):
		return "invalid_scope", "a scope is not allowed for this client"
	case s.account.Denies:
		return "access_denied", "The user denied access"
	}
	return "", ""
}

// Browse opens an authorization URL as the user's browser and returns the URL of
// the redirect. Without a redirect it fails the test.
func (s *Server) Browse(t testing.TB, authorizationURL string) *url.URL {
	t.Helper()
	response, err := get(t.Context(), authorizationURL)
	if err != nil {
		t.Fatalf("open the authorization URL: %v", err)
	}
	_ = response.Body.Close()
	to, err := response.Location()
	if err != nil {
		t.Fatalf("the authorization server answered %d without a redirect", response.StatusCode)
	}
	return to
}
