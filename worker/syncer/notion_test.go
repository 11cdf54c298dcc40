package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/notion"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/notionserver"
)

// newNotionFixture returns a fixture with a connector of a workspace, and the
// workspace.
func newNotionFixture(t *testing.T, config map[string]any) (*fixture, *notionserver.Server) {
	t.Helper()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	server := notionserver.New()
	t.Cleanup(server.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	kind := notion.Kind(guard.DialContext)
	kind.RateLimit = connectors.RateLimit{}
	var err error
	f.registry, err = connectors.NewRegistry(kind)
	f.must(err)
	config["apiUrl"] = server.URL
	f.row = f.connector("notion", config)
	sealed, err := f.box.Seal([]byte(`{"integrationToken":"`+server.Token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, server
}

func TestNotionIsSynced(t *testing.T) {
	t.Parallel()
	f, server := newNotionFixture(t, map[string]any{})
	home := server.Add(notionserver.Page{Title: "Home", Text: "The walrus is on call.", Files: []notionserver.File{{Name: "rota.csv", Data: []byte("who,when\nada,monday\n")}}})
	_, tasks := server.AddDatabase("Tasks", home)
	row := server.Add(notionserver.Page{Title: "Buy", Parent: tasks, Text: "A boat."})
	gone := server.Add(notionserver.Page{Title: "Old", Parent: home, Text: "Old."})
	hidden := server.Add(notionserver.Page{Title: "Hidden", Parent: home, Text: "Not in the search."})
	server.Advance(time.Hour)
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 5 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	f.clock.advance(time.Hour)
	server.Change(row, func(p *notionserver.Page) { p.Text = "It was changed." })
	server.Change(gone, func(p *notionserver.Page) { p.Trashed = true })
	server.Set(hidden, func(p *notionserver.Page) { p.Unindexed = true })
	server.Advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 1 {
		t.Errorf("the second job is %+v", job)
	}
	found, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Title("Buy")).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, found.ID)
	f.must(err)
	if !strings.HasPrefix(found.Path, "Home/Tasks/Buy-") || !strings.Contains(content, "It was changed") {
		t.Errorf("the row is %+v: %q", found, content)
	}
	// A page that a complete walk does not list is asked for.
	if job = f.sync(full()); job.Status != entjob.StatusCompleted || job.Deleted != 0 {
		t.Errorf("the complete job is %+v", job)
	}
	server.Set(hidden, func(p *notionserver.Page) { p.Unshared = true })
	if job = f.sync(full()); job.Status != entjob.StatusCompleted || job.Deleted != 1 {
		t.Errorf("the last job is %+v", job)
	}
}

// TestNotionNeedsFewRequests logs the requests and the time of syncs of 1,000 pages.
func TestNotionNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f, server := newNotionFixture(t, map[string]any{})
	root := server.Add(notionserver.Page{Title: "Root", Text: "Root"})
	var ids []string
	for n := range 999 {
		ids = append(ids, server.Add(notionserver.Page{Title: fmt.Sprint("Page ", n), Parent: root, Text: fmt.Sprint("Text of the page ", n)}))
	}
	server.Advance(time.Hour)
	f.work()
	for _, c := range []struct {
		name     string
		prepare  func()
		want     syncjob.Counters
		requests int
	}{
		{"first", func() {}, syncjob.Counters{Added: 1000}, 2100},
		{"unchanged", func() {}, syncjob.Counters{}, 15},
		{"1 changed", func() { server.Change(ids[500], func(p *notionserver.Page) { p.Text = "Another text" }) }, syncjob.Counters{Modified: 1}, 17},
	} {
		f.clock.advance(time.Hour)
		server.Advance(time.Hour)
		c.prepare()
		server.Advance(time.Hour)
		before, start := server.Requests(""), time.Now()
		job := f.sync(syncjob.StartOptions{})
		requests := server.Requests("") - before
		t.Logf("%s: %d requests, %.1f s", c.name, requests, time.Since(start).Seconds())
		if job.Status != entjob.StatusCompleted || job.Added != c.want.Added || job.Modified != c.want.Modified || job.Deleted+job.Failed != 0 || requests > c.requests {
			t.Errorf("%s: %d requests, the job is %+v", c.name, requests, job)
		}
	}
}
