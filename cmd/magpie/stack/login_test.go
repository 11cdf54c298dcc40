package stack_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// loginPath is the page that the command line opens, with changes of the parameters.
func loginPath(change map[string]string) string {
	query := url.Values{
		"response_type": {"code"}, "client_id": {"magpie-cli"}, "redirect_uri": {callback}, "state": {"s 1"},
		"code_challenge": {challenge()}, "code_challenge_method": {"S256"}, "device_name": {"lap\ntop"},
	}
	for name, value := range change {
		query.Set(name, value)
	}
	return "/oauth/authorize?" + query.Encode()
}

const answerLogin = `mutation($i: AnswerLoginInput!) { answerLogin(input: $i) { redirectUrl } }`

// allow answers the command line as the person, and returns the query that the browser brings back.
func (s *service) allow(token map[string]any) url.Values {
	s.t.Helper()
	var answered struct{ AnswerLogin struct{ RedirectURL string } }
	input := map[string]any{"redirectUri": callback, "state": "s 1", "codeChallenge": challenge(), "token": token}
	s.graphql(&answered, answerLogin, map[string]any{"i": input})
	to, err := url.Parse(answered.AnswerLogin.RedirectURL)
	if err != nil || to.Scheme+"://"+to.Host+to.Path != callback || to.Query().Get("state") != "s 1" || to.Query().Get("iss") == "" {
		s.t.Fatalf("%v %v", to, err)
	}
	return to.Query()
}

func TestAPersonGivesTheCommandLineAToken(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.connector()
	b := s.browser()
	status, _, to := b.get(loginPath(nil))
	if status != http.StatusFound || to == nil || to.Path != "/command-line" || to.RawQuery != "" {
		t.Fatalf("%d %v", status, to)
	}
	asked, err := url.ParseQuery(to.EscapedFragment())
	if err != nil || asked.Get("redirect_uri") != callback || asked.Get("state") != "s 1" || asked.Get("code_challenge") != challenge() || asked.Get("device") != "lap top" {
		t.Fatalf("%v %v", asked, err)
	}
	if refused := s.allow(nil); refused.Get("error") != "access_denied" || refused.Has("code") {
		t.Errorf("%v", refused)
	}

	status, made := b.exchange(codeForm("magpie-cli", s.allow(map[string]any{"name": "laptop", "role": "VIEWER", "groups": []string{"CONNECTORS"}}).Get("code")))
	if status != http.StatusOK || !strings.HasPrefix(made.Access, "mgp_pat_") || made.Type != "Bearer" || made.Refresh != "" || made.Expires < 80*24*3600 || made.Expires > 91*24*3600 {
		t.Fatalf("%d %+v", status, made)
	}
	// A second login on the same machine.
	_, again := b.exchange(codeForm("magpie-cli", s.allow(map[string]any{"name": "Laptop"}).Get("code")))
	var mine struct {
		MyTokens []struct{ Name, Status, Role string }
	}
	if s.graphql(&mine, `{ myTokens { name status role } }`, nil); len(mine.MyTokens) != 2 || mine.MyTokens[0].Name != "Laptop (2)" || mine.MyTokens[1].Role != "VIEWER" {
		t.Fatalf("%+v", mine)
	}
	var log struct {
		AuditLog struct {
			Edges []struct {
				Node struct{ Action, TargetName, ActorName string }
			}
		}
	}
	s.graphql(&log, `{ auditLog(first: 1) { edges { node { action targetName actorName } } } }`, nil)
	if e := log.AuditLog.Edges; len(e) != 1 || e[0].Node.Action != "token.create" || e[0].Node.TargetName != "Laptop (2)" || e[0].Node.ActorName != email {
		t.Errorf("the audit log: %+v", e)
	}
	session := s.token
	for token, want := range map[string]int{made.Access: http.StatusForbidden, again.Access: http.StatusOK} {
		s.token = token
		if a := s.call(http.MethodGet, "/api/v1/collections", nil); a.status != want {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	// It ends itself, though it is not for keys and tokens; a second time does no harm.
	for range 2 {
		if status, text, _ := b.post("/oauth/revoke", url.Values{"client_id": {"magpie-cli"}, "token": {made.Access}}); status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
	}
	s.token = made.Access
	if a := s.call(http.MethodGet, "/api/v1/connectors", nil); a.status != http.StatusUnauthorized {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.token = session
	if status, text, _ := b.post("/oauth/revoke", url.Values{"client_id": {"magpie-cli"}, "token": {"mgp_svc_x"}}); status != http.StatusBadRequest || !strings.Contains(text, "unsupported_token_type") {
		t.Errorf("%d %s", status, text)
	}
}

func TestNobodyElseGetsTheTokenOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.connector()
	b := s.browser()
	redirects := []string{
		"https://evil.example.com/callback", "http://evil.example.com:80/callback", "http://localhost:1234/callback", "http://127.0.0.1/callback",
		"http://127.0.0.1:0/callback", "http://127.0.0.1:1234/other", "http://127.0.0.1:1234/callback?x", "http://127.0.0.1:1234@evil.example.com/callback",
		"http://127.0.0.1:1234/callback#x", "http://127.0.0.2:1234/callback", "http://[::ffff:127.0.0.1]:1234/callback", "HTTP://127.0.0.1:1234/callback", "http://127.0.0.1:01234/callback", "",
	}
	for _, redirect := range redirects {
		if status, text, to := b.get(loginPath(map[string]string{"redirect_uri": redirect})); status != http.StatusBadRequest || to != nil || strings.Contains(text, "<form") {
			t.Errorf("%q: %d %v %s", redirect, status, to, text)
		}
	}
	for name, change := range map[string]map[string]string{
		"plain PKCE": {"code_challenge_method": "plain"}, "no PKCE": {"code_challenge": ""}, "a strange challenge": {"code_challenge": strings.Repeat("<", 43)},
		"a token at once": {"response_type": "token"}, "a scope": {"scope": "search"}, "no state": {"state": ""}, "a long state": {"state": strings.Repeat("x", 201)},
	} {
		if status, _, to := b.get(loginPath(change)); status != http.StatusBadRequest || to != nil {
			t.Errorf("%s: %d %v", name, status, to)
		}
	}
	answer := func(redirect string, token map[string]any) string {
		return s.call(http.MethodPost, "/graphql", map[string]any{"query": answerLogin, "variables": map[string]any{
			"i": map[string]any{"redirectUri": redirect, "state": "s", "codeChallenge": challenge(), "token": token}}}).body
	}
	laptop := map[string]any{"name": "laptop"}
	for _, redirect := range redirects {
		if text := answer(redirect, laptop); !strings.Contains(text, "invalid_request") || strings.Contains(text, "code=") {
			t.Errorf("%q: %s", redirect, text)
		}
	}
	if text := answer(callback, map[string]any{"name": "laptop", "expiresAt": "2999-01-01T00:00:00Z"}); !strings.Contains(text, "expiresAt") {
		t.Errorf("%s", text)
	}
	_, token := s.mint("CI")
	session := s.token
	s.token = token
	if text := answer(callback, laptop); !strings.Contains(text, "sign in") {
		t.Errorf("a token answers: %s", text)
	}
	s.token = session

	for name, change := range map[string]func(url.Values){
		"another verifier": func(f url.Values) { f.Set("code_verifier", verifier+"x") },
		"no verifier":      func(f url.Values) { f.Del("code_verifier") },
		"another redirect": func(f url.Values) { f.Set("redirect_uri", "http://127.0.0.1:1235/callback") },
		"no redirect":      func(f url.Values) { f.Del("redirect_uri") },
	} {
		form := codeForm("magpie-cli", s.allow(laptop).Get("code"))
		good := codeForm("magpie-cli", form.Get("code"))
		change(form)
		for _, try := range []url.Values{form, good} { // a code works once
			if status, out := b.exchange(try); status != http.StatusBadRequest || out.Error != "invalid_grant" {
				t.Errorf("%s: %d %+v", name, status, out)
			}
		}
	}
	// Codes of other programs and of the command line are not exchanged for each other.
	other := b.register()
	if status, out := b.exchange(codeForm(other, s.allow(laptop).Get("code"))); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("%d %+v", status, out)
	}
	if status, out := b.exchange(codeForm("magpie-cli", b.agree(other))); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("%d %+v", status, out)
	}
}

func TestACodeOfTheCommandLineEndsWithTheSession(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.connector()
	b := s.browser()
	code := s.allow(map[string]any{"name": "laptop"}).Get("code")
	if a := s.call(http.MethodPost, "/api/v1/auth/logout", nil); a.status >= http.StatusBadRequest {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if status, out := b.exchange(codeForm("magpie-cli", code)); status != http.StatusBadRequest || out.Error != "invalid_grant" {
		t.Errorf("%d %+v", status, out)
	}
}

func TestPagesAreNotTheCommandLine(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.connector()
	b := s.browser()
	form := codeForm("magpie-cli", s.allow(map[string]any{"name": "laptop"}).Get("code"))
	for _, path := range []string{"/oauth/token", "/oauth/revoke"} {
		a := s.request(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), "Origin", "https://evil.example.com")
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", path, a.StatusCode)
		}
	}
	if status, made := b.exchange(form); status != http.StatusOK || made.Access == "" {
		t.Errorf("without a page: %d %+v", status, made)
	}
}

func TestATokensNameDoesNotReorderText(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.call(http.MethodPost, "/graphql", map[string]any{"query": answerLogin, "variables": map[string]any{"i": map[string]any{
		"redirectUri": callback, "state": "s", "codeChallenge": challenge(), "token": map[string]any{"name": "laptop\u202e"}}}})
	if !strings.Contains(a.body, "must not have control characters") {
		t.Errorf("%s", a.body)
	}
}
