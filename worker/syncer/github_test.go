package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/github"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/githubserver"
)

// A sync of a repository stores its changes and does not fetch unchanged content.
func TestARepositoryIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	server := githubserver.New()
	t.Cleanup(server.Close)
	const token, repo = "github_pat_0123456789abcdef", "acme/handbook"
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"acme/*"}})
	id := server.AddRepo(repo, githubserver.RepoOptions{Private: true, Wiki: true, Discussions: true})
	for n := range 30 {
		server.Put(repo, "", fmt.Sprintf("docs/page-%02d.md", n), fmt.Appendf(nil, "# Page %d\n\nThe walrus of page %d sleeps.", n, n))
	}
	server.Put(repo, "", "model.md", []byte("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"))
	issue := server.OpenThread(repo, githubserver.Thread{Title: "Crash", Body: "It crashes.", Comments: []githubserver.Comment{{Author: "bob", Body: "Here too.", At: time.Now()}}})
	server.OpenThread(repo, githubserver.Thread{Title: "No crash", Body: "Fixed.", Pull: true})
	server.OpenDiscussion(repo, githubserver.Discussion{Title: "Names", Body: "Which?"})
	server.PutPage(repo, "Home.md", []byte("# Welcome\n\nThis is the wiki."))

	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(github.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("github", map[string]any{"repos": []any{repo}, "apiUrl": server.API})
	sealed, err := f.box.Seal([]byte(`{"token":"`+token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.row, err = f.row.Update().SetCredentials(sealed).Save(f.ctx)
	f.must(err)
	f.work()

	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 35, Added: 34, Skipped: 1})
	documents := f.documents()
	crash := documents["acme/handbook#1"]
	if crash == nil || crash.Title != "Crash #1" || crash.URL == nil || *crash.URL != server.URL+"/acme/handbook/issues/1" {
		t.Fatalf("the issue is %+v", crash)
	}
	text, err := f.index.Content(f.ctx, f.scope, crash.ID)
	f.must(err)
	if !strings.Contains(text, "It crashes.") || !strings.Contains(text, "Here too.") {
		t.Errorf("the issue says %q", text)
	}

	server.Requests()
	f.clock.advance(time.Hour)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 35, Unchanged: 34, Skipped: 1})
	requests, counted := server.Requests()
	t.Logf("an unchanged sync made %d requests, %d counted: %q", len(requests), counted, requests)
	for _, request := range requests {
		if strings.Contains(request, "/contents/") || strings.Contains(request, "git-upload-pack") && strings.HasPrefix(request, "POST") || strings.Contains(request, "/comments") {
			t.Errorf("an unchanged sync fetched content: %s", request)
		}
	}

	// A push by webhook changes a page, deletes one and adds one.
	server.Put(repo, "", "docs/page-00.md", []byte("# Page 0\n\nThe walrus woke up."))
	server.Delete(repo, "", "docs/page-01.md")
	server.Put(repo, "", "docs/new.md", []byte("# New\n\nA seal."))
	named := func(path string) string { return fmt.Sprintf("%d:f:%s", id, path) }
	job := f.sync(incremental(named("docs/page-00.md"), named("docs/page-01.md"), named("docs/new.md")))
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 2, Added: 1, Modified: 1, Deleted: 1})
	server.EditThread(repo, issue, func(t *githubserver.Thread) { t.Body = "It crashes no more." })
	f.expect(f.sync(incremental(fmt.Sprintf("%d:i:%d", id, issue))), entjob.StatusCompleted, syncjob.Counters{Collected: 1, Modified: 1})
	if text, err = f.index.Content(f.ctx, f.scope, crash.ID); err != nil || !strings.Contains(text, "no more") {
		t.Errorf("the issue says %q, %v", text, err)
	}

	// A walk finds the same.
	server.PutPage(repo, "Home.md", []byte("# Welcome back"))
	server.Delete(repo, "", "docs/page-02.md")
	f.clock.advance(time.Hour)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 34, Modified: 1, Unchanged: 32, Deleted: 1, Skipped: 1})

	// A renamed repository keeps its documents.
	server.AddToken(token, githubserver.Token{Login: "ada", Repos: []string{"umbrella/*"}})
	server.Rename(repo, "umbrella/manual")
	f.clock.advance(time.Hour)
	job = f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 34, Unchanged: 33, Skipped: 1})
	if len(job.Warnings) != 1 || !strings.Contains(job.Warnings[0], "umbrella/manual") {
		t.Errorf("warnings %q", job.Warnings)
	}

	// Without access the documents stay.
	server.AddToken(token, githubserver.Token{Login: "ada"})
	f.clock.advance(time.Hour)
	if job = f.sync(auto()); job.Status != entjob.StatusFailed || job.Deleted != 0 || job.Error == nil || !strings.Contains(*job.Error, "acme/handbook") {
		t.Errorf("without access the job is %+v", job)
	}
}
