package syncer_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/connectors/servicenow"
	"github.com/magpie-search/magpie/ent/document"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/connector/state"
	"github.com/magpie-search/magpie/internal/httpx"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit/servicenowserver"
)

// newServiceNowFixture returns a fixture with a connector of an instance, and the
// instance.
func newServiceNowFixture(t *testing.T, config map[string]any) (*fixture, *servicenowserver.Server) {
	t.Helper()
	f := newFixture(t)
	f.options.States = state.New(f.db.Pool)
	server := servicenowserver.New()
	t.Cleanup(server.Close)
	kind := servicenow.Kind(httpx.NewGuard([]netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}).DialContext)
	kind.RateLimit = connectors.RateLimit{}
	var err error
	f.registry, err = connectors.NewRegistry(kind)
	f.must(err)
	config["instanceUrl"] = server.URL
	f.row = f.connector("servicenow", config)
	sealed, err := f.box.Seal([]byte(`{"apiKey":"`+server.Key+`"}`), secret.AAD("connectors", f.row.ID.String()))
	f.must(err)
	f.must(f.row.Update().SetCredentials(sealed).Exec(f.ctx))
	return f, server
}

func TestServiceNowIsSynced(t *testing.T) {
	t.Parallel()
	f, server := newServiceNowFixture(t, map[string]any{"include_permissions": true, "includeAttachments": true, "tables": []any{"kb_knowledge"}})
	type row = servicenowserver.Row
	base := server.AddBase("IT")
	group := server.Add("sys_user_group", row{"name": "Staff"})
	ada := server.Add("sys_user", row{"email": "ada@example.com", "active": "true"})
	bob := server.Add("sys_user", row{"email": "bob@example.com", "active": "true"})
	server.Add("sys_user_grmember", row{"user": ada, "group": group})
	bobs := server.Add("sys_user_grmember", row{"user": bob, "group": group})
	staff := server.Add("user_criteria", row{"active": "true", "group": group})
	onlyAda := server.Add("user_criteria", row{"active": "true", "user": ada})
	server.Add("kb_uc_can_read_mtom", row{"kb_knowledge_base": base, "user_criteria": staff})
	rota := server.AddArticle(base, row{"number": "KB1", "short_description": "Rota", "text": "<p>The walrus is on call.</p>"})
	server.Attach("kb_knowledge", rota, "rota.csv", "text/csv", []byte("who,when\nada,monday\n"))
	server.AddArticle(base, row{"number": "KB2", "short_description": "Secret", "text": "<p>For Ada.</p>", "can_read_user_criteria": onlyAda})
	gone := server.AddArticle(base, row{"number": "KB3", "short_description": "Old", "text": "<p>Old.</p>"})
	retired := server.AddArticle(base, row{"number": "KB4", "short_description": "Older", "text": "<p>Older.</p>"})
	server.Advance(time.Hour)
	f.work()
	job := f.sync(syncjob.StartOptions{})
	if job.Status != entjob.StatusCompleted || job.Added != 5 || job.Failed != 0 {
		t.Fatalf("the first job is %+v", job)
	}
	plain, secretReaders := f.readers("kb_knowledge/KB1"), f.readers("kb_knowledge/KB2")
	if !strings.HasPrefix(plain, "group:knowledge:") || plain != f.readers("kb_knowledge/KB1/rota.csv") || plain == secretReaders {
		t.Errorf("the readers are %q and %q", plain, secretReaders)
	}
	f.clock.advance(time.Hour)
	server.Advance(time.Hour)
	server.Change("kb_knowledge", rota, row{"text": "<p>It was changed.</p>"})
	server.Remove("kb_knowledge", gone, true)
	server.Change("kb_knowledge", retired, row{"workflow_state": "retired"})
	if job = f.sync(syncjob.StartOptions{}); job.Status != entjob.StatusCompleted || job.Modified != 1 || job.Deleted != 2 {
		t.Errorf("the second job is %+v", job)
	}
	found, err := f.db.Ent.Document.Query().Where(document.ConnectorID(f.row.ID), document.Path("kb_knowledge/KB1")).Only(f.ctx)
	f.must(err)
	content, err := f.index.Content(f.ctx, f.scope, found.ID)
	f.must(err)
	if found.Title != "KB1 Rota" || !strings.Contains(content, "It was changed") {
		t.Errorf("the article is %+v: %q", found, content)
	}
	server.Remove("sys_user_grmember", bobs, false)
	if job = f.sync(permissions()); job.Status != entjob.StatusCompleted {
		t.Errorf("the permission job is %+v", job)
	}
	// Without access to the table nothing is deleted.
	server.Refuse("kb_knowledge", true)
	if job = f.sync(full()); job.Status != entjob.StatusFailed || job.Deleted != 0 {
		t.Errorf("the last job is %+v", job)
	}
}

// TestServiceNowNeedsFewRequests logs the requests and the time of syncs of 1,000 rows.
func TestServiceNowNeedsFewRequests(t *testing.T) {
	t.Parallel()
	f, server := newServiceNowFixture(t, map[string]any{})
	base := server.AddBase("IT")
	var ids []string
	for n := range 1000 {
		ids = append(ids, server.AddArticle(base, servicenowserver.Row{"short_description": fmt.Sprint("Article ", n), "text": fmt.Sprint("<p>Text of the article ", n, "</p>")}))
	}
	server.Advance(time.Hour)
	f.work()
	for _, c := range []struct {
		name     string
		prepare  func()
		want     syncjob.Counters
		requests int
	}{
		{"first", func() {}, syncjob.Counters{Added: 1000}, 20},
		{"unchanged", func() {}, syncjob.Counters{}, 9},
		{"1 changed", func() { server.Change("kb_knowledge", ids[500], servicenowserver.Row{"text": "<p>Another text</p>"}) }, syncjob.Counters{Modified: 1}, 14},
	} {
		f.clock.advance(time.Hour)
		server.Advance(time.Hour)
		c.prepare()
		before, start := server.Requests(""), time.Now()
		job := f.sync(syncjob.StartOptions{})
		requests := server.Requests("") - before
		t.Logf("%s: %d requests, %.1f s", c.name, requests, time.Since(start).Seconds())
		if job.Status != entjob.StatusCompleted || job.Added != c.want.Added || job.Modified != c.want.Modified || job.Deleted+job.Failed != 0 || requests > c.requests {
			t.Errorf("%s: %d requests, the job is %+v", c.name, requests, job)
		}
	}
}
