package github_test

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

func open(t testing.TB, s connectors.Settings) connectors.Source {
	t.Helper()
	source, err := openSource(t, s)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return source
}

func openSource(t testing.TB, s connectors.Settings) (connectors.Source, error) {
	t.Helper()
	registry, err := connectors.NewRegistry(github.Kind(dial))
	if err != nil {
		t.Fatalf("register: %v", err)
	}
	kind, _ := registry.Lookup("github")
	source, err := kind.New(t.Context(), s)
	if err == nil {
		t.Cleanup(func() { _ = source.Close() })
	}
	return source, err
}

// mustWalk returns the items of a walk by path, and its warnings.
func mustWalk(t testing.TB, source connectors.Source) (map[string]connectors.Item, []string) {
	t.Helper()
	items, warnings, err := walk(t, source)
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
	return items, warnings
}

func walk(t testing.TB, source connectors.Source) (items map[string]connectors.Item, warnings []string, err error) {
	t.Helper()
	items = map[string]connectors.Item{}
	cursor := ""
	for range 1000 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			return nil, nil, err
		}
		if len(page.Items) > connectors.MaxPageItems {
			t.Errorf("a page has %d items", len(page.Items))
		}
		for _, item := range page.Items {
			if _, twice := items[item.Path]; twice {
				t.Errorf("%s was named twice", item.Path)
			}
			items[item.Path] = item
		}
		warnings = append(warnings, page.Warnings...)
		if page.Done {
			return items, warnings, nil
		}
		cursor = page.Next
	}
	t.Fatal("the walk does not end")
	return nil, nil, nil
}

func pathsOf(items map[string]connectors.Item) []string { return slices.Sorted(maps.Keys(items)) }

func readContent(t testing.TB, source connectors.Source, item connectors.Item) (string, error) {
	t.Helper()
	body, err := source.Open(t.Context(), item)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(body)
	return string(text), errors.Join(err, body.Close())
}

func expectPaths(t testing.TB, items map[string]connectors.Item, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := pathsOf(items); !slices.Equal(got, want) {
		t.Errorf("the walk names\n%v, want\n%v", got, want)
	}
}

var day = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// addOneOfEverything adds content of every sort to the server's repository.
func addOneOfEverything(p testServer) (issue, pull, talk int) {
	const r = "acme/handbook"
	p.Put(r, "", "README.md", []byte("# Handbook"))
	p.Put(r, "", "docs/guide.md", []byte("# Guide"))
	p.Link(r, "docs/link.md", "guide.md")
	p.Submodule(r, "vendor/lib")
	issue = p.OpenThread(r, githubserver.Thread{
		Title: "Crash on start", Body: "It crashes.\r\n\r\n# Steps\r\n\r\n```sh\n# a comment\n```\r\n", Author: "ada", Labels: []string{"bug", "ui"}, CreatedAt: day,
		Comments: []githubserver.Comment{{Author: "bob", Body: "Same here.", At: day.Add(time.Hour)}, {Author: "-", Body: "## Fixed\n", At: day.Add(48 * time.Hour)}},
	})
	pull = p.OpenThread(r, githubserver.Thread{
		Pull: true, Merged: true, State: "closed", Title: "Start without a crash", Body: "Closes #1", Author: "bob", CreatedAt: day.Add(time.Hour),
		Comments:       []githubserver.Comment{{Author: "ada", Body: "Thanks!", At: day.Add(5 * time.Hour)}},
		Reviews:        []githubserver.Comment{{Author: "ada", State: "APPROVED", Body: "Good.", At: day.Add(4 * time.Hour)}, {Author: "eve", State: "COMMENTED", At: day}},
		ReviewComments: []githubserver.Comment{{Author: "ada", Path: "main.go", Body: "Why here?", At: day.Add(2 * time.Hour)}},
	})
	talk = p.OpenDiscussion(r, githubserver.Discussion{
		Title: "How do we name things?", Body: "Ideas?", Category: "Q&A", CreatedAt: day,
		Comments: []githubserver.Comment{
			{Author: "bob", Body: "Short.", At: day, Answer: true, Replies: []githubserver.Comment{{Author: "ada", Body: "And singular.", At: day}}},
			{Author: "eve", Body: "Long.", At: day},
		},
	})
	p.PutPage(r, "Home.md", []byte("# Welcome"))
	p.PutPage(r, "On-call.md", []byte("# On call"))
	p.PutPage(r, "_Sidebar.md", []byte("* [[Home]]"))
	p.PutPage(r, "logo.png", []byte{0x89, 'P', 'N', 'G'})
	return issue, pull, talk
}

func TestEverythingInARepositoryBecomesDocuments(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	source := open(t, p.settings(nil))
	if err := source.Check(t.Context()); err != nil {
		t.Errorf("check: %v", err)
	}
	items, warnings := mustWalk(t, source)
	expectPaths(t, items, "acme/handbook/README.md", "acme/handbook/docs/guide.md", "acme/handbook#1", "acme/handbook#2", "acme/handbook#3",
		"acme/handbook.wiki/Home.md", "acme/handbook.wiki/On-call.md")
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	for path, want := range map[string]string{
		"acme/handbook/docs/guide.md": "# Guide",
		"acme/handbook.wiki/Home.md":  "# Welcome",
		"acme/handbook#1": "# Crash on start #1\n\nIssue in acme/handbook · open · by @ada · opened 2026-03-01 · labels: bug, ui\n\n" +
			"It crashes.\n\n## Steps\n\n```sh\n# a comment\n```\n\n## Comment by @bob, 2026-03-01\n\nSame here.\n\n## Comment by @ghost, 2026-03-03\n\n#### Fixed\n",
		"acme/handbook#2": "# Start without a crash #2\n\nPull request in acme/handbook · merged · by @bob · opened 2026-03-01\n\nCloses #1\n\n" +
			"## Review comment by @ada on main.go, 2026-03-01\n\nWhy here?\n\n## Approval by @ada, 2026-03-01\n\nGood.\n\n## Comment by @ada, 2026-03-01\n\nThanks!\n",
		"acme/handbook#3": "# How do we name things? #3\n\nDiscussion in acme/handbook · open · by @ada · opened 2026-03-01 · category: Q&A\n\nIdeas?\n\n" +
			"## Answer by @bob, 2026-03-01\n\nShort.\n\n### Reply by @ada, 2026-03-01\n\nAnd singular.\n\n## Comment by @eve, 2026-03-01\n\nLong.\n",
	} {
		if got, err := readContent(t, source, items[path]); err != nil || got != want {
			t.Errorf("%s:\n%s\n%v, want\n%s", path, got, err, want)
		}
	}
	for path, want := range map[string]string{
		"acme/handbook/docs/guide.md":   "/acme/handbook/blob/main/docs/guide.md",
		"acme/handbook#1":               "/acme/handbook/issues/1",
		"acme/handbook#2":               "/acme/handbook/pull/2",
		"acme/handbook#3":               "/acme/handbook/discussions/3",
		"acme/handbook.wiki/On-call.md": "/acme/handbook/wiki/On-call",
	} {
		if items[path].URL != p.URL+want {
			t.Errorf("%s: the address is %s", path, items[path].URL)
		}
	}
	one := items["acme/handbook#1"]
	if one.Title != "Crash on start #1" || one.Author != "ada" || !one.CreatedAt.Equal(day) || one.ModifiedAt.IsZero() || one.MediaType != "text/markdown" {
		t.Errorf("got %+v", one)
	}
	if title := items["acme/handbook.wiki/On-call.md"].Title; title != "On call" {
		t.Errorf("the wiki page is called %q", title)
	}
}

func TestOptionsSelectContent(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	p.Put("acme/handbook", "next", "docs/new.md", []byte("# New"))
	old := p.OpenThread("acme/handbook", githubserver.Thread{Title: "Old", State: "closed", CreatedAt: day.AddDate(-2, 0, 0)})
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"files by path":   {map[string]any{"content": []any{"files"}, "pathFilter": []any{"docs/**", "nothing"}}, []string{"acme/handbook/docs/guide.md"}},
		"a branch":        {map[string]any{"content": []any{"files"}, "branch": "next"}, []string{"acme/handbook/docs/new.md"}},
		"issues":          {map[string]any{"content": []any{"issues"}}, []string{"acme/handbook#1", fmt.Sprintf("acme/handbook#%d", old)}},
		"pull requests":   {map[string]any{"content": []any{"pull_requests"}}, []string{"acme/handbook#2"}},
		"open ones":       {map[string]any{"content": []any{"issues", "pull_requests", "discussions"}, "includeClosed": false}, []string{"acme/handbook#1", "acme/handbook#3"}},
		"of late":         {map[string]any{"content": []any{"issues"}, "since": "2026-01-01"}, []string{"acme/handbook#1"}},
		"of late, pulls":  {map[string]any{"content": []any{"pull_requests"}, "since": "2030-01-01T00:00:00Z"}, nil},
		"discussions":     {map[string]any{"content": []any{"discussions"}}, []string{"acme/handbook#3"}},
		"pages of a wiki": {map[string]any{"content": []any{"wiki"}}, []string{"acme/handbook.wiki/Home.md", "acme/handbook.wiki/On-call.md"}},
	} {
		source := open(t, p.settings(c.config))
		items, _ := mustWalk(t, source)
		if got := pathsOf(items); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if err := source.Check(t.Context()); err != nil {
			t.Errorf("%s: check: %v", name, err)
		}
		for path, item := range items {
			if _, err := readContent(t, source, item); err != nil {
				t.Errorf("%s: open %s: %v", name, path, err)
			}
		}
	}
	// Switched off at GitHub.
	p.SetFeatures("acme/handbook", false, false, false)
	items, _ := mustWalk(t, open(t, p.settings(nil)))
	expectPaths(t, items, "acme/handbook/README.md", "acme/handbook/docs/guide.md", "acme/handbook#2")
}

// Unchanged content costs almost nothing of the hourly limit.
func TestUnchangedRepositoryCostsFewRequests(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	for n := range 1000 {
		p.Put("acme/handbook", "", fmt.Sprintf("docs/%d/page-%04d.md", n%10, n), fmt.Appendf(nil, "# Page %d", n))
	}
	for n := range 250 {
		p.OpenThread("acme/handbook", githubserver.Thread{Title: fmt.Sprint("Issue ", n), Body: "Text", Pull: n%5 == 0})
	}
	p.OpenDiscussion("acme/handbook", githubserver.Discussion{Title: "A", Body: "B"})
	p.PutPage("acme/handbook", "Home.md", []byte("# Home"))
	first, _ := mustWalk(t, open(t, p.settings(nil)))
	requests, counted := p.Requests()
	t.Logf("1,000 files, 250 issues and pull requests, a discussion and a wiki: %d requests the first time, %d counted", len(requests), counted)
	second, _ := mustWalk(t, open(t, p.settings(nil)))
	requests, counted = p.Requests()
	t.Logf("unchanged: %d requests, %d counted: %q", len(requests), counted, requests)
	if counted > 1 || len(requests) > 9 {
		t.Errorf("an unchanged repository cost %d requests, %d of them counted", len(requests), counted)
	}
	if len(first) != 1252 || !slices.Equal(pathsOf(first), pathsOf(second)) {
		t.Errorf("%d and %d items", len(first), len(second))
	}
	for path, item := range first {
		if again := second[path]; again.ID != item.ID || again.Version != item.Version || again.Title != item.Title || again.URL != item.URL {
			t.Errorf("%s differs: %+v, %+v", path, item, again)
		}
	}
	// With files only, no request counts.
	files := p.settings(map[string]any{"content": []any{"files"}})
	mustWalk(t, open(t, files))
	p.Requests()
	mustWalk(t, open(t, files))
	requests, counted = p.Requests()
	t.Logf("1,000 files, unchanged: %d requests, %d counted: %q", len(requests), counted, requests)
	if counted != 0 || len(requests) != 2 {
		t.Errorf("unchanged files cost %d requests, %d of them counted", len(requests), counted)
	}
	p.Put("acme/handbook", "", "docs/0/page-0000.md", []byte("# Another page"))
	changed, _ := mustWalk(t, open(t, files))
	if path := "acme/handbook/docs/0/page-0000.md"; changed[path].Version == first[path].Version {
		t.Error("the change was not seen")
	}
}

func TestChangesOfEverySortAreDetected(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	issue, pull, talk := addOneOfEverything(p)
	const r = "acme/handbook"
	before, _ := mustWalk(t, open(t, p.settings(nil)))
	comment := githubserver.Comment{Author: "eve", Body: "News", At: day}
	p.EditThread(r, issue, func(t *githubserver.Thread) { t.Comments = append(t.Comments, comment) })
	p.EditThread(r, pull, func(t *githubserver.Thread) { t.Title = "Another title" })
	p.EditDiscussion(r, talk, func(d *githubserver.Discussion) { d.Comments = append(d.Comments, comment) })
	p.PutPage(r, "Home.md", []byte("# Welcome back"))
	p.DeletePage(r, "On-call.md")
	source := open(t, p.settings(nil))
	after, _ := mustWalk(t, source)
	for _, path := range []string{"acme/handbook#1", "acme/handbook#2", "acme/handbook#3", "acme/handbook.wiki/Home.md"} {
		if before[path].Version == after[path].Version || before[path].ID != after[path].ID {
			t.Errorf("%s: %+v, then %+v", path, before[path], after[path])
		}
		// The listed versions are gone.
		if _, err := readContent(t, source, before[path]); err == nil {
			t.Errorf("%s: the old version could be read", path)
		} else if _, retryable := connectors.RetryAfterOf(err); !retryable {
			t.Errorf("%s: the old version: %v", path, err)
		}
	}
	if _, still := after["acme/handbook.wiki/On-call.md"]; still {
		t.Error("the deleted page is still named")
	}
	p.DeleteThread(r, issue)
	p.DeleteDiscussion(r, talk)
	last, _ := mustWalk(t, open(t, p.settings(nil)))
	expectPaths(t, last, "acme/handbook/README.md", "acme/handbook/docs/guide.md", "acme/handbook#2", "acme/handbook.wiki/Home.md")
	for _, path := range []string{"acme/handbook#1", "acme/handbook#3"} {
		if _, err := readContent(t, source, after[path]); !errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("%s: %v, want ErrNotFound", path, err)
		}
	}
}

func TestLFSPointersAreSkipped(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	p.Put("acme/handbook", "", "model.bin.md", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"))
	source := open(t, p.settings(nil))
	items, _ := mustWalk(t, source)
	if _, err := readContent(t, source, items["acme/handbook/model.bin.md"]); !connectors.IsSkip(err) || !strings.Contains(err.Error(), "LFS") {
		t.Errorf("got %v, want it to be skipped", err)
	}
}

func TestTruncatedTreesAreWalkedByFolder(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	var want []string
	for n := range 60 {
		path := fmt.Sprintf("%s/page-%02d.md", []string{"a", "a-b", "a.c", "a/b/c", "b", "."}[n%6], n)
		path = strings.TrimPrefix(path, "./")
		p.Put("acme/handbook", "", path, fmt.Append(nil, n))
		want = append(want, "acme/handbook/"+path)
	}
	files := map[string]any{"content": []any{"files"}}
	whole, _ := mustWalk(t, open(t, p.settings(files)))
	expectPaths(t, whole, want...)
	p.Truncate("acme/handbook", 30)
	p.notes.Clear()
	source := open(t, p.settings(files))
	parts, _ := mustWalk(t, source)
	expectPaths(t, parts, want...)
	for path, item := range parts {
		if item.ID != whole[path].ID || item.Version != whole[path].Version || item.Size != whole[path].Size {
			t.Errorf("%s: %+v, want %+v", path, item, whole[path])
		}
	}
	found, missing, err := source.(connectors.Resolver).Resolve(t.Context(), append(slices.Clone(want), "acme/handbook/a", "acme/handbook/a/b/none.md"))
	if err != nil || len(found) != 60 || len(missing) != 2 {
		t.Errorf("resolved %d, missing %v, %v", len(found), missing, err)
	}
	p.Truncate("acme/handbook", 2)
	p.notes.Clear()
	if _, _, err := walk(t, open(t, p.settings(files))); !connectors.IsFatal(err) {
		t.Errorf("a folder that GitHub does not list whole: %v", err)
	}
}

func TestRateLimitErrorsHaveADelay(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	p.Limit(3)
	_, _, err := walk(t, open(t, p.settings(nil)))
	if after, ok := connectors.RetryAfterOf(err); !ok || after < 15*time.Minute || after > 25*time.Minute {
		t.Errorf("the hourly limit: %v after %v", err, after)
	}
	p.Limit(5000)
	date := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}
	for name, c := range map[string]struct {
		fault githubserver.Fault
		want  time.Duration
	}{
		"secondary with a time":    {githubserver.Fault{Status: 403, Header: http.Header{"Retry-After": {"90"}}, Body: `{"message":"You have exceeded a secondary rate limit."}`}, 90 * time.Second},
		"secondary without a time": {githubserver.Fault{Status: 403, Header: date, Body: `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`}, time.Minute},
		"429":                      {githubserver.Fault{Status: 429, Header: http.Header{"Retry-After": {"7"}}}, 7 * time.Second},
		"502":                      {githubserver.Fault{Status: 502, Body: "<html>Unicorn!"}, 0},
	} {
		c.fault.Match = "GET /api/v3/repos/acme/handbook/branches"
		p.Fail(c.fault)
		_, _, err := walk(t, open(t, p.settings(nil)))
		if after, ok := connectors.RetryAfterOf(err); !ok || after != c.want {
			t.Errorf("%s: %v after %v, want after %v", name, err, after, c.want)
		}
		p.ClearFaults()
	}
	p.Fail(githubserver.Fault{Match: "POST /api/graphql", Status: 200, Header: http.Header{"X-Ratelimit-Reset": {fmt.Sprint(time.Now().Add(10 * time.Minute).Unix())}},
		Body: `{"errors":[{"type":"RATE_LIMITED","message":"API rate limit exceeded"}]}`})
	_, _, err = walk(t, open(t, p.settings(nil)))
	if after, ok := connectors.RetryAfterOf(err); !ok || after < 9*time.Minute || after > 11*time.Minute {
		t.Errorf("the limit of queries: %v after %v", err, after)
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	all := map[string]string{"contents": "read", "issues": "read", "pull_requests": "read", "discussions": "read"}
	for lacking, want := range map[string]string{"contents": "Resource not accessible", "issues": "config.content", "discussions": "config.content", "pull_requests": ""} {
		rights := maps.Clone(all)
		delete(rights, lacking)
		p.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}, Permissions: rights})
		p.notes.Clear()
		source := open(t, p.settings(nil))
		items, _, err := walk(t, source)
		if want == "" {
			// The list of issues includes pull requests; only reviews are refused.
			if err != nil {
				t.Errorf("without %s: %v", lacking, err)
			} else if _, err := readContent(t, source, items["acme/handbook#2"]); err == nil || connectors.IsNeedsAuth(err) {
				t.Errorf("open without %s: %v", lacking, err)
			}
			continue
		}
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), want) {
			t.Errorf("walk without %s: %v", lacking, err)
		}
		if err := source.Check(t.Context()); !connectors.IsNeedsAuth(err) {
			t.Errorf("check without %s: %v", lacking, err)
		}
	}
	for name, change := range map[string]func(s *connectors.Settings){
		"a wrong token": func(s *connectors.Settings) { s.Credentials = map[string]string{"token": "ghp_wrong0123456789"} },
		"an expired token": func(*connectors.Settings) {
			p.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}, Expired: true})
		},
	} {
		s := p.settings(nil)
		change(&s)
		err := open(t, s).Check(t.Context())
		if !connectors.IsNeedsAuth(err) || !strings.Contains(err.Error(), "Bad credentials") || strings.Contains(err.Error(), s.Credentials["token"]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTruncatedContentIsRetryable(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	p.Put("acme/handbook", "", "a.md", []byte(strings.Repeat("line\n", 100)))
	source := open(t, p.settings(nil))
	items, _ := mustWalk(t, source)
	for name, fault := range map[string]githubserver.Fault{
		"cut off": {Status: 200, Body: "line\n", Cut: true},
		"short":   {Status: 200, Body: "line\n"},
		"another": {Status: 200, Body: strings.Repeat("Line\n", 100)},
	} {
		fault.Match, fault.Times = "GET /api/v3/repos/acme/handbook/contents/", 1
		p.Fail(fault)
		text, err := readContent(t, source, items["acme/handbook/a.md"])
		if _, retryable := connectors.RetryAfterOf(err); !retryable {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
		p.ClearFaults()
	}
	if text, err := readContent(t, source, items["acme/handbook/a.md"]); err != nil || len(text) != 500 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// An issue that is deleted while the list is read shifts the others.
func TestDeletionDuringTheWalkSkipsNothing(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	for n := range 620 {
		p.OpenThread("acme/handbook", githubserver.Thread{Title: fmt.Sprint("Issue ", n), Body: "Text"})
	}
	source := open(t, p.settings(map[string]any{"content": []any{"issues"}}))
	seen := map[string]bool{}
	cursor := ""
	for range 20 {
		page, err := source.Walk(t.Context(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			seen[item.Path] = true
		}
		if cursor == "" {
			p.DeleteThread("acme/handbook", 7)
		}
		if page.Done {
			break
		}
		cursor = page.Next
	}
	for n := 1; n <= 620; n++ {
		if path := fmt.Sprintf("acme/handbook#%d", n); !seen[path] {
			t.Errorf("%s was passed over", path)
		}
	}
}
