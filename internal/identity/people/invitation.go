package people

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/invitation"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxOpenInvitations is the maximum number of open invitations of a workspace.
const maxOpenInvitations = 1000

// The states of an invitation.
const (
	Pending  = "PENDING"
	Accepted = "ACCEPTED"
	Expired  = "EXPIRED"
	Revoked  = "REVOKED"
)

// SentInvitation is an invitation with its token, which is not stored.
type SentInvitation struct {
	Row        *ent.Invitation
	Token, URL string
}

// Status returns the current state of an invitation.
func (p *People) Status(row *ent.Invitation) string {
	switch {
	case row.AcceptedAt != nil:
		return Accepted
	case row.RevokedAt != nil:
		return Revoked
	case !p.o.Now().Before(row.ExpiresAt):
		return Expired
	default:
		return Pending
	}
}

// Invitations returns a query for the invitations of a status; empty for all.
func (p *People) Invitations(ctx context.Context, status string) *ent.InvitationQuery {
	query := transaction.Client(ctx, p.ent).Invitation.Query()
	switch status {
	case Accepted:
		query.Where(invitation.AcceptedAtNotNil())
	case Revoked:
		query.Where(invitation.AcceptedAtIsNil(), invitation.RevokedAtNotNil())
	case Expired:
		query.Where(invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil(), invitation.ExpiresAtLTE(p.o.Now()))
	case Pending:
		query.Where(invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil(), invitation.ExpiresAtGT(p.o.Now()))
	}
	return query
}

// Invitation returns an invitation.
func (p *People) Invitation(ctx context.Context, id uuid.UUID) (*ent.Invitation, error) {
	row, err := transaction.Client(ctx, p.ent).Invitation.Get(ctx, id)
	return row, lookup.Error("Invitation", err)
}

// Invite invites an address into the viewer's workspace, in a role that is not
// above the viewer's. It is a conflict if the person is a member or has an open
// invitation.
func (p *People) Invite(ctx context.Context, email string, role membership.Role) (*SentInvitation, error) {
	email, err := authn.CleanEmail(email)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	sent := &SentInvitation{Token: authn.NewToken()}
	err = p.inTransaction(ctx, "invite", func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.checkCanGrant(roleOf(role)); err != nil {
			return err
		}
		member, err := client.Membership.Query().Where(membership.WorkspaceID(who.workspace), membership.HasUserWith(user.Email(email))).Exist(viewer.WithSuspended(ctx))
		if err != nil {
			return err
		}
		if member {
			return apierr.New(apierr.Conflict, "This person is a member of the workspace already")
		}
		now := p.timestamp()
		open := client.Invitation.Query().Where(invitation.WorkspaceID(who.workspace), invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil())
		// An expired invitation is replaced.
		if err := client.Invitation.Update().SetRevokedAt(now).Where(invitation.WorkspaceID(who.workspace), invitation.Email(email),
			invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil(), invitation.ExpiresAtLTE(now)).Exec(ctx); err != nil {
			return err
		}
		if taken, err := open.Clone().Where(invitation.Email(email)).Exist(ctx); err != nil || taken {
			if err == nil {
				err = apierr.New(apierr.Conflict, "This address is invited already; send that invitation again, or revoke it")
			}
			return err
		}
		if n, err := open.Where(invitation.ExpiresAtGT(now)).Count(ctx); err != nil || n >= maxOpenInvitations {
			if err == nil {
				err = apierr.New(apierr.Conflict, fmt.Sprintf("There are %d open invitations already; revoke some", maxOpenInvitations))
			}
			return err
		}
		create := client.Invitation.Create().SetWorkspaceID(who.workspace).SetEmail(email).SetRole(invitation.Role(role)).
			SetTokenHash(authn.TokenHash(sent.Token)).SetSentAt(now).SetExpiresAt(now.Add(p.o.InvitationLifetime))
		if who.person != uuid.Nil {
			create.SetInvitedBy(who.person)
		}
		sent.Row, err = create.Save(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	sent.URL = p.link("accept-invitation", sent.Token)
	return sent, nil
}

// Resend gives an invitation a new token and a new expiry. It is a conflict if the
// invitation was accepted or revoked. Its role must not be above the viewer's.
func (p *People) Resend(ctx context.Context, id uuid.UUID) (*SentInvitation, error) {
	sent := &SentInvitation{Token: authn.NewToken()}
	var err error
	sent.Row, err = p.change(ctx, id, func(ctx context.Context, row *ent.Invitation) (*ent.Invitation, error) {
		if status := p.Status(row); status == Accepted || status == Revoked {
			return nil, apierr.New(apierr.Conflict, "The invitation is "+string(roleOf(status))+"; make a new one")
		}
		now := p.timestamp()
		return row.Update().SetTokenHash(authn.TokenHash(sent.Token)).SetSentAt(now).SetExpiresAt(now.Add(p.o.InvitationLifetime)).Save(ctx)
	})
	if err != nil {
		return nil, err
	}
	sent.URL = p.link("accept-invitation", sent.Token)
	return sent, nil
}

// Revoke ends an invitation, unless it has ended already. It is a conflict if the
// invitation was accepted.
func (p *People) Revoke(ctx context.Context, id uuid.UUID) (*ent.Invitation, error) {
	return p.change(ctx, id, func(ctx context.Context, row *ent.Invitation) (*ent.Invitation, error) {
		switch p.Status(row) {
		case Accepted:
			return nil, apierr.New(apierr.Conflict, "The invitation was accepted; remove the member instead")
		case Revoked:
			return row, nil
		}
		return row.Update().SetRevokedAt(p.timestamp()).Save(ctx)
	})
}

// change calls do with a locked invitation whose role the viewer may grant.
func (p *People) change(ctx context.Context, id uuid.UUID, do func(context.Context, *ent.Invitation) (*ent.Invitation, error)) (*ent.Invitation, error) {
	v, _ := viewer.From(ctx)
	var changed *ent.Invitation
	err := p.inTransaction(ctx, "change the invitation", func(ctx context.Context, client *ent.Client) error {
		who, err := lockMembers(ctx, client, v)
		if err != nil {
			return err
		}
		row, err := client.Invitation.Query().Where(invitation.ID(id), invitation.WorkspaceID(who.workspace)).ForUpdate().Only(ctx)
		if ent.IsNotFound(err) {
			return apierr.NotFound("Invitation")
		}
		if err != nil {
			return err
		}
		if err := who.checkCanGrant(roleOf(row.Role)); err != nil {
			return err
		}
		changed, err = do(ctx, row)
		return err
	})
	if err != nil {
		return nil, err
	}
	return changed, nil
}

// InvitationOffer describes an invitation to the holder of its token.
type InvitationOffer struct {
	Workspace, Email string
	Role             invitation.Role
	ExpiresAt        time.Time
	HasAccount       bool
}

// Offer returns the invitation of a token, or not_found.
func (p *People) Offer(ctx context.Context, token string) (*InvitationOffer, error) {
	client := transaction.Client(ctx, p.ent)
	row, err := p.findInvitation(asSystem(ctx), client.Invitation.Query(), token)
	if err != nil {
		return nil, err
	}
	workspace, err := client.Workspace.Get(asSystem(ctx), row.WorkspaceID)
	if err != nil {
		return nil, apierr.Wrap("look the workspace up", err)
	}
	_, hasAccount, err := p.findMember(ctx, client, row.Email)
	if err != nil {
		return nil, err
	}
	return &InvitationOffer{Workspace: workspace.Name, Email: row.Email, Role: row.Role, ExpiresAt: row.ExpiresAt, HasAccount: hasAccount}, nil
}

// findInvitation returns the open invitation of a token.
func (p *People) findInvitation(ctx context.Context, q *ent.InvitationQuery, token string) (*ent.Invitation, error) {
	row, err := q.Where(invitation.TokenHash(authn.TokenHash(token)), invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil()).Only(ctx)
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Invitation")
	}
	if err != nil {
		return nil, apierr.Wrap("look the invitation up", err)
	}
	if p.Status(row) == Expired {
		return nil, apierr.New(apierr.Conflict, "The invitation has expired; ask for a new one")
	}
	return row, nil
}

// findMember returns the person with an email address if they are a member of any
// workspace.
func (p *People) findMember(ctx context.Context, client *ent.Client, email string) (person *ent.User, ok bool, err error) {
	person, err = client.User.Query().Where(user.Email(email), user.HasMemberships()).Only(asSystem(ctx))
	if ent.IsNotFound(err) {
		return nil, false, nil
	}
	return person, err == nil, apierr.Wrap("look the person up", err)
}
