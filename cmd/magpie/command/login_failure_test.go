package command_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/command"
	"github.com/magpie-search/magpie/cmd/magpie/profile"
	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

func (s *shell) profilesFile() string {
	s.t.Helper()
	return strings.TrimPrefix(settingOf(s.t, s, "MAGPIE_PROFILES"), "MAGPIE_PROFILES=")
}

// A login that fails after the person has allowed it leaves no token behind, and the browser
// does not say that it went well.
func TestALoginThatFailsLateRevokesItsToken(t *testing.T) {
	t.Parallel()
	interrupted, interrupt := context.WithCancelCause(t.Context())
	for name, c := range map[string]struct {
		check func(http.ResponseWriter)
		exit  int
	}{
		"a failure": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusInternalServerError) }, 1},
		"an interrupt": {func(w http.ResponseWriter) {
			interrupt(command.Interrupted{Signal: syscall.SIGINT})
			w.WriteHeader(http.StatusInternalServerError)
		}, 130},
	} {
		const token = "mgp_pat_00000000000000"
		revoked := make(chan string, 2)
		var server *httptest.Server
		server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer := map[string]string{}
			switch r.URL.Path {
			case "/.well-known/oauth-authorization-server":
				answer = map[string]string{"issuer": server.URL, "authorization_endpoint": server.URL + "/oauth/authorize"}
			case "/oauth/token":
				answer["access_token"] = token
			case "/oauth/revoke":
				revoked <- r.FormValue("token")
			default:
				c.check(w)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(answer)
		}))
		defer server.Close()
		ctx := t.Context()
		if c.exit == 130 {
			ctx = interrupted
		}
		s, b := remoteShell(t), newWebBrowser(t)
		said := ""
		o := s.inBrowser(ctx, func(start string) {
			_, _, page := b.get(start)
			at, err := url.Parse(page)
			if err != nil {
				t.Error(err)
				return
			}
			q := at.Query()
			_, said, _ = b.get(q.Get("redirect_uri") + "?" + url.Values{"code": {"x"}, "state": {q.Get("state")}, "iss": {server.URL}}.Encode())
		}, "login", server.URL, "--browser")
		if o.code != c.exit || !strings.Contains(said, "You are not logged in") {
			t.Errorf("%s: %+v %s", name, o, said)
		}
		select {
		case got := <-revoked:
			if got != token {
				t.Errorf("%s: %s is revoked", name, got)
			}
		default:
			t.Errorf("%s: the token lives on", name)
		}
		if _, err := os.Stat(s.profilesFile()); err == nil {
			t.Errorf("%s: a profile is stored", name)
		}
	}
}

// What other commands store while a person answers stays.
func TestALoginLosesNoOtherProfile(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s, b := remoteShell(t), newWebBrowser(t)
	o := s.inBrowser(t.Context(), func(start string) {
		if o := s.runWith(personalToken(m)+"\n", "login", m.URL, "--with-token", "--name", "other"); o.code != 0 {
			t.Errorf("%+v", o)
		}
		b.get(b.answer(m, start, map[string]any{"name": "workstation"}))
	}, "login", m.URL, "--browser", "--name", "mine")
	set, err := profile.Open(s.profilesFile())
	if err != nil || o.code != 0 || strings.Join(set.Names(), " ") != "mine other" || set.Current != "mine" {
		t.Errorf("%+v %+v %v", o, set, err)
	}
	// Nor does it take the name of a profile that has come to be another Magpie's.
	var said string
	o = s.inBrowser(t.Context(), func(start string) {
		set.Profiles["new"] = profile.Profile{URL: "https://magpie.example.com", Token: "mgp_pat_x"}
		if err := set.Save(); err != nil {
			t.Error(err)
		}
		_, said, _ = b.get(b.answer(m, start, map[string]any{"name": "late"}))
	}, "login", m.URL, "--browser", "--name", "new")
	if o.code != 2 || !strings.Contains(o.err, "the profile new is for https://magpie.example.com") || !strings.Contains(said, "You are not logged in") {
		t.Errorf("%+v %s", o, said)
	}
	if got := tokens(m); got != "late REVOKED, workstation ACTIVE, Laptop ACTIVE" {
		t.Errorf("%s", got)
	}
}

func TestALoginAsSomebodyElseIsConfirmed(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s, b := remoteShell(t), newWebBrowser(t)
	login := func(input string) outcome {
		return s.inBrowserWith(t.Context(), input, func(start string) { b.get(b.answer(m, start, map[string]any{"name": "workstation"})) }, "login", m.URL, "--browser", "--name", "mine")
	}
	of := func() string {
		set, err := profile.Open(s.profilesFile())
		if err != nil {
			t.Fatal(err)
		}
		return set.Profiles["mine"].User
	}
	if o := login(""); o.code != 0 || of() != stacktest.Email {
		t.Fatalf("%+v", o)
	}
	set, err := profile.Open(s.profilesFile())
	if err != nil {
		t.Fatal(err)
	}
	set.Profiles["mine"] = profile.Profile{URL: m.URL, Token: "mgp_pat_x", User: "ada@example.com"}
	if err := set.Save(); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"", "no\n"} {
		if o := login(input); o.code != 1 || !strings.Contains(o.err, stacktest.Email+" has answered the page, but the profile mine is of ada@example.com.") || of() != "ada@example.com" {
			t.Errorf("%q: %+v", input, o)
		}
	}
	if got := tokens(m); strings.Count(got, "REVOKED") != 2 {
		t.Errorf("%s", got)
	}
	if o := login("yes\n"); o.code != 0 || of() != stacktest.Email {
		t.Errorf("%+v", o)
	}
}

// Other users of the machine see the address that a browser is started with.
func TestTheAddressOfABrowserIsOfUseOnce(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	s, b := remoteShell(t), newWebBrowser(t)
	var said string
	o := s.inBrowser(t.Context(), func(start string) {
		if strings.ContainsAny(start, "?#") || !strings.HasPrefix(start, "http://127.0.0.1:") {
			t.Errorf("a browser is started with %s", start)
		}
		if status, _, page := b.get(start); status != http.StatusFound || !strings.HasPrefix(page, m.URL+"/oauth/authorize?") {
			t.Errorf("%d %s", status, page)
		}
		var status int
		if status, said, _ = b.get(start); status != http.StatusGone {
			t.Errorf("%d %s", status, said)
		}
	}, "login", m.URL, "--browser")
	if o.code != 1 || !strings.Contains(o.err, "opened twice") || !strings.Contains(said, "somebody else on this machine") {
		t.Errorf("%+v %s", o, said)
	}
}
