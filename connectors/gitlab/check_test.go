package gitlab_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// A connection test answers by tier, and names the scope, role or right that is missing.
func TestTiersNameWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change                      func(s site)
		read, permissions, webhooks string // "" for no error
	}{
		"All":        {func(site) {}, "", "", ""},
		"Scope api":  {func(s site) { scopes(s, "read_api", "read_repository") }, "", "", "webhooks need api, and it has read_api"},
		"Scope":      {func(s site) { scopes(s, "read_repository") }, "read_api", "-", "-"},
		"Revoked":    {func(s site) { s.Revoke(gitlabserver.Token) }, "does not accept the credentials", "-", "-"},
		"Role":       {func(s site) { s.Change(7, func(p *gitlabserver.Project) { p.Members[0].Level = 20 }) }, "", "", "role Maintainer"},
		"Addresses":  {func(s site) { s.ChangeUser(1, func(u *gitlabserver.User) { u.Admin, u.Email = false, "" }) }, "", "email address of none of 1 members", ""},
		"Old":        {func(s site) { s.Version = "13.10.0" }, "", "13.11", ""},
		"No version": {func(s site) { s.Version = "" }, "", "", ""},
		"Members": {func(s site) {
			s.Fail(fail(func(path string) int { return map[bool]int{true: 404}[strings.Contains(path, "/members/")] }))
		}, "", "make the account a member", ""},
		"Locked": {func(s site) { s.Change(7, func(p *gitlabserver.Project) { p.Locked = true }) }, "read the files", "make the account a member", "role Maintainer"},
		"No self page": {func(s site) {
			s.Fail(fail(func(path string) int { return map[bool]int{true: 404}[strings.HasSuffix(path, "/self")] }))
		}, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := site{gitlabserver.NewSample()}
			t.Cleanup(s.Close)
			scopes(s, "api", "read_repository")
			s.ChangeUser(1, func(u *gitlabserver.User) { u.Admin = true })
			s.Change(7, func(p *gitlabserver.Project) { p.Members = []gitlabserver.Membership{{User: 1, Level: 40}} })
			c.change(s)
			checker, ok := open(t, s.settings(map[string]any{"projects": []any{"7"}, "include_permissions": true, "webhook_subscription": true})).(connectors.TierChecker)
			if !ok {
				t.Fatal("the source is no TierChecker")
			}
			tiers, err := checker.CheckTiers(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			want := map[connectors.TierName]string{connectors.TierRead: c.read, connectors.TierPermissions: c.permissions, connectors.TierWebhooks: c.webhooks}
			for _, tier := range tiers {
				text := want[tier.Name]
				delete(want, tier.Name)
				switch {
				case tier.Err == nil && text != "", tier.Err != nil && (text == "" || !strings.Contains(tier.Err.Error(), text)):
					t.Errorf("%s: %v, want %q", tier.Name, tier.Err, text)
				case tier.Err != nil && tier.Name != connectors.TierRead && !connectors.IsNeedsAuth(tier.Err):
					t.Errorf("%s: %v is not of the credentials", tier.Name, tier.Err)
				}
			}
			for tier, text := range want {
				if text != "-" {
					t.Errorf("there is no answer for %s", tier)
				}
			}
		})
	}
}

func scopes(s site, names ...string) {
	s.AddToken(gitlabserver.Token, gitlabserver.TokenInfo{User: 1, Scopes: names})
}

// Personal, project and group tokens are sent alike; the last two belong to a bot.
func TestAllSortsOfTokensWork(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"glpat-personal", "glpat-project", "old-style20character"} {
		s := site{gitlabserver.NewSample()}
		t.Cleanup(s.Close)
		s.AddUser(gitlabserver.User{ID: 20, Name: "project_7_bot_1a2b", Bot: true})
		s.AddToken(token, gitlabserver.TokenInfo{User: 20, Scopes: []string{"read_api", "read_repository"}})
		settings := s.settings(map[string]any{"groups": []any{"acme"}})
		settings.Credentials["token"] = token
		source := open(t, settings)
		if err := source.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", token, err)
		}
		if items, _, _ := walk(t, source); len(items) != 5 {
			t.Errorf("%s: %d items", token, len(items))
		}
	}
}

// A grant's token is renewed once if GitLab refuses it, which also revokes the refresh
// token, and never for git.
func TestAGrantIsRenewed(t *testing.T) {
	t.Parallel()
	s := site{gitlabserver.NewSample()}
	t.Cleanup(s.Close)
	s.Change(7, func(p *gitlabserver.Project) {
		for _, name := range strings.Fields("c d e f g h") {
			p.Files[name+".md"] = []byte("the file " + name)
		}
	})
	current, renewals := "first", 0
	s.AddToken(current, gitlabserver.TokenInfo{User: 1, Scopes: []string{"read_api", "read_repository"}})
	settings := s.settings(nil)
	settings.Credentials = nil
	settings.Token = func(_ context.Context, refused string) (string, map[string]string, error) {
		if refused == current {
			s.Revoke(current)
			if current, renewals = "second", renewals+1; renewals > 1 {
				return "", nil, connectors.NeedsAuth(errors.New("connect the account again"))
			}
			s.AddToken(current, gitlabserver.TokenInfo{User: 1, Scopes: []string{"read_api", "read_repository"}})
		}
		return current, nil, nil
	}
	source := open(t, settings)
	items, _, _ := walk(t, source)
	s.Revoke("first")
	for _, item := range items {
		if text := read(t, source, item); text == "" {
			t.Errorf("%s is empty", item.Path)
		}
	}
	if renewals != 1 || !slices.ContainsFunc(s.Requests(), func(r string) bool { return strings.HasPrefix(r, "POST /acme/handbook.git/git-upload-pack") }) {
		t.Errorf("%d renewals, want 1, and git with the new token", renewals)
	}
	s.Revoke("second")
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("Check without a grant = %v", err)
	}
}

// Webhooks are set up once for each project, repaired, and removed.
func TestWebhooksAreSetUp(t *testing.T) {
	t.Parallel()
	const address, secret = "https://magpie.example.com/webhooks/connectors/gitlab/1", "a-secret-of-magpie"
	s := site{gitlabserver.NewSample()}
	t.Cleanup(s.Close)
	scopes(s, "api")
	maintainer := []gitlabserver.Membership{{User: 1, Level: 40}}
	s.Change(7, func(p *gitlabserver.Project) { p.Members = maintainer })
	s.Add(&gitlabserver.Project{ID: 8, Path: "acme/other", Members: maintainer, Hooks: []gitlabserver.Hook{{ID: 90, URL: address}, {ID: 91, URL: address}, {ID: 92, URL: "https://example.com"}}})
	settings := s.settings(map[string]any{"groups": []any{"acme"}})
	hooksOf := func(id int64) (hooks []gitlabserver.Hook) {
		s.Change(id, func(p *gitlabserver.Project) { hooks = slices.Clone(p.Hooks) })
		return hooks
	}
	subscribe := func() connectors.Subscription {
		subscriber, ok := open(t, settings).(connectors.Subscriber)
		if !ok {
			t.Fatal("the source is no Subscriber")
		}
		sub, err := subscriber.Subscribe(t.Context(), address, secret)
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	const events = "confidential_issues_events confidential_note_events issues_events merge_requests_events note_events push_events wiki_page_events"
	for range 2 {
		if sub := subscribe(); sub.ID != address || !sub.Expires.IsZero() {
			t.Errorf("the subscription is %+v", sub)
		}
		for id, number := range map[int64]int{7: 1, 8: 2} {
			hooks := hooksOf(id)
			at := slices.IndexFunc(hooks, func(h gitlabserver.Hook) bool { return h.URL == address })
			if len(hooks) != number || at < 0 || hooks[at].Token != secret || strings.Join(hooks[at].Events, " ") != events {
				t.Errorf("the webhooks of %d are %+v", id, hooks)
			}
		}
	}
	// A project that is not followed any more loses its webhook.
	settings.Config["groups"], settings.Config["projects"] = nil, []any{"8"}
	sub := subscribe()
	if hooks := hooksOf(7); len(hooks) > 0 {
		t.Errorf("the webhooks of another project are %+v", hooks)
	}
	for range 2 {
		if err := open(t, settings).(connectors.Subscriber).Unsubscribe(t.Context(), sub); err != nil {
			t.Fatal(err)
		}
	}
	if hooks := hooksOf(8); len(hooks) != 1 || hooks[0].ID != 92 {
		t.Errorf("the webhooks in the end are %+v", hooks)
	}
	scopes(s, "read_api")
	if _, err := open(t, settings).(connectors.Subscriber).Subscribe(t.Context(), address, secret); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "api") {
		t.Errorf("Subscribe without the scope = %v", err)
	}
	s.Fail(func(*http.Request) *gitlabserver.Fault { return &gitlabserver.Fault{Status: http.StatusBadGateway} })
	if _, err := open(t, settings).(connectors.Subscriber).Subscribe(t.Context(), address, secret); err == nil || connectors.IsNeedsAuth(err) {
		t.Errorf("Subscribe without GitLab = %v", err)
	}
}
