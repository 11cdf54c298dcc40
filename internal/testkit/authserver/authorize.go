package authserver

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// challengePattern is what S256 makes of a verifier: 32 bytes in base64url.
var challengePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// authorize is the authorization endpoint. The person at the browser is known
// and decides at once.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := r.URL.Query()
	client, known := s.clients[q.Get("client_id")]
	redirect := q.Get("redirect_uri")
	// Without these two nobody may be sent anywhere (RFC 6749, section 4.1.2.1).
	switch {
	case !known:
		writeError(w, http.StatusBadRequest, "invalid_request", "unknown client_id")
		return
	case !slices.Contains(client.Redirects, redirect):
		writeError(w, http.StatusBadRequest, "invalid_request", "redirect_uri is not registered")
		return
	}
	back := url.Values{"iss": {s.URL}}
	if state := q.Get("state"); state != "" {
		back.Set("state", state)
	}
	if problem, description := s.wrong(q, client); problem != "" {
		back.Set("error", problem)
		back.Set("error_description", description)
	} else {
		made := random()
		s.codes[made] = &code{
			client: client.ID, redirect: redirect, challenge: q.Get("code_challenge"), nonce: q.Get("nonce"),
			scopes: strings.Fields(q.Get("scope")), account: s.account, expires: s.now().Add(codeLifetime),
		}
		back.Set("code", made)
	}
	to, err := url.Parse(redirect)
	if err != nil {
		writeError(w, http.StatusBadRequest, "invalid_request", "redirect_uri is malformed")
		return
	}
	query := to.Query()
	for name := range back {
		query.Set(name, back.Get(name))
	}
	to.RawQuery = query.Encode()
	http.Redirect(w, r, to.String(), http.StatusFound) //nolint:gosec // it is one that the client registered
}

// wrong checks an authorization request of a known client.
func (s *Server) wrong(q url.Values, client Client) (problem, description string) {
	for name, values := range q {
		if len(values) > 1 {
			return "invalid_request", name + " is given twice"
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
		return "access_denied", "The person refused"
	}
	return "", ""
}

// Browse goes to an authorization URL as the person's browser and returns the
// address that the browser is sent back to. It fails the test when it is not.
func (s *Server) Browse(t testing.TB, authorizationURL string) *url.URL {
	t.Helper()
	response, err := get(t.Context(), authorizationURL)
	if err != nil {
		t.Fatalf("go to the authorization server: %v", err)
	}
	_ = response.Body.Close()
	to, err := response.Location()
	if err != nil {
		t.Fatalf("the authorization server answered %d and sent the browser nowhere", response.StatusCode)
	}
	return to
}
