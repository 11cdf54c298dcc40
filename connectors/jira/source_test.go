package jira_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/connectortest"
	"github.com/magpie-search/magpie/connectors/jira"
	. "github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

func TestIssuesAreItems(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.MaxComments = 1
		ada := s.AddUser(User{Display: "Ada", Email: "ada@example.com"})
		bot := s.AddUser(User{Display: "Build Bot", App: true})
		plain := s.Add(Issue{Project: "TST", Summary: "Plain", Description: s.Text("Short")})
		id := s.Add(Issue{
			Project: "TST", Summary: "Fix the gate", Type: "Bug", Status: "Done", Reporter: ada.ID, Labels: []string{"ops", "gate"}, Description: s.Text("It is broken"),
			Comments: []Comment{
				{Author: ada.ID, Body: s.Text("First!")}, {Author: bot.ID, Body: s.Text("Build 7 failed")}, {Author: ada.ID, Body: s.Text("A secret"), Group: "staff"},
			},
			Files: []File{{Name: "plan.csv", Data: []byte("a,b"), Media: "text/csv"}, {Name: "plan.csv", Data: []byte("c,d"), Media: "text/csv"}},
		})
		source := s.open(t, s.settings(map[string]any{"includeAttachments": true, "commentAuthorsExcluded": []any{"build bot"}}))
		if err := source.Check(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, warnings := walk(t, source)
		issue, _ := s.Find("TST-2")
		expectPaths(t, found, "TST/TST-1", "TST/TST-2", "TST/TST-2/plan.csv", "TST/TST-2/plan ("+issue.Files[1].ID+").csv")
		if len(warnings) > 0 {
			t.Errorf("warnings %q", warnings)
		}
		item := found["TST/TST-2"]
		if item.ID != "issue:"+id || item.Title != "TST-2: Fix the gate" || item.Author != "Ada" || item.URL != s.URL+"/browse/TST-2" || item.MediaType != "text/markdown" ||
			item.Container == "" || item.Metadata["status"] != "Done" || item.Metadata["labels"] != "ops, gate" || item.CreatedAt.IsZero() || !item.ModifiedAt.Equal(issue.Updated) {
			t.Errorf("the issue is %+v", item)
		}
		if s.cloud && item.Content != nil {
			t.Error("an issue is at hand without all of its comments")
		}
		text, err := readContent(t.Context(), source, item)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"# TST-2: Fix the gate\n", "- Type: Bug\n", "- Status: Done\n", "- Reporter: Ada\n", "- Labels: ops, gate\n", "\nIt is broken\n", "## Comments", "**Ada**, 2024-05-01:\n\nFirst!"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %s", want, text)
			}
		}
		for _, hidden := range []string{"secret", "Build 7"} {
			if strings.Contains(text, hidden) {
				t.Errorf("%q is in %s", hidden, text)
			}
		}
		if short := found["TST/TST-1"]; short.ID != "issue:"+plain || string(short.Content) == "" {
			t.Errorf("the content of %+v is not at hand", short)
		} else if opened, err := readContent(t.Context(), source, short); err != nil || opened != string(short.Content) {
			t.Errorf("the content is %q at hand and %q when it is opened, %v", short.Content, opened, err)
		}
		for name, want := range map[string]string{"TST/TST-2/plan.csv": "a,b", "TST/TST-2/plan (" + issue.Files[1].ID + ").csv": "c,d"} {
			if content, err := readContent(t.Context(), source, found[name]); err != nil || content != want {
				t.Errorf("%s is %q, %v", name, content, err)
			}
		}
		s.Change(id, func(i *Issue) { i.Comments = append(i.Comments, Comment{Body: s.Text("More")}) })
		after, _ := walk(t, source)
		if after["TST/TST-2"].Version == item.Version || after["TST/TST-1"].Version != found["TST/TST-1"].Version {
			t.Error("the version does not follow the comments")
		}
		if _, err := readContent(t.Context(), source, item); !errors.Is(err, connectors.ErrNotFound) {
			if _, again := connectors.RetryAfterOf(err); !again {
				t.Errorf("another version gives %v", err)
			}
		}
	})
}

func TestTheJQLSelects(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.AddProject(Project{Key: "OTHER"})
		s.AddProject(Project{Key: "HIDDEN", Invisible: true})
		s.Add(Issue{Project: "TST", Summary: "a", Labels: []string{"public"}})
		s.Add(Issue{Project: "TST", Summary: "b"})
		s.Add(Issue{Project: "OTHER", Summary: "c", Labels: []string{"public"}})
		s.Add(Issue{Project: "HIDDEN", Summary: "d", Labels: []string{"public"}})
		for name, c := range map[string]struct {
			config map[string]any
			want   []string
		}{
			"all":            {nil, []string{"TST/TST-1", "TST/TST-2", "OTHER/OTHER-1"}},
			"a project":      {map[string]any{"projectKeys": []any{"tst"}}, []string{"TST/TST-1", "TST/TST-2"}},
			"a query":        {map[string]any{"jql": `labels = public ORDER BY updated DESC`}, []string{"TST/TST-1", "OTHER/OTHER-1"}},
			"an alternative": {map[string]any{"projectKeys": []any{"TST"}, "jql": `summary ~ "b" OR labels = "public"`}, []string{"TST/TST-1", "TST/TST-2"}},
			"only an order":  {map[string]any{"jql": `order by created`}, []string{"TST/TST-1", "TST/TST-2", "OTHER/OTHER-1"}},
		} {
			source := s.open(t, s.settings(c.config))
			found, _ := walk(t, source)
			expectPaths(t, found, c.want...)
			resolver, ok := source.(connectors.Resolver)
			if !ok {
				t.Fatal("the source is no Resolver")
			}
			names := []string{"TST/TST-1", "TST/TST-2", "OTHER/OTHER-1", "HIDDEN/HIDDEN-1", "OTHER/TST-1", "TST/OTHER-1"}
			resolved, missing, err := resolver.Resolve(t.Context(), names)
			if err != nil || len(resolved) != len(c.want) || len(missing) != len(names)-len(c.want) {
				t.Errorf("%s: resolved %d items, missing %q, %v", name, len(resolved), missing, err)
			}
		}
		for name, c := range map[string]struct {
			config map[string]any
			is     func(error) bool
			want   string
		}{
			"a project that is not visible": {map[string]any{"projectKeys": []any{"HIDDEN"}}, connectors.IsNeedsAuth, `"HIDDEN" does not exist, or the account may not see it`},
			"a field that does not exist":   {map[string]any{"jql": "nothing = 7"}, connectors.IsFatal, "config.jql"},
		} {
			source := s.open(t, s.settings(c.config))
			_, err := source.Walk(t.Context(), "")
			if err == nil || !c.is(err) || !strings.Contains(err.Error(), c.want) || source.Check(t.Context()) == nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestSettingsAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	for jql, wrong := range map[string]bool{
		"": false, "a = b": false, "(a = b": true, "a = b)": true, `a = ")"`: false, `a = "\") OR b = ("`: false, `a = "x`: true, "a = b) OR (c = d": true,
		"a = b ORDER BY c DESC, d": false, "order BY c": false, "a = b order by c) or (d = e": true, `a = "order by"`: false, "reorder = by": false, "a = b ORDER BY c OR d = e": true,
		`a = b ORDER BY "Due (UTC)" DESC, 'x = y'`: false, `a = b ORDER BY "c" ) OR (d = e`: true, `a ~ b\" ) OR (c = "d"`: true, `a ~ b\"`: false,
	} {
		err := s.kind(t).Validate(map[string]any{"instanceUrl": s.URL, "jql": jql}, s.settings(nil).Credentials)
		if wrongOption, ok := errors.AsType[*connectors.OptionError](err); ok != wrong || ok && wrongOption.Field != "config.jql" {
			t.Errorf("%q: %v", jql, err)
		}
	}
	for _, key := range []string{"EN G", `X") OR (1`, "1A", "ENG-1", ""} {
		if s.kind(t).Validate(map[string]any{"instanceUrl": s.URL, "projectKeys": []any{key}}, s.settings(nil).Credentials) == nil {
			t.Errorf("the key %q is accepted", key)
		}
	}
}

func TestCredentialsThatAreRefused(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		wrong := s.settings(nil)
		for name := range wrong.Credentials {
			if name != "email" {
				wrong.Credentials[name] = "wrong-token"
			}
		}
		source := s.open(t, wrong)
		if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "does not accept the credentials") {
			t.Errorf("wrong credentials: %v", err)
		}
		elsewhere := s.settings(map[string]any{"instanceUrl": s.URL + "/elsewhere"})
		if err := s.open(t, elsewhere).Check(t.Context()); !connectors.IsFatal(err) || !strings.Contains(err.Error(), "no Jira at config.instanceUrl") {
			t.Errorf("another address: %v", err)
		}
	})
}

func TestGrantsAndScopedTokensUseTheGateway(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.Add(Issue{Project: "TST", Summary: "a", Description: s.Text("text"), Files: []File{{Name: "a.txt", Data: []byte("abc")}}})
	scoped := s.AddUser(User{Name: "scoped", Email: "scoped@example.com", ScopedToken: "ATATT-scoped"})
	s.Grant("access", s.reader.ID)
	config := map[string]any{"instanceUrl": s.URL, "includeAttachments": true}
	refused := 0
	for name, settings := range map[string]connectors.Settings{
		"a scoped token": {Config: config, Credentials: map[string]string{"email": scoped.Email, "apiToken": "ATATT-scoped"}},
		"a grant": {Config: config, Token: func(_ context.Context, rejected string) (string, map[string]string, error) {
			if rejected != "" {
				refused++
			}
			return "access", nil, nil
		}},
		"a grant with its site": {Config: config, Token: func(context.Context, string) (string, map[string]string, error) {
			return "access", map[string]string{"cloudId": CloudID}, nil
		}},
	} {
		source := s.open(t, settings)
		if err := source.Check(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		found, _ := walk(t, source)
		expectPaths(t, found, "TST/TST-1", "TST/TST-1/a.txt")
		if content, err := readContent(t.Context(), source, found["TST/TST-1/a.txt"]); err != nil || content != "abc" {
			t.Errorf("%s: %q, %v", name, content, err)
		}
		if found["TST/TST-1"].URL != s.URL+"/browse/TST-1" {
			t.Errorf("%s: the issue is at %s", name, found["TST/TST-1"].URL)
		}
	}
	s.NoScopes = true
	grant := connectors.Settings{Config: config, Token: func(context.Context, string) (string, map[string]string, error) { return "access", nil, nil }}
	if err := s.open(t, grant).Check(t.Context()); !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "read:jira-work") {
		t.Errorf("without scopes: %v", err)
	}
	s.NoScopes = false
	s.Revoke()
	if err := s.open(t, grant).Check(t.Context()); !connectors.IsNeedsAuth(err) {
		t.Errorf("a revoked grant: %v", err)
	}
}

// The token of a site that is not Atlassian's is not sent to Atlassian.
func TestTokensOfOtherSitesStayThere(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	wrong := s.settings(nil)
	wrong.Credentials["apiToken"] = "wrong-token"
	registry, err := connectors.NewRegistry(jira.Kind(func(ctx context.Context, network, address string) (net.Conn, error) {
		if !strings.HasPrefix(address, "127.0.0.1:") {
			t.Errorf("it connects to %s", address)
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}))
	if err != nil {
		t.Fatal(err)
	}
	kind, _ := registry.Lookup("jira")
	source, err := kind.New(t.Context(), wrong)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = source.Close() }()
	if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) || s.Requests("tenant_info") > 0 {
		t.Errorf("the error is %v, after %d requests for the tenant", err, s.Requests("tenant_info"))
	}
}

// A walk continues if Cloud has forgotten the token of its next page, and if issues
// are deleted while it runs.
func TestWalksContinue(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		var ids []string
		for n := range 250 {
			ids = append(ids, s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n), Description: s.Text("x")}))
		}
		source := s.open(t, s.settings(nil))
		seen := map[string]int{}
		for cursor, pages := "", 0; ; pages++ {
			page, err := source.Walk(t.Context(), cursor)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range page.Items {
				seen[item.ID]++
			}
			if page.Done {
				break
			}
			cursor = page.Next
			s.ExpirePages()
			for _, id := range ids[pages*5 : pages*5+5] {
				s.Remove(id)
			}
		}
		twice := 0
		for _, id := range ids {
			if n := seen["issue:"+id]; n == 0 {
				t.Errorf("the issue %s is not listed", id)
			} else if n > 1 {
				twice++
			}
		}
		if twice > 5 {
			t.Errorf("%d issues are listed twice", twice)
		}
	})
}

// What a site answers if it lies is no reason to delete.
func TestLiesAreErrors(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	s.Add(Issue{Project: "TST", Summary: "a"})
	for body, status := range map[string]int{
		"": 200, "{}": 200, `{"issues":null}`: 200, `{"issues":[{}]}`: 200, `{"issues":[],"isLast":false}`: 200, `{"issues":[{"id":"7","key":"A-1","fields":{"updated":"x"}}]}`: 200,
		"<html><title>Log in</title></html>": 200, `{"errorMessages":["gone"]}`: 410,
	} {
		s.Fail(func(r *http.Request) *Fault {
			if strings.HasSuffix(r.URL.Path, "/search/jql") {
				return &Fault{Status: status, Body: body, Header: http.Header{"Content-Type": {"application/json"}}}
			}
			return nil
		})
		if page, err := s.open(t, s.settings(nil)).Walk(t.Context(), ""); err == nil {
			t.Errorf("%q gives %d items", body, len(page.Items))
		}
	}
}

// Options that change the documents of issues change their versions, so that the next
// sync reads them again.
func TestOptionsOfCommentsChangeVersions(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.Add(Issue{Project: "TST", Summary: "a", Description: s.Text("text"), Comments: []Comment{{Author: s.reader.ID, Body: s.Text("said")}}})
		versions := map[string]string{}
		for name, config := range map[string]map[string]any{
			"all": nil, "none": {"includeComments": false}, "without one": {"commentAuthorsExcluded": []any{"bot"}}, "without two": {"commentAuthorsExcluded": []any{"bot", "Rea Der"}},
		} {
			source := s.open(t, s.settings(config))
			items, _ := walk(t, source)
			item := items["TST/TST-1"]
			if other, twice := versions[item.Version]; twice || item.Version == "" {
				t.Errorf("%s has the version %q of %s", name, item.Version, other)
			}
			versions[item.Version] = name
			item.Content = nil
			content, err := readContent(t.Context(), source, item)
			if err != nil || strings.Contains(content, "said") != (name == "all" || name == "without one") {
				t.Errorf("%s: %q, %v", name, content, err)
			}
		}
	})
}

// A walk that lists fewer issues than Jira counts says so, as does one of an API that
// ends.
func TestWarningsOfWalks(t *testing.T) {
	t.Parallel()
	s := newSite(t, true)
	for n := range 100 {
		s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n), Unindexed: n < 2})
	}
	_, warnings := walk(t, s.open(t, s.settings(nil)))
	if len(warnings) != 1 || !strings.Contains(warnings[0], "98 of about 100") {
		t.Errorf("the warnings are %q", warnings)
	}
	s.Sunset = "Sat, 31 Oct 2026 00:00:00 GMT"
	var notices []string
	ctx := connectors.WithNotices(t.Context(), func(text string) { notices = append(notices, text) })
	if _, err := s.open(t, s.settings(nil)).Walk(ctx, ""); err != nil || !slices.ContainsFunc(notices, func(text string) bool { return strings.Contains(text, "Jira ends a part of its API on 2026-10-31") }) {
		t.Errorf("the notices are %q, %v", notices, err)
	}
}

func TestTheSampleIsRead(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		s.AddSample()
		source := s.open(t, s.settings(map[string]any{"includeAttachments": true}))
		found, _ := walk(t, source)
		expectPaths(t, found, "OPS/OPS-1", "OPS/OPS-1/hosts.csv", "OPS/OPS-2", "WEB/WEB-1")
		for path, item := range found {
			if text, err := readContent(t.Context(), source, item); err != nil || len(text) < 20 {
				t.Errorf("%s is %q, %v", path, text, err)
			}
		}
	})
}

// A walk reads lists, and no single issues.
func TestWalkNeedsFewRequests(t *testing.T) {
	t.Parallel()
	eachDeployment(t, func(t *testing.T, s *site) {
		for n := range 1000 {
			s.Add(Issue{Project: "TST", Summary: fmt.Sprint(n), Description: s.Text("x"), Comments: []Comment{{Body: s.Text("y")}}})
		}
		source := s.open(t, s.settings(nil))
		found, _ := walk(t, source)
		requests := s.Requests("")
		t.Logf("%d requests for %d items", requests, len(found))
		if len(found) != 1000 || requests > 15 {
			t.Errorf("%d requests for %d items", requests, len(found))
		}
		if i := slices.IndexFunc(values(found), func(i connectors.Item) bool { return i.Content == nil }); i >= 0 {
			t.Error("an issue has to be opened")
		}
	})
}

func values(items map[string]connectors.Item) []connectors.Item {
	list := make([]connectors.Item, 0, len(items))
	for _, item := range items {
		list = append(list, item)
	}
	return list
}

func FuzzCursor(f *testing.F) {
	for _, seed := range []string{`{"p":"1"}`, `{"p":"20","b":"10001","i":"10002","f":"7"}`, `{"c":1,"d":2}`, ""} {
		f.Add(seed)
	}
	s := newSite(f, false)
	id := s.Add(Issue{Project: "TST", Summary: "a"})
	settings := s.settings(nil)
	settings.State = &connectortest.State{}
	source := s.open(f, settings)
	feeder, ok := source.(connectors.Feeder)
	if !ok {
		f.Fatal("the source is no Feeder")
	}
	f.Fuzz(func(t *testing.T, cursor string) {
		if page, err := feeder.Changes(t.Context(), cursor); err == nil && !page.Expired && len(page.Gone) > 0 {
			t.Errorf("%q deletes %q", cursor, page.Gone)
		}
		for range 20 {
			got, err := source.Walk(t.Context(), cursor)
			for _, item := range got.Items {
				if item.ID != "issue:"+id {
					t.Errorf("%q gave %q", cursor, item.ID)
				}
			}
			if err != nil || got.Done {
				return
			}
			if got.Next == cursor || len(got.Next) > connectors.MaxCursorBytes {
				t.Errorf("%q leads to %q", cursor, got.Next)
			}
			cursor = got.Next
		}
		t.Errorf("the walk does not end: %q", cursor)
	})
}
