package syncer_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/confluence"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/confluenceserver"
)

func TestAWikiIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	site := confluenceserver.NewCenter(t)
	reader := site.AddUser(confluenceserver.User{Name: "reader", Email: "reader@example.com"})
	ada := site.AddUser(confluenceserver.User{Name: "ada", Email: "ada@example.com"})
	staff := site.AddGroup("staff", reader.ID, ada.ID)
	site.AddSpace(confluenceserver.Space{Key: "ENG", Groups: []string{staff}})
	home := site.Add(confluenceserver.Content{Space: "ENG", Title: "Home", Body: "<h1>Rota</h1><p>The walrus is on call.</p>", Labels: []string{"ops"}, Author: ada.ID})
	walrus := site.Add(confluenceserver.Content{Parent: home, Title: "Node.js", Body: "<p>A page that is no program.</p>", Users: []string{reader.ID, ada.ID}})
	gone := site.Add(confluenceserver.Content{Parent: home, Title: "Old", Body: "<p>Old.</p>"})
	site.Add(confluenceserver.Content{Type: "attachment", Container: home, Title: "rota.csv", Data: []byte("who,when\nada,monday\n"), Media: "text/csv"})

	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(confluence.Kind(guard.DialContext))
	f.must(err)
	f.row = f.connector("confluence", map[string]any{"instanceUrl": site.URL, "include_permissions": true})
	sealed, err := f.box.Seal([]byte(`{"personalAccessToken":"`+reader.Token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 4 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	f.expectReaders(map[string]string{"ENG/Home": "group:staff", "ENG/Home/rota.csv": "group:staff"})
	if got := f.readers("ENG/Home/Node.js.html"); !strings.HasPrefix(got, "group:restriction:") {
		t.Errorf("the restricted page has the readers %q", got)
	}
	site.Change(walrus, true, func(c *confluenceserver.Content) { c.Body = "<p>It was changed.</p>" })
	site.Remove(gone)
	f.clock.advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Modified != 1 || job.Unchanged != 2 || job.Deleted != 1 {
		t.Errorf("the second job is %+v", job)
	}
	row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Path("ENG/Home/Node.js.html")).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, row.ID)
	f.must(err)
	if row.Title != "Node.js" || !strings.Contains(content, "It was changed") {
		t.Errorf("the page is %+v: %q", row, content)
	}
	// The end of a restriction changes no page; a permission job finds it.
	site.Change(walrus, false, func(c *confluenceserver.Content) { c.Users = nil })
	if job = f.sync(permissions()); job.Status != entjob.StatusCompleted || job.Modified != 1 {
		t.Errorf("the permission job is %+v", job)
	}
	f.expectReaders(map[string]string{"ENG/Home": "group:staff", "ENG/Home/Node.js.html": "group:staff"})
	// Without access to the space nothing is deleted.
	site.ChangeSpace("ENG", func(s *confluenceserver.Space) { s.Groups = nil })
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusFailed || job.Deleted != 0 {
		t.Errorf("the last job is %+v", job)
	}
}
