package authn

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Member returns the viewer of a member with the rights that the member has now, for
// work that goes on without a session. The error is not_found if the person is not
// a member.
func (a *Accounts) Member(ctx context.Context, workspace, person uuid.UUID) (viewer.Viewer, error) {
	row, err := a.ent.Membership.Query().
		Where(membership.WorkspaceID(workspace), membership.UserID(person)).WithUser().Only(asSystem(ctx))
	if ent.IsNotFound(err) {
		return viewer.Viewer{}, apierr.NotFound("Member")
	}
	if err != nil {
		return viewer.Viewer{}, apierr.Wrap("read a member", err)
	}
	return viewer.Viewer{
		Workspace: workspace, Subject: person, Kind: viewer.KindSession, Surface: viewer.SurfaceInternal, Role: roleOf(row.Role), AllCollections: true,
		Email: row.Edges.User.Email, Verified: row.Edges.User.EmailVerified,
	}, nil
}
