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

// maxOpen bounds the open invitations of a workspace.
const maxOpen = 1000

// The states of an invitation.
const (
	Pending  = "PENDING"
	Accepted = "ACCEPTED"
	Expired  = "EXPIRED"
	Revoked  = "REVOKED"
)

// Invited is an invitation with what its guest needs; the token is kept nowhere.
type Invited struct {
	Row        *ent.Invitation
	Token, URL string
}

// Status says where an invitation stands just now.
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

// Invite asks an address into the viewer's workspace, in a role up to the
// viewer's own. Conflict for a member, and while an invitation of the address is
// open.
func (p *People) Invite(ctx context.Context, email string, role membership.Role) (*Invited, error) {
	email, err := authn.CleanEmail(email)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx)
	made := &Invited{Token: authn.Token()}
	err = p.in(ctx, "invite", func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
		if err != nil {
			return err
		}
		if err := who.mayGive(roleOf(role)); err != nil {
			return err
		}
		member, err := client.Membership.Query().Where(membership.WorkspaceID(who.workspace), membership.HasUserWith(user.Email(email))).Exist(ctx)
		if err != nil {
			return err
		}
		if member {
			return apierr.New(apierr.Conflict, "This person is a member of the workspace already")
		}
		now := p.stamp()
		open := client.Invitation.Query().Where(invitation.WorkspaceID(who.workspace), invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil())
		// One that nobody took in time makes room for the new one.
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
		if n, err := open.Where(invitation.ExpiresAtGT(now)).Count(ctx); err != nil || n >= maxOpen {
			if err == nil {
				err = apierr.New(apierr.Conflict, fmt.Sprintf("There are %d open invitations already; revoke some", maxOpen))
			}
			return err
		}
		create := client.Invitation.Create().SetWorkspaceID(who.workspace).SetEmail(email).SetRole(invitation.Role(role)).
			SetTokenHash(authn.TokenHash(made.Token)).SetSentAt(now).SetExpiresAt(now.Add(p.o.Invitation))
		if who.person != uuid.Nil {
			create.SetInvitedBy(who.person)
		}
		made.Row, err = create.Save(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	made.URL = p.link("accept-invitation", made.Token)
	return made, nil
}

// Resend gives an invitation a new token and its whole time. Conflict once it
// was accepted or revoked. Nobody gets at the token of a role above their own.
func (p *People) Resend(ctx context.Context, id uuid.UUID) (*Invited, error) {
	made := &Invited{Token: authn.Token()}
	var err error
	made.Row, err = p.change(ctx, id, func(ctx context.Context, row *ent.Invitation) (*ent.Invitation, error) {
		if status := p.Status(row); status == Accepted || status == Revoked {
			return nil, apierr.New(apierr.Conflict, "The invitation is "+string(roleOf(status))+"; make a new one")
		}
		now := p.stamp()
		return row.Update().SetTokenHash(authn.TokenHash(made.Token)).SetSentAt(now).SetExpiresAt(now.Add(p.o.Invitation)).Save(ctx)
	})
	if err != nil {
		return nil, err
	}
	made.URL = p.link("accept-invitation", made.Token)
	return made, nil
}

// Revoke ends an invitation; again is the same. Conflict once it was accepted.
func (p *People) Revoke(ctx context.Context, id uuid.UUID) (*ent.Invitation, error) {
	return p.change(ctx, id, func(ctx context.Context, row *ent.Invitation) (*ent.Invitation, error) {
		switch p.Status(row) {
		case Accepted:
			return nil, apierr.New(apierr.Conflict, "The invitation was accepted; remove the member instead")
		case Revoked:
			return row, nil
		}
		return row.Update().SetRevokedAt(p.stamp()).Save(ctx)
	})
}

func (p *People) change(ctx context.Context, id uuid.UUID, do func(context.Context, *ent.Invitation) (*ent.Invitation, error)) (*ent.Invitation, error) {
	v, _ := viewer.From(ctx)
	var changed *ent.Invitation
	err := p.in(ctx, "change the invitation", func(ctx context.Context, client *ent.Client) error {
		who, err := seat(ctx, client, v)
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
		if err := who.mayGive(roleOf(row.Role)); err != nil {
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

// Offer is what the holder of a token is invited to.
type Offer struct {
	Workspace, Email string
	Role             invitation.Role
	ExpiresAt        time.Time
	HasAccount       bool
}

// OfferOf tells what a token invites to; not_found when it does not work.
func (p *People) OfferOf(ctx context.Context, token string) (*Offer, error) {
	client := transaction.Client(ctx, p.ent)
	row, err := p.ofToken(asSystem(ctx), client.Invitation.Query(), token)
	if err != nil {
		return nil, err
	}
	place, err := client.Workspace.Get(asSystem(ctx), row.WorkspaceID)
	if err != nil {
		return nil, apierr.Wrap("look the workspace up", err)
	}
	person, err := p.settled(ctx, client, row.Email)
	if err != nil {
		return nil, err
	}
	return &Offer{Workspace: place.Name, Email: row.Email, Role: row.Role, ExpiresAt: row.ExpiresAt, HasAccount: person != nil}, nil
}

// ofToken is the open invitation of a token.
func (p *People) ofToken(ctx context.Context, q *ent.InvitationQuery, token string) (*ent.Invitation, error) {
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

// settled is the person of an address who is a member of something; nil for
// nobody.
func (p *People) settled(ctx context.Context, client *ent.Client, email string) (*ent.User, error) {
	person, err := client.User.Query().Where(user.Email(email), user.HasMemberships()).Only(asSystem(ctx))
	if ent.IsNotFound(err) {
		return nil, nil //nolint:nilnil // nobody is an answer here
	}
	return person, apierr.Wrap("look the person up", err)
}
