package automation

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/automation"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// errNoMember is the error of an owner who has left the workspace.
var errNoMember = errors.New("the owner of the automation is no longer a member of the workspace")

// subject returns the viewer as whom an automation runs: its owner, with the role that
// the owner has now, or the service member of the workspace.
func (e *Engine) subject(ctx context.Context, a *ent.Automation) (viewer.Viewer, error) {
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	person := a.OwnerID
	if a.RunAs == automation.RunAsService {
		id, err := e.serviceMember(system, a.WorkspaceID)
		if err != nil {
			return viewer.Viewer{}, err
		}
		person = id
	}
	client := e.Store.opt.Ent
	member, err := client.Membership.Query().Where(membership.WorkspaceID(a.WorkspaceID), membership.UserID(person)).WithUser().Only(system)
	if ent.IsNotFound(err) {
		return viewer.Viewer{}, errNoMember
	}
	if err != nil {
		return viewer.Viewer{}, fmt.Errorf("read the member of an automation: %w", err)
	}
	u := member.Edges.User
	return viewer.Viewer{
		Workspace: a.WorkspaceID, Subject: person, Kind: viewer.KindSession, Surface: viewer.SurfaceInternal,
		Role: viewer.Role(strings.ToLower(string(member.Role))), AllCollections: true, Email: u.Email, Verified: u.EmailVerified,
	}, nil
}

// serviceDomain is the domain of the addresses of service members. No mail can reach it
// and no provider can sign in with it.
const serviceDomain = "@service.magpie.invalid"

// serviceMember returns the person who stands for the automations of a workspace, and
// makes it on the first call: a viewer without a password.
func (e *Engine) serviceMember(system context.Context, workspace uuid.UUID) (uuid.UUID, error) {
	email := "automations-" + workspace.String() + serviceDomain
	id := uuid.Nil
	err := transaction.In(system, e.Store.opt.Ent, func(ctx context.Context, client *ent.Client) error {
		if _, err := client.ExecContext(ctx, "select pg_advisory_xact_lock(hashtextextended('magpie service member ' || $1::text, 0))", workspace.String()); err != nil {
			return fmt.Errorf("lock the service member: %w", err)
		}
		person, err := client.User.Query().Where(user.Email(email)).Only(ctx)
		if ent.IsNotFound(err) {
			person, err = client.User.Create().SetEmail(email).SetName("Automations").Save(ctx)
		}
		if err != nil {
			return fmt.Errorf("make the service member: %w", err)
		}
		id = person.ID
		there, err := client.Membership.Query().Where(membership.WorkspaceID(workspace), membership.UserID(id)).Exist(ctx)
		if err != nil || there {
			return err
		}
		if err := client.Membership.Create().SetWorkspaceID(workspace).SetUserID(id).SetRole(membership.RoleViewer).Exec(ctx); err != nil {
			return fmt.Errorf("make the service member: %w", err)
		}
		return nil
	})
	return id, err
}

// as returns a context in which v acts, with the principals of the sources.
func (e *Engine) as(ctx context.Context, v viewer.Viewer) context.Context {
	ctx = viewer.With(ctx, v)
	if e.Principals != nil {
		ctx = viewer.WithPrincipals(ctx, e.Principals)
	}
	return ctx
}
