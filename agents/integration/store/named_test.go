package store_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/agents/integration/store"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A tool that is named outside of a run acts as its person, too.
func TestANamedToolActsAsItsPerson(t *testing.T) {
	t.Parallel()
	h := newFixture(t)
	ada, adaCtx := h.person(t, uuid.Nil, "ada", membership.RoleOwner)
	bob, bobCtx := h.person(t, ada.Workspace, "bob", membership.RoleViewer)
	eve, _ := h.person(t, uuid.Nil, "eve", membership.RoleOwner)
	ours := must[*ent.ToolIntegration](t)(h.store.Create(adaCtx, store.Draft{Provider: "board", Name: "Ours", Credentials: map[string]any{"token": "t0ken-of-ada"}}))
	mine := must[*ent.ToolIntegration](t)(h.store.Create(bobCtx, store.Draft{Provider: "board", Slug: "mine", Name: "Mine", Personal: true, Credentials: map[string]any{"token": "t0ken-of-bob"}}))
	for name, c := range map[string]struct {
		v           viewer.Viewer
		integration uuid.UUID
		tool, said  string
		code        apierr.Code
	}{
		"ada":                           {ada, ours.ID, "post", `"by":"ada"`, ""},
		"bob has no credentials":        {bob, ours.ID, "post", "You are not connected to Ours", apierr.Conflict},
		"bob with his own":              {bob, mine.ID, "post", `"by":"bob"`, ""},
		"ada with bob's":                {ada, mine.ID, "post", "not found", apierr.CodeNotFound},
		"eve of another workspace":      {eve, ours.ID, "post", "not found", apierr.CodeNotFound},
		"a tool that there is not":      {ada, ours.ID, "delete_all", "not found", apierr.CodeNotFound},
		"an integration that is no one": {ada, uuid.New(), "post", "not found", apierr.CodeNotFound},
	} {
		tool, err := h.store.Named(viewer.With(t.Context(), viewer.System(c.v.Workspace)), c.v, c.integration, c.tool)
		got := ""
		if err != nil {
			got = apierr.From(err).Message
		} else {
			got = said(t, tool)
		}
		if !strings.Contains(got, c.said) || err != nil && code(err) != c.code || (err == nil) != (c.code == "") {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}
