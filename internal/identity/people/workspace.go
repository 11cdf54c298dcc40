package people

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/ent/workspace"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// MaxWorkspaces is the number of memberships up to which a person may create a
// workspace.
const MaxWorkspaces = 50

// MyMemberships returns the viewer's memberships with their workspaces, in the
// order of the workspaces' names.
func (p *People) MyMemberships(ctx context.Context) ([]*ent.Membership, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := transaction.Client(ctx, p.ent).Membership.Query().Where(membership.UserID(v.Subject)).WithWorkspace().All(asSystem(ctx))
	if err != nil {
		return nil, apierr.Wrap("list the workspaces", err)
	}
	slices.SortFunc(rows, func(a, b *ent.Membership) int {
		if by := strings.Compare(strings.ToLower(a.Edges.Workspace.Name), strings.ToLower(b.Edges.Workspace.Name)); by != 0 {
			return by
		}
		return strings.Compare(a.ID.String(), b.ID.String())
	})
	return rows, nil
}

// SwitchWorkspace opens a session in another workspace of the viewer and ends the
// current one. The error is not_found if they are not a member.
func (p *People) SwitchWorkspace(ctx context.Context, id uuid.UUID) (authn.Tokens, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return authn.Tokens{}, err
	}
	var tokens authn.Tokens
	err = p.inTransaction(ctx, "switch the workspace", func(ctx context.Context, client *ent.Client) error {
		member, err := client.Membership.Query().Where(membership.WorkspaceID(id), membership.UserID(v.Subject)).Exist(ctx)
		if err != nil {
			return err
		}
		if !member {
			return apierr.NotFound("Workspace")
		}
		if tokens, err = p.accounts.OpenSession(ctx, v.Subject, id); err != nil {
			return err
		}
		return p.accounts.EndSessionUnchecked(ctx, v.Session)
	})
	return tokens, err
}

// CreateWorkspace creates a workspace that the viewer owns. The error is forbidden
// unless everybody may sign up.
func (p *People) CreateWorkspace(ctx context.Context, name string) (*ent.Workspace, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return nil, err
	}
	if p.o.SignUp != SignUpOpen {
		return nil, apierr.New(apierr.Forbidden, "Only the operator makes workspaces here")
	}
	var created *ent.Workspace
	err = p.inTransaction(ctx, "make the workspace", func(ctx context.Context, client *ent.Client) error {
		// The lock makes concurrent calls respect the limit.
		if _, err := client.User.Query().Where(user.ID(v.Subject)).ForUpdate().Only(ctx); err != nil {
			return err
		}
		n, err := client.Membership.Query().Where(membership.UserID(v.Subject)).Count(ctx)
		if err != nil {
			return err
		}
		if n >= MaxWorkspaces {
			return apierr.New(apierr.Conflict, fmt.Sprintf("You are a member of %d workspaces already", n))
		}
		created, err = p.accounts.CreateWorkspace(ctx, name, v.Subject)
		return err
	})
	if err != nil {
		return nil, err
	}
	return created, nil
}

// RenameWorkspace renames the viewer's workspace.
func (p *People) RenameWorkspace(ctx context.Context, name string) (*ent.Workspace, error) {
	name, err := authn.CleanName("name", name, false)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	var renamed *ent.Workspace
	err = p.inTransaction(ctx, "rename the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.requireRole(viewer.RoleAdmin); err != nil {
			return err
		}
		renamed, err = client.Workspace.UpdateOneID(who.workspace).SetName(name).Save(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return renamed, nil
}

// DeleteWorkspace deletes the viewer's workspace and everything in it. name must be
// the name of the workspace. People who are members of no other workspace are
// deleted, too. The contents of uploaded files are deleted after the commit.
func (p *People) DeleteWorkspace(ctx context.Context, name string) error {
	v, _ := viewer.From(ctx)
	return p.inTransaction(ctx, "delete the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.requireRole(viewer.RoleOwner); err != nil {
			return err
		}
		row, err := client.Workspace.Get(ctx, who.workspace)
		if err != nil {
			return err
		}
		if name != row.Name {
			return apierr.Invalid("name", "must be the name of the workspace, exactly")
		}
		var members []uuid.UUID
		if err := client.Membership.Query().Where(membership.WorkspaceID(who.workspace)).
			Select(membership.FieldUserID).Scan(viewer.WithSuspended(ctx), &members); err != nil {
			return err
		}
		blobs, err := p.o.Uploads.WorkspaceBlobKeys(ctx, who.workspace)
		if err != nil {
			return err
		}
		if err := client.Workspace.DeleteOne(row).Exec(ctx); err != nil {
			return err
		}
		for batch := range slices.Chunk(members, 1000) {
			if _, err := client.User.Delete().Where(user.IDIn(batch...), user.Not(user.HasMemberships())).Exec(ctx); err != nil {
				return err
			}
		}
		transaction.AfterCommit(ctx, func(ctx context.Context) {
			p.accounts.InvalidateSessions(func(v viewer.Viewer) bool { return v.Workspace == who.workspace })
			if err := p.o.Uploads.DeleteBlobs(ctx, blobs); err != nil {
				p.o.Log.ErrorContext(ctx, "uploaded files of a workspace not deleted", slog.Any("workspace", who.workspace), slog.Any("error", err))
			}
		})
		return nil
	})
}

// Workspaces returns all workspaces with their memberships, the oldest first. It is
// for the operator.
func (p *People) Workspaces(ctx context.Context) ([]*ent.Workspace, error) {
	rows, err := p.ent.Workspace.Query().WithMemberships().Order(workspace.ByCreatedAt(), workspace.ByID()).All(asSystem(ctx))
	return rows, apierr.Wrap("list the workspaces", err)
}
