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

// MaxWorkspaces is how many workspaces a person may be a member of when they
// make a further one.
const MaxWorkspaces = 50

// Mine are the memberships of the viewer, each with its workspace, by the
// workspaces' names.
func (p *People) Mine(ctx context.Context) ([]*ent.Membership, error) {
	v, err := own(ctx)
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

// Switch opens a session in another workspace of the viewer and ends the present
// one; not_found for a workspace that they are no member of.
func (p *People) Switch(ctx context.Context, id uuid.UUID) (authn.Tokens, error) {
	v, err := own(ctx)
	if err != nil {
		return authn.Tokens{}, err
	}
	var tokens authn.Tokens
	err = p.in(ctx, "switch the workspace", func(ctx context.Context, client *ent.Client) error {
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
		return p.accounts.EndOne(ctx, v.Session)
	})
	return tokens, err
}

// Create makes a further workspace with the viewer as its owner; forbidden
// unless everybody may sign up.
func (p *People) Create(ctx context.Context, name string) (*ent.Workspace, error) {
	v, err := own(ctx)
	if err != nil {
		return nil, err
	}
	if p.o.SignUp != SignUpOpen {
		return nil, apierr.New(apierr.Forbidden, "Only the operator makes workspaces here")
	}
	var made *ent.Workspace
	err = p.in(ctx, "make the workspace", func(ctx context.Context, client *ent.Client) error {
		// The person's row keeps two at once from passing the bound together.
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
		made, err = p.accounts.CreateWorkspace(ctx, name, v.Subject)
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// RenameWorkspace gives the viewer's workspace another name.
func (p *People) RenameWorkspace(ctx context.Context, name string) (*ent.Workspace, error) {
	name, err := authn.CleanName("name", name, false)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	var renamed *ent.Workspace
	err = p.in(ctx, "rename the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.needs(viewer.RoleAdmin); err != nil {
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
	return p.in(ctx, "delete the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.needs(viewer.RoleOwner); err != nil {
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
			Select(membership.FieldUserID).Scan(ctx, &members); err != nil {
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
			p.accounts.Recheck(func(v viewer.Viewer) bool { return v.Workspace == who.workspace })
			if err := p.o.Uploads.DeleteBlobs(ctx, blobs); err != nil {
				p.o.Log.ErrorContext(ctx, "uploaded files of a workspace not deleted", slog.Any("workspace", who.workspace), slog.Any("error", err))
			}
		})
		return nil
	})
}

// Workspaces are all there are, each with its memberships, the oldest first: for
// the operator.
func (p *People) Workspaces(ctx context.Context) ([]*ent.Workspace, error) {
	rows, err := p.ent.Workspace.Query().WithMemberships().Order(workspace.ByCreatedAt(), workspace.ByID()).All(asSystem(ctx))
	return rows, apierr.Wrap("list the workspaces", err)
}
