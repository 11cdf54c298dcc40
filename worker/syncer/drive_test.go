package syncer_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/googledrive"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/driveserver"
)

// driveConnector makes a connector for a server, whose service account acts for ada.
func (f *fixture) driveConnector(server *driveserver.Server, config map[string]any) {
	f.Helper()
	f.options.States = state.New(f.db.Pool)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(googledrive.Kind(guard.DialContext))
	f.must(err)
	config["apiUrl"] = server.URL
	f.row = f.connector("google_drive", config)
	credentials, err := json.Marshal(map[string]string{"serviceAccountJson": server.ServiceAccount(strings.Fields(driveserver.Scopes)...), "adminEmail": "ada@example.com"})
	f.must(err)
	sealed, err := f.box.Seal(credentials, secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.row, err = f.row.Update().SetCredentials(sealed).Save(f.ctx)
	f.must(err)
}

func newDriveServer(t testing.TB) *driveserver.Server {
	t.Helper()
	server := driveserver.New()
	t.Cleanup(server.Close)
	server.Admins = []string{"ada@example.com"}
	server.AddUser("ada@example.com")
	return server
}

func TestADriveIsSynced(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newDriveServer(t)
	admin := driveserver.Permission{Type: "user", Role: "organizer", Email: "ada@example.com"}
	staff := driveserver.Permission{Type: "group", Email: "staff@example.com"}
	server.AddGroup("staff@example.com", driveserver.Member{Email: "bob@example.com"})
	team := server.AddDrive("Team", admin, staff)
	handbook := server.Add(driveserver.File{Name: "Handbook", Parent: team, MimeType: driveserver.Folder})
	rota := server.Add(driveserver.File{Name: "rota.md", Parent: handbook, Content: []byte("# Rota\n\nThe walrus is on call.")})
	server.Add(driveserver.File{Name: "Plan", Parent: handbook, MimeType: driveserver.Document,
		Exports: map[string][]byte{"text/markdown": []byte("# Plan\n\nThe otter plans.")}})
	gone := server.Add(driveserver.File{Name: "old.md", Parent: team, Content: []byte("Old.")})
	server.Add(driveserver.File{Name: "Survey", Parent: team, MimeType: driveserver.Form})
	mine := server.Add(driveserver.File{Name: "mine.md", Owner: "ada@example.com", Content: []byte("The heron is mine."),
		Permissions: []driveserver.Permission{{Type: "domain", Domain: "example.com", Discoverable: true}}})
	f.driveConnector(server, map[string]any{"include_permissions": true})
	f.work()

	job := f.sync(auto())
	f.expect(job, entjob.StatusCompleted, syncjob.Counters{Collected: 5, Added: 4, Skipped: 1})
	members := "group:drive:" + team
	f.expectReaders(map[string]string{"Team/Handbook/rota.md": members, "Team/Handbook/Plan.md": members, "ada@example.com/mine.md": "domain:example.com user:ada@example.com"})
	if text := f.text("Team/Handbook/Plan.md"); !strings.Contains(text, "The otter plans.") {
		t.Errorf("the plan says %q", text)
	}

	f.expect(f.sync(auto()), entjob.StatusCompleted, syncjob.Counters{})
	server.Change(rota, true, func(f *driveserver.File) { f.Content = []byte("# Rota\n\nThe badger is on call.") })
	server.Remove(gone)
	server.Change(mine, false, func(f *driveserver.File) { f.Permissions = nil })
	job = f.sync(auto())
	if job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 1 || job.Added != 0 {
		t.Errorf("after changes the job is %+v", job)
	}
	if text := f.text("Team/Handbook/rota.md"); !strings.Contains(text, "The badger") {
		t.Errorf("the rota says %q", text)
	}
	f.expectReaders(map[string]string{"ada@example.com/mine.md": "user:ada@example.com"})

	// A folder that moves and is shared takes its files with it, which are not read again.
	read := server.Requests("/export") + server.Requests("/files/"+rota)
	server.Change(handbook, false, func(f *driveserver.File) {
		f.Name, f.Permissions = "Guide", []driveserver.Permission{{Type: "user", Email: "eve@example.com"}}
	})
	if job = f.sync(auto()); job.Status != entjob.StatusCompleted || job.Deleted != 0 || job.Added != 0 {
		t.Errorf("after a move the job is %+v", job)
	}
	shared := "group:staff@example.com user:ada@example.com user:eve@example.com"
	f.expectReaders(map[string]string{"Team/Guide/rota.md": shared, "Team/Guide/Plan.md": shared})
	if again := server.Requests("/export") + server.Requests("/files/"+rota); again > read+1 { // its permissions
		t.Errorf("after a move, contents were read in %d requests", again-read)
	}
	// A position that Google has forgotten leads to a walk, which deletes nothing.
	server.ExpireChanges()
	if job = f.sync(auto()); job.Status != entjob.StatusCompleted || job.Deleted != 0 {
		t.Errorf("after the position expired the job is %+v", job)
	}
	// Neither does a drive that cannot be listed, nor a lost right.
	f.clock.advance(time.Hour)
	server.ChangeDrive(team, "Team", driveserver.Permission{Type: "user", Email: "kim@example.com"})
	if job = f.sync(syncjob.StartOptions{Mode: entjob.ModeFull}); job.Deleted != 0 || len(f.documents()) < 3 {
		t.Errorf("without access to the drive the job is %+v", job)
	}
	f.warned(job, "does not show the shared drive")
}

// The cost of syncs of 1,000 files.
func TestADriveIsSyncedWithFewRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newDriveServer(t)
	team := server.AddDrive("Team", driveserver.Permission{Type: "user", Role: "organizer", Email: "ada@example.com"})
	var last string
	for n := range 1000 {
		last = server.Add(driveserver.File{Name: fmt.Sprint(n, ".md"), Parent: team, Content: fmt.Appendf(nil, "# %d\n\nThe walrus of page %d sleeps.", n, n)})
	}
	f.driveConnector(server, map[string]any{})
	f.work()
	measure := func(what string, want syncjob.Counters, most int) {
		requests, start := server.Requests(""), time.Now()
		f.expect(f.sync(auto()), entjob.StatusCompleted, want)
		requests = server.Requests("") - requests
		t.Logf("%s: %d requests, %.1f s", what, requests, time.Since(start).Seconds())
		if requests > most {
			t.Errorf("%s: %d requests, at most %d are expected", what, requests, most)
		}
	}
	measure("first", syncjob.Counters{Collected: 1000, Added: 1000}, 1025)
	measure("unchanged", syncjob.Counters{}, 5)
	server.Change(last, true, func(f *driveserver.File) { f.Content = []byte("# New\n\nIt was changed.") })
	measure("one changed", syncjob.Counters{Collected: 1, Modified: 1}, 6)
}
