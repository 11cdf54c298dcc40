package command_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestIntegrations(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	if o := s.run("integrations"); o.code != 0 || !strings.Contains(o.err, "There is no integration yet") {
		t.Errorf("%+v", o)
	}
	if out := s.ok("integrations", "providers"); !strings.Contains(out, "jira") || !strings.Contains(out, "--option url=") || strings.Contains(out, "  tool ") {
		t.Errorf("%s", out)
	}
	if out := s.ok("integrations", "providers", "prometheus"); !strings.Contains(out, "  tool query: read, allow") || strings.Contains(out, "jira") {
		t.Errorf("%s", out)
	}
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(platform.Close)
	s.fails("no provider", "integrations", "providers", "wizard")
	s.fails("give a file or --provider", "integrations", "create")
	s.fails("there is no provider", "integrations", "create", "--provider", "wizard")
	s.fails("add --shared", "integrations", "create", "--provider", "prometheus", "--option", "url="+platform.URL, "--credential", "token=t0ken")
	id := strings.TrimSpace(s.ok("integrations", "create", "--provider", "prometheus", "--name", "Metrics", "--slug", "metrics", "--option", "url="+platform.URL, "--credential", "token=t0ken", "--shared"))
	var shown struct {
		ID, Name, Slug, Provider, CredentialsOf, Status string
		Config                                          map[string]any
		Tools                                           []struct{ Name, Risk string }
	}
	for _, name := range []string{id, "metrics", "Metrics"} {
		s.read(&shown, "integrations", "show", name)
		if shown.ID != id || shown.Provider != "prometheus" || shown.CredentialsOf != "SHARED" || len(shown.Tools) == 0 || shown.Config["url"] != platform.URL {
			t.Errorf("%s: %+v", name, shown)
		}
	}
	s.ok("integrations", "create", writeFile(t, `{"provider":"webhook","name":"Tickets","ownerScope":"workspace","config":{"url":"https://tickets.example.com"}}`), "--disabled")
	if out := s.ok("integrations"); !strings.Contains(out, id) || !strings.Contains(out, "Tickets") || strings.Contains(out, "t0ken") {
		t.Errorf("%s", out)
	}
	if out := s.ok("integrations", "tools", "metrics"); !strings.Contains(out, "metrics.query") || !strings.Contains(out, "read") || !strings.Contains(out, "on") {
		t.Errorf("%s", out)
	}
	s.ok("integrations", "tools", "metrics", "--refresh")
	s.fails("does not work", "integrations", "test", "metrics")
	s.fails("has not changed", "integrations", "accept-change", "metrics", "metrics.query")
	s.fails("has no tool", "integrations", "accept-change", "metrics", "nothing")
	s.fails("not connected by OAuth", "integrations", "authorize", "metrics")
	s.ok("integrations", "create", "--provider", "github", "--name", "Code")
	if out := s.ok("integrations", "authorize", "Code"); !strings.Contains(out, "/integrations/") {
		t.Errorf("%s", out)
	}
	s.fails("no JSON object", "integrations", "create", writeFile(t, "[7]"))
	s.fails("--yes", "integrations", "delete", "metrics")
	s.ok("integrations", "delete", "metrics", "--yes")
	s.fails("integration", "integrations", "show", "metrics")
}

func writeFile(t *testing.T, content string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
