package syncer_test

import (
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/gitlab"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/gitlabserver"
)

// TestGitLabNeedsFewRequests logs the requests and the time of syncs of 1,000 items.
func TestGitLabNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	site := gitlabserver.New()
	t.Cleanup(site.Close)
	files, issues := map[string][]byte{}, make([]gitlabserver.Thread, 500)
	for n := range issues {
		files[fmt.Sprintf("docs/%d.md", n)] = fmt.Appendf(nil, "Text of the file %d", n)
		issues[n] = gitlabserver.Thread{Title: fmt.Sprint("Issue ", n), Text: fmt.Sprint("Text of the issue ", n)}
	}
	site.Add(&gitlabserver.Project{ID: 7, Path: "acme/handbook", Files: files, Issues: issues})
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(gitlab.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("gitlab", map[string]any{"instanceUrl": site.URL, "projects": []any{"acme/handbook"}})
	sealed, err := f.box.Seal([]byte(`{"token":"`+gitlabserver.Token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	f.work()
	for _, c := range []struct {
		name     string
		change   func(p *gitlabserver.Project)
		deliver  func() (http.Header, []byte) // nil for a sync by the feed
		want     syncjob.Counters
		requests int
	}{
		{"first", func(*gitlabserver.Project) {}, nil, syncjob.Counters{Added: 1000}, 40},
		{"unchanged", func(*gitlabserver.Project) {}, nil, syncjob.Counters{}, 7},
		{"1 issue changed", func(p *gitlabserver.Project) {
			p.Issues[3].Text, p.Issues[3].Updated = "Another text", p.Issues[499].Updated.Add(time.Hour)
		}, nil, syncjob.Counters{Modified: 1}, 7},
		{"1 file changed, 1 deleted", func(p *gitlabserver.Project) {
			p.Files["docs/3.md"] = []byte("Another text")
			delete(p.Files, "docs/4.md")
		}, nil, syncjob.Counters{Modified: 1, Deleted: 1}, 12},
		{"1 issue changed by webhook", func(p *gitlabserver.Project) {
			p.Issues[7].Text, p.Issues[7].Updated = "Another text", p.Issues[3].Updated.Add(time.Hour)
		}, func() (http.Header, []byte) { return site.IssueHook(7, 8, "") }, syncjob.Counters{Modified: 1}, 3},
		{"1 file changed, 1 deleted by webhook", func(p *gitlabserver.Project) {
			p.Files["docs/5.md"] = []byte("Another text")
			delete(p.Files, "docs/6.md")
		}, func() (http.Header, []byte) {
			return site.PushHook(7, "", nil, []string{"docs/5.md"}, []string{"docs/6.md"})
		}, syncjob.Counters{Modified: 1, Deleted: 1}, 4},
	} {
		f.clock.advance(time.Hour)
		site.Change(7, c.change)
		site.Requests()
		start := time.Now()
		options := auto()
		if c.deliver != nil {
			delivery, err := gitlab.Kind(guard.DialContext).Webhook.Parse(c.deliver())
			f.must(err)
			options = incremental(delivery.Items...)
		}
		job := f.sync(options)
		requests := len(site.Requests())
		t.Logf("%s: %d requests, %.1f s", c.name, requests, time.Since(start).Seconds())
		if job.Status != entjob.StatusCompleted || job.Added != c.want.Added || job.Modified != c.want.Modified || job.Deleted != c.want.Deleted || job.Failed != 0 || requests > c.requests {
			t.Errorf("%s: %d requests, the job is %+v", c.name, requests, job)
		}
	}
}
