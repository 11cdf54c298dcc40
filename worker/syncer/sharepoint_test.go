package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/sharepoint"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/sharepointserver"
)

// newSharePointFixture returns a fixture with a connector of a site, the server, and
// the ids of the site and its library.
func newSharePointFixture(t *testing.T, config map[string]any) (f *fixture, server *sharepointserver.Server, site, drive string) {
	t.Helper()
	f = newFixture(t)
	f.options.States = state.New(f.db.Pool)
	server = sharepointserver.New()
	t.Cleanup(server.Close)
	server.AddApp(sharepointserver.App{ClientID: "app", Secret: "the-secret", Rights: map[string]bool{"Sites.FullControl.All": true, "GroupMember.Read.All": true}})
	site, drive = server.AddSite("sites/eng", "Engineering")
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(sharepoint.Kind(guard.DialContext))
	f.must(err)
	config["graphUrl"], config["authUrl"] = server.URL, server.URL
	if config["sites"] == nil {
		config["siteUrl"] = server.URL + "/sites/eng"
	}
	f.row = f.connector("sharepoint", config)
	sealed, err := f.box.Seal([]byte(`{"tenantId":"`+sharepointserver.Tenant+`","clientId":"app","clientSecret":"the-secret"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, server, site, drive
}

func TestSharePointIsSynced(t *testing.T) {
	t.Parallel()
	f, server, site, drive := newSharePointFixture(t, map[string]any{"include_permissions": true})
	ada := server.AddUser(sharepointserver.User{DisplayName: "Ada", Mail: "ada@acme.example"})
	staff := server.AddGroup("staff", ada.ID)
	server.ShareDrive(drive, sharepointserver.ToGroup(staff))
	for _, name := range []string{"rota.md", "plans/2026.md", "plans/old/2025.md", "gone.md", "trash/a.md"} {
		server.Put(drive, name, []byte("# The walrus of "+name))
	}
	server.Put(drive, "Notebook", []byte("x"))
	server.Change(drive, "Notebook", map[string]any{"file": nil, "package": map[string]any{"type": "oneNote"}})
	server.Share(drive, "rota.md", sharepointserver.ToUser(ada))
	server.PutPage(site, sharepointserver.Page{Name: "Home.aspx", Title: "Welcome", Text: "<p>A page about seals.</p>"})
	server.SharePage(site, "Home.aspx", sharepointserver.ToUser(ada))
	f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 7, Added: 6, Skipped: 1})
	const in = "sites/eng/Documents/"
	f.expectReaders(map[string]string{in + "rota.md": "user:ada@acme.example", in + "plans/2026.md": "group:" + staff.ID, "sites/eng/Site Pages/Home.aspx": "user:ada@acme.example"})
	if text := f.text("sites/eng/Site Pages/Home.aspx"); !strings.Contains(text, "A page about seals.") {
		t.Errorf("the page says %q", text)
	}
	f.clock.advance(time.Hour)
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})

	// The feed: a change, a moved and a deleted folder, permissions of a folder.
	server.Put(drive, "rota.md", []byte("# The walrus woke up."))
	server.Move(drive, "plans", "archive/plans")
	server.Delete(drive, "trash")
	server.Delete(drive, "gone.md")
	f.clock.advance(time.Hour)
	job := f.sync(auto())
	if job.Status != entjob.StatusCompleted || job.Deleted != 2 || job.Failed != 0 {
		t.Errorf("the third job is %+v", job)
	}
	documents := f.documents()
	for _, path := range []string{"rota.md", "archive/plans/2026.md", "archive/plans/old/2025.md"} {
		if documents[in+path] == nil {
			t.Errorf("there is no %s", path)
		}
	}
	if f.live() != 4 || !strings.Contains(f.text(in+"rota.md"), "woke up") {
		t.Errorf("%d documents; the rota says %q", f.live(), f.text(in+"rota.md"))
	}
	server.Share(drive, "archive", sharepointserver.ToUser(ada))
	f.clock.advance(time.Hour)
	if job = f.sync(auto()); job.Status != entjob.StatusCompleted {
		t.Errorf("the fourth job is %+v", job)
	}
	f.expectReaders(map[string]string{in + "archive/plans/2026.md": "user:ada@acme.example", in + "archive/plans/old/2025.md": "user:ada@acme.example"})

	// An expired delta is a walk.
	server.ExpireDeltas()
	server.Put(drive, "new.md", []byte("# New"))
	f.clock.advance(time.Hour)
	if job = f.sync(auto()); job.Status != entjob.StatusCompleted || job.Added != 1 || job.Deleted != 0 {
		t.Errorf("after the expiry the job is %+v", job)
	}
	// A revoked app deletes nothing.
	server.ChangeApp("app", func(app *sharepointserver.App) { app.Disabled = true })
	f.clock.advance(time.Hour)
	if job = f.sync(auto()); job.Status != entjob.StatusFailed || job.Deleted != 0 || f.live() != 5 {
		t.Errorf("the last job is %+v", job)
	}
}

// A locked site loses no document, by the feed or by a walk.
func TestALockedSiteKeepsItsDocuments(t *testing.T) {
	t.Parallel()
	f, server, _, drive := newSharePointFixture(t, map[string]any{"sites": []any{}, "includePages": false})
	sales, other := server.AddSite("sites/sales", "Sales")
	server.Put(drive, "a.md", []byte("# A"))
	for n := range 5 {
		server.Put(other, fmt.Sprintf("%d.md", n), []byte("# B"))
	}
	f.work()
	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{Collected: 6, Added: 6})
	server.ChangeSite(sales, func(site *sharepointserver.Site) { site.Locked = 423 })
	for _, o := range []syncjob.StartOptions{auto(), {Mode: entjob.ModeFull}} {
		f.clock.advance(time.Hour)
		job := f.sync(o)
		if job.Status != entjob.StatusCompleted || job.Deleted != 0 || f.live() != 6 || !strings.Contains(fmt.Sprint(job.Warnings), "sites/sales") {
			t.Errorf("the job is %+v, %d documents, warnings %q", job, f.live(), job.Warnings)
		}
	}
	server.ChangeSite(sales, func(site *sharepointserver.Site) { site.Locked = 0 })
	server.Delete(other, "0.md")
	f.clock.advance(time.Hour)
	if job := f.sync(auto()); job.Status != entjob.StatusCompleted || job.Deleted != 1 || f.live() != 5 {
		t.Errorf("after the lock the job is %+v, %d documents", job, f.live())
	}
}

// TestSharePointNeedsFewRequests logs the requests and the time of syncs of 1,000
// files.
func TestSharePointNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f, server, _, drive := newSharePointFixture(t, map[string]any{})
	for n := range 1000 {
		server.Put(drive, fmt.Sprintf("folder %d/%d.md", n%20, n), fmt.Appendf(nil, "# File %d", n))
	}
	f.work()
	for _, c := range []struct {
		name     string
		prepare  func()
		want     syncjob.Counters
		requests int
	}{
		{"first", func() {}, syncjob.Counters{Collected: 1000, Added: 1000}, 1030},
		{"unchanged", func() {}, syncjob.Counters{}, 6},
		{"1 changed", func() { server.Put(drive, "folder 7/7.md", []byte("# Another text")) }, syncjob.Counters{Collected: 1, Modified: 1}, 6},
	} {
		f.clock.advance(time.Hour)
		c.prepare()
		server.Requests()
		start := time.Now()
		f.expect(f.sync(auto()), entjob.StatusCompleted, c.want)
		requests := server.Requests()
		t.Logf("%s: %d requests, %.1f s", c.name, len(requests), time.Since(start).Seconds())
		if len(requests) > c.requests {
			t.Errorf("%s: %d requests, want %d at most: %q", c.name, len(requests), c.requests, requests[:min(len(requests), 20)])
		}
	}
}
