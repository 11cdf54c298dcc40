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
	v, err := own(ctx)
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
	Text string // part of the name or email address, in any case
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
	row, err := transaction.Client(ctx, p.ent).Membership.Get(ctx, id)
	return row, lookup.Error("Member", err)
}

// SetRole changes the role of a member of the viewer's workspace. Oneself one
// can only lower, and not as the last owner.
func (p *People) SetRole(ctx context.Context, id uuid.UUID, role membership.Role) (*ent.Membership, error) {
	var changed *ent.Membership
	err := p.member(ctx, "change the role", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) (err error) {
		if row.UserID == who.person {
			if !who.role.AtLeast(roleOf(role)) {
				return apierr.New(apierr.Forbidden, "Your role does not allow this; nobody gives a role above their own")
			}
		} else {
			if err := who.mayTouch(roleOf(row.Role)); err != nil {
				return err
			}
			if err := who.mayGive(roleOf(role)); err != nil {
				return err
			}
		}
		if role != membership.RoleOwner {
			if err := notTheLastOwner(ctx, client, row); err != nil {
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

// Remove takes a member out of the viewer's workspace: their sessions in it
// end, and their conversations, agent runs and memories there go. A person who is
// a member of nothing any more is deleted.
func (p *People) Remove(ctx context.Context, id uuid.UUID) error {
	return p.member(ctx, "remove the member", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) error {
		if row.UserID != who.person {
			if err := who.mayTouch(roleOf(row.Role)); err != nil {
				return err
			}
		}
		return p.remove(ctx, client, row)
	})
}

// Leave takes the viewer out of their workspace, as Remove does.
func (p *People) Leave(ctx context.Context) error {
	v, err := own(ctx)
	if err != nil {
		return err
	}
	return p.in(ctx, "leave the workspace", func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
		if err != nil {
			return err
		}
		row, err := client.Membership.Query().Where(membership.WorkspaceID(who.workspace), membership.UserID(who.person)).Only(ctx)
		if err != nil {
			return err
		}
		p.recheck(ctx, row.UserID)
		return p.remove(ctx, client, row)
	})
}

func (p *People) remove(ctx context.Context, client *ent.Client, row *ent.Membership) error {
	if err := notTheLastOwner(ctx, client, row); err != nil {
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

// notTheLastOwner refuses to unmake an owner whom no other one follows. The
// workspace's members are held still.
func notTheLastOwner(ctx context.Context, client *ent.Client, row *ent.Membership) error {
	if row.Role != membership.RoleOwner {
		return nil
	}
	another, err := client.Membership.Query().Where(membership.WorkspaceID(row.WorkspaceID), membership.RoleEQ(membership.RoleOwner),
		membership.IDNEQ(row.ID)).Exist(ctx)
	if err == nil && !another {
		err = apierr.New(apierr.Conflict, "The workspace needs an owner; make another one first")
	}
	return err
}

// Reset is a link by which somebody sets a new password.
type Reset struct {
	Token, URL string
	ExpiresAt  time.Time
}

// NewReset makes a link by which a member sets a new password. Conflict for one
// who is a member of other workspaces: the administrators of one would get into
// all of them. The operator may.
func (p *People) NewReset(ctx context.Context, id uuid.UUID) (*Reset, error) {
	made := &Reset{}
	err := p.member(ctx, "make the link", id, func(ctx context.Context, client *ent.Client, who actor, row *ent.Membership) error {
		if row.UserID == who.person {
			return apierr.New(apierr.Conflict, "Change your own password with the present one")
		}
		if err := who.mayTouch(roleOf(row.Role)); err != nil {
			return err
		}
		maker := uuid.Nil
		if who.person != uuid.Nil {
			maker = who.workspace
			elsewhere, err := client.Membership.Query().Where(membership.UserID(row.UserID), membership.WorkspaceIDNEQ(who.workspace)).Exist(ctx)
			if err != nil {
				return err
			}
			if elsewhere {
				return apierr.New(apierr.Conflict, "This person is a member of other workspaces, too; only the operator can make this link")
			}
		}
		var err error
		made.Token, made.ExpiresAt, err = p.accounts.NewReset(ctx, row.UserID, maker)
		return err
	})
	if err != nil {
		return nil, err
	}
	made.URL = p.link("reset-password", made.Token)
	return made, nil
}

// member does something with a member of the viewer's workspace while nobody
// else changes the members.
func (p *People) member(ctx context.Context, what string, id uuid.UUID, do func(context.Context, *ent.Client, actor, *ent.Membership) error) error {
	v, _ := viewer.From(ctx)
	return p.in(ctx, what, func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
		if err != nil {
			return err
		}
		row, err := client.Membership.Query().Where(membership.ID(id), membership.WorkspaceID(who.workspace)).Only(ctx)
		if ent.IsNotFound(err) {
			return apierr.NotFound("Member")
		}
		if err != nil {
			return err
		}
		if who.person != row.UserID {
			if err := who.needs(viewer.RoleAdmin); err != nil {
				return err
			}
		}
		p.recheck(ctx, row.UserID)
		return do(ctx, client, who, row)
	})
}

// recheck makes what is known of a person's sessions be read anew once the
// transaction is committed.
func (p *People) recheck(ctx context.Context, person uuid.UUID) {
	transaction.AfterCommit(ctx, func(context.Context) {
		p.accounts.Recheck(func(v viewer.Viewer) bool { return v.Subject == person })
	})
}
