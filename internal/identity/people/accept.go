package people

import (
	"context"

	"github.com/google/uuid"

	entsql "entgo.io/ent/dialect/sql"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/invitation"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Acceptance is what a guest says. A signed-in person needs the token only;
// somebody with an account their password; somebody new a name and a password.
type Acceptance struct{ Token, Name, Password string }

// Accept makes a guest a member and signs them in, in the workspace of the
// invitation. A signed-in person must have the address that was invited, and
// their present session ends. Of several who use one token at once one succeeds.
// It must not be called in a transaction: it hashes.
func (p *People) Accept(ctx context.Context, in Acceptance) (authn.Tokens, error) {
	row, err := p.ofToken(asSystem(ctx), p.ent.Invitation.Query(), in.Token)
	if err != nil {
		return authn.Tokens{}, err
	}
	if v, ok := viewer.From(ctx); ok && v.Kind == viewer.KindSession {
		if v.Email != row.Email {
			return authn.Tokens{}, apierr.New(apierr.Forbidden, "The invitation is for another email address")
		}
		return p.enter(ctx, in.Token, func(context.Context, *ent.Client) (uuid.UUID, error) { return v.Subject, nil }, v.Session)
	}
	person, err := p.settled(ctx, p.ent, row.Email)
	if err != nil {
		return authn.Tokens{}, err
	}
	if in.Password == "" {
		return authn.Tokens{}, apierr.Invalid("password", "is required")
	}
	if person != nil {
		if err := p.unguessed(ctx, row.Email, func() error {
			_, err := p.accounts.CheckPassword(ctx, row.Email, in.Password)
			return err
		}); err != nil {
			return authn.Tokens{}, err
		}
		return p.enter(ctx, in.Token, func(context.Context, *ent.Client) (uuid.UUID, error) { return person.ID, nil }, uuid.Nil)
	}
	name, err := authn.CleanName("name", in.Name, false)
	if err != nil {
		return authn.Tokens{}, err
	}
	phc, err := p.accounts.HashNew(ctx, row.Email, in.Password)
	if err != nil {
		return authn.Tokens{}, err
	}
	return p.enter(ctx, in.Token, func(ctx context.Context, client *ent.Client) (uuid.UUID, error) {
		return p.newcomer(ctx, client, authn.NewPerson{Email: row.Email, Name: name, PasswordHash: phc})
	}, uuid.Nil)
}

// newcomer makes a person. What is left of one who is a member of nothing any
// more is no obstacle, and nothing of it is taken over.
func (p *People) newcomer(ctx context.Context, client *ent.Client, in authn.NewPerson) (uuid.UUID, error) {
	if _, err := client.User.Delete().Where(user.Email(in.Email), user.Not(user.HasMemberships())).Exec(ctx); err != nil {
		return uuid.Nil, err
	}
	person, err := p.accounts.CreatePerson(ctx, in)
	if err != nil {
		return uuid.Nil, err
	}
	return person.ID, nil
}

// enter uses an invitation up for a person and opens their session; that of
// before, if any, ends.
func (p *People) enter(ctx context.Context, token string, who func(context.Context, *ent.Client) (uuid.UUID, error), before uuid.UUID) (authn.Tokens, error) {
	var tokens authn.Tokens
	err := p.in(ctx, "accept the invitation", func(ctx context.Context, client *ent.Client) error {
		row, err := p.ofToken(ctx, client.Invitation.Query().ForUpdate(), token)
		if err != nil {
			return err
		}
		person, err := who(ctx, client)
		if err != nil {
			return err
		}
		if err := p.admit(ctx, row, person); err != nil {
			return err
		}
		if tokens, err = p.accounts.OpenSession(ctx, person, row.WorkspaceID); err != nil || before == uuid.Nil {
			return err
		}
		return p.accounts.EndOne(ctx, before)
	})
	return tokens, err
}

// admit makes a person a member by an invitation that is locked.
func (p *People) admit(ctx context.Context, row *ent.Invitation, person uuid.UUID) error {
	if _, err := p.accounts.Join(ctx, row.WorkspaceID, person, membership.Role(row.Role)); err != nil {
		return err
	}
	return row.Update().SetAcceptedAt(p.stamp()).Exec(ctx)
}

// NotInvited is the message of the refusal of somebody who has no account.
const NotInvited = "There is no account for this email address; ask for an invitation"

// SignInVerified signs in who has an email address, as a sign-in provider that
// was trusted with it says; name is the provider's and fills an empty one. A
// stranger who was invited comes in by all invitations that are open for them;
// any other one is forbidden, with the message NotInvited: whoever lets them in
// all the same does so by authn's CreatePerson, Join and OpenSession. The device
// is that of authn.ClientOf.
func (p *People) SignInVerified(ctx context.Context, email, name string) (authn.Tokens, error) {
	email, err := authn.CleanEmail(email)
	if err != nil {
		return authn.Tokens{}, err
	}
	if name, err = authn.CleanName("name", name, true); err != nil {
		name = "" // not the person's fault
	}
	var tokens authn.Tokens
	err = p.in(ctx, "sign in", func(ctx context.Context, client *ent.Client) error {
		person, err := p.settled(ctx, client, email)
		if err != nil {
			return err
		}
		if person != nil {
			if err := p.accounts.MarkVerified(ctx, person, name); err != nil {
				return err
			}
			tokens, err = p.accounts.OpenSession(ctx, person.ID, uuid.Nil)
			return err
		}
		open, err := client.Invitation.Query().Where(invitation.Email(email), invitation.AcceptedAtIsNil(), invitation.RevokedAtIsNil(),
			invitation.ExpiresAtGT(p.o.Now())).Order(invitation.BySentAt(entsql.OrderDesc()), invitation.ByID()).ForUpdate().All(ctx)
		if err != nil {
			return err
		}
		if len(open) == 0 {
			return apierr.New(apierr.Forbidden, NotInvited)
		}
		id, err := p.newcomer(ctx, client, authn.NewPerson{Email: email, Name: name, Verified: true})
		if err != nil {
			return err
		}
		for _, row := range open {
			if err := p.admit(ctx, row, id); err != nil {
				return err
			}
		}
		tokens, err = p.accounts.OpenSession(ctx, id, open[0].WorkspaceID)
		return err
	})
	return tokens, err
}
