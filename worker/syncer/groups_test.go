package syncer_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	entjob "github.com/magpie-search/magpie/ent/syncjob"
	"github.com/magpie-search/magpie/internal/identity/principal"
	"github.com/magpie-search/magpie/internal/index"
	"github.com/magpie-search/magpie/internal/syncjob"
	"github.com/magpie-search/magpie/internal/testkit"
)

// newPermissionFixture returns a fixture whose connector enforces permissions, and
// the groups of its source.
func newPermissionFixture(t *testing.T) (*fixture, *principal.Store) {
	t.Helper()
	f := newFixture(t)
	f.options.Window = -1
	f.row = f.connector("sharing", map[string]any{"include_permissions": true})
	groups := principal.New(f.db.Pool, principal.Options{CacheFor: time.Nanosecond})
	t.Cleanup(groups.Close)
	f.options.Groups = groups
	return f, groups
}

// groupsOf returns the groups of a person by their ids at the source.
func (f *fixture) groupsOf(groups *principal.Store, mail string) string {
	f.Helper()
	got, err := groups.Of(f.ctx, f.row.WorkspaceID, mail)
	f.must(err)
	var own []string
	for _, p := range got {
		if name, ok := strings.CutPrefix(p, "group:"+f.row.ID.String()+":"); ok {
			own = append(own, name)
		}
	}
	slices.Sort(own)
	return strings.Join(own, " ")
}

func (f *fixture) reload() *ent.Connector {
	f.Helper()
	row, err := f.db.Ent.Connector.Get(f.ctx, f.row.ID)
	f.must(err)
	return row
}

func TestAPermissionJobReadsReadersAndGroups(t *testing.T) {
	t.Parallel()
	f, groups := newPermissionFixture(t)
	f.work()
	f.script.fill(2, "v1")
	f.script.share("doc-0000.md", "group:a")
	f.script.belongs("group:a", "group:b")
	f.script.belongs("group:b", "user:Ada@example.com")
	f.sync(auto())
	f.expect(f.sync(permissions()), entjob.StatusCompleted, syncjob.Counters{Collected: 2, Unchanged: 2})
	if got := f.groupsOf(groups, "ada@example.com"); got != "a b" {
		t.Errorf("ada belongs to %q", got)
	}
	row := f.reload()
	if row.ReadersAt == nil || row.GroupsAt == nil || row.GroupsFailure != nil {
		t.Errorf("the connector is %+v", row)
	}
	// A directory that fails half way: the known groups stay, and the job has the reason.
	f.script.belongs("group:a")
	f.script.belongs("group:c", "user:ada@example.com")
	f.script.directoryFails(connectors.Fatal(errors.New("the directory is locked")))
	job := f.sync(permissions())
	if job.Status != entjob.StatusFailed || job.Error == nil || *job.Error != "the directory is locked" {
		t.Errorf("the job is %+v", job)
	}
	if got := f.groupsOf(groups, "ada@example.com"); got != "a b" {
		t.Errorf("ada belongs to %q", got)
	}
	if row := f.reload(); row.GroupsFailure == nil || *row.GroupsFailure != "the directory is locked" {
		t.Errorf("the connector is %+v", row)
	}
	f.script.directoryFails(nil)
	f.sync(permissions())
	if got := f.groupsOf(groups, "ada@example.com"); got != "b c" {
		t.Errorf("ada belongs to %q", got)
	}
	if row := f.reload(); row.GroupsFailure != nil {
		t.Errorf("the connector is %+v", row)
	}
}

func TestDueGroupsAreRefreshed(t *testing.T) {
	t.Parallel()
	f, groups := newPermissionFixture(t)
	engine := f.engine(f.jobs)
	f.script.belongs("group:a", "user:ada@example.com")
	f.must(engine.RefreshGroups(f.ctx))
	if got := f.groupsOf(groups, "ada@example.com"); got != "a" {
		t.Errorf("ada belongs to %q", got)
	}
	row := f.reload()
	if due := time.Until(*row.GroupsDueAt); due < 30*time.Minute || due > time.Hour {
		t.Errorf("the next time is in %s", due)
	}
	f.script.belongs("group:a")
	f.must(engine.RefreshGroups(f.ctx)) // not due
	if got := f.groupsOf(groups, "ada@example.com"); got != "a" {
		t.Errorf("ada belongs to %q", got)
	}
	due := func() {
		t.Helper()
		f.must(f.db.Ent.Connector.UpdateOneID(f.row.ID).ClearGroupsDueAt().Exec(f.ctx))
	}
	due()
	f.script.belongs("group:b", "user:bob@example.com")
	f.script.directoryFails(connectors.Retryable(errors.New("slow down"), 20*time.Minute))
	f.must(engine.RefreshGroups(f.ctx))
	row = f.reload()
	if row.GroupsFailure == nil || *row.GroupsFailure != "slow down" || time.Until(*row.GroupsDueAt) < 10*time.Minute {
		t.Errorf("the connector is %+v", row)
	}
	if got := f.groupsOf(groups, "ada@example.com"); got != "a" {
		t.Errorf("ada belongs to %q", got)
	}
	due()
	f.script.directoryFails(nil)
	f.must(engine.RefreshGroups(f.ctx))
	if ada, bob := f.groupsOf(groups, "ada@example.com"), f.groupsOf(groups, "bob@example.com"); ada != "" || bob != "b" {
		t.Errorf("ada belongs to %q, bob to %q", ada, bob)
	}
}

// switchPermissions changes the permissions of a connector as the graph does.
func (f *fixture) switchPermissions(config map[string]any, closed bool) {
	f.Helper()
	f.must(f.db.Ent.Connector.UpdateOneID(f.row.ID).SetConfig(config).AddPermissionsRevision(1).SetClosed(closed).Exec(f.ctx))
}

func TestSwitchingPermissionsStartsTheJobThatTakesEffect(t *testing.T) {
	t.Parallel()
	f, _ := newPermissionFixture(t)
	f.switchPermissions(map[string]any{}, false)
	f.must(f.db.Ent.Connector.UpdateOneID(f.row.ID).SetReadersRevision(1).Exec(f.ctx))
	engine := f.engine(f.jobs)
	f.worker.Permissions = engine
	stop := f.work()
	f.script.fill(3, "v1")
	f.script.share("doc-0000.md", "user:ada@example.com")
	f.script.share("doc-0001.md")
	f.sync(auto())
	f.expectReaders(map[string]string{"doc-0000.md": "everyone", "doc-0001.md": "everyone", "doc-0002.md": "everyone"})
	// A document that the source no longer has gets no readers.
	f.must(f.db.Ent.SyncItem.Update().SetSourceVersion("").Exec(f.ctx))
	_, err := f.index.Fail(f.ctx, f.scope, index.Fence{}, &index.Record{Connector: f.row.ID, Collection: f.row.CollectionID, SourceID: "gone.md", Path: "gone.md"}, "broken")
	f.must(err)
	f.switchPermissions(map[string]any{"include_permissions": true}, true)
	wait := func(what string, done func(*ent.Connector) bool) {
		t.Helper()
		testkit.WaitFor(t, what, func() bool { return done(f.reload()) })
	}
	wait("the opening", func(row *ent.Connector) bool { return !row.Closed && row.ReadersRevision == row.PermissionsRevision })
	f.expectReaders(map[string]string{"doc-0000.md": "user:ada@example.com", "doc-0001.md": "everyone", "doc-0002.md": "", "gone.md": ""})
	f.switchPermissions(map[string]any{"include_permissions": true, "permission_mode": "permissive"}, false)
	wait("the loosening", func(row *ent.Connector) bool { return row.ReadersRevision == row.PermissionsRevision })
	f.expectReaders(map[string]string{"doc-0000.md": "everyone", "doc-0001.md": "everyone", "doc-0002.md": "everyone", "gone.md": "everyone"})
	stop()
	// A job that started before the last switch does not open the connector.
	groups := f.options.Groups
	d := principal.ConnectorKey{Workspace: f.row.WorkspaceID, Connector: f.row.ID}
	f.switchPermissions(map[string]any{"include_permissions": true}, true)
	f.must(groups.BeginReaders(f.ctx, d, f.reload().PermissionsRevision-1))
	f.must(groups.FinishReaders(f.ctx, d))
	if row := f.reload(); !row.Closed || row.ReadersRevision == row.PermissionsRevision {
		t.Errorf("the connector is %+v", row)
	}
}

func TestNewGroupsAreReadSoon(t *testing.T) {
	t.Parallel()
	f, groups := newPermissionFixture(t)
	f.options.SlicePages, f.script.PageSize = 1, 1
	f.work()
	f.script.belongs("group:old", "user:ada@example.com")
	f.script.fill(3, "v1")
	for _, path := range names(0, 3) {
		f.script.share(path, "group:old")
	}
	f.sync(auto())
	reading, err := groups.Begin(f.ctx, f.scope, f.row.ID)
	f.must(err)
	f.must(reading.Add(f.ctx, []principal.Group{{Principal: "group:old", Name: "Old", Members: []string{"user:ada@example.com"}}}))
	f.must(reading.Commit(f.ctx))
	due := func() time.Time { return *f.reload().GroupsDueAt }
	usual := due()
	f.sync(full())
	if !due().Equal(usual) {
		t.Errorf("known groups are due at %v, want %v", due(), usual)
	}
	f.script.share("doc-0000.md", "group:new") // the first of three slices
	f.sync(full())
	if !due().Before(usual.Add(-30 * time.Minute)) {
		t.Errorf("a new group is due at %v, others at %v", due(), usual)
	}
}
