package people

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/conversation"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Profile is the viewer with the workspace of their session.
type Profile struct {
	User      *ent.User
	Workspace *ent.Workspace
	Role      viewer.Role
}

// Me returns the profile of the viewer.
func (p *People) Me(ctx context.Context) (Profile, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return Profile{}, err
	}
	client := transaction.Client(ctx, p.ent)
	person, err := client.User.Get(ctx, v.Subject)
	if err != nil {
		return Profile{}, err
	}
	workspace, err := client.Workspace.Get(ctx, v.Workspace)
	return Profile{User: person, Workspace: workspace, Role: v.Role}, err
}

// MemberFilter selects members. Its zero value selects all.
type MemberFilter struct {
	Text string // part of the name or email address, ignoring case
	Role *membership.Role
}

// maxFilterText is the longest text of a filter, in bytes.
const maxFilterText = 200

// Members returns a query for the members that f selects.
func (p *People) Members(ctx context.Context, f MemberFilter) (*ent.MembershipQuery, error) {
	query := transaction.Client(ctx, p.ent).Membership.Query()
	if f.Role != nil {
		query.Where(membership.RoleEQ(*f.Role))
	}
	if text := strings.TrimSpace(f.Text); text != "" {
		if len(f.Text) > maxFilterText {
			return nil, apierr.Invalid("text", "is too long")
		}
		query.Where(membership.HasUserWith(user.Or(user.NameContainsFold(text), user.EmailContainsFold(text))))
	}
	return query, nil
}

// Member returns a member.
func (p *People) Member(ctx context.Context, id uuid.UUID) (*ent.Membership, error) {
	row, err := transaction.Client(ctx, p.ent).Membership.Get(viewer.WithSuspended(ctx), id)
	return row, lookup.Error("Member", err)
}

// SetRole changes the role of a member of the viewer's workspace. The viewer's own
// role can only be lowered, and not if they are the last owner.
func (p *People) SetRole(ctx context.Context, id uuid.UUID, role membership.Role) (*ent.Membership, error) {
	var changed *ent.Membership
	err := p.member(ctx, "change the role", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) (err error) {
		if row.UserID == who.person {
			if !who.role.AtLeast(roleOf(role)) {
				return apierr.New(apierr.Forbidden, "Your role does not allow this; nobody gives a role above their own")
			}
		} else {
			if err := who.checkCanManage(roleOf(row.Role)); err != nil {
				return err
			}
			if err := who.checkCanGrant(roleOf(role)); err != nil {
				return err
			}
		}
		if role != membership.RoleOwner {
			if err := checkOtherOwner(ctx, client, row); err != nil {
				return err
			}
		}
		changed, err = client.Membership.UpdateOne(row).SetRole(role).Save(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// Remove removes a member from the viewer's workspace. Their sessions in it end,
// and their conversations, agent runs and memories in it are deleted. A person
// without another membership is deleted.
func (p *People) Remove(ctx context.Context, id uuid.UUID) error {
	return p.member(ctx, "remove the member", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) error {
		if row.UserID != who.person {
			if err := who.checkCanManage(roleOf(row.Role)); err != nil {
				return err
			}
		}
		return p.remove(ctx, client, row)
	})
}

// Leave removes the viewer from their workspace, as Remove does.
func (p *People) Leave(ctx context.Context) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	return p.inTransaction(ctx, "leave the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		row, err := client.Membership.Query().Where(membership.WorkspaceID(who.workspace), membership.UserID(who.person)).Only(ctx)
		if err != nil {
			return err
		}
		p.invalidateSessions(ctx, row.UserID)
		return p.remove(ctx, client, row)
	})
}

func (p *People) remove(ctx context.Context, client *ent.Client, row *ent.Membership) error {
	if err := checkOtherOwner(ctx, client, row); err != nil {
		return err
	}
	if _, err := client.Conversation.Delete().Where(conversation.WorkspaceID(row.WorkspaceID), conversation.SubjectID(row.UserID)).Exec(ctx); err != nil {
		return err
	}
	if err := client.Membership.DeleteOne(row).Exec(ctx); err != nil {
		return err
	}
	_, err := client.User.Delete().Where(user.ID(row.UserID), user.Not(user.HasMemberships())).Exec(ctx)
	return err
}

// checkOtherOwner returns an error if a member is the last owner. The members are
// locked.
func checkOtherOwner(ctx context.Context, client *ent.Client, row *ent.Membership) error {
	if row.Role != membership.RoleOwner {
		return nil
	}
	another, err := client.Membership.Query().Where(membership.WorkspaceID(row.WorkspaceID), membership.RoleEQ(membership.RoleOwner),
		membership.IDNEQ(row.ID), membership.SuspendedAtIsNil()).Exist(ctx)
	if err == nil && !another {
		err = apierr.New(apierr.Conflict, "The workspace needs an owner; make another one first")
	}
	return err
}

// PasswordReset is a link with which a person sets a new password.
type PasswordReset struct {
	Token, URL string
	ExpiresAt  time.Time
}

// CreateReset creates a link with which a member sets a new password. It is a
// conflict if they are a member of other workspaces: an administrator of one would
// get access to all. The operator may create it anyway.
func (p *People) CreateReset(ctx context.Context, id uuid.UUID) (*PasswordReset, error) {
	reset := &PasswordReset{}
	err := p.member(ctx, "make the link", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) error {
		if row.UserID == who.person {
			return apierr.New(apierr.Conflict, "Change your own password with the present one")
		}
		if err := who.checkCanManage(roleOf(row.Role)); err != nil {
			return err
		}
		requester := uuid.Nil
		if who.person != uuid.Nil {
			requester = who.workspace
			elsewhere, err := client.Membership.Query().Where(membership.UserID(row.UserID), membership.WorkspaceIDNEQ(who.workspace)).Exist(viewer.WithSuspended(ctx))
			if err != nil {
				return err
			}
			if elsewhere {
				return apierr.New(apierr.Conflict, "This person is a member of other workspaces, too; only the operator can make this link")
			}
		}
		var err error
		reset.Token, reset.ExpiresAt, err = p.accounts.CreateReset(ctx, row.UserID, requester)
		return err
	})
	if err != nil {
		return nil, err
	}
	reset.URL = p.link("reset-password", reset.Token)
	return reset, nil
}

// member calls do with a member of the viewer's workspace while all members are
// locked.
func (p *People) member(ctx context.Context, op string, id uuid.UUID, do func(context.Context, *ent.Client, actor, *ent.Membership) error) error {
	v, _ := viewer.From(ctx)
	return p.inTransaction(ctx, op, func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		row, err := client.Membership.Query().Where(membership.ID(id), membership.WorkspaceID(who.workspace)).Only(viewer.WithSuspended(ctx))
		if ent.IsNotFound(err) {
			return apierr.NotFound("Member")
		}
		if err != nil {
			return err
		}
		if who.person != row.UserID {
			if err := who.requireRole(viewer.RoleAdmin); err != nil {
				return err
			}
		}
		p.invalidateSessions(ctx, row.UserID)
		return do(ctx, client, who, row)
	})
}

// invalidateSessions removes a person's sessions from the cache after the commit.
func (p *People) invalidateSessions(ctx context.Context, person uuid.UUID) {
	transaction.AfterCommit(ctx, func(context.Context) {
		p.accounts.InvalidateSessions(func(v viewer.Viewer) bool { return v.Subject == person })
	})
}
