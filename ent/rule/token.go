package rule

import (
	"context"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
	"entgo.io/ent/privacy"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Tokens is the policy of tokens. A session sees those of its person and, as an
// administrator, all of the workspace; a service token with that role does, too. Only
// Magpie itself writes; its code checks who may create and revoke.
type Tokens struct{}

var _ ent.Policy = Tokens{}

// EvalQuery restricts a query to the tokens that the viewer may see.
func (Tokens) EvalQuery(ctx context.Context, q ent.Query) error {
	v, ok := viewer.From(ctx)
	switch {
	case !ok:
		return privacy.Denyf("no viewer in the context")
	case v.SpansWorkspaces():
		return privacy.Allow
	case v.Workspace == uuid.Nil || !v.AllCollections:
		return privacy.Denyf("the viewer belongs to no workspace")
	case v.Kind == viewer.KindSystem || v.HasRole() && v.Role.AtLeast(viewer.RoleAdmin):
		return allowWhere(q, equals("workspace_id", v.Workspace))
	case v.Kind != viewer.KindSession || v.Subject == uuid.Nil:
		return privacy.Denyf("viewers of kind %q see no tokens", v.Kind)
	}
	return allowWhere(q, func(s *sql.Selector) {
		s.Where(sql.EQ(s.C("workspace_id"), v.Workspace)).Where(sql.EQ(s.C("user_id"), v.Subject))
	})
}

// EvalMutation refuses every write but those of Magpie itself.
func (Tokens) EvalMutation(ctx context.Context, m ent.Mutation) error { return writtenBySystem(ctx, m) }
