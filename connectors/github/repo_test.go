package github_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

func TestRenamesKeepIDs(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	addOneOfEverything(p)
	before, _ := mustWalk(t, open(t, p.settings(nil)))
	p.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*", "umbrella/*"}})
	p.Rename("acme/handbook", "umbrella/manual")
	source := open(t, p.settings(nil))
	after, warnings := mustWalk(t, source)
	if len(warnings) != 1 || !strings.Contains(warnings[0], "umbrella/manual") {
		t.Errorf("warnings %q", warnings)
	}
	if len(before) != len(after) {
		t.Fatalf("%v, then %v", pathsOf(before), pathsOf(after))
	}
	for path, item := range before {
		moved := after[strings.Replace(path, "acme/handbook", "umbrella/manual", 1)]
		if moved.ID != item.ID || moved.Version != item.Version {
			t.Errorf("%s: %+v, then %+v", path, item, moved)
		}
		if _, err := readContent(t, source, moved); err != nil {
			t.Errorf("open %s: %v", moved.Path, err)
		}
	}
}

// Missing rights and a deleted repository look alike, and neither may look like a
// source without documents.
func TestUnreachableRepositoryIsNotEmpty(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(p testServer){
		"deleted":   func(p testServer) { p.DeleteRepo("acme/handbook") },
		"no access": func(p testServer) { p.AddToken(token, githubserver.Token{Login: "ada"}) },
	} {
		p := newTestServer(t)
		addOneOfEverything(p)
		source := open(t, p.settings(nil))
		mustWalk(t, source)
		lose(p)
		_, _, err := walk(t, open(t, p.settings(nil)))
		if !connectors.IsFatal(err) || !strings.Contains(err.Error(), "acme/handbook") || errors.Is(err, connectors.ErrNotFound) {
			t.Errorf("%s: walk: %v", name, err)
		}
		found, missing, err := open(t, p.settings(nil)).(connectors.Resolver).Resolve(t.Context(), []string{"acme/handbook/README.md"})
		if !connectors.IsFatal(err) {
			t.Errorf("%s: resolve: %v, %v, %v", name, found, missing, err)
		}
		if err := open(t, p.settings(nil)).Check(t.Context()); !connectors.IsFatal(err) {
			t.Errorf("%s: check: %v", name, err)
		}
		_, _, err = walk(t, open(t, p.settings(map[string]any{"repos": []any{"acme/*"}})))
		if !connectors.IsFatal(err) {
			t.Errorf("%s: walk of all: %v", name, err)
		}
	}
	p := newTestServer(t)
	addOneOfEverything(p)
	p.DropBranch("acme/handbook", "main")
	p.Put("acme/handbook", "other", "a.md", nil)
	if _, _, err := walk(t, open(t, p.settings(nil))); !connectors.IsFatal(err) || !strings.Contains(err.Error(), "branch main") {
		t.Errorf("without its branch: %v", err)
	}
}

func TestUnreachableWikiIsNotEmpty(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	wiki := map[string]any{"content": []any{"wiki"}}
	items, _ := mustWalk(t, open(t, p.settings(wiki)))
	expectPaths(t, items) // it never had a page
	addOneOfEverything(p)
	mustWalk(t, open(t, p.settings(wiki)))
	p.Requests()
	unchanged, _ := mustWalk(t, open(t, p.settings(wiki)))
	if requests, counted := p.Requests(); len(unchanged) != 2 || len(requests) != 2 || counted != 0 {
		t.Errorf("an unchanged wiki cost %q, %d counted", requests, counted)
	}
	p.Fail(githubserver.Fault{Match: "GET /acme/handbook.wiki.git", Status: 404, Body: "Repository not found."})
	if _, _, err := walk(t, open(t, p.settings(wiki))); !connectors.IsNeedsAuth(err) {
		t.Errorf("a wiki that is not reached any more: %v", err)
	}
	p.ClearFaults()
	p.Fail(githubserver.Fault{Match: "POST /acme/handbook.wiki.git", Status: 200, Body: "0008NAK\n000e\x01PACK\x00\x00"})
	p.PutPage("acme/handbook", "Home.md", []byte("new"))
	if _, _, err := walk(t, open(t, p.settings(wiki))); err == nil || connectors.IsFatal(err) {
		t.Errorf("a wiki that is cut off: %v", err)
	}
	p.SetFeatures("acme/handbook", true, false, true)
	items, _ = mustWalk(t, open(t, p.settings(wiki)))
	expectPaths(t, items)
}

func TestAllRepositoriesOfAnOwner(t *testing.T) {
	t.Parallel()
	p := newTestServer(t)
	p.AddOwner("ada", "User")
	p.AddOwner("bob", "User")
	p.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*", "ada/*", "bob/shared"}})
	for name, o := range map[string]githubserver.RepoOptions{
		"acme/site": {}, "acme/secret": {Private: true}, "acme/fork": {Fork: true}, "acme/old": {Archived: true}, "acme/empty": {Private: true},
		"ada/own": {Private: true}, "ada/public": {}, "bob/public": {}, "bob/shared": {Private: true}, "bob/hidden": {Private: true},
	} {
		p.AddRepo(name, o)
		if name != "acme/empty" {
			p.Put(name, "", "a.md", []byte(name))
		}
	}
	for n := range 120 { // more than a page of a list
		p.AddRepo(fmt.Sprintf("big/repo-%03d", n), githubserver.RepoOptions{})
	}
	p.Put("big/repo-119", "", "a.md", []byte("a"))
	for name, c := range map[string]struct {
		config map[string]any
		want   []string
	}{
		"organisation": {map[string]any{"repos": []any{"acme/*"}}, []string{"acme/old/a.md", "acme/secret/a.md", "acme/site/a.md"}},
		"with forks":   {map[string]any{"repos": []any{"acme/*"}, "includeForks": true, "includeArchived": false}, []string{"acme/fork/a.md", "acme/secret/a.md", "acme/site/a.md"}},
		"oneself":      {map[string]any{"repos": []any{"Ada/*"}}, []string{"ada/own/a.md", "ada/public/a.md"}},
		"another":      {map[string]any{"repos": []any{"bob/*"}}, []string{"bob/public/a.md", "bob/shared/a.md"}},
		"many":         {map[string]any{"repos": []any{"big/*"}}, []string{"big/repo-119/a.md"}},
		"twice":        {map[string]any{"repos": []any{"acme/site", "acme/*", "ACME/site", "acme/fork"}}, []string{"acme/fork/a.md", "acme/old/a.md", "acme/secret/a.md", "acme/site/a.md"}},
	} {
		c.config["content"] = []any{"files"}
		items, _ := mustWalk(t, open(t, p.settings(c.config)))
		if got := pathsOf(items); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	p.Put("acme/site", "pages", "site.md", []byte("x"))
	items, warnings := mustWalk(t, open(t, p.settings(map[string]any{"repos": []any{"acme/*"}, "content": []any{"files"}, "branch": "pages"})))
	expectPaths(t, items, "acme/site/site.md")
	if len(warnings) != 4 || !strings.Contains(warnings[0], "no branch pages") {
		t.Errorf("warnings %q", warnings)
	}
	all := p.settings(map[string]any{"repos": []any{"acme/*"}, "content": []any{"files"}})
	mustWalk(t, open(t, all))
	p.DeleteRepo("acme/secret")
	items, warnings = mustWalk(t, open(t, all))
	expectPaths(t, items, "acme/old/a.md", "acme/site/a.md")
	if len(warnings) != 1 || !strings.Contains(warnings[0], "acme/secret") {
		t.Errorf("warnings %q", warnings)
	}
	// A list that lacks an existing repository does not delete its documents.
	p.Fail(githubserver.Fault{Match: "GET /api/v3/orgs/acme/repos", Status: 200, Body: `[{"id":1,"full_name":"acme/x"}]`})
	if _, _, err := walk(t, open(t, all)); err == nil {
		t.Error("a list that is not whole was taken for one")
	} else if _, retryable := connectors.RetryAfterOf(err); !retryable {
		t.Errorf("a list that is not whole: %v", err)
	}
	if _, _, err := walk(t, open(t, p.settings(map[string]any{"repos": []any{"nobody/*"}}))); !connectors.IsFatal(err) {
		t.Errorf("an owner that does not exist: %v", err)
	}
}
