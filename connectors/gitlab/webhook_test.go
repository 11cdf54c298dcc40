package gitlab_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/gitlab"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

func webhookOf(t testing.TB) *connectors.Webhook {
	t.Helper()
	webhook := gitlab.Kind(new(net.Dialer).DialContext).Webhook
	if webhook == nil || webhook.Secret != "webhookSecret" {
		t.Fatalf("the webhook is %+v", webhook)
	}
	return webhook
}

func deliveryHeader(event string) http.Header {
	return http.Header{"X-Gitlab-Event": {event}, "Idempotency-Key": {"3a427872-00df-429c-9bc9-a9475de2efe4"}, "Content-Type": {"application/json"}}
}

// The examples of GitLab's page "Webhook events".
func TestPublishedExamplesAreParsed(t *testing.T) {
	t.Parallel()
	const diaspora = "* 15 mike/* mike/diaspora"
	issueAt, noteAt := time.Date(2013, 12, 3, 17, 15, 43, 0, time.UTC), time.Date(2015, 5, 17, 17, 6, 40, 0, time.UTC)
	for file, want := range map[string]struct {
		event, keys, items string
		all, permissions   bool
		at                 time.Time
	}{
		// The example has two of four commits.
		"push":               {event: "Push Hook", keys: diaspora, all: true, at: time.Date(2012, 1, 3, 21, 36, 29, 0, time.UTC)},
		"tag_push":           {event: "Tag Push Hook", keys: "* 1 jsmith/* jsmith/example"},
		"issue":              {event: "Issue Hook", keys: "* 1 gitlabhq/* gitlabhq/gitlab-test", items: "1:i:23", at: issueAt},
		"confidential_issue": {event: "Confidential Issue Hook", keys: "* 1 gitlabhq/* gitlabhq/gitlab-test", items: "1:i:23", at: issueAt},
		"merge_request":      {event: "Merge Request Hook", keys: "* 1 gitlabhq/* gitlabhq/gitlab-test", items: "1:m:1", at: time.Date(2013, 12, 3, 17, 23, 34, 0, time.UTC)},
		"note_issue":         {event: "Note Hook", keys: "* 5 gitlab-org/* gitlab-org/gitlab-test", items: "5:i:17", at: noteAt},
		"note_merge_request": {event: "Note Hook", keys: "* 5 gitlab-org/* gitlab-org/gitlab-test", items: "5:m:1", at: time.Date(2015, 5, 17, 18, 21, 36, 0, time.UTC)},
		"note_commit":        {event: "Note Hook", keys: "* 5 gitlabhq/* gitlabhq/gitlab-test"},
		"note_snippet":       {event: "Note Hook", keys: "* 5 gitlab-org/* gitlab-org/gitlab-test"},
		"wiki_page":          {event: "Wiki Page Hook", keys: "* 1 root/* root/awesome-project", items: "1:w:awesome"},
		"user_add_to_group":  {event: "Member Hook", keys: "* webhook-test/*", permissions: true},
		"project_create":     {event: "Project Hook", keys: "* 22 group1/* group1/project1", all: true},
		"subgroup_destroy":   {event: "Subgroup Hook", keys: "* group1/* group1/subgroup1/*", all: true},
	} {
		body, err := os.ReadFile(filepath.Join("testdata", file+".json"))
		if err != nil {
			t.Fatal(err)
		}
		keys, err := webhookOf(t).Route(deliveryHeader(want.event), body)
		if err != nil || strings.Join(keys, " ") != want.keys {
			t.Errorf("%s: the keys are %q, %v, want %s", file, keys, err, want.keys)
		}
		d, err := webhookOf(t).Parse(deliveryHeader(want.event), body)
		if err != nil || strings.Join(d.Items, " ") != want.items || d.AllChanged != want.all || d.PermissionsChanged != want.permissions || !d.ChangedAt.Equal(want.at) {
			t.Errorf("%s: the delivery is %+v, %v, want %+v", file, d, err, want)
		}
		if d.ID != "3a427872-00df-429c-9bc9-a9475de2efe4" {
			t.Errorf("%s: the id is %q", file, d.ID)
		}
	}
}

func TestPushNamesItsFiles(t *testing.T) {
	t.Parallel()
	const hash, none = "95790bf891e76fee5e1747ab589903a6a1f80f22", "0000000000000000000000000000000000000000"
	for name, c := range map[string]struct {
		before, after, ref, rest string
		all                      bool
		items                    string
	}{
		"default branch":    {hash, hash, "main", `"total_commits_count":2,"commits":[{"added":["a.md"],"modified":["b c.md"]},{"added":[],"modified":["a.md"],"removed":["docs/d.md"]}]`, false, "7:f:a.md 7:f:b c.md 7:f:docs/d.md"},
		"no commits":        {hash, hash, "main", `"total_commits_count":0,"commits":[]`, false, ""},
		"more than it says": {hash, hash, "main", `"total_commits_count":9,"commits":[{"added":["a.md"]}]`, true, ""},
		"new":               {none, hash, "main", `"commits":[]`, true, ""},
		"deleted":           {hash, none, "main", `"commits":[]`, true, ""},
		"many commits":      {hash, hash, "main", `"total_commits_count":20,"commits":[` + strings.TrimSuffix(strings.Repeat(`{"added":["a"]},`, 20), ",") + `]`, true, ""},
		"another branch":    {hash, hash, "fix/it", `"total_commits_count":1,"commits":[{"added":["a.md"],"removed":["b.md"]}]`, false, "7:b:fix/it 7:f:b.md"},
		"a deleted branch":  {hash, none, "fix/it", `"commits":[]`, false, "7:b:fix/it"},
	} {
		body := fmt.Sprintf(`{"object_kind":"push","before":%q,"after":%q,"ref":"refs/heads/%s","project":{"id":7,"path_with_namespace":"acme/x","default_branch":"main"},%s}`, c.before, c.after, c.ref, c.rest)
		d, err := webhookOf(t).Parse(deliveryHeader("Push Hook"), []byte(body))
		if err != nil || d.AllChanged != c.all || strings.Join(d.Items, " ") != c.items {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

func TestEventsOfOtherThingsNameNothing(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`{"object_kind":"pipeline","object_attributes":{"id":31,"iid":3},"project":{"id":1,"path_with_namespace":"a/b"}}`,
		`{"object_kind":"work_item","object_attributes":{"iid":3,"type":"Epic"},"group":{"full_path":"acme"}}`,
		`{"object_kind":"wiki_page","group":{"full_path":"acme"},"object_attributes":{"slug":"home"}}`,
		`{"event_name":"user_create"}`, `{"object_kind":"push","project_id":3}`, `{"object_kind":"issue","project":{"id":-3},"object_attributes":{"iid":3}}`,
	} {
		d, err := webhookOf(t).Parse(deliveryHeader("A Hook"), []byte(body))
		if err != nil || d.AllChanged || d.PermissionsChanged || len(d.Items) > 0 {
			t.Errorf("%s: %+v, %v", body, d, err)
		}
	}
	for _, body := range []string{"", "null", "[]", "{", "text", "{}", `{"object_kind":7}`, `{"object_kind":"push","project":7}`} {
		if keys, err := webhookOf(t).Route(deliveryHeader("Push Hook"), []byte(body)); !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("%q: %q, %v", body, keys, err)
		}
		if _, err := webhookOf(t).Parse(deliveryHeader("Push Hook"), []byte(body)); !errors.Is(err, connectors.ErrDelivery) {
			t.Errorf("%q: %v", body, err)
		}
	}
	if _, err := webhookOf(t).Route(http.Header{}, []byte(`{"object_kind":"push"}`)); !errors.Is(err, connectors.ErrDelivery) {
		t.Errorf("without an event: %v", err)
	}
}

func TestKeysComeFromTheSettings(t *testing.T) {
	t.Parallel()
	for want, config := range map[string]map[string]any{
		"*":                             {},
		"42 acme/docs/* acme/handbook":  {"projects": []any{"Acme/Handbook", "42", "acme/docs/a-*"}},
		"* acme/* umbrella/*":           {"groups": []any{"acme", "umbrella/t?", "7", "x*"}},
		"acme/sub/* umbrella/site":      {"groups": []any{"acme/sub"}, "projects": []any{"umbrella/site"}},
		"* acme/handbook umbrella/site": {"projects": []any{"acme/handbook", "umbrella/site", "*/docs"}},
	} {
		if keys := webhookOf(t).Keys(connectors.Settings{Config: config}); strings.Join(keys, " ") != want {
			t.Errorf("the keys of %v are %q, want %s", config, keys, want)
		}
	}
	keys, err := webhookOf(t).Route(deliveryHeader("Push Hook"), []byte(`{"object_kind":"push","project":{"id":42,"path_with_namespace":"Acme/Sub/Docs"}}`))
	if want := "* 42 acme/* acme/sub/* acme/sub/docs"; err != nil || strings.Join(keys, " ") != want {
		t.Errorf("the keys of a nested project are %q, %v, want %s", keys, err, want)
	}
}

func TestSecretsAreCompared(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	body, key := []byte(`{"object_kind":"push"}`), []byte("0123456789abcdef0123456789abcdef")
	signing := "whsec_" + base64.StdEncoding.EncodeToString(key)
	sign := func(at time.Time) http.Header {
		stamp := strconv.FormatInt(at.Unix(), 10)
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte("d1." + stamp + "." + string(body)))
		return http.Header{"Webhook-Id": {"d1"}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {"v1,AAAA v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}}
	}
	unsigned := sign(now)
	unsigned.Set("Webhook-Signature", "v1,")
	other := sign(now)
	other.Set("Webhook-Id", "d2")
	for name, c := range map[string]struct {
		secret string
		header http.Header
		ok     bool
	}{
		"the token":            {"s3cret", http.Header{"X-Gitlab-Token": {"s3cret"}}, true},
		"another token":        {"s3cret", http.Header{"X-Gitlab-Token": {"S3cret"}}, false},
		"a part":               {"s3cret", http.Header{"X-Gitlab-Token": {"s3cre"}}, false},
		"no token":             {"s3cret", http.Header{}, false},
		"no secret":            {"", http.Header{"X-Gitlab-Token": {""}}, false},
		"a signature":          {signing, sign(now), true},
		"an old signature":     {signing, sign(now.Add(-6 * time.Minute)), false},
		"a signature to come":  {signing, sign(now.Add(6 * time.Minute)), false},
		"an empty signature":   {signing, unsigned, false},
		"of another delivery":  {signing, other, false},
		"with another secret":  {"whsec_" + base64.StdEncoding.EncodeToString([]byte("another")), sign(now), false},
		"a secret without key": {"whsec_", sign(now), false},
		"a signing token that is sent as the secret token": {signing, http.Header{"X-Gitlab-Token": {signing}}, true},
	} {
		err := webhookOf(t).Verify(c.secret, c.header, body, now)
		if c.ok && err != nil || !c.ok && !errors.Is(err, connectors.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzDelivery(f *testing.F) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add("Push Hook", body)
	}
	webhook := gitlab.Kind(new(net.Dialer).DialContext).Webhook
	f.Fuzz(func(t *testing.T, event string, body []byte) {
		header := http.Header{"X-Gitlab-Event": {event}}
		if keys, err := webhook.Route(header, body); err == nil && (!slices.Contains(keys, "*") || slices.Contains(keys, "")) {
			t.Errorf("the keys are %q", keys)
		}
		d, err := webhook.Parse(header, body)
		if err == nil && slices.Contains(d.Items, "") {
			t.Errorf("the items are %q", d.Items)
		}
		if webhook.Verify("secret", header, body, time.Time{}) == nil {
			t.Error("a delivery without the secret is accepted")
		}
	})
}

// Items that deliveries name are found, deleted ones are missing, and those of other
// branches and projects are ignored.
func TestItemsOfDeliveriesAreResolved(t *testing.T) {
	t.Parallel()
	s := site{gitlabserver.NewSample()}
	t.Cleanup(s.Close)
	for branch, want := range map[string]map[string]string{
		"": {
			"7:f:readme.md": "acme/handbook/readme.md", "7:i:1": "acme/handbook#1", "7:m:1": "acme/handbook!1", "7:w:home": "acme/handbook.wiki/home",
			"7:f:gone.md": "-", "7:i:9": "-", "7:w:gone": "-", "9:i:1": "-", "7:b:next": "", "7:b:main": "acme/handbook/docs/backups.md acme/handbook/readme.md", "9:b:main": "",
		},
		"main": {"7:b:main": "acme/handbook/docs/backups.md acme/handbook/readme.md", "7:b:next": ""},
	} {
		config := map[string]any{"projects": []any{"acme/handbook"}}
		if branch != "" {
			config["branch"] = branch
		}
		resolver, ok := open(t, s.settings(config)).(connectors.Resolver)
		if !ok {
			t.Fatal("the source is no Resolver")
		}
		for name, paths := range want {
			found, missing, err := resolver.Resolve(t.Context(), []string{name})
			var got []string
			for _, item := range found {
				got = append(got, item.Path)
			}
			if err != nil || (paths == "-") != (len(missing) == 1) || paths != "-" && strings.Join(got, " ") != paths {
				t.Errorf("%s: found %q, missing %q, %v, want %s", name, got, missing, err, paths)
			}
		}
	}
}
