package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"entgo.io/ent/privacy"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/invitation"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/message"
	"github.com/magpie-search/magpie/internal/store"
	"github.com/magpie-search/magpie/internal/testkit"
	"github.com/magpie-search/magpie/internal/viewer"
)

func open(t *testing.T) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), testkit.Database(t).AppURL, 4)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	return db
}

// A tenant is a workspace with one row of everything.
type tenant struct {
	ctx       context.Context
	workspace uuid.UUID
	user      *ent.User
	ids       map[string]uuid.UUID
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func newTenant(t *testing.T, c *ent.Client, name string) *tenant {
	t.Helper()
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	workspace := must[*ent.Workspace](t)(c.Workspace.Create().SetName(name).Save(system))
	user := must[*ent.User](t)(c.User.Create().SetEmail(name + "@example.com").Save(system))
	member := must[*ent.Membership](t)(c.Membership.Create().SetWorkspaceID(workspace.ID).SetUserID(user.ID).SetRole(membership.RoleOwner).Save(system))
	session := must[*ent.Session](t)(c.Session.Create().SetWorkspaceID(workspace.ID).SetUserID(user.ID).
		SetExpiresAt(time.Now().Add(time.Hour)).Save(system))
	invitation := must[*ent.Invitation](t)(c.Invitation.Create().SetWorkspaceID(workspace.ID).SetEmail("new." + name + "@example.com").
		SetRole(invitation.RoleEditor).SetTokenHash([]byte(name)).SetExpiresAt(time.Now().Add(time.Hour)).Save(system))
	v := viewer.Viewer{Workspace: workspace.ID, Subject: user.ID, Kind: viewer.KindSession, Role: viewer.RoleOwner, AllCollections: true}
	ctx := viewer.With(t.Context(), v)
	collection := must[*ent.Collection](t)(c.Collection.Create().SetName("Docs").SetEmbeddingModel("m").Save(ctx))
	connector := must[*ent.Connector](t)(c.Connector.Create().SetName("Files").SetType("file_upload").SetCollectionID(collection.ID).Save(ctx))
	document := must[*ent.Document](t)(c.Document.Create().SetCollectionID(collection.ID).SetConnectorID(connector.ID).
		SetSourceID("a.md").SetPath("a.md").SetTitle("A").Save(ctx))
	job := must[*ent.SyncJob](t)(c.SyncJob.Create().SetConnectorID(connector.ID).Save(ctx))
	item := must[*ent.SyncItem](t)(c.SyncItem.Create().SetConnectorID(connector.ID).SetJobID(job.ID).SetSourceID("a.md").SetPath("a.md").Save(ctx))
	file := must[*ent.SourceFile](t)(c.SourceFile.Create().SetConnectorID(connector.ID).SetPath("a.md").SetBytes(1).SetSha256("0").SetBlobKey(name).Save(ctx))
	key := must[*ent.APIKey](t)(c.APIKey.Create().SetName("Key").SetPublishableHash([]byte("p" + name)).SetSecretHash([]byte("s" + name)).
		SetPublishableHint("p").SetSecretHint("s").Save(ctx))
	conversation := must[*ent.Conversation](t)(c.Conversation.Create().SetTitle("Hello").Save(ctx))
	said := must[*ent.Message](t)(c.Message.Create().SetConversationID(conversation.ID).SetRole(message.RoleUser).SetContent("Hello").Save(ctx))
	token := must[*ent.Token](t)(c.Token.Create().SetName("CI").SetUserID(user.ID).SetHash([]byte(name)).SetHint("mgp_pat_").Save(viewer.With(t.Context(), viewer.System(workspace.ID))))
	agent := must[*ent.Agent](t)(c.Agent.Create().SetName("Guide").SetSystemPrompt("Help.").Save(ctx))
	template := must[*ent.AgentTemplate](t)(c.AgentTemplate.Create().SetName("Guide").SetSystemPrompt("Help.").Save(ctx))
	memory := must[*ent.AgentMemory](t)(c.AgentMemory.Create().SetAgentID(agent.ID).SetContent("Likes tables.").SetPersonID(user.ID).Save(ctx))
	grant := must[*ent.OAuthGrant](t)(c.OAuthGrant.Create().SetProvider("google").SetPersonID(user.ID).SetTokens([]byte("sealed")).Save(ctx))
	integration := must[*ent.InboundIntegration](t)(c.InboundIntegration.Create().SetKind("EVENTS").SetProvider("github").SetName("Hooks").SetToken(name).Save(ctx))
	event := must[*ent.InboundEvent](t)(c.InboundEvent.Create().SetIntegrationID(integration.ID).SetProviderEventID("1").SetType("push").SetReceivedAt(time.Now()).Save(ctx))
	tools := must[*ent.ToolIntegration](t)(c.ToolIntegration.Create().SetKind("PACK").SetProvider("jira").SetName("Jira").SetSlug("jira").SetOwnerScope("WORKSPACE").Save(ctx))
	tool := must[*ent.IntegrationTool](t)(c.IntegrationTool.Create().SetIntegrationID(tools.ID).SetName("search").SetRisk("READ").SetPinnedHash("0").Save(ctx))
	connection := must[*ent.ToolConnection](t)(c.ToolConnection.Create().SetIntegrationID(tools.ID).SetPersonID(user.ID).SetCredentials([]byte("sealed")).Save(ctx))
	run := must[*ent.AgentRun](t)(c.AgentRun.Create().SetAgentID(agent.ID).SetConversationID(conversation.ID).SetMessage("Hi").Save(ctx))
	magpie := viewer.With(t.Context(), viewer.System(workspace.ID))
	approval := must[*ent.Approval](t)(c.Approval.Create().SetRunID(run.ID).SetAgentID(agent.ID).SetSubjectID(user.ID).SetCallID("1").SetTool("mail.send").SetRisk("SEND").
		SetTitle("Send").SetArguments("{}").SetArgumentsHash("x").SetRequestedAt(time.Now()).SetExpiresAt(time.Now()).SetNonce("n").Save(magpie))
	allowed := must[*ent.ToolGrant](t)(c.ToolGrant.Create().SetAgentID(agent.ID).SetTool("mail.send").SetScope("AGENT").SetCreatedBy(user.ID).Save(magpie))
	automation := must[*ent.Automation](t)(c.Automation.Create().SetName("Answers").SetAgentID(agent.ID).SetOwnerID(user.ID).SetInstructions("Help.").SetKind("MANUAL").Save(ctx))
	automated := must[*ent.AutomationRun](t)(c.AutomationRun.Create().SetAutomationID(automation.ID).SetDedupeKey("1").Save(ctx))
	return &tenant{ctx: ctx, workspace: workspace.ID, user: user, ids: map[string]uuid.UUID{
		"workspaces": workspace.ID, "users": user.ID, "memberships": member.ID, "sessions": session.ID, "invitations": invitation.ID,
		"collections": collection.ID, "connectors": connector.ID, "documents": document.ID, "sync_jobs": job.ID, "sync_items": item.ID,
		"source_files": file.ID, "api_keys": key.ID, "tokens": token.ID, "conversations": conversation.ID, "messages": said.ID, "oauth_grants": grant.ID,
		"agents": agent.ID, "agent_templates": template.ID, "agent_memories": memory.ID,
		"inbound_integrations": integration.ID, "integration_events": event.ID,
		"tool_integrations": tools.ID, "integration_tools": tool.ID, "tool_connections": connection.ID,
		"approvals": approval.ID, "tool_grants": allowed.ID,
		"automations": automation.ID, "automation_runs": automated.ID,
	}}
}

// hidden reports whether GraphQL lacks the entity of a table.
func hidden(table string) bool { return table == "sessions" || table == "agent_templates" }

func TestAnotherWorkspacesRowsAreNotFound(t *testing.T) {
	t.Parallel()
	db := open(t)
	ada, eve := newTenant(t, db.Ent, "ada"), newTenant(t, db.Ent, "eve")
	for table, id := range ada.ids {
		if hidden(table) {
			continue
		}
		if _, err := db.Ent.Noder(ada.ctx, id, ent.WithNodeType(gid.Table)); err != nil {
			t.Errorf("%s: her own row: %v", table, err)
		}
		if row, err := db.Ent.Noder(eve.ctx, id, ent.WithNodeType(gid.Table)); err == nil {
			t.Errorf("%s: a foreign row was read: %v", table, row)
		}
		if row, err := db.Ent.Noder(t.Context(), id, ent.WithNodeType(gid.Table)); err == nil {
			t.Errorf("%s: nobody read %v", table, row)
		}
	}
	counts := map[string]func(context.Context) (int, error){
		"workspaces": db.Ent.Workspace.Query().Count, "users": db.Ent.User.Query().Count, "memberships": db.Ent.Membership.Query().Count,
		"sessions": db.Ent.Session.Query().Count, "invitations": db.Ent.Invitation.Query().Count, "collections": db.Ent.Collection.Query().Count, "connectors": db.Ent.Connector.Query().Count,
		"documents": db.Ent.Document.Query().Count, "sync_jobs": db.Ent.SyncJob.Query().Count, "sync_items": db.Ent.SyncItem.Query().Count,
		"source_files": db.Ent.SourceFile.Query().Count, "api_keys": db.Ent.APIKey.Query().Count, "tokens": db.Ent.Token.Query().Count,
		"conversations": db.Ent.Conversation.Query().Count, "messages": db.Ent.Message.Query().Count,
		"agents": db.Ent.Agent.Query().Count, "agent_templates": db.Ent.AgentTemplate.Query().Count, "agent_memories": db.Ent.AgentMemory.Query().Count,
		"oauth_grants": db.Ent.OAuthGrant.Query().Count, "inbound_integrations": db.Ent.InboundIntegration.Query().Count,
		"integration_events": db.Ent.InboundEvent.Query().Count, "tool_integrations": db.Ent.ToolIntegration.Query().Count,
		"integration_tools": db.Ent.IntegrationTool.Query().Count, "tool_connections": db.Ent.ToolConnection.Query().Count,
		"approvals": db.Ent.Approval.Query().Count, "tool_grants": db.Ent.ToolGrant.Query().Count,
		"automations": db.Ent.Automation.Query().Count, "automation_runs": db.Ent.AutomationRun.Query().Count,
	}
	if len(counts) != len(ada.ids) {
		t.Fatalf("%d entities have rows, %d are counted", len(ada.ids), len(counts))
	}
	for table, count := range counts {
		if n, err := count(ada.ctx); err != nil || n != 1 {
			t.Errorf("%s: ada counts %d rows, %v", table, n, err)
		}
		if n, err := count(t.Context()); !errors.Is(err, privacy.Deny) {
			t.Errorf("%s: nobody counts %d rows, %v", table, n, err)
		}
		anonymous := viewer.With(t.Context(), viewer.Viewer{Kind: viewer.KindAnonymous, Workspace: ada.workspace, AllCollections: true})
		if n, err := count(anonymous); !errors.Is(err, privacy.Deny) {
			t.Errorf("%s: an anonymous caller counts %d rows, %v", table, n, err)
		}
	}
}

func TestARowIsNeverLinkedToAnotherWorkspace(t *testing.T) {
	t.Parallel()
	db := open(t)
	ada, eve := newTenant(t, db.Ent, "ada"), newTenant(t, db.Ent, "eve")
	c := db.Ent
	// Magpie itself in Eve's workspace.
	ofMagpie := func(do func(context.Context) error) func(context.Context) error {
		return func(ctx context.Context) error { return do(viewer.With(ctx, viewer.System(eve.workspace))) }
	}
	tries := map[string]func(context.Context) error{
		"connector in a foreign collection": c.Connector.Create().SetName("x").SetType("s3").SetCollectionID(ada.ids["collections"]).Exec,
		"document in a foreign collection": c.Document.Create().SetCollectionID(ada.ids["collections"]).SetConnectorID(eve.ids["connectors"]).
			SetSourceID("x").SetPath("x").SetTitle("x").Exec,
		"document of a foreign connector": c.Document.Create().SetCollectionID(eve.ids["collections"]).SetConnectorID(ada.ids["connectors"]).
			SetSourceID("x").SetPath("x").SetTitle("x").Exec,
		"job of a foreign connector":     c.SyncJob.Create().SetConnectorID(ada.ids["connectors"]).Exec,
		"item of a foreign connector":    c.SyncItem.Create().SetConnectorID(ada.ids["connectors"]).SetJobID(eve.ids["sync_jobs"]).SetSourceID("x").SetPath("x").Exec,
		"file of a foreign connector":    c.SourceFile.Create().SetConnectorID(ada.ids["connectors"]).SetPath("x").SetBytes(1).SetSha256("0").SetBlobKey("x").Exec,
		"message in a foreign talk":      c.Message.Create().SetConversationID(ada.ids["conversations"]).SetRole(message.RoleUser).SetContent("x").Exec,
		"memory of a foreign agent":      c.AgentMemory.Create().SetAgentID(ada.ids["agents"]).SetContent("x").Exec,
		"memory of somebody else":        c.AgentMemory.Create().SetAgentID(eve.ids["agents"]).SetContent("x").SetPersonID(ada.user.ID).Exec,
		"run of a foreign agent":         c.AgentRun.Create().SetAgentID(ada.ids["agents"]).SetConversationID(eve.ids["conversations"]).SetMessage("x").Exec,
		"collection named foreign":       c.Collection.Create().SetWorkspaceID(ada.workspace).SetName("x").SetEmbeddingModel("m").Exec,
		"talk of somebody else":          c.Conversation.Create().SetSubjectID(ada.user.ID).Exec,
		"membership in her workspace":    c.Membership.Create().SetWorkspaceID(ada.workspace).SetUserID(eve.user.ID).SetRole(membership.RoleOwner).Exec,
		"collection moved by edge":       c.Collection.UpdateOneID(eve.ids["collections"]).AddConnectorIDs(ada.ids["connectors"]).Exec,
		"foreign collection renamed":     c.Collection.UpdateOneID(ada.ids["collections"]).SetName("x").Exec,
		"foreign collection deleted":     c.Collection.DeleteOneID(ada.ids["collections"]).Exec,
		"foreign person renamed":         c.User.UpdateOneID(ada.user.ID).SetName("x").Exec,
		"foreign workspace renamed":      c.Workspace.UpdateOneID(ada.workspace).SetName("x").Exec,
		"workspace made":                 c.Workspace.Create().SetName("x").Exec,
		"connector on a foreign grant":   c.Connector.UpdateOneID(eve.ids["connectors"]).SetGrantID(ada.ids["oauth_grants"]).Exec,
		"grant put on a foreign one":     c.OAuthGrant.UpdateOneID(eve.ids["oauth_grants"]).AddConnectorIDs(ada.ids["connectors"]).Exec,
		"grant of a foreign person":      c.OAuthGrant.Create().SetProvider("google").SetPersonID(ada.user.ID).SetTokens([]byte("x")).Exec,
		"event of a foreign integration": c.InboundEvent.Create().SetIntegrationID(ada.ids["inbound_integrations"]).SetProviderEventID("2").SetType("push").SetReceivedAt(time.Now()).Exec,
		"automation of a foreign agent":  c.Automation.Create().SetName("x").SetAgentID(ada.ids["agents"]).SetOwnerID(eve.user.ID).SetInstructions("x").SetKind("MANUAL").Exec,
		"run of a foreign automation":    c.AutomationRun.Create().SetAutomationID(ada.ids["automations"]).SetDedupeKey("2").Exec,
		"foreign automation changed":     c.Automation.UpdateOneID(ada.ids["automations"]).SetInstructions("x").Exec,
		"foreign integration deleted":    c.InboundIntegration.DeleteOneID(ada.ids["inbound_integrations"]).Exec,
		"tool of a foreign integration":  c.IntegrationTool.Create().SetIntegrationID(ada.ids["tool_integrations"]).SetName("x").SetRisk("READ").SetPinnedHash("0").Exec,
		"access to a foreign platform":   c.ToolConnection.Create().SetIntegrationID(ada.ids["tool_integrations"]).Exec,
		"connection on a foreign grant":  c.ToolConnection.Create().SetIntegrationID(eve.ids["tool_integrations"]).SetGrantID(ada.ids["oauth_grants"]).Exec,
		"integration of another person":  c.ToolIntegration.Create().SetKind("PACK").SetProvider("x").SetName("x").SetSlug("x").SetOwnerScope("PERSONAL").SetPersonID(ada.user.ID).Exec,
		"another person's grant":         c.OAuthGrant.Create().SetProvider("google").SetOwnerID(ada.user.ID).SetTokens([]byte("x")).Exec,
		"foreign tool deleted":           c.IntegrationTool.DeleteOneID(ada.ids["integration_tools"]).Exec,
		"approval of a foreign run":      ofMagpie(c.Approval.Create().SetRunID(uuid.New()).SetAgentID(eve.ids["agents"]).SetSubjectID(eve.user.ID).SetCallID("2").SetTool("t").SetRisk("READ").SetTitle("t").SetArguments("{}").SetArgumentsHash("x").SetRequestedAt(time.Now()).SetExpiresAt(time.Now()).SetNonce("n").Exec),
		"approval decided by hand":       c.Approval.UpdateOneID(eve.ids["approvals"]).SetStatus("APPROVED").Exec,
		"foreign approval decided":       ofMagpie(c.Approval.UpdateOneID(ada.ids["approvals"]).SetStatus("APPROVED").Exec),
		"grant for a foreign agent":      ofMagpie(c.ToolGrant.Create().SetAgentID(ada.ids["agents"]).SetTool("t").SetScope("AGENT").SetCreatedBy(eve.user.ID).Exec),
		"grant made by hand":             c.ToolGrant.Create().SetAgentID(eve.ids["agents"]).SetTool("t").SetScope("AGENT").SetCreatedBy(eve.user.ID).Exec,
		"foreign grant deleted":          c.OAuthGrant.DeleteOneID(ada.ids["oauth_grants"]).Exec,
	}
	for name, try := range tries {
		if err := try(eve.ctx); err == nil {
			t.Errorf("%s: it was done", name)
		}
	}
	if n, err := c.Document.Update().SetTitle("x").Save(eve.ctx); err != nil || n != 1 {
		t.Errorf("an update of everything changed %d documents, %v", n, err)
	}
	if n, err := c.Document.Delete().Exec(eve.ctx); err != nil || n != 1 {
		t.Errorf("a delete of everything took %d documents, %v", n, err)
	}
	for table, id := range ada.ids {
		if hidden(table) {
			continue
		}
		if _, err := c.Noder(ada.ctx, id, ent.WithNodeType(gid.Table)); err != nil {
			t.Errorf("%s: ada's row: %v", table, err)
		}
	}
}

// The database refuses foreign links even if the application does not.
func TestTheDatabaseRefusesForeignLinks(t *testing.T) {
	t.Parallel()
	db := open(t)
	ada, eve := newTenant(t, db.Ent, "ada"), newTenant(t, db.Ent, "eve")
	system := viewer.With(t.Context(), viewer.System(uuid.Nil))
	err := db.Ent.Connector.Create().SetWorkspaceID(eve.workspace).SetName("x").SetType("s3").SetCollectionID(ada.ids["collections"]).Exec(system)
	if !ent.IsConstraintError(err) {
		t.Errorf("a connector across workspaces: %v", err)
	}
	err = db.Ent.Message.Create().SetWorkspaceID(eve.workspace).SetSubjectID(eve.user.ID).SetConversationID(ada.ids["conversations"]).
		SetRole(message.RoleUser).SetContent("x").Exec(system)
	if !ent.IsConstraintError(err) {
		t.Errorf("a message across workspaces: %v", err)
	}
	err = db.Ent.AgentMemory.Create().SetWorkspaceID(eve.workspace).SetAgentID(ada.ids["agents"]).SetContent("x").Exec(system)
	if !ent.IsConstraintError(err) {
		t.Errorf("a memory across workspaces: %v", err)
	}
	err = db.Ent.AgentMemory.Create().SetWorkspaceID(eve.workspace).SetAgentID(eve.ids["agents"]).SetPersonID(ada.user.ID).SetContent("x").Exec(system)
	if !ent.IsConstraintError(err) {
		t.Errorf("a memory of a person elsewhere: %v", err)
	}
}

func TestTheApplicationIsNeitherOwnerNorSuperuser(t *testing.T) {
	t.Parallel()
	databases := testkit.Database(t)
	for name, url := range map[string]string{"its own login": databases.AppURL, "the owner's login": databases.OwnerURL} {
		db, err := store.Open(t.Context(), url, 2)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(db.Close)
		var role string
		var super, bypass bool
		if err := db.Pool.QueryRow(t.Context(), "select current_user, rolsuper, rolbypassrls from pg_roles where rolname = current_user").Scan(&role, &super, &bypass); err != nil {
			t.Fatal(err)
		}
		if role != store.AppRole || super || bypass {
			t.Errorf("by %s the application is %s, superuser %v, bypassing policies %v", name, role, super, bypass)
		}
		if _, err := db.Pool.Exec(t.Context(), "alter table collections add column x int"); err == nil {
			t.Errorf("by %s the application changed the schema", name)
		}
	}
}

func TestKeysReachTheirCollectionsOnly(t *testing.T) {
	t.Parallel()
	db := open(t)
	ada := newTenant(t, db.Ent, "ada")
	other := must[*ent.Collection](t)(db.Ent.Collection.Create().SetName("Other").SetEmbeddingModel("m").Save(ada.ctx))
	key := viewer.Viewer{Workspace: ada.workspace, Subject: ada.ids["api_keys"], Kind: viewer.KindKey, Collections: []uuid.UUID{other.ID}}
	ctx := viewer.With(t.Context(), key)
	if ids, err := db.Ent.Collection.Query().IDs(ctx); err != nil || len(ids) != 1 || ids[0] != other.ID {
		t.Errorf("the key sees the collections %v, %v", ids, err)
	}
	if n, err := db.Ent.Document.Query().Count(ctx); err != nil || n != 0 {
		t.Errorf("the key sees %d documents, %v", n, err)
	}
	if n, err := db.Ent.Conversation.Query().Count(ctx); err != nil || n != 0 {
		t.Errorf("the key sees %d conversations of others, %v", n, err)
	}
	key.Collections = nil
	if ids, err := db.Ent.Collection.Query().IDs(viewer.With(t.Context(), key)); err != nil || len(ids) != 0 {
		t.Errorf("a key without collections sees %v, %v", ids, err)
	}
	for name, count := range map[string]func(context.Context) (int, error){
		"connectors": db.Ent.Connector.Query().Count, "keys": db.Ent.APIKey.Query().Count, "people": db.Ent.User.Query().Count, "jobs": db.Ent.SyncJob.Query().Count,
	} {
		if n, err := count(ctx); !errors.Is(err, privacy.Deny) {
			t.Errorf("the key counts %d %s, %v", n, name, err)
		}
	}
}

func TestMigratingAgainChangesNothing(t *testing.T) {
	t.Parallel()
	url := testkit.EmptyDatabase(t).OwnerURL
	done := make(chan error, 3)
	for range 3 {
		go func() { done <- store.Migrate(t.Context(), url) }()
	}
	for range 3 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	steps, err := store.Status(t.Context(), url)
	if err != nil || len(steps) < 3 {
		t.Fatalf("Status = %v, %v", steps, err)
	}
	for _, s := range steps {
		if !s.Applied {
			t.Errorf("%s is not applied", s.Name)
		}
	}
	if err := store.Migrate(t.Context(), "postgres://%zz"); err == nil {
		t.Error("a broken URL was taken")
	}
}
