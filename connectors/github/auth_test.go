package github_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

var appKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func keyPEM(key *rsa.PrivateKey) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
}

// asApp returns settings with the credentials of an installed app.
func (p testServer) asApp(t testing.TB, life time.Duration) connectors.Settings {
	t.Helper()
	p.AddApp(githubserver.App{
		ID: "1234", Installation: "42", Key: &appKey().PublicKey, Lifetime: life,
		Token: githubserver.Token{Repos: []string{"acme/handbook", "acme/second"}, Permissions: map[string]string{"contents": "read", "issues": "read", "pull_requests": "read", "discussions": "read"}},
	})
	s := p.settings(nil)
	s.Credentials = map[string]string{"appId": "1234", "installationId": "42", "privateKey": keyPEM(appKey())}
	return s
}

func TestAppUsesInstallationTokens(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	p.AddRepo("acme/second", githubserver.RepoOptions{Private: true})
	p.Put("acme/second", "", "a.md", []byte("a"))
	p.AddRepo("acme/public", githubserver.RepoOptions{}) // not of the installation
	registry, err := connectors.NewRegistry(github.Kind(dial))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("github")
	settings := p.asApp(t, time.Hour)
	settings.Config["repos"] = []any{"acme/*"}
	use := func() map[string]connectors.Item {
		t.Helper()
		source, err := kind.New(t.Context(), settings)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = source.Close() }()
		if err := source.Check(t.Context()); err != nil {
			t.Fatalf("check: %v", err)
		}
		items, _ := mustWalk(t, source)
		for path, item := range items {
			if _, err := readContent(t, source, item); err != nil {
				t.Errorf("open %s: %v", path, err)
			}
		}
		return items
	}
	if items := use(); len(items) != 8 {
		t.Errorf("the app sees %v", pathsOf(items))
	}
	use()
	if minted := p.IssuedTokens(); minted != 1 {
		t.Errorf("%d tokens were made for two sources", minted)
	}
	p.RevokeIssuedTokens()
	use()
	if minted := p.IssuedTokens(); minted != 2 {
		t.Errorf("%d tokens were made after the first was revoked", minted)
	}
	// A token that expires soon is not used.
	settings = p.asApp(t, time.Minute)
	settings.Credentials["privateKey"] = strings.ReplaceAll(strings.TrimSpace(settings.Credentials["privateKey"]), "\n", `\n`) // as forms may send it
	source := open(t, settings)
	for range 2 {
		mustWalk(t, source)
	}
	if minted := p.IssuedTokens(); minted < 4 {
		t.Errorf("%d tokens were made of those that last a minute", minted)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]map[string]string{
		"another key":          {"privateKey": keyPEM(other)},
		"another app":          {"appId": "99"},
		"another installation": {"installationId": "99"},
	} {
		s := p.asApp(t, time.Hour)
		maps.Copy(s.Credentials, change)
		err := open(t, s).Check(t.Context())
		if !connectors.IsNeedsAuth(err) || strings.Contains(err.Error(), "PRIVATE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRejectedGrantTokenIsRenewed(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	p.AddToken("gho_new", githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	var mutex sync.Mutex
	var refusals []string
	current := "gho_old"
	settings := p.settings(nil)
	settings.Credentials = nil
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		mutex.Lock()
		defer mutex.Unlock()
		if refused != "" {
			refusals = append(refusals, refused)
			current = "gho_new"
		}
		return current, nil, nil
	}
	items, _ := mustWalk(t, open(t, settings))
	if len(items) != 7 || len(refusals) != 1 || refusals[0] != "gho_old" {
		t.Errorf("%d items, refused %q", len(items), refusals)
	}
	settings.Token = func(context.Context, string) (string, map[string]string, error) {
		return "", nil, connectors.NeedsAuth(errors.New("connect again"))
	}
	if err := open(t, settings).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "connect again") {
		t.Errorf("a grant that ended: %v", err)
	}
}

func TestSettingsAreChecked(t *testing.T) {
	t.Parallel()
	kind := github.Kind(dial)
	grant := func(context.Context, string) (string, map[string]string, error) { return "x", nil, nil }
	good := map[string]string{"token": "ghp_x"}
	repos := map[string]any{"repos": []any{"acme/handbook"}}
	with := func(name string, value any) map[string]any {
		return map[string]any{"repos": []any{"acme/handbook"}, name: value}
	}
	app := map[string]string{"appId": "1", "installationId": "2", "privateKey": keyPEM(appKey())}
	without := func(name string) map[string]string {
		c := maps.Clone(app)
		delete(c, name)
		return c
	}
	for name, c := range map[string]struct {
		settings connectors.Settings
		field    string
	}{
		"a token":                 {connectors.Settings{Config: repos, Credentials: good}, ""},
		"an app":                  {connectors.Settings{Config: repos, Credentials: app}, ""},
		"a grant":                 {connectors.Settings{Config: repos, Token: grant}, ""},
		"a grant, hook secret":    {connectors.Settings{Config: repos, Token: grant, Credentials: map[string]string{"webhookSecret": "s"}}, ""},
		"nothing":                 {connectors.Settings{Config: repos}, "credentials.token"},
		"a hook secret alone":     {connectors.Settings{Config: repos, Credentials: map[string]string{"webhookSecret": "s"}}, "credentials.token"},
		"token and grant":         {connectors.Settings{Config: repos, Credentials: good, Token: grant}, "credentials.token"},
		"app and grant":           {connectors.Settings{Config: repos, Credentials: app, Token: grant}, "credentials.appId"},
		"token and part of app":   {connectors.Settings{Config: repos, Credentials: map[string]string{"token": "x", "appId": "1"}}, "credentials.token"},
		"no installation":         {connectors.Settings{Config: repos, Credentials: without("installationId")}, "credentials.installationId"},
		"no key":                  {connectors.Settings{Config: repos, Credentials: without("privateKey")}, "credentials.privateKey"},
		"no id":                   {connectors.Settings{Config: repos, Credentials: without("appId")}, "credentials.appId"},
		"a bad key":               {connectors.Settings{Config: repos, Credentials: map[string]string{"appId": "1", "installationId": "2", "privateKey": "secret words"}}, "credentials.privateKey"},
		"a path for installation": {connectors.Settings{Config: repos, Credentials: map[string]string{"appId": "1", "installationId": "2/../3", "privateKey": keyPEM(appKey())}}, "credentials.installationId"},
		"no repos":                {connectors.Settings{Credentials: good}, "config.repos"},
		"an address":              {connectors.Settings{Config: map[string]any{"repos": []any{"https://github.com/acme/handbook"}}, Credentials: good}, "config.repos"},
		"a name alone":            {connectors.Settings{Config: map[string]any{"repos": []any{"handbook"}}, Credentials: good}, "config.repos"},
		"dots":                    {connectors.Settings{Config: map[string]any{"repos": []any{"acme/.."}}, Credentials: good}, "config.repos"},
		"all of all":              {connectors.Settings{Config: map[string]any{"repos": []any{"*/*"}}, Credentials: good}, "config.repos"},
		"a whole ref":             {connectors.Settings{Config: with("branch", "refs/heads/main"), Credentials: good}, "config.branch"},
		"a branch with dots":      {connectors.Settings{Config: with("branch", "a/../b"), Credentials: good}, "config.branch"},
		"a branch with a slash":   {connectors.Settings{Config: with("branch", "feature/x"), Credentials: good}, ""},
		"an empty pattern":        {connectors.Settings{Config: with("pathFilter", []any{"/"}), Credentials: good}, "config.pathFilter"},
		"no content":              {connectors.Settings{Config: with("content", []any{}), Credentials: good}, "config.content"},
		"other content":           {connectors.Settings{Config: with("content", []any{"stars"}), Credentials: good}, "config.content"},
		"a bad day":               {connectors.Settings{Config: with("since", "yesterday"), Credentials: good}, "config.since"},
		"an Enterprise Server":    {connectors.Settings{Config: with("apiUrl", "https://github.example.com/api/v3/"), Credentials: good}, ""},
		"its bare address":        {connectors.Settings{Config: with("apiUrl", "https://github.example.com"), Credentials: good}, ""},
		"no address":              {connectors.Settings{Config: with("apiUrl", "github.example.com"), Credentials: good}, "config.apiUrl"},
		"another path":            {connectors.Settings{Config: with("apiUrl", "https://github.example.com/acme"), Credentials: good}, "config.apiUrl"},
		"a password in it":        {connectors.Settings{Config: with("apiUrl", "https://a:b@github.example.com"), Credentials: good}, "config.apiUrl"},
		"permissions":             {connectors.Settings{Config: with("include_permissions", true), Credentials: good}, "config.include_permissions"},
	} {
		err := kind.ValidateSettings(c.settings)
		wrong, ok := errors.AsType[*connectors.OptionError](err)
		switch {
		case c.field == "" && err != nil, c.field != "" && (!ok || wrong.Field != c.field):
			t.Errorf("%s: got %v, want %q", name, err, c.field)
		case ok && strings.Contains(wrong.Message, "secret words"):
			t.Errorf("%s: the message shows the key", name)
		}
	}
}
