package audit_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/privacy"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/auditentry"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/audit"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A fixture is a workspace with its owner and a collection.
type fixture struct {
	t          *testing.T
	urls       *testkit.DB
	db         *store.DB
	workspace  uuid.UUID
	person     *ent.User
	collection *ent.Collection
	as         context.Context // of the owner
	system     context.Context // of Magpie itself
}

func must[T any](t *testing.T) func(T, error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	h := &fixture{t: t, urls: testkit.Database(t)}
	h.db = must[*store.DB](t)(store.Open(t.Context(), h.urls.AppURL, 4))
	t.Cleanup(h.db.Close)
	h.workspace, h.person, h.collection, h.as = h.tenant("ada")
	h.system = viewer.With(t.Context(), viewer.System(h.workspace))
	return h
}

func (h *fixture) tenant(name string) (uuid.UUID, *ent.User, *ent.Collection, context.Context) {
	t, c := h.t, h.db.Ent
	all := viewer.With(t.Context(), viewer.System(uuid.Nil))
	w := must[*ent.Workspace](t)(c.Workspace.Create().SetName(name).Save(all))
	u := must[*ent.User](t)(c.User.Create().SetEmail(name + "@example.com").Save(all))
	must[*ent.Membership](t)(c.Membership.Create().SetWorkspaceID(w.ID).SetUserID(u.ID).SetRole(membership.RoleOwner).Save(all))
	inside := viewer.With(t.Context(), viewer.System(w.ID))
	col := must[*ent.Collection](t)(c.Collection.Create().SetName("Docs").SetEmbeddingModel("m").Save(inside))
	return w.ID, u, col, viewer.With(t.Context(), viewer.Viewer{
		Workspace: w.ID, Subject: u.ID, Session: uuid.New(), Kind: viewer.KindSession, Role: viewer.RoleOwner, AllCollections: true, Email: u.Email,
	})
}

// entries returns the entries of the workspace, the oldest first.
func (h *fixture) entries() []*ent.AuditEntry {
	h.t.Helper()
	return must[[]*ent.AuditEntry](h.t)(h.db.Ent.AuditEntry.Query().Order(auditentry.ByCreatedAt(), auditentry.ByID()).All(h.system))
}

func (h *fixture) actions() []string {
	h.t.Helper()
	var out []string
	for _, e := range h.entries() {
		out = append(out, e.Action)
	}
	return out
}

func TestChangesByMagpieItselfHaveNoEntries(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	connector := must[*ent.Connector](t)(h.db.Ent.Connector.Create().SetName("x").SetType("s3").SetCollectionID(h.collection.ID).Save(h.system))
	if err := connector.Update().SetName("y").SetLastSync(time.Now()).Exec(h.system); err != nil {
		t.Fatal(err)
	}
	// Bookkeeping has no entry either, although a person caused it.
	ctx, counted := store.Counting(h.as)
	if err := h.db.Ent.Connector.UpdateOneID(connector.ID).SetNextSyncAt(time.Now()).Exec(ctx); err != nil {
		t.Fatal(err)
	}
	if counted.Statements() > 6 {
		t.Errorf("bookkeeping costs %d statements", counted.Statements())
	}
	if got := h.actions(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestWorkOnBehalfOfAPersonIsAttributedToThem(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	elevated := viewer.With(h.as, viewer.System(h.workspace))
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetName("Renamed").Exec(elevated); err != nil {
		t.Fatal(err)
	}
	shell := viewer.With(viewer.WithCommandActor(t.Context(), "root"), viewer.System(h.workspace))
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetName("Again").Exec(shell); err != nil {
		t.Fatal(err)
	}
	got := h.entries()
	if len(got) != 2 || got[0].ActorName != "ada@example.com" || got[0].ActorKind != auditentry.ActorKindPerson || *got[0].ActorID != h.person.ID ||
		got[1].ActorKind != auditentry.ActorKindCommand || got[1].ActorName != "root" || got[1].ActorID != nil {
		t.Errorf("%+v", got)
	}
}

func TestAChangeAndItsEntryCommitTogether(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	tx := must[*ent.Tx](t)(h.db.Ent.Tx(h.as))
	if err := tx.Collection.UpdateOneID(h.collection.ID).SetName("Undone").Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if n := must[int](t)(tx.AuditEntry.Query().Count(h.as)); n != 1 {
		t.Errorf("inside there are %d entries", n)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	// Outside of a transaction a change fails if its entry cannot be written.
	admin := must[*pgx.Conn](t)(pgx.Connect(t.Context(), h.urls.AdminURL))
	defer func() { _ = admin.Close(t.Context()) }()
	if _, err := admin.Exec(t.Context(), "revoke insert on audit_entries from magpie_app"); err != nil {
		t.Fatal(err)
	}
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetName("Unseen").Exec(h.as); err == nil {
		t.Error("a change was made without its entry")
	}
	if err := h.db.Ent.Collection.Create().SetName("Unseen").SetEmbeddingModel("m").Exec(h.as); err == nil {
		t.Error("a collection was made without its entry")
	}
	if err := h.db.Ent.Collection.DeleteOneID(h.collection.ID).Exec(h.as); err == nil {
		t.Error("a collection was deleted without its entry")
	}
	rows := must[[]*ent.Collection](t)(h.db.Ent.Collection.Query().All(h.as))
	if len(rows) != 1 || rows[0].Name != "Docs" || len(h.actions()) != 0 {
		t.Errorf("%+v, %v", rows, h.actions())
	}
}

func TestEntriesContainNoSecrets(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.db.Ent
	key := must[*ent.APIKey](t)(c.APIKey.Create().SetName("Site").SetPublishableHash([]byte("sesame-1")).SetSecretHash([]byte("sesame-2")).
		SetPublishableHint("svc_pk_sesame").SetSecretHint("svc_sk_sesame").SetWidgetContext(strings.Repeat("context ", 1000)).Save(h.as))
	connector := must[*ent.Connector](t)(c.Connector.Create().SetName("Bucket").SetType("s3").SetCollectionID(h.collection.ID).SetCredentials([]byte("sesame-3")).
		SetConfig(map[string]any{"bucket": "docs", "token": "sesame-4", "endpoint": "https://me:sesame-5@example.com/x", "deep": map[string]any{"password": "sesame-6"}}).Save(h.as))
	if err := connector.Update().SetCredentials([]byte("sesame-7")).SetConfig(map[string]any{"bucket": "other", "token": "sesame-8"}).Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if err := c.User.UpdateOne(h.person).SetPasswordHash("sesame-9").Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if err := key.Update().SetRevokedAt(time.Now()).SetSecretHash([]byte("sesame-0")).Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if got, want := h.actions(), []string{"api_key.create", "connector.create", "connector.update", "person.password", "api_key.revoke"}; !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, e := range h.entries() {
		text, err := json.Marshal(e)
		if err != nil || strings.Contains(string(text), "sesame") || strings.Contains(string(text), "c2VzYW1l") || strings.Contains(string(text), `\\x`) {
			t.Errorf("%s: %s %v", e.Action, text, err)
		}
		if len(text) > 4000 {
			t.Errorf("%s has %d bytes", e.Action, len(text))
		}
		if e.Action == "connector.update" {
			fields := map[string]map[string]any{}
			for _, change := range e.Changes {
				fields[change["field"].(string)] = change
			}
			if f := fields["config.bucket"]; f["old"] != "docs" || f["new"] != "other" {
				t.Errorf("the bucket: %v", fields)
			}
			for _, hidden := range []string{"credentials", "config.token"} {
				if fields[hidden]["hidden"] != true {
					t.Errorf("%s: %v", hidden, fields)
				}
			}
		}
	}
}

func TestEntriesCannotBeChangedOrDeleted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetName("Renamed").Exec(h.as); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{
		"update audit_entries set action = 'nothing'", "delete from audit_entries", "truncate audit_entries", "drop table audit_entries",
		"alter table audit_entries disable trigger all", "select magpie_forget_audit(now(), 1000)", "select magpie_forget_audit(now() + interval '1 day', 1000)",
	} {
		if _, err := h.db.Pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s: it was done", statement)
		}
	}
	everybody := viewer.With(t.Context(), viewer.System(uuid.Nil))
	for name, try := range map[string]func() error{
		"made": func() error {
			return h.db.Ent.AuditEntry.Create().SetAction("x").SetTargetKind("x").SetActorKind("PERSON").SetChanges(nil).SetWorkspaceID(h.workspace).Exec(everybody)
		},
		"deleted": func() error { _, err := h.db.Ent.AuditEntry.Delete().Exec(everybody); return err },
	} {
		if err := try(); !errors.Is(err, privacy.Deny) {
			t.Errorf("an entry was %s by way of ent: %v", name, err)
		}
	}
	if got := h.actions(); !slices.Equal(got, []string{"collection.update"}) {
		t.Errorf("%v", got)
	}
}

func TestOnlyAdminsOfTheWorkspaceReadEntries(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	_, _, _, eve := h.tenant("eve")
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetName("Renamed").Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if n := must[int](t)(h.db.Ent.AuditEntry.Query().Count(eve)); n != 0 {
		t.Errorf("another workspace's owner sees %d", n)
	}
	v, _ := viewer.From(h.as)
	for _, role := range []viewer.Role{viewer.RoleViewer, viewer.RoleEditor, ""} {
		v.Role = role
		if n, err := h.db.Ent.AuditEntry.Query().Count(viewer.With(t.Context(), v)); !errors.Is(err, privacy.Deny) {
			t.Errorf("the role %q sees %d, %v", role, n, err)
		}
	}
	v.Role, v.Kind = "", viewer.KindKey
	if n, err := h.db.Ent.AuditEntry.Query().Count(viewer.With(t.Context(), v)); !errors.Is(err, privacy.Deny) {
		t.Errorf("a key sees %d, %v", n, err)
	}
}

func TestOldEntriesAndThoseOfDeletedWorkspacesAreDeleted(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	admin := must[*pgx.Conn](t)(pgx.Connect(t.Context(), h.urls.AdminURL))
	defer func() { _ = admin.Close(t.Context()) }()
	_, err := admin.Exec(t.Context(), `insert into audit_entries (id, workspace_id, created_at, actor_kind, action, target_kind, changes)
		select gen_random_uuid(), $1, now() - n * interval '1 hour', 'PERSON', 'collection.update', 'collection', '[]' from generate_series(1, 12000) n`, h.workspace)
	if err != nil {
		t.Fatal(err)
	}
	n, err := audit.Sweep(t.Context(), h.db.Ent, time.Now().Add(-48*time.Hour))
	if err != nil || n < 11_951 || n > 11_953 {
		t.Errorf("%d went, %v", n, err)
	}
	trims := must[[]*ent.AuditEntry](t)(h.db.Ent.AuditEntry.Query().Where(auditentry.Action("audit_log.trim")).All(h.system))
	total := 0.0
	for _, e := range trims {
		total += e.Changes[0]["old"].(float64)
	}
	if len(trims) != 3 || int(total) != n || trims[0].ActorKind != auditentry.ActorKindSystem {
		t.Errorf("%d entries say that %v went", len(trims), total)
	}
	if again, err := audit.Sweep(t.Context(), h.db.Ent, time.Now().Add(-48*time.Hour)); err != nil || again > 1 {
		t.Errorf("again %d went, %v", again, err)
	}
	everybody := viewer.With(t.Context(), viewer.System(uuid.Nil))
	if err := h.db.Ent.Workspace.DeleteOneID(h.workspace).Exec(viewer.With(h.as, viewer.System(uuid.Nil))); err != nil {
		t.Fatal(err)
	}
	if n := must[int](t)(h.db.Ent.AuditEntry.Query().Where(auditentry.WorkspaceID(h.workspace)).Count(everybody)); n != 0 {
		t.Errorf("%d entries of a deleted workspace are left", n)
	}
}

func TestAChangeOfManyRowsIsWrittenRowByRow(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	for range 20 {
		must[*ent.Collection](t)(h.db.Ent.Collection.Create().SetName("Docs").SetEmbeddingModel("m").Save(h.system))
	}
	ctx, counted := store.Counting(h.as)
	n, err := h.db.Ent.Collection.Update().SetDescription("new").Save(ctx)
	if err != nil || n != 21 {
		t.Fatal(n, err)
	}
	if got := h.actions(); len(got) != 21 || counted.Statements() > 8 {
		t.Errorf("%d entries, %d statements", len(got), counted.Statements())
	}
	if n, err := h.db.Ent.Collection.Update().SetDescription("new").Save(h.as); err != nil || n != 21 || len(h.actions()) != 21 {
		t.Errorf("what changes nothing leaves %d entries, %v", len(h.actions())-21, err)
	}
	if err := h.db.Ent.Collection.UpdateOneID(uuid.New()).SetName("x").Exec(h.as); !ent.IsNotFound(err) {
		t.Errorf("a row that is not there: %v", err)
	}
}

func TestATombstoneIsRecordedAsTheDeletion(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	create := h.db.Ent.Connector.Create().SetName("Bucket").SetType("s3").SetCollectionID(h.collection.ID).SetConfig(map[string]any{"bucket": "docs"})
	connector := must[*ent.Connector](t)(create.Save(h.system))
	if err := h.db.Ent.Connector.Update().SetDeletingAt(time.Now()).Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if err := h.db.Ent.Collection.UpdateOneID(h.collection.ID).SetDeletingAt(time.Now()).Exec(h.as); err != nil {
		t.Fatal(err)
	}
	got := h.entries()
	if len(got) != 2 || got[0].Action != "connector.delete" || got[1].Action != "collection.delete" {
		t.Fatalf("%v", h.actions())
	}
	if *got[0].TargetID != connector.ID || got[0].TargetName != "Bucket" || *got[1].TargetID != h.collection.ID || got[1].TargetName != "Docs" {
		t.Errorf("%+v\n%+v", got[0], got[1])
	}
	was := map[any]any{}
	for _, c := range got[0].Changes {
		if was[c["field"]] = c["old"]; c["new"] != nil {
			t.Errorf("%v is left", c)
		}
	}
	if _, named := was["deleting_at"]; named || was["name"] != "Bucket" || was["config.bucket"] != "docs" {
		t.Errorf("what was deleted: %v", was)
	}
	// A second tombstone and the deletion of the row have no entries.
	if err := h.db.Ent.Connector.Update().SetDeletingAt(time.Now().Add(time.Hour)).Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Ent.Connector.Delete().Exec(h.as); err != nil {
		t.Fatal(err)
	}
	if _, err := h.db.Ent.Collection.Delete().Exec(h.system); err != nil {
		t.Fatal(err)
	}
	if left := must[int](t)(h.db.Ent.Connector.Query().Count(h.system)); left != 0 || len(h.actions()) != 2 {
		t.Errorf("%v, and %d connectors are left", h.actions(), left)
	}
}

func TestDecisionsAboutDocumentsAndInvitationsHaveActionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	c := h.db.Ent
	connector := must[*ent.Connector](t)(c.Connector.Create().SetName("x").SetType("s3").SetCollectionID(h.collection.ID).Save(h.system))
	job := must[*ent.SyncJob](t)(c.SyncJob.Create().SetConnectorID(connector.ID).Save(h.system))
	item := must[*ent.SyncItem](t)(c.SyncItem.Create().SetConnectorID(connector.ID).SetJobID(job.ID).SetSourceID("a.md").SetPath("a.md").SetStatus("FAILED").Save(h.system))
	for _, out := range []bool{true, false} {
		if err := item.Update().SetSuppressed(out).Exec(h.as); err != nil {
			t.Fatal(err)
		}
	}
	invited := must[*ent.Invitation](t)(c.Invitation.Create().SetEmail("bob@example.com").SetRole("VIEWER").
		SetTokenHash([]byte("sesame")).SetExpiresAt(time.Now().Add(time.Hour)).Save(h.as))
	for _, err := range []error{
		invited.Update().SetTokenHash([]byte("sesame 2")).SetSentAt(time.Now().Add(time.Minute)).Exec(h.as), invited.Update().SetRevokedAt(time.Now()).Exec(h.as),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"document.delete", "document.allow", "invitation.create", "invitation.resend", "invitation.revoke"}
	got := h.entries()
	if !slices.Equal(h.actions(), want) || got[0].TargetName != "a.md" || got[4].TargetName != "bob@example.com" {
		t.Errorf("%v", h.actions())
	}
	for _, e := range got {
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), "token_hash") || strings.Contains(string(text), "c2VzYW1l") {
			t.Errorf("%s %v", text, err)
		}
	}
}

func TestAnEntryHasTheNameThatTheKeyHadThen(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	key := must[*ent.APIKey](t)(h.db.Ent.APIKey.Create().SetName("Site").SetPublishableHash([]byte("p")).SetSecretHash([]byte("s")).
		SetPublishableHint("p").SetSecretHint("s").Save(h.system))
	record := func(ctx context.Context, e audit.Event) error {
		return audit.Record(ctx, func(ctx context.Context, query string, arguments ...any) error {
			_, err := h.db.Pool.Exec(ctx, query, arguments...)
			return err
		}, e)
	}
	asKey := viewer.With(t.Context(), viewer.Viewer{Workspace: h.workspace, Subject: key.ID, Kind: viewer.KindKey, Secret: true})
	event := audit.Event{Action: "connector.test", TargetKind: "connector", TargetName: "a\x00b" + strings.Repeat("x", 500)}
	for _, ctx := range []context.Context{asKey, h.system} { // Magpie itself has no entries
		if err := record(ctx, event); err != nil {
			t.Fatal(err)
		}
	}
	if err := key.Update().SetName("Renamed").Exec(h.system); err != nil {
		t.Fatal(err)
	}
	got := h.entries()
	if len(got) != 1 || got[0].ActorKind != auditentry.ActorKindKey || got[0].ActorName != "Site" || *got[0].ActorID != key.ID || len(got[0].TargetName) > 300 {
		t.Errorf("%+v", got)
	}
	if err := record(viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindAnonymous}), event); err == nil {
		t.Error("an event of no workspace was taken")
	}
}
