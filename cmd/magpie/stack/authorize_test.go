package stack_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// browser is a person's browser, which follows no redirects.
type browser struct {
	t    *testing.T
	http *http.Client
	base string
}

func (s *service) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	return &browser{t: s.t, base: s.url, http: &http.Client{Jar: jar, Transport: s.http.Transport, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}}
}

// send sends a request and returns the response, its text and where it redirects.
func (b *browser) send(method, path, kind, body string) (status int, text string, redirect *url.URL, header http.Header) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.base+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	response, err := b.http.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	if location := response.Header.Get("Location"); location != "" {
		if redirect, err = url.Parse(location); err != nil {
			b.t.Fatal(err)
		}
	}
	return response.StatusCode, string(content), redirect, response.Header
}

func (b *browser) get(path string) (status int, text string, redirect *url.URL) {
	b.t.Helper()
	status, text, redirect, _ = b.send(http.MethodGet, path, "", "")
	return status, text, redirect
}

func (b *browser) post(path string, form url.Values) (status int, text string, redirect *url.URL) {
	b.t.Helper()
	status, text, redirect, _ = b.send(http.MethodPost, path, "application/x-www-form-urlencoded", form.Encode())
	return status, text, redirect
}

var hiddenToken = regexp.MustCompile(`name="token" value="([^"]+)"`)

func tokenOf(t *testing.T, page string) string {
	t.Helper()
	found := hiddenToken.FindStringSubmatch(page)
	if found == nil {
		t.Fatalf("the page has no token:\n%s", page)
	}
	return found[1]
}

const (
	verifier = "a-verifier-of-at-least-forty-three-characters"
	callback = "http://127.0.0.1:1234/callback"
)

func challenge() string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// register registers a client and returns its id.
func (b *browser) register() string {
	b.t.Helper()
	status, text, _, _ := b.send(http.MethodPost, "/oauth/register", "application/json", `{"client_name":"Editor <b>","redirect_uris":["http://127.0.0.1/callback","https://editor.example.com/cb"]}`)
	var made struct {
		ID     string `json:"client_id"`
		Method string `json:"token_endpoint_auth_method"`
	}
	if err := json.Unmarshal([]byte(text), &made); err != nil || status != http.StatusCreated || made.ID == "" || made.Method != "none" {
		b.t.Fatalf("%d %s %v", status, text, err)
	}
	return made.ID
}

func authorizePath(client string, change map[string]string) string {
	query := url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {callback}, "state": {"s 1"},
		"code_challenge": {challenge()}, "code_challenge_method": {"S256"}, "scope": {"search"},
	}
	for name, value := range change {
		query.Set(name, value)
	}
	return "/oauth/authorize?" + query.Encode()
}

// agree goes through the page and returns the code.
func (b *browser) agree(client string) string {
	b.t.Helper()
	_, page, _ := b.get(authorizePath(client, nil))
	status, page, _ := b.post("/oauth/authorize", url.Values{"token": {tokenOf(b.t, page)}, "email": {email}, "password": {password}})
	if status != http.StatusOK || !strings.Contains(page, "Editor &lt;b&gt;") || !strings.Contains(page, "127.0.0.1:1234") || !strings.Contains(page, "Docs") {
		b.t.Fatalf("%d %s", status, page)
	}
	workspace := regexp.MustCompile(`name="workspace" value="([^"]+)"`).FindStringSubmatch(page)
	status, page, redirect := b.post("/oauth/authorize", url.Values{"token": {tokenOf(b.t, page)}, "decision": {"allow"}, "workspace": {workspace[1]}})
	if status != http.StatusFound || redirect == nil || redirect.Host != "127.0.0.1:1234" || redirect.Query().Get("state") != "s 1" || redirect.Query().Get("iss") == "" {
		b.t.Fatalf("%d %v %s", status, redirect, page)
	}
	return redirect.Query().Get("code")
}

type issued struct {
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Error   string
}

func (b *browser) exchange(form url.Values) (int, issued) {
	b.t.Helper()
	status, text, _ := b.post("/oauth/token", form)
	var out issued
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		b.t.Fatalf("%d %s", status, text)
	}
	return status, out
}

func codeForm(client, code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "code_verifier": {verifier}, "redirect_uri": {callback},
	}
}

func refreshForm(client, token string) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
}

// A person connects a program, which learns everything from a refused request; the
// person sees it among their sessions and ends it.
func TestAPersonConnectsAProgram(t *testing.T) {
	t.Parallel()
	s := start(t)
	ada := s.furnish("Ada")
	b := s.browser()
	refused, _ := s.protocol(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, nil)
	metadata := regexp.MustCompile(`resource_metadata="([^"]+)"`).FindStringSubmatch(refused.Header.Get("WWW-Authenticate"))
	if metadata == nil {
		t.Fatal(refused.Header)
	}
	at, err := url.Parse(metadata[1])
	if err != nil {
		t.Fatal(err)
	}
	var resource struct {
		Resource string
		Servers  []string `json:"authorization_servers"`
	}
	if _, text, _ := b.get(at.Path); json.Unmarshal([]byte(text), &resource) != nil || !strings.HasSuffix(resource.Resource, "/mcp") || len(resource.Servers) != 1 {
		t.Fatalf("%s", text)
	}
	var server struct {
		Issuer  string
		Methods []string `json:"code_challenge_methods_supported"`
	}
	if _, text, _ := b.get("/.well-known/oauth-authorization-server"); json.Unmarshal([]byte(text), &server) != nil || server.Issuer != resource.Servers[0] || len(server.Methods) != 1 {
		t.Fatalf("%s", text)
	}
	client := b.register()
	status, first := b.exchange(codeForm(client, b.agree(client)))
	if status != http.StatusOK || first.Type != "Bearer" || first.Expires < 800 || first.Refresh == "" {
		t.Fatalf("%d %+v", status, first)
	}
	session, err := s.assistant("Authorization", "Bearer "+first.Access)
	if err != nil {
		t.Fatal(err)
	}
	if text, failed := s.tool(session, "search", map[string]any{"query": "where is the " + canary, "min_score": 0}, nil); failed || !strings.Contains(text, ada.document) {
		t.Errorf("search: %s", text)
	}
	if answer := s.request(http.MethodGet, "/api/v1/collections", "", nil, "Authorization", "Bearer "+first.Access); answer.StatusCode != http.StatusUnauthorized {
		t.Errorf("the dashboard takes the token: %d", answer.StatusCode)
	}
	status, second := b.exchange(refreshForm(client, first.Refresh))
	if status != http.StatusOK || second.Refresh == first.Refresh {
		t.Fatalf("%d %+v", status, second)
	}
	sessions := s.call(http.MethodGet, "/api/v1/auth/sessions", nil)
	ended := false
	for _, row := range sessions.list {
		if row["application"] == "Editor <b>" {
			id, _ := row["id"].(string)
			ended = s.request(http.MethodDelete, "/api/v1/auth/sessions/"+id, "", nil).StatusCode == http.StatusNoContent
		}
	}
	if !ended {
		t.Fatalf("the program is not among the sessions: %s", sessions.body)
	}
	if status, out := b.exchange(refreshForm(client, second.Refresh)); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("after the end: %d %+v", status, out)
	}
	if response, text := s.protocol(http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, []string{"Authorization", "Bearer " + second.Access}); response.StatusCode != http.StatusUnauthorized ||
		!strings.Contains(response.Header.Get("WWW-Authenticate"), `error="invalid_token"`) {
		t.Errorf("after the end: %d %s", response.StatusCode, text)
	}
}

func TestTheAuthorizationServerRefusesMisuse(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.connector()
	b := s.browser()
	client := b.register()
	for name, body := range map[string]string{
		"a foreign scheme":  `{"redirect_uris":["javascript:alert(1)"]}`,
		"plain http":        `{"redirect_uris":["http://example.com/cb"]}`,
		"a fragment":        `{"redirect_uris":["https://example.com/cb#x"]}`,
		"no address":        `{"client_name":"x"}`,
		"a secret":          `{"redirect_uris":["https://example.com/cb"],"token_endpoint_auth_method":"client_secret_basic"}`,
		"no JSON":           `{`,
		"a body of 100 KiB": `{"redirect_uris":["https://example.com/` + strings.Repeat("x", 100<<10) + `"]}`,
	} {
		if status, text, _, _ := b.send(http.MethodPost, "/oauth/register", "application/json", body); status != http.StatusBadRequest || !strings.Contains(text, "invalid_") {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	for name, change := range map[string]map[string]string{
		"an unknown client":  {"client_id": "mcp_x"},
		"a forged client":    {"client_id": client[:len(client)-2] + "xx"},
		"a foreign redirect": {"redirect_uri": "https://evil.example.com/cb"},
		"another path":       {"redirect_uri": "http://127.0.0.1:1234/other"},
		"a private metadata": {"client_id": "https://127.0.0.1:1/client.json"},
	} {
		if status, text, redirect := b.get(authorizePath(client, change)); status != http.StatusBadRequest || redirect != nil || strings.Contains(text, "<form") {
			t.Errorf("%s: %d %v %s", name, status, redirect, text)
		}
	}
	for want, change := range map[string]map[string]string{
		"unsupported_response_type": {"response_type": "token"},
		"invalid_request":           {"code_challenge_method": "plain"},
		"invalid_scope":             {"scope": "admin"},
		"invalid_target":            {"resource": "https://other.example.com/mcp"},
	} {
		if status, _, redirect := b.get(authorizePath(client, change)); status != http.StatusFound || redirect == nil || redirect.Query().Get("error") != want || redirect.Query().Get("state") != "s 1" {
			t.Errorf("%s: %d %v", want, status, redirect)
		}
	}
	_, page, _ := b.get(authorizePath(client, nil))
	token := tokenOf(t, page)
	if status, text, _ := s.browser().post("/oauth/authorize", url.Values{"token": {token}, "email": {email}, "password": {password}}); status != http.StatusBadRequest || strings.Contains(text, "Allow") {
		t.Errorf("another browser: %d %s", status, text)
	}
	_, page, _ = b.get(authorizePath(client, nil))
	status, page, _ := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "email": {email}, "password": {"wrong"}})
	if status != http.StatusUnauthorized || !strings.Contains(page, "Email or password is wrong") {
		t.Errorf("a wrong password: %d %s", status, page)
	}
	if status, page, _ = b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "decision": {"allow"}}); status != http.StatusBadRequest {
		t.Errorf("without a sign-in: %d %s", status, page)
	}
	_, page, _ = b.get(authorizePath(client, nil))
	if status, _, redirect := b.post("/oauth/authorize", url.Values{"token": {tokenOf(t, page)}, "decision": {"deny"}}); status != http.StatusFound || redirect.Query().Get("error") != "access_denied" {
		t.Errorf("refused: %d %v", status, redirect)
	}
	_, page, _, header := b.send(http.MethodGet, authorizePath(client, nil), "", "")
	if header.Get("X-Frame-Options") != "DENY" || !strings.Contains(header.Get("Content-Security-Policy"), "frame-ancestors 'none'") || !strings.Contains(page, "<form") {
		t.Errorf("%v", header)
	}
	for name, change := range map[string]func(url.Values){
		"another verifier": func(f url.Values) { f.Set("code_verifier", verifier+"x") },
		"no verifier":      func(f url.Values) { f.Del("code_verifier") },
		"another client":   func(f url.Values) { f.Set("client_id", b.register()) },
		"another redirect": func(f url.Values) { f.Set("redirect_uri", "https://editor.example.com/cb") },
	} {
		form := codeForm(client, b.agree(client))
		good := codeForm(client, form.Get("code"))
		change(form)
		if status, out := b.exchange(form); status != http.StatusBadRequest || out.Error != "invalid_grant" {
			t.Errorf("%s: %d %+v", name, status, out)
		}
		if status, out := b.exchange(good); status != http.StatusBadRequest || out.Error != "invalid_grant" {
			t.Errorf("%s: the code works twice: %d %+v", name, status, out)
		}
	}
	_, tokens := b.exchange(codeForm(client, b.agree(client)))
	if status, out := b.exchange(refreshForm(b.register(), tokens.Refresh)); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("the refresh token of another client: %d %+v", status, out)
	}
	if status, text, _ := s.browser().post("/oauth/revoke", url.Values{"client_id": {client}, "token": {tokens.Refresh}}); status != http.StatusOK {
		t.Errorf("%d %s", status, text)
	}
	if status, out := b.exchange(refreshForm(client, tokens.Refresh)); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("a revoked refresh token: %d %+v", status, out)
	}
	for path, want := range map[string]int{"/oauth/nothing": 404, "/oauth/token": 405, "/oauth/client": 200, "/.well-known/oauth-protected-resource": 200, "/.well-known/oauth-authorization-server/mcp": 200, "/.well-known/oauth-protected-resource/x": 404} {
		if status, text, _ := b.get(path); status != want {
			t.Errorf("%s: %d %s", path, status, text)
		}
	}
	var ours struct {
		ID        string   `json:"client_id"`
		Redirects []string `json:"redirect_uris"`
	}
	if _, text, _ := b.get("/oauth/client"); json.Unmarshal([]byte(text), &ours) != nil || !strings.HasSuffix(ours.ID, "/oauth/client") ||
		len(ours.Redirects) != 1 || !strings.HasSuffix(ours.Redirects[0], "/api/v1/oauth/callback/mcp") {
		t.Errorf("Magpie as a client: %s", text)
	}
	if status, text, _, _ := b.send(http.MethodPost, "/oauth/token", "application/json", `{}`); status != http.StatusBadRequest || !strings.Contains(text, "invalid_request") {
		t.Errorf("%d %s", status, text)
	}
}
