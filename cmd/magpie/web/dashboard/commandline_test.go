package dashboard_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// commandLineFlow answers the command line: after the sign-in, with a token, and then without one.
func commandLineFlow(t *testing.T, m *world) {
	arrived := make(chan url.Values, 2)
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/callback" {
			arrived <- r.URL.Query()
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(`<!doctype html><link rel="icon" href="data:,"><h1>The program</h1>`))
	}))
	t.Cleanup(program.Close)
	page := strings.Replace(loginPage, "127.0.0.1%3A1234", url.QueryEscape(strings.TrimPrefix(program.URL, "http://")), 1)

	v := visitor(t, m.Magpie, page)
	v.enter("Email address", stacktest.Email)
	v.enter("Password", stacktest.Password)
	v.hit("Sign in")
	v.Until(`title() === "Log in on the command line" && settled()`)
	v.sees(strings.TrimPrefix(program.URL, "http://") + ", on this machine")
	v.sees(stacktest.Email)
	v.Until(`field("Name").value === "magpie on laptop" && location.hash === ""`)
	v.accessibleHere("the question of the command line")
	v.fill("Name", " ")
	v.hit("Log in")
	v.sees("must not be blank")
	v.fill("Name", "magpie on laptop")
	v.choose("Role, at most", "Viewer")
	v.hit("Log in")
	v.Until(`title() === "The program"`)
	if got := <-arrived; got.Get("state") != "s" || len(got.Get("code")) < 40 || got.Has("error") {
		t.Errorf("%v", got)
	}

	v.open(page)
	v.hit("Do not log in")
	v.Until(`title() === "The program"`)
	if got := <-arrived; got.Get("state") != "s" || got.Get("error") != "access_denied" || got.Has("code") {
		t.Errorf("%v", got)
	}
}
