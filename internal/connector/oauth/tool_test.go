package oauth_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/toolconnection"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/oauth"
	"github.com/magpie-search/magpie/internal/viewer"
)

// integration creates an integration with tools of a tenant.
func (h *fixture) integration(t *testing.T, n *tenant, shared bool) uuid.UUID {
	t.Helper()
	create := h.db.Ent.ToolIntegration.Create().SetID(gid.New(gid.ToolIntegration)).SetKind("PACK").SetProvider("mail").SetName("Mail").SetSlug("mail").SetOwnerScope("WORKSPACE")
	if shared {
		create.SetCredentialsOf("SHARED")
	}
	row, err := create.Save(n.ctx)
	must(t, err)
	return row.ID
}

// connectTool connects an integration as v.
func (h *fixture) connectTool(t *testing.T, v viewer.Viewer, r oauth.ToolRequest) (oauth.Outcome, error) {
	t.Helper()
	r.Provider = "google"
	begun, err := h.grants.BeginTool(viewer.With(t.Context(), v), r)
	must(t, err)
	if !strings.Contains(begun.URL, "mail.send") || strings.Contains(begun.URL, "drive.readonly") || !strings.Contains(begun.URL, "openid") {
		t.Errorf("the authorization address is %s", begun.URL)
	}
	back := returned("google", h.server.Browse(t, begun.URL))
	back.Binding = begun.Binding
	return h.grants.Finish(anonymous(t), back)
}

func TestAPersonsGrantForToolsIsTheirsAlone(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	bob := h.member(t, ada.viewer.Workspace, "bob@example.com", membership.RoleViewer)
	bobCtx := viewer.With(t.Context(), bob)
	id := h.integration(t, ada, false)
	out, err := h.connectTool(t, bob, oauth.ToolRequest{Integration: id, Scopes: []string{"mail.send"}})
	must(t, err)
	c, err := h.db.Ent.ToolConnection.Query().Where(toolconnection.IntegrationID(id)).Only(bobCtx)
	must(t, err)
	if c.GrantID == nil || *c.GrantID != out.Grant || c.PersonID == nil || *c.PersonID != bob.Subject || c.Status != toolconnection.StatusActive {
		t.Errorf("the connection is %v", c)
	}
	token, _, err := h.grants.TokenSourceFor(bob, out.Grant)(t.Context(), "")
	if err != nil || !h.server.ValidToken(token) {
		t.Errorf("bob's token: %v", err)
	}
	for name, ctx := range map[string]context.Context{"ada": ada.ctx, "Magpie": viewer.With(t.Context(), viewer.System(ada.viewer.Workspace))} {
		if _, err := h.grants.Token(ctx, out.Grant); code(err) != apierr.CodeNotFound {
			t.Errorf("%s gets a token: %v", name, err)
		}
		if n, err := h.grants.Query(ctx, "").Count(ctx); err != nil || n != 0 {
			t.Errorf("%s sees %d grants, %v", name, n, err)
		}
		if err := h.grants.Check(ctx, h.db.Ent, out.Grant, "google_drive"); code(err) != apierr.CodeNotFound {
			t.Errorf("%s gives it to a connector: %v", name, err)
		}
	}
	if err := h.grants.Check(bobCtx, h.db.Ent, out.Grant, "google_drive"); code(err) != apierr.InvalidRequest {
		t.Errorf("bob gives it to a connector: %v", err)
	}
	// It is renewed like any other.
	h.clock.forward(2 * time.Hour)
	renewed, _, err := h.grants.TokenSourceFor(bob, out.Grant)(t.Context(), "")
	if err != nil || renewed == token || !h.server.ValidToken(renewed) {
		t.Errorf("renewed: %v", err)
	}
	again, err := h.connectTool(t, bob, oauth.ToolRequest{Integration: id, Scopes: []string{"mail.send"}})
	must(t, err)
	if n, err := h.db.Ent.OAuthGrant.Query().Count(bobCtx); err != nil || n != 1 || again.Grant == out.Grant {
		t.Errorf("connected again, bob has %d grants, %v", n, err)
	}
	// What is a person's ends with the membership.
	_, err = h.db.Ent.Membership.Delete().Where(membership.UserID(bob.Subject)).Exec(viewer.With(t.Context(), viewer.System(uuid.Nil)))
	must(t, err)
	if n, err := h.db.Ent.OAuthGrant.Query().Count(viewer.With(t.Context(), viewer.System(uuid.Nil))); err != nil || n != 0 {
		t.Errorf("%d grants are left, %v", n, err)
	}
}

func TestOnlyAdministratorsShareAGrantForTools(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada := h.tenant(t, "ada")
	eve := h.tenant(t, "eve")
	owner := h.member(t, ada.viewer.Workspace, "owner@example.com", membership.RoleOwner)
	id := h.integration(t, ada, true)
	r := oauth.ToolRequest{Integration: id, Shared: true, Scopes: []string{"mail.send"}}
	if _, err := h.connectTool(t, ada.viewer, r); code(err) != apierr.Forbidden {
		t.Errorf("an editor: %v", err)
	}
	if _, err := h.connectTool(t, h.member(t, eve.viewer.Workspace, "other@example.com", membership.RoleOwner), r); code(err) != apierr.CodeNotFound {
		t.Errorf("the owner of another workspace: %v", err)
	}
	if _, err := h.connectTool(t, owner, oauth.ToolRequest{Integration: id, Scopes: r.Scopes}); code(err) != apierr.CodeNotFound {
		t.Errorf("one's own for shared credentials: %v", err)
	}
	out, err := h.connectTool(t, owner, r)
	must(t, err)
	c, err := h.db.Ent.ToolConnection.Query().Only(ada.ctx)
	must(t, err)
	if c.PersonID != nil || c.GrantID == nil || *c.GrantID != out.Grant {
		t.Errorf("the connection is %v", c)
	}
	key := viewer.Viewer{Workspace: ada.viewer.Workspace, Subject: uuid.New(), Kind: viewer.KindKey}
	for _, v := range []viewer.Viewer{ada.viewer, key} {
		if token, _, err := h.grants.TokenSourceFor(v, out.Grant)(t.Context(), ""); err != nil || !h.server.ValidToken(token) {
			t.Errorf("%s: %v", v.Kind, err)
		}
	}
}
