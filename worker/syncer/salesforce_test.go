package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/salesforce"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/salesforceserver"
)

// newSalesforceFixture returns a fixture with a connector of an organization.
func newSalesforceFixture(t *testing.T, config map[string]any) (*fixture, *salesforceserver.Server) {
	t.Helper()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	org := salesforceserver.New()
	t.Cleanup(org.Close)
	guard := httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")})
	var err error
	f.registry, err = connectors.NewRegistry(salesforce.Kind(guard.DialContext))
	f.must(err)
	config["instanceUrl"] = org.URL
	f.row = f.connector("salesforce", config)
	sealed, err := f.box.Seal([]byte(`{"clientId":"`+salesforceserver.ClientID+`","clientSecret":"`+salesforceserver.ClientSecret+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, org
}

func TestSalesforceIsSynced(t *testing.T) {
	t.Parallel()
	f, org := newSalesforceFixture(t, map[string]any{"include_permissions": true, "includeFiles": true})
	ada := org.AddUser("ada@example.com", "")
	org.AddPermissionSet([]string{org.Reader, ada}, "Account", "Case", "Lead")
	org.SetDefault("Case", "Private", "Private")
	account := org.Add("Account", salesforceserver.Row{"Name": "Acme", "Description": "The walrus buys bolts."})
	ticket := org.Add("Case", salesforceserver.Row{"Subject": "Leak", "OwnerId": ada})
	for n := range 4 {
		org.Add("Lead", salesforceserver.Row{"Name": fmt.Sprint("Lead ", n)})
	}
	gone := org.Add("Case", salesforceserver.Row{"Subject": "Old", "OwnerId": ada})
	org.AddFile("plan.txt", []byte("The plan of the narwhal"), account)
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 8 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	path := func(id string) string {
		row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.SourceID(id)).Only(f.ctx)
		f.must(err)
		return row.Path
	}
	if got := f.readers(path("Account/" + account)); got != "group:Account:all group:Account:viewall" {
		t.Errorf("the readers of the account are %q", got)
	}
	if got := f.readers(path("Case/" + ticket)); got != "group:Case:user/"+ada+" group:Case:viewall" {
		t.Errorf("the readers of the case are %q", got)
	}
	f.clock.advance(time.Hour)
	org.Advance(time.Hour)
	org.Add("CaseComment", salesforceserver.Row{"ParentId": ticket, "CommentBody": "It was mended."})
	org.Remove(gone)
	org.Remove(account) // and its file with it
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 3 {
		t.Errorf("the second job is %+v", job)
	}
	row, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.SourceID("Case/"+ticket)).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, row.ID)
	f.must(err)
	if !strings.Contains(content, "It was mended") {
		t.Errorf("the case is %q", content)
	}
	// Without access to the object nothing is deleted.
	f.clock.advance(time.Hour)
	org.Advance(time.Hour)
	org.Alter("Case", func(o *salesforceserver.Object) { o.Hidden = true })
	if job = f.sync(syncjob.StartOptions{}); job.Deleted != 0 {
		t.Errorf("the last job is %+v", job)
	}
}

// TestSalesforceNeedsFewRequests logs the requests and the time of syncs of 1,000
// records.
func TestSalesforceNeedsFewRequests(t *testing.T) {
	t.Parallel()
	for name, config := range map[string]map[string]any{"records": {}, "with permissions": {"include_permissions": true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, org := newSalesforceFixture(t, config)
			org.AddPermissionSet([]string{org.Reader}, "Account", "Case", "Contact", "Opportunity", "Lead", "Knowledge__kav")
			var ids []string
			for n := range 1000 {
				ids = append(ids, org.Add("Case", salesforceserver.Row{"Subject": fmt.Sprint("Case ", n), "Description": fmt.Sprint("Text of the case ", n)}))
			}
			org.Advance(time.Hour)
			f.work()
			for _, c := range []struct {
				name     string
				prepare  func()
				want     syncjob.Counters
				requests int
			}{
				{"first", func() {}, syncjob.Counters{Collected: 1000, Added: 1000}, 40},
				{"unchanged", func() {}, syncjob.Counters{}, 8},
				{"1 changed", func() { org.Change(ids[500], salesforceserver.Row{"Description": "Another text"}) }, syncjob.Counters{Modified: 1}, 12},
			} {
				f.clock.advance(time.Hour)
				org.Advance(time.Hour)
				c.prepare()
				before, start := org.Requests(""), time.Now()
				job := f.sync(syncjob.StartOptions{})
				requests := org.Requests("") - before
				t.Logf("%s: %d requests, %.1f s", c.name, requests, time.Since(start).Seconds())
				if job.Status != entjob.StatusCompleted || job.Added != c.want.Added || job.Modified != c.want.Modified || job.Deleted+job.Failed != 0 || requests > c.requests {
					t.Errorf("%s: %d requests, the job is %+v", c.name, requests, job)
				}
			}
		})
	}
}
