package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/hubspot"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/hubspotserver"
)

// newHubSpotFixture returns a fixture with a connector of an account, and the account.
func newHubSpotFixture(t *testing.T) (*fixture, *hubspotserver.Server) {
	t.Helper()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	server := hubspotserver.New()
	t.Cleanup(server.Close)
	kind := hubspot.Kind(httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).DialContext)
	kind.RateLimit = connectors.RateLimit{}
	var err error
	f.registry, err = connectors.NewRegistry(kind)
	f.must(err)
	f.row = f.connector("hubspot", map[string]any{"apiUrl": server.URL})
	sealed, err := f.box.Seal([]byte(`{"accessToken":"`+server.Token+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, server
}

func TestHubSpotIsSynced(t *testing.T) {
	t.Parallel()
	f, server := newHubSpotFixture(t)
	company := server.Add("companies", hubspotserver.Record{Properties: map[string]string{"name": "Walrus Ltd"}})
	deal := server.Add("deals", hubspotserver.Record{Properties: map[string]string{"dealname": "Nine lamps"}})
	server.Associate("deals", deal, "companies", company)
	note := server.Add("notes", hubspotserver.Record{Properties: map[string]string{"hs_note_body": "<p>They want <b>lamps</b>.</p>"}})
	ticket := server.Add("tickets", hubspotserver.Record{Properties: map[string]string{"subject": "The lamp flickers"}})
	server.Advance(time.Hour)
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 4 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	f.clock.advance(time.Hour)
	server.Change("deals", deal, func(r *hubspotserver.Record) { r.Properties["dealname"] = "Ten lamps" })
	server.Archive("notes", note)
	server.Revoke("tickets")
	server.Advance(time.Hour)
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 1 {
		t.Errorf("the second job is %+v", job)
	}
	found, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Title("Ten lamps")).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, found.ID)
	f.must(err)
	if !strings.HasPrefix(found.Path, "Deals/Ten lamps-") || !strings.Contains(content, "Walrus Ltd") {
		t.Errorf("the deal is %+v: %q", found, content)
	}
	// What the token may no longer read is kept, and a merged record is found to be gone.
	server.Remove("companies", company)
	server.Advance(time.Hour)
	if job = f.sync(full()); job.Status != entjob.StatusCompleted || job.Deleted != 1 {
		t.Errorf("the complete job is %+v", job)
	}
	server.Grant("tickets")
	server.Remove("tickets", ticket)
	if job = f.sync(full()); job.Status != entjob.StatusCompleted || job.Deleted != 1 {
		t.Errorf("the last job is %+v", job)
	}
}

// TestHubSpotNeedsFewRequests logs the requests and the time of syncs of 1,000 records.
func TestHubSpotNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f, server := newHubSpotFixture(t)
	company := server.Add("companies", hubspotserver.Record{Properties: map[string]string{"name": "Walrus Ltd"}})
	var ids []string
	for n := range 999 {
		id := server.Add("contacts", hubspotserver.Record{Properties: map[string]string{"firstname": fmt.Sprint("Person ", n)}})
		server.Associate("contacts", id, "companies", company)
		ids = append(ids, id)
	}
	server.Advance(time.Hour)
	f.work()
	for _, c := range []struct {
		name     string
		prepare  func()
		want     syncjob.Counters
		requests int
	}{
		{"first", func() {}, syncjob.Counters{Added: 1000}, 50},
		{"unchanged", func() {}, syncjob.Counters{}, 18},
		{"1 changed", func() {
			server.Change("contacts", ids[500], func(r *hubspotserver.Record) { r.Properties["firstname"] = "Another" })
		}, syncjob.Counters{Modified: 1}, 22},
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
