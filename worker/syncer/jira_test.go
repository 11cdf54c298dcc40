package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/jira"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/jiraserver"
)

// newJiraFixture returns a fixture with a connector of a Cloud site, and the site.
func newJiraFixture(t *testing.T, config map[string]any) (*fixture, *jiraserver.Server, jiraserver.User) {
	t.Helper()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	site := jiraserver.NewCloud()
	t.Cleanup(site.Close)
	reader := site.AddUser(jiraserver.User{Name: "reader", Email: "reader@example.com"})
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(jira.Kind(guard.DialContext))
	f.must(err)
	config["instanceUrl"] = site.URL
	f.row = f.connector("jira", config)
	sealed, err := f.box.Seal([]byte(`{"email":"`+reader.Email+`","apiToken":"`+reader.Token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, site, reader
}

func TestJiraIsSynced(t *testing.T) {
	t.Parallel()
	f, site, reader := newJiraFixture(t, map[string]any{"include_permissions": true, "includeAttachments": true})
	ada := site.AddUser(jiraserver.User{Name: "ada", Email: "ada@example.com"})
	staff := site.AddGroup("staff", reader.ID, ada.ID)
	site.AddProject(jiraserver.Project{
		Key: "ENG", Browse: []jiraserver.Holder{{Type: "group", Parameter: staff}}, Levels: map[string][]jiraserver.Holder{"7": {{Type: "user", Parameter: ada.ID}}},
	})
	rota := site.Add(jiraserver.Issue{
		Project: "ENG", Summary: "Rota", Description: site.Text("The walrus is on call."), Reporter: ada.ID,
		Files: []jiraserver.File{{Name: "rota.csv", Media: "text/csv", Data: []byte("who,when\nada,monday\n")}},
	})
	site.Add(jiraserver.Issue{Project: "ENG", Summary: "Secret", Description: site.Text("For Ada."), Level: "7"})
	gone := site.Add(jiraserver.Issue{Project: "ENG", Summary: "Old", Description: site.Text("Old.")})
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 4 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	f.expectReaders(map[string]string{"ENG/ENG-1": "group:" + staff, "ENG/ENG-1/rota.csv": "group:" + staff})
	if got := f.readers("ENG/ENG-2"); !strings.HasPrefix(got, "group:restriction:") {
		t.Errorf("the issue with a security level has the readers %q", got)
	}
	f.clock.advance(time.Hour)
	site.Advance(time.Hour)
	site.Change(rota, func(i *jiraserver.Issue) { i.Description, i.Files = site.Text("It was changed."), nil })
	site.Remove(gone)
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 2 {
		t.Errorf("the second job is %+v", job)
	}
	row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Path("ENG/ENG-1")).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, row.ID)
	f.must(err)
	if row.Title != "ENG-1: Rota" || !strings.Contains(content, "It was changed") {
		t.Errorf("the issue is %+v: %q", row, content)
	}
	// A scheme changes no issue; a permission job finds it.
	site.ChangeProject("ENG", func(p *jiraserver.Project) { p.Browse = []jiraserver.Holder{{Type: "user", Parameter: ada.ID}} })
	if job = f.sync(permissions()); job.Status != entjob.StatusCompleted {
		t.Errorf("the permission job is %+v", job)
	}
	f.expectReaders(map[string]string{"ENG/ENG-1": "user:ada@example.com", "ENG/ENG-2": "user:ada@example.com"})
	// Without access to the project nothing is deleted.
	site.ChangeProject("ENG", func(p *jiraserver.Project) { p.Invisible = true })
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusFailed || job.Deleted != 0 {
		t.Errorf("the last job is %+v", job)
	}
}

// TestJiraNeedsFewRequests logs the requests and the time of syncs of 1,000 issues.
func TestJiraNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f, site, _ := newJiraFixture(t, map[string]any{})
	site.AddProject(jiraserver.Project{Key: "ENG"})
	var ids []string
	for n := range 1000 {
		ids = append(ids, site.Add(jiraserver.Issue{Project: "ENG", Summary: fmt.Sprint("Issue ", n), Description: site.Text(fmt.Sprint("Text of the issue ", n))}))
	}
	site.Advance(time.Hour)
	f.work()
	for _, c := range []struct {
		name     string
		prepare  func()
		want     syncjob.Counters
		requests int
	}{
		{"first", func() {}, syncjob.Counters{Collected: 1000, Added: 1000}, 20},
		{"unchanged", func() {}, syncjob.Counters{}, 6},
		{"1 changed", func() {
			site.Change(ids[500], func(i *jiraserver.Issue) { i.Description = site.Text("Another text") })
		}, syncjob.Counters{Modified: 1}, 6},
	} {
		f.clock.advance(time.Hour)
		site.Advance(time.Hour)
		c.prepare()
		before, start := site.Requests(""), time.Now()
		job := f.sync(syncjob.StartOptions{})
		requests := site.Requests("") - before
		t.Logf("%s: %d requests, %.1f s", c.name, requests, time.Since(start).Seconds())
		if job.Status != entjob.StatusCompleted || job.Added != c.want.Added || job.Modified != c.want.Modified || job.Deleted+job.Failed != 0 || requests > c.requests {
			t.Errorf("%s: %d requests, the job is %+v", c.name, requests, job)
		}
	}
}
