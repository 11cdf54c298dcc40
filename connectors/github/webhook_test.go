package github_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

// recordings is the folder of recorded payloads, if it exists.
const recordings = "../../../shared/webhooks"

func deliveryHeader(event string) http.Header {
	return http.Header{"X-Github-Event": {event}, "X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"}, "Content-Type": {"application/json"}}
}

func webhookOf(t testing.TB) *connectors.Webhook {
	t.Helper()
	webhook := github.Kind(dial).Webhook
	if webhook == nil || webhook.Secret != "webhookSecret" {
		t.Fatalf("got %+v", webhook)
	}
	return webhook
}

// The example in GitHub's "Validating webhook deliveries".
func TestDocumentedSignatureIsAccepted(t *testing.T) {
	t.Parallel()
	const secret, body = "It's a Secret to Everybody", "Hello, World!"
	const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
	verify := webhookOf(t).Verify
	if err := verify(secret, http.Header{"X-Hub-Signature-256": {signature}}, []byte(body), time.Time{}); err != nil {
		t.Errorf("the published example: %v", err)
	}
	for name, c := range map[string]struct{ secret, signature, body string }{
		"another body":    {secret, signature, body + "\n"},
		"another secret":  {"it's a Secret to Everybody", signature, body},
		"no secret":       {"", "sha256=" + hex.EncodeToString(hmac.New(sha256.New, nil).Sum(nil)), ""},
		"no signature":    {secret, "", body},
		"SHA-1":           {secret, "sha1=757107ea0eb2509fc211221cce984b8a37570b6d", body},
		"cut off":         {secret, signature[:len(signature)-2], body},
		"no hexadecimals": {secret, "sha256=" + strings.Repeat("zz", 32), body},
		"bare":            {secret, signature[len("sha256="):], body},
	} {
		if err := verify(c.secret, http.Header{"X-Hub-Signature-256": {c.signature}}, []byte(c.body), time.Time{}); !errors.Is(err, connectors.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(recordings, "vectors.json"))
	if err != nil {
		return // not at hand
	}
	var vectors struct {
		GitHub struct {
			Secret, Body string
			Headers      map[string]string
		}
	}
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	header := http.Header{}
	for name, value := range vectors.GitHub.Headers {
		header.Set(name, value)
	}
	if err := verify(vectors.GitHub.Secret, header, []byte(vectors.GitHub.Body), time.Time{}); err != nil {
		t.Errorf("the recorded example: %v", err)
	}
}

func TestPushNamesItsFiles(t *testing.T) {
	t.Parallel()
	body, err := os.ReadFile("testdata/push.json")
	if err != nil {
		t.Fatal(err)
	}
	form := deliveryHeader("push")
	form.Set("Content-Type", "application/x-www-form-urlencoded")
	for name, c := range map[string]struct {
		header http.Header
		body   []byte
	}{
		"json": {deliveryHeader("push"), body},
		"form": {form, []byte(url.Values{"payload": {string(body)}}.Encode())},
	} {
		keys, err := webhookOf(t).Route(c.header, c.body)
		if want := []string{"acme/*", "acme/handbook", "installation:42"}; err != nil || !slices.Equal(keys, want) {
			t.Errorf("%s: keys %q, %v", name, keys, err)
		}
		d, err := webhookOf(t).Parse(c.header, c.body)
		if want := []string{"1007:f:README.md", "1007:f:docs/new.md", "1007:f:docs/old.md"}; err != nil || d.AllChanged || !slices.Equal(d.Items, want) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
		if d.ID != "72d3162e-cc78-11e3-81ab-4c9367dc0958" || !d.ChangedAt.Equal(day.Add(5*time.Minute)) {
			t.Errorf("%s: %+v", name, d)
		}
	}
	commits := strings.Repeat(`{"added":["a"]},`, 25)
	for name, c := range map[string]struct {
		fields string
		all    bool
		items  []string
	}{
		"forced":                {`"ref":"refs/heads/main","forced":true,"commits":[]`, true, nil},
		"new":                   {`"ref":"refs/heads/main","created":true`, true, nil},
		"deleted":               {`"ref":"refs/heads/main","deleted":true`, true, nil},
		"many commits":          {`"ref":"refs/heads/main","commits":[` + commits[:len(commits)-1] + `]`, true, nil},
		"more than it says":     {`"ref":"refs/heads/main","size":2,"commits":[{"added":["a"]}]`, true, nil},
		"another branch":        {`"ref":"refs/heads/next","commits":[{"modified":["a b.md"]}]`, false, []string{"7:f:a b.md"}},
		"another branch forced": {`"ref":"refs/heads/fix/it","forced":true`, false, []string{"7:b:fix/it"}},
		"a tag":                 {`"ref":"refs/tags/v1","created":true`, false, nil},
		"nothing":               {`"ref":"refs/heads/main","commits":[]`, false, nil},
	} {
		d, err := webhookOf(t).Parse(deliveryHeader("push"), []byte(`{"repository":{"id":7,"full_name":"acme/x","default_branch":"main"},`+c.fields+`}`))
		if err != nil || d.AllChanged != c.all || !slices.Equal(d.Items, c.items) {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func TestEventsNameTheirItems(t *testing.T) {
	t.Parallel()
	const repository = `"repository":{"id":7,"full_name":"acme/x","default_branch":"main"}`
	for body, c := range map[string]struct {
		event string
		all   bool
		items []string
	}{
		`{"action":"opened","issue":{"number":3,"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`:                                         {"issues", false, []string{"7:i:3"}},
		`{"action":"edited","issue":{"number":3},"comment":{"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`:                             {"issue_comment", false, []string{"7:i:3"}},
		`{"action":"created","issue":{"number":4,"pull_request":{"url":"x"}},"comment":{"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`: {"issue_comment", false, []string{"7:p:4"}},
		`{"action":"synchronize","number":4,"pull_request":{"number":4,"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`:                  {"pull_request", false, []string{"7:p:4"}},
		`{"action":"submitted","review":{"submitted_at":"2026-03-01T09:00:00Z"},"pull_request":{"number":5},` + repository + `}`:                  {"pull_request_review", false, []string{"7:p:5"}},
		`{"action":"deleted","comment":{"updated_at":"2026-03-01T09:00:00Z"},"pull_request":{"number":6},` + repository + `}`:                     {"pull_request_review_comment", false, []string{"7:p:6"}},
		`{"action":"answered","discussion":{"number":8,"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`:                                  {"discussion", false, []string{"7:d:8"}},
		`{"action":"created","discussion":{"number":9},"comment":{"updated_at":"2026-03-01T09:00:00Z"},` + repository + `}`:                       {"discussion_comment", false, []string{"7:d:9"}},
		`{"pages":[{"page_name":"On-call","action":"edited"},{"page_name":"Home"}],` + repository + `}`:                                           {"gollum", false, []string{"7:w:On-call", "7:w:Home"}},
		`{"action":"deleted",` + repository + `}`:                  {"repository", true, nil},
		`{"action":"added","installation":{"id":42}}`:              {"installation_repositories", true, nil},
		`{"zen":"Keep it simple.","hook_id":1,` + repository + `}`: {"ping", false, nil},
		`{"action":"created",` + repository + `}`:                  {"star", false, nil},
		`{"action":"transferred","issue":{"number":3,"updated_at":"2026-03-01T09:00:00Z"},"changes":{"new_issue":{"number":1},"new_repository":{"id":8}},` + repository + `}`: {"issues", false, []string{"7:i:3", "8:i:1"}},
	} {
		d, err := webhookOf(t).Parse(deliveryHeader(c.event), []byte(body))
		if err != nil || d.AllChanged != c.all || !slices.Equal(d.Items, c.items) {
			t.Errorf("%s: %+v, %v", body, d, err)
		}
		if strings.Contains(body, "09:00:00Z") && !d.ChangedAt.Equal(day) {
			t.Errorf("%s: at %v", body, d.ChangedAt)
		}
	}
	keys, err := webhookOf(t).Route(deliveryHeader("repository"), []byte(`{"action":"renamed","changes":{"repository":{"name":{"from":"Old"}}},`+repository+`}`))
	if want := []string{"acme/*", "acme/old", "acme/x"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("renamed: %q, %v", keys, err)
	}
	keys, err = webhookOf(t).Route(deliveryHeader("repository"), []byte(`{"action":"transferred","changes":{"owner":{"from":{"user":{"login":"Ada"}}}},`+repository+`}`))
	if want := []string{"acme/*", "acme/x", "ada/*", "ada/x"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("transferred: %q, %v", keys, err)
	}
}

func TestOtherRequestsAreNoDeliveries(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "null", "[]", "{", "text", `{"repository":{"full_name":"../x"}}`, `{"repository":{"full_name":"acme/*"}}`, `{"repository":7}`, `{}`, `{"action":"x"}`} {
		if keys, err := webhookOf(t).Route(deliveryHeader("push"), []byte(body)); !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("%q: %q, %v", body, keys, err)
		}
	}
	if _, err := webhookOf(t).Route(http.Header{}, []byte(`{"repository":{"full_name":"acme/x"}}`)); !errors.Is(err, connectors.ErrDelivery) {
		t.Errorf("without an event: %v", err)
	}
	if _, err := webhookOf(t).Parse(deliveryHeader("push"), []byte(`{"repository":{"full_name":"acme/x"}}`)); !errors.Is(err, connectors.ErrDelivery) {
		t.Errorf("a repository without an id: %v", err)
	}
}

func TestKeysComeFromTheSettings(t *testing.T) {
	t.Parallel()
	keys := webhookOf(t).Keys(connectors.Settings{
		Config: map[string]any{"repos": []any{"Acme/Handbook", "umbrella/*"}}, Credentials: map[string]string{"installationId": "42"},
	})
	if want := []string{"acme/handbook", "umbrella/*", "installation:42"}; !slices.Equal(keys, want) {
		t.Errorf("got %q", keys)
	}
}

// Payloads of GitHub.
func TestRecordedPayloadsAreParsed(t *testing.T) {
	t.Parallel()
	files, _ := filepath.Glob(filepath.Join(recordings, "github", "*", "*.json"))
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		event, name := filepath.Base(filepath.Dir(file)), filepath.Base(file)
		header := deliveryHeader(event)
		keys, err := webhookOf(t).Route(header, body)
		if err != nil || len(keys) == 0 || !slices.ContainsFunc(keys, func(k string) bool { return strings.HasSuffix(k, "/*") || strings.HasPrefix(k, "installation:") }) {
			t.Errorf("%s/%s: keys %q, %v", event, name, keys, err)
		}
		d, err := webhookOf(t).Parse(header, body)
		if err != nil || d.ID == "" {
			t.Errorf("%s/%s: %+v, %v", event, name, d, err)
		}
		items := map[string]string{"issues": ":i:", "pull_request": ":p:", "gollum": ":w:"}[event]
		switch {
		case items != "":
			if len(d.Items) == 0 || !strings.Contains(d.Items[0], items) || d.AllChanged {
				t.Errorf("%s/%s: %+v", event, name, d)
			}
		case event == "repository" || event == "installation" || name == "with-no-username-committer.payload.json":
			if !d.AllChanged {
				t.Errorf("%s/%s: %+v", event, name, d)
			}
		case d.AllChanged || len(d.Items) > 0: // a ping, or a push of a tag
			t.Errorf("%s/%s: %+v", event, name, d)
		}
	}
}

func FuzzDelivery(f *testing.F) {
	body, err := os.ReadFile("testdata/push.json")
	if err != nil {
		f.Fatal(err)
	}
	webhook := github.Kind(dial).Webhook
	for _, event := range []string{"push", "issues", "gollum", "repository", "ping"} {
		f.Add(event, body)
	}
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		header := http.Header{"X-Github-Event": {event}}
		if keys, err := webhook.Route(header, body); err == nil && (len(keys) == 0 || slices.Contains(keys, "")) {
			t.Errorf("keys %q", keys)
		}
		if d, err := webhook.Parse(header, body); err == nil {
			for _, item := range d.Items {
				if item == "" || bytes.Contains([]byte(item), []byte("::")) && item == "::" {
					t.Errorf("items %q", d.Items)
				}
			}
		}
	})
}

// Items that webhooks name are found, deleted ones are missing.
func TestItemsOfWebhooksAreResolved(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	p.Put("acme/handbook", "next", "only-next.md", []byte("x"))
	source := open(t, p.settings(nil))
	items, _ := mustWalk(t, source)
	id := strings.TrimSuffix(items["acme/handbook/README.md"].ID, ":f:README.md")
	moved := p.OpenThread("acme/handbook", githubserver.Thread{Title: "Moved", MovedTo: "acme/other"})
	resolver := open(t, p.settings(nil)).(connectors.Resolver)
	for name, want := range map[string]string{
		id + ":f:README.md": "acme/handbook/README.md", id + ":i:1": "acme/handbook#1", id + ":p:2": "acme/handbook#2", id + ":d:3": "acme/handbook#3",
		id + ":w:On-call": "acme/handbook.wiki/On-call.md", id + ":w:On-call.md": "acme/handbook.wiki/On-call.md",
		"acme/handbook#1": "acme/handbook#1", "acme/handbook#2": "acme/handbook#2", "acme/handbook#3": "acme/handbook#3",
		"acme/handbook.wiki/Home.md": "acme/handbook.wiki/Home.md",
		// Deleted, of another connector, or in another spelling.
		id + ":f:only-next.md": "", id + ":f:gone.md": "", id + ":f:../x": "", id + ":f:docs/link.md": "", id + ":f:vendor/lib": "", id + ":i:2": "", id + ":p:1": "", id + ":i:3": "", id + ":d:1": "",
		id + ":i:01": "", id + ":i:999": "", id + ":d:999": "", id + ":w:None": "", id + fmt.Sprint(":i:", moved): "", "99:f:README.md": "", "99:i:1": "", "acme/handbook.wiki/Home": "",
		"acme/Handbook/README.md": "", "acme/handbook#": "", "acme/handbook#x": "", "acme/other/README.md": "", id + ":x:1": "", id + ":f:": "",
	} {
		found, missing, err := resolver.Resolve(t.Context(), []string{name})
		switch {
		case err != nil:
			t.Errorf("%s: %v", name, err)
		case want == "" && (len(found) != 0 || !slices.Equal(missing, []string{name})):
			t.Errorf("%s: found %v, missing %q", name, found, missing)
		case want != "" && (len(found) != 1 || found[0].Path != want || len(missing) != 0):
			t.Errorf("%s: found %v, missing %q, want %s", name, found, missing, want)
		case want != "" && (found[0].ID != items[want].ID || found[0].Version != items[want].Version || found[0].URL != items[want].URL || found[0].Title != items[want].Title):
			t.Errorf("%s: found %+v, the walk has %+v", name, found[0], items[want])
		}
	}
	for branch, want := range map[string]int{"main": 2, "next": 0} {
		found, missing, err := resolver.Resolve(t.Context(), []string{id + ":b:" + branch})
		if err != nil || len(found) != want || len(missing) != 0 {
			t.Errorf("the branch %s: %d found, missing %q, %v", branch, len(found), missing, err)
		}
	}
}

func TestWebhooksAreSetUpAndRepaired(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	p.AddRepo("acme/site", githubserver.RepoOptions{})
	p.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*", "acme/site"}})
	const address, secret = "https://magpie.example.com/webhooks/connectors/github/1", "a-secret-of-magpie"
	two := p.settings(map[string]any{"repos": []any{"acme/handbook", "acme/site"}})
	subscribe := func(s connectors.Settings, secret string) connectors.Subscription {
		t.Helper()
		sub, err := open(t, s).(connectors.Subscriber).Subscribe(t.Context(), address, secret)
		if err != nil || sub.ID == "" || !sub.Expires.IsZero() {
			t.Fatalf("subscribe: %+v, %v", sub, err)
		}
		return sub
	}
	p.AddHook("acme/site", githubserver.Hook{URL: "https://ci.example.com/", Active: true, Events: []string{"push"}})
	p.AddHook("acme/site", githubserver.Hook{URL: address, Events: []string{"push"}}) // broken: switched off
	p.AddHook("acme/site", githubserver.Hook{URL: address, Active: true})
	for _, current := range []string{secret, "another-secret"} {
		sub := subscribe(two, current)
		for _, place := range []string{"acme/handbook", "acme/site"} {
			hooks := slices.DeleteFunc(p.Hooks(place), func(h githubserver.Hook) bool { return h.URL != address })
			if len(hooks) != 1 || !hooks[0].Active || hooks[0].Secret != current || hooks[0].ContentType != "json" || !slices.Contains(hooks[0].Events, "push") || !slices.Contains(hooks[0].Events, "repository") {
				t.Errorf("%s has %+v", place, hooks)
			}
		}
		if len(p.Hooks("acme/site")) != 2 || sub.ID != address {
			t.Errorf("hooks %+v, subscription %+v", p.Hooks("acme/site"), sub)
		}
	}
	// Webhooks of repositories that are no longer followed are deleted.
	subscribe(p.settings(nil), secret)
	if len(p.Hooks("acme/site")) != 1 || len(p.Hooks("acme/handbook")) != 1 {
		t.Errorf("hooks %+v and %+v", p.Hooks("acme/site"), p.Hooks("acme/handbook"))
	}
	// All repositories of an organisation have one webhook.
	sub := subscribe(p.settings(map[string]any{"repos": []any{"acme/*"}}), secret)
	if len(p.Hooks("acme")) != 1 || len(p.Hooks("acme/handbook")) != 0 {
		t.Errorf("hooks %+v and %+v", p.Hooks("acme"), p.Hooks("acme/handbook"))
	}
	for range 2 { // one that is gone is no error
		if err := open(t, p.settings(map[string]any{"repos": []any{"acme/*"}})).(connectors.Subscriber).Unsubscribe(t.Context(), sub); err != nil {
			t.Errorf("unsubscribe: %v", err)
		}
	}
	if len(p.Hooks("acme")) != 0 || len(p.Hooks("acme/site")) != 1 {
		t.Errorf("hooks %+v and %+v", p.Hooks("acme"), p.Hooks("acme/site"))
	}
	for name, token := range map[string]githubserver.Token{
		"fine-grained": {Login: "ada", Repos: []string{"acme/*"}, Permissions: map[string]string{"contents": "read"}},
		"classic":      {Login: "ada"}, // reaches public repositories only
	} {
		p.AddToken("other", token)
		s := p.settings(map[string]any{"repos": []any{"acme/site"}})
		s.Credentials = map[string]string{"token": "other"}
		if _, err := open(t, s).(connectors.Subscriber).Subscribe(t.Context(), address, secret); !connectors.IsNeedsAuth(err) {
			t.Errorf("%s, without the right: %v", name, err)
		}
	}
}

// The tier of webhooks says which right is missing.
func TestTiersOfRights(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	p.AddRepo("acme/site", githubserver.RepoOptions{Discussions: true})
	p.AddRepo("acme/talk", githubserver.RepoOptions{Private: true})
	fineGrained := func(permissions ...string) githubserver.Token {
		all := map[string]string{"contents": "read", "issues": "read", "pull_requests": "read", "discussions": "read"}
		for _, name := range permissions {
			if rest, without := strings.CutPrefix(name, "-"); without {
				delete(all, rest)
			} else {
				all[name] = "write"
			}
		}
		return githubserver.Token{Login: "ada", Repos: []string{"acme/*"}, Permissions: all}
	}
	classic := func(scopes string) githubserver.Token {
		return githubserver.Token{Login: "ada", Repos: []string{"acme/*"}, Scopes: scopes}
	}
	for name, c := range map[string]struct {
		token          githubserver.Token
		repos          string
		read, webhooks string
	}{
		"everything":                        {fineGrained("webhooks"), "acme/site", "<nil>", "<nil>"},
		"no webhooks":                       {fineGrained(), "acme/site", "<nil>", "Webhooks (read and write)"},
		"no issues":                         {fineGrained("webhooks", "-issues"), "acme/site", "Issues and Pull requests (read)", "<nil>"},
		"no discussions":                    {fineGrained("webhooks", "-discussions"), "acme/site", "Discussions (read)", "<nil>"},
		"no contents":                       {fineGrained("webhooks", "-contents"), "acme/talk", "Contents (read)", "<nil>"},
		"a classic token":                   {classic("repo, read:org"), "acme/site", "<nil>", "<nil>"},
		"a classic token that reads hooks":  {classic("public_repos, read:repo_hook"), "acme/site", "<nil>", "admin:repo_hook"},
		"a classic token, an organisation":  {classic("repo"), "acme/*", "<nil>", "admin:org_hook"},
		"a classic token with its webhooks": {classic("repo, admin:org_hook"), "acme/*", "<nil>", "<nil>"},
		"an expired token":                  {githubserver.Token{Login: "ada", Expired: true}, "acme/site", "Bad credentials", "Bad credentials"},
	} {
		t.Run(name, func(t *testing.T) {
			p.AddToken("of "+name, c.token)
			for _, subscribes := range []bool{true, false} {
				s := p.settings(map[string]any{"repos": []any{c.repos}, "webhook_subscription": subscribes})
				s.Credentials = map[string]string{"token": "of " + name}
				tiers, err := open(t, s).(connectors.TierChecker).CheckTiers(t.Context())
				want := []string{c.read, c.webhooks}
				if !subscribes {
					want = want[:1]
				}
				if err != nil || len(tiers) != len(want) {
					t.Fatalf("the tiers are %v, %v", tiers, err)
				}
				for i, says := range want {
					if got := fmt.Sprint(tiers[i].Err); !strings.Contains(got, says) || tiers[i].Err != nil && !connectors.IsNeedsAuth(tiers[i].Err) {
						t.Errorf("the tier %s says %q, want %q", tiers[i].Name, got, says)
					}
				}
			}
		})
	}
}
