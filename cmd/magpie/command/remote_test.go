package command_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/cmd/magpie/stack/stacktest"
)

// remoteShell runs commands against a Magpie over HTTP, with a file of profiles of its own.
func remoteShell(t *testing.T, settings ...string) *shell {
	t.Helper()
	return &shell{t: t, flags: []string{"--config", settingsFile(t, append([]string{"MAGPIE_PROFILES=" + filepath.Join(t.TempDir(), "private", "profiles.json")}, settings...)...)}}
}

// as returns a shell whose settings name a Magpie and a token.
func as(t *testing.T, m *stacktest.Magpie, token string) *shell {
	t.Helper()
	return remoteShell(t, "MAGPIE_URL="+m.URL, "MAGPIE_TOKEN="+token)
}

// personalToken makes a token of the owner.
func personalToken(m *stacktest.Magpie) string {
	var made struct{ CreatePersonalToken struct{ Secret string } }
	m.GraphQL(&made, `mutation { createPersonalToken(input: {name: "Laptop"}) { secret } }`, nil)
	return made.CreatePersonalToken.Secret
}

// tokenOf makes a token of somebody else.
func tokenOf(t *testing.T, m *stacktest.Magpie, email, password string) string {
	t.Helper()
	token := ""
	ask := func(query string, variables map[string]any) map[string]map[string]any {
		body, err := json.Marshal(map[string]any{"query": query, "variables": variables})
		if err != nil {
			t.Fatal(err)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, m.URL+"/graphql", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		transport := &http.Transport{}
		defer transport.CloseIdleConnections()
		response, err := (&http.Client{Transport: transport}).Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		var answer struct{ Data map[string]map[string]any }
		if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
			t.Fatal(err)
		}
		return answer.Data
	}
	token, _ = ask(`mutation($i: SignInInput!) { signIn(input: $i) { accessToken } }`, map[string]any{"i": map[string]any{"email": email, "password": password}})["signIn"]["accessToken"].(string)
	made, _ := ask(`mutation { createPersonalToken(input: {name: "Laptop"}) { secret } }`, nil)["createPersonalToken"]["secret"].(string)
	if made == "" {
		t.Fatalf("%s gets no token", email)
	}
	return made
}

func TestLoginKeepsATokenForTheCommandsThatFollow(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	token := personalToken(m)
	s := remoteShell(t)
	file := strings.TrimPrefix(settingOf(t, s, "MAGPIE_PROFILES"), "MAGPIE_PROFILES=")
	s.fails("magpie login URL", "collections")
	if o := s.runWith("", "login", m.URL); o.code != 2 || !strings.Contains(o.err, "--with-token") {
		t.Errorf("%+v", o)
	}
	if o := s.runWith(token[:len(token)-1]+"!\n", "login", m.URL, "--with-token"); o.code == 0 || strings.Contains(o.err, token[:20]) {
		t.Errorf("%+v", o)
	}
	if o := s.runWith("hunter2\n", "login", m.URL, "--with-token"); o.code != 2 || strings.Contains(o.err, "hunter2") {
		t.Errorf("%+v", o)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a login that failed left a profile")
	}
	o := s.runWith(token+"\n", "login", m.URL+"/", "--with-token", "--name", "test")
	if o.code != 0 || !strings.Contains(o.err, "owner@example.com, owner of Test") || strings.Contains(o.out+o.err, token) {
		t.Fatalf("%+v", o)
	}
	for path, want := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	if out := s.ok("profiles"); !strings.Contains(out, "test") || !strings.Contains(out, m.URL) || strings.Contains(out, token) {
		t.Errorf("%s", out)
	}
	if out := s.ok("profiles", "--json"); strings.Contains(out, token) || !strings.Contains(out, `"inUse": true`) {
		t.Errorf("%s", out)
	}
	s.ok("collections", "create", "Docs")
	if out := s.ok("collections"); !strings.Contains(out, "Docs") {
		t.Errorf("%s", out)
	}
	if out := s.ok("status"); !strings.Contains(out, "owner@example.com, owner") || !strings.Contains(out, m.URL) || !strings.Contains(out, "PostgreSQL") {
		t.Errorf("%s", out)
	}
	s.fails("is for "+m.URL, "login", "https://magpie.example.com", "--with-token", "--name", "test")
	s.ok("profiles", "use", "--none")
	s.fails("magpie login URL", "collections")
	if out := s.ok("--profile", "test", "collections"); !strings.Contains(out, "Docs") {
		t.Errorf("%s", out)
	}
	s.fails("there are test", "profiles", "use", "prod")
	s.ok("profiles", "use", "test")

	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	s.fails("chmod 600", "collections")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	m.GraphQL(nil, `mutation($id: ID!) { revokeToken(id: $id) { id } }`, map[string]any{"id": onlyToken(m)})
	o = s.run("collections")
	if o.code != 1 || !strings.Contains(o.err, "log in again with `magpie login "+m.URL+"`") {
		t.Errorf("%+v", o)
	}
	if o := s.run("logout"); o.code != 0 || !strings.Contains(o.err, "Forgot test") {
		t.Errorf("%+v", o)
	}
	content, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(content), "mgp_") {
		t.Errorf("%s %v", content, err)
	}
	s.fails("no profile is in use", "logout")
}

// onlyToken returns the id of the only token.
func onlyToken(m *stacktest.Magpie) string {
	var all struct{ MyTokens []struct{ ID string } }
	m.GraphQL(&all, `{ myTokens { id } }`, nil)
	return all.MyTokens[0].ID
}

// settingOf returns the line of a setting in the file of a shell.
func settingOf(t *testing.T, s *shell, name string) string {
	t.Helper()
	content, err := os.ReadFile(s.flags[1])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		if strings.HasPrefix(line, name+"=") {
			return strings.TrimSpace(line)
		}
	}
	t.Fatalf("no %s", name)
	return ""
}

func TestATokenIsNotForTheCommandLine(t *testing.T) {
	t.Parallel()
	s := remoteShell(t)
	token := "mgp_pat_" + strings.Repeat("x", 36)
	for _, arguments := range [][]string{{"login", token}, {"login", "http://127.0.0.1:9", token}, {"sync", "watch", token}} {
		if o := s.run(arguments...); o.code != 2 || strings.Contains(o.out+o.err, token) || !strings.Contains(o.err, "magpie: ") {
			t.Errorf("%q: %+v", arguments, o)
		}
	}
	if o := s.run("search", token); !strings.Contains(o.err, "other users of this machine can see a token") || strings.Contains(o.err, token) {
		t.Errorf("%+v", o)
	}
}

func TestAddressesWithoutEncryptionAreForThisMachine(t *testing.T) {
	t.Parallel()
	s := remoteShell(t)
	for address, want := range map[string]string{
		"http://magpie.example.com": "--insecure", "ftp://magpie.example.com": "https://", "https://ada:hunter2@magpie.example.com": "must not contain",
		"https://magpie.example.com/?a=b": "before ?", "https://": "no address", "http://127.0.0.1.example.com": "--insecure",
	} {
		o := s.runWith("mgp_pat_"+strings.Repeat("x", 36), "login", address, "--with-token")
		if o.code != 2 || !strings.Contains(o.err, want) || strings.Contains(o.err, "hunter2") {
			t.Errorf("%s: %+v", address, o)
		}
	}
	s = remoteShell(t, "MAGPIE_URL=http://magpie.example.com", "MAGPIE_TOKEN=x")
	s.fails("unencrypted", "collections")
	s = remoteShell(t, "MAGPIE_URL=https://magpie.example.com")
	s.fails("MAGPIE_TOKEN", "collections")
}

// TestTheSameOutputOverHTTPAndOnTheStores runs commands in both ways on one Magpie.
func TestTheSameOutputOverHTTPAndOnTheStores(t *testing.T) {
	t.Parallel()
	m := stacktest.Start(t)
	over := as(t, m, personalToken(m))
	on := &shell{t: t, flags: []string{"--config", settingsFile(t, m.Settings()...)}}

	over.ok("collections", "create", "Handbook", "--description", "All of it")
	over.ok("connectors", "create", "--name", "Files", "--type", "file_upload", "--collection", "Handbook")
	folder := t.TempDir()
	for name, content := range map[string]string{
		"holidays.md": "# Holidays\n\nEverybody has thirty days of holidays.\n", "keys.md": "# Keys\n\nRotate the signing key every year.\n",
		"old.md": "---\nversion: v1\n---\n# Lighthouse\n\nThe lamp burns all night.\n", "new.md": "---\nversion: v2\n---\n# Lighthouse\n\nThe lamp burns all night.\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var upload struct{ Uploaded int }
	if over.read(&upload, "files", "upload", "Files", folder); upload.Uploaded != 4 {
		t.Fatalf("%+v", upload)
	}
	var job struct {
		ID, Status string
		Stats      struct{ Added int }
	}
	if over.read(&job, "sync", "start", "Files"); job.Status != "COMPLETED" || job.Stats.Added != 4 {
		t.Fatalf("%+v", job)
	}
	over.ok("agents", "create", "Helper", "--prompt", "You help.", "--tool", "search_documents")
	over.ok("agents", "memories", "add", "Helper", "The pager is in the drawer.")
	on.ok("keys", "create", "--name", "Website", "--host", "www.example.com", "--all-collections")
	on.ok("tokens", "create", "--name", "CI", "--role", "viewer", "--group", "search")
	on.ok("users", "invite", "grace@example.com")

	for _, arguments := range [][]string{
		{"collections"}, {"collections", "show", "Handbook"}, {"connectors"}, {"connectors", "show", "Files"}, {"connectors", "kinds"},
		{"files", "list", "Files"}, {"sync", "status", "Files"}, {"sync", "status", job.ID}, {"sync", "watch", job.ID}, {"sync", "items", "Files"}, {"sync", "stats", "Files"},
		{"agents"}, {"agents", "show", "Helper"}, {"agents", "templates"}, {"agents", "memories", "Helper"}, {"automations"}, {"automations", "runs"},
		{"integrations"}, {"integrations", "providers"}, {"keys"}, {"tokens"}, {"users"}, {"users", "invitations"}, {"workspaces"}, {"quota"}, {"audit"}, {"analytics"},
		{"keys", "show", "Website"}, {"documents"}, {"documents", "show", "holidays.md"}, {"documents", "show", "Keys", "--text"},
	} {
		for _, format := range []string{"--json=false", "--json"} {
			far, near := over.run(append(arguments, format)...), on.run(append(arguments, format)...)
			far.out, near.out = times(far.out), times(near.out)
			if far != near || far.code != 0 || far.out == "" && far.err == "" {
				t.Errorf("%q: over HTTP %+v\non the stores %+v", arguments, far, near)
			}
		}
	}
	for _, arguments := range [][]string{{"search", "holidays"}, {"chat", "How many days of holidays?"}, {"why-not", "holidays", "keys.md"}} {
		far, near := over.run(arguments...), on.run(arguments...)
		if far.code != 0 || near.code != 0 || !strings.Contains(far.out, "Holidays") && arguments[0] != "why-not" || lines(far.out) != lines(near.out) {
			t.Errorf("%q: over HTTP %+v\non the stores %+v", arguments, far, near)
		}
	}
	for flag, collapsed := range map[string]bool{"--collapse": true, "--no-collapse": false} {
		for format, copies := range map[string]string{"--json=false": "Nearly the same in v1", "--json": `"versions": [`} {
			far, near := over.run("search", "burning lamp", flag, format), on.run("search", "burning lamp", flag, format)
			if far.code != 0 || times(far.out) != times(near.out) || strings.Contains(far.out, copies) != collapsed || (strings.Count(far.out, "all night") == 1) != collapsed {
				t.Errorf("%s %s: over HTTP %+v\non the stores %+v", flag, format, far, near)
			}
		}
	}
	over.ok("documents", "delete", "holidays.md", "--yes")
	if out := on.ok("documents"); strings.Contains(out, "holidays.md") || !strings.Contains(out, "keys.md") {
		t.Errorf("%s", out)
	}
}

// times removes what differs between two requests.
func times(text string) string {
	return regexp.MustCompile(`(?m)"(lastUsedAt|lastAddress|dataAge|ageSeconds|to|from|tookMs)": .*$|\d{4}-\d\d-\d\d \d\d:\d\d`).ReplaceAllString(text, "")
}

func lines(text string) int { return strings.Count(text, "\n") }
