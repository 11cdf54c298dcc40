package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// webBrowser is the browser of a person who has signed in. It follows no redirects.
type webBrowser struct {
	t    *testing.T
	http *http.Client
}

func newWebBrowser(t *testing.T) *webBrowser {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &webBrowser{t: t, http: &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

func (b *webBrowser) get(address string) (status int, text, location string) {
	b.t.Helper()
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		b.t.Error(err)
		return 0, "", ""
	}
	response, err := b.http.Do(request)
	if err != nil {
		b.t.Error(err)
		return 0, "", ""
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Error(err)
	}
	return response.StatusCode, string(content), response.Header.Get("Location")
}

// answer opens the page that the command line has named, and answers it as the owner: with a token, or for null not. It
// returns the address to go back to.
func (b *webBrowser) answer(m *stacktest.Magpie, page string, token map[string]any) string {
	b.t.Helper()
	_, _, page = b.get(page) // the address that the browser is started with leads to the page
	_, _, at := b.get(page)
	_, fragment, _ := strings.Cut(at, "#")
	asked, err := url.ParseQuery(fragment)
	if err != nil || !strings.HasPrefix(at, m.URL+"/command-line#") {
		b.t.Errorf("%q %v", at, err)
	}
	var answered struct{ AnswerLogin struct{ RedirectURL string } }
	m.GraphQL(&answered, `mutation($i: AnswerLoginInput!) { answerLogin(input: $i) { redirectUrl } }`, map[string]any{"i": map[string]any{
		"redirectUri": asked.Get("redirect_uri"), "state": asked.Get("state"), "codeChallenge": asked.Get("code_challenge"), "token": token,
	}})
	return answered.AnswerLogin.RedirectURL
}

// inBrowser runs a command whose page is opened by browse; nil expects that no browser opens.
func (s *shell) inBrowser(ctx context.Context, browse func(page string), arguments ...string) outcome {
	s.t.Helper()
	return s.inBrowserWith(ctx, "", browse, arguments...)
}

// inBrowserWith is inBrowser with an input.
func (s *shell) inBrowserWith(ctx context.Context, input string, browse func(page string), arguments ...string) outcome {
	s.t.Helper()
	var out, err bytes.Buffer
	done := make(chan struct{})
	code := command.Run(ctx, append(append([]string{}, s.flags...), arguments...), command.Streams{
		In: strings.NewReader(input), Out: &out, Err: &err,
		Browse: func(_ context.Context, page string) error { // as a real browser, it goes on by itself
			if browse == nil {
				s.t.Errorf("a browser opens %s", page)
				return errors.New("there is no browser")
			}
			go func() { defer close(done); browse(page) }()
			return nil
		},
	})
	if browse != nil {
		<-done
	}
	return outcome{code, out.String(), err.String()}
}

func TestLoginInABrowser(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s := remoteShell(t)
	b := newWebBrowser(t)
	var said string
	o := s.inBrowser(t.Context(), func(page string) {
		if back := b.answer(m, page, map[string]any{"name": "workstation", "groups": []string{"COLLECTIONS"}}); back != "" {
			to, err := url.Parse(back)
			if err != nil {
				t.Error(err)
				return
			}
			base := "http://" + to.Host
			// What any page may send the browser to is no answer.
			for _, wrong := range []string{"/callback", "/callback?code=x", "/callback?code=x&state=y", "/callback?code=x&state=" + to.Query().Get("state"), "/callback?" + "iss=https%3A%2F%2Fevil.example.com&code=x&state=" + to.Query().Get("state")} {
				if status, text, _ := b.get(base + wrong); status != http.StatusBadRequest || !strings.Contains(text, "not the answer") {
					t.Errorf("%s: %d %s", wrong, status, text)
				}
			}
			if status, _, _ := b.get(base + "/"); status != http.StatusNotFound {
				t.Errorf("/: %d", status)
			}
			if status, _, _ := b.get("http://localhost:" + to.Port() + "/callback?" + to.RawQuery); status != http.StatusNotFound {
				t.Errorf("another host: %d", status)
			}
			_, said, _ = b.get(back)
		}
	}, "login", m.URL, "--browser")
	if o.code != 0 || !strings.Contains(said, "You are logged in") || !strings.Contains(o.err, "owner@example.com, owner of Test") || strings.Contains(o.out+o.err+said, "mgp_pat_") {
		t.Fatalf("%+v %s", o, said)
	}
	s.ok("collections", "create", "Docs")
	s.fails("needs the group CONNECTORS", "connectors")

	// A login again replaces the token; logging out ends it.
	again := func() {
		o := s.inBrowser(t.Context(), func(page string) { b.get(b.answer(m, page, map[string]any{"name": "workstation"})) }, "login", m.URL, "--browser")
		if o.code != 0 {
			t.Fatalf("%+v", o)
		}
	}
	again()
	s.ok("connectors")
	if got := tokens(m); got != "workstation (2) ACTIVE, workstation REVOKED" {
		t.Errorf("%s", got)
	}
	if o := s.run("logout"); o.code != 0 || !strings.Contains(o.err, "revoked its token") {
		t.Errorf("%+v", o)
	}
	if got := tokens(m); got != "workstation (2) REVOKED, workstation REVOKED" {
		t.Errorf("%s", got)
	}
	s.fails("magpie login URL", "collections")

	again()
	var gone struct{ Revoked bool }
	if s.read(&gone, "logout", "--keep-token"); gone.Revoked {
		t.Errorf("%+v", gone)
	}
	if got := tokens(m); got != "workstation ACTIVE, workstation (2) REVOKED, workstation REVOKED" {
		t.Errorf("%s", got)
	}
	// A token that was pasted is its person's.
	if o := s.runWith(personalToken(m)+"\n", "login", m.URL, "--with-token"); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	if o := s.run("logout"); o.code != 0 || !strings.Contains(o.err, "is valid until") {
		t.Errorf("%+v", o)
	}
	if got := tokens(m); !strings.HasPrefix(got, "Laptop ACTIVE") {
		t.Errorf("%s", got)
	}
}

// tokens are the names and states of the owner's tokens.
func tokens(m *stacktest.Magpie) string {
	var all struct {
		MyTokens []struct{ Name, Status string }
	}
	m.GraphQL(&all, `{ myTokens { name status } }`, nil)
	rows := make([]string, len(all.MyTokens))
	for i, row := range all.MyTokens {
		rows[i] = row.Name + " " + row.Status
	}
	return strings.Join(rows, ", ")
}

func TestALoginInABrowserThatEndsOtherwise(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s := remoteShell(t)
	b := newWebBrowser(t)
	var said string
	o := s.inBrowser(t.Context(), func(page string) { _, said, _ = b.get(b.answer(m, page, nil)) }, "login", m.URL, "--browser")
	if o.code != 1 || !strings.Contains(o.err, "magpie: the login was refused on the page\n") || !strings.Contains(said, "You are not logged in") {
		t.Errorf("%+v %s", o, said)
	}
	o = s.inBrowser(t.Context(), func(page string) {
		back, err := url.Parse(b.answer(m, page, map[string]any{"name": "laptop"}))
		if err != nil {
			t.Error(err)
			return
		}
		query := back.Query()
		query.Set("code", "forged")
		back.RawQuery = query.Encode()
		b.get(back.String())
	}, "login", m.URL, "--browser")
	if o.code != 1 || !strings.Contains(o.err, "the code is not valid") {
		t.Errorf("%+v", o)
	}
	o = s.inBrowser(t.Context(), func(string) {}, "login", m.URL, "--browser", "--wait", "50ms")
	if o.code != 1 || !strings.Contains(o.err, "nobody has answered the page within 50ms") {
		t.Errorf("%+v", o)
	}
	interrupted, interrupt := context.WithCancelCause(t.Context())
	o = s.inBrowser(interrupted, func(string) { interrupt(command.Interrupted{Signal: syscall.SIGINT}) }, "login", m.URL, "--browser")
	if o.code != 130 {
		t.Errorf("%+v", o)
	}
	if got := tokens(m); got != "" {
		t.Errorf("tokens without a program: %s", got)
	}
	s.fails("magpie login URL", "collections")
	if o := s.run("login", m.URL, "--no-browser"); o.code != 2 || !strings.Contains(o.err, "--with-token") {
		t.Errorf("%+v", o)
	}
	if o := s.run("login", m.URL, "--browser", "--with-token"); o.code != 2 {
		t.Errorf("%+v", o)
	}

	// What is no Magpie is told before a browser opens.
	elsewhere := httptest.NewServer(http.NotFoundHandler())
	defer elsewhere.Close()
	s.fails("there is no Magpie at this address", "login", elsewhere.URL, "--browser")
}

// metadataServer is a server that says of itself what it likes. It reports the requests for
// other than the metadata.
func metadataServer(t *testing.T, say func(own string) (issuer, page string)) *httptest.Server {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/oauth-authorization-server" {
			t.Errorf("%s is asked for %s", server.URL, r.URL)
		}
		issuer, page := say(server.URL)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{"issuer": issuer, "authorization_endpoint": page})
	}))
	t.Cleanup(server.Close)
	return server
}

// A Magpie that names the page of another one would receive the code for a token there.
func TestALoginIsAtTheMagpieThatIsNamed(t *testing.T) {
	t.Parallel()
	s := remoteShell(t)
	good := metadataServer(t, func(own string) (string, string) { return own, own + "/oauth/authorize" })
	for name, c := range map[string]struct {
		say  func(own string) (issuer, page string)
		want string
	}{
		"another's name":     {func(string) (string, string) { return good.URL, good.URL + "/oauth/authorize" }, "this Magpie calls itself " + good.URL + "; run magpie login " + good.URL},
		"another's page":     {func(own string) (string, string) { return own, good.URL + "/oauth/authorize" }, "the page for logging in, " + good.URL + "/oauth/authorize, is not of "},
		"a longer host":      {func(own string) (string, string) { return own, own + "0/oauth/authorize" }, "is not of "},
		"a file":             {func(own string) (string, string) { return own, "file:///etc/passwd" }, "is not of "},
		"no name of a place": {func(string) (string, string) { return "x", "file:///etc/passwd" }, "this Magpie calls itself x; run magpie login https://x"},
		"no address":         {func(string) (string, string) { return "ftp://x", "ftp://x/y" }, "this Magpie calls itself ftp://x: the address must begin with https://"},
	} {
		evil := metadataServer(t, c.say)
		o := s.inBrowser(t.Context(), nil, "login", evil.URL, "--browser")
		if o.code != 1 || !strings.Contains(o.err, c.want) {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

func TestLogoutFromAMagpieThatIsAway(t *testing.T) {
	t.Parallel()
	away := httptest.NewServer(http.NotFoundHandler())
	address := away.URL
	away.Close()
	s := remoteShell(t)
	file := strings.TrimPrefix(settingOf(t, s, "MAGPIE_PROFILES"), "MAGPIE_PROFILES=")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	content := `{"current": "home", "profiles": {"home": {"url": "` + address + `", "token": "mgp_pat_x", "made": true}}}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	o := s.run("logout")
	if o.code != 0 || !regexp.MustCompile(`The token of home lives on \(reach .*\): revoke it on `+regexp.QuoteMeta(address)+"/account#tokens\nForgot home").MatchString(o.err) {
		t.Errorf("%+v", o)
	}
	s.fails("no profile is in use", "logout")
}
