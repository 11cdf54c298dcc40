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

// Acceptance accepts an invitation. A signed-in person needs the token only, a
// person with an account the password, and a new person a name and a password.
type Acceptance struct{ Token, Name, Password string }

// Accept makes an invited person a member and signs them in to the workspace. A
// signed-in person must have the invited address, and their session ends. Of
// concurrent calls with one token, one succeeds. Accept must not be called in a
// transaction: it hashes.
func (p *People) Accept(ctx context.Context, in Acceptance) (authn.Tokens, error) {
	row, err := p.findInvitation(asSystem(ctx), p.ent.Invitation.Query(), in.Token)
	if err != nil {
		return authn.Tokens{}, err
	}
	if v, ok := viewer.From(ctx); ok && v.Kind == viewer.KindSession {
		if v.Email != row.Email {
			return authn.Tokens{}, apierr.New(apierr.Forbidden, "The invitation is for another email address")
		}
		return p.acceptFor(ctx, in.Token, func(context.Context, *ent.Client) (uuid.UUID, error) { return v.Subject, nil }, v.Session)
	}
	person, exists, err := p.findMember(ctx, p.ent, row.Email)
	if err != nil {
		return authn.Tokens{}, err
	}
	if in.Password == "" {
		return authn.Tokens{}, apierr.Invalid("password", "is required")
	}
	if exists {
		if err := p.withAttempt(ctx, row.Email, func() error {
			_, err := p.accounts.CheckPassword(ctx, row.Email, in.Password)
			return err
		}); err != nil {
			return authn.Tokens{}, err
		}
		return p.acceptFor(ctx, in.Token, func(context.Context, *ent.Client) (uuid.UUID, error) { return person.ID, nil }, uuid.Nil)
	}
	name, err := authn.CleanName("name", in.Name, false)
	if err != nil {
		return authn.Tokens{}, err
	}
	phc, err := p.accounts.HashPassword(ctx, row.Email, in.Password)
	if err != nil {
		return authn.Tokens{}, err
	}
	return p.acceptFor(ctx, in.Token, func(ctx context.Context, client *ent.Client) (uuid.UUID, error) {
		return p.createPerson(ctx, client, authn.PersonDraft{Email: row.Email, Name: name, PasswordHash: phc})
	}, uuid.Nil)
}

// createPerson creates a person. It first deletes a person with the same address
// who is no longer a member of any workspace.
func (p *People) createPerson(ctx context.Context, client *ent.Client, in authn.PersonDraft) (uuid.UUID, error) {
	if _, err := client.User.Delete().Where(user.Email(in.Email), user.Not(user.HasMemberships())).Exec(ctx); err != nil {
		return uuid.Nil, err
	}
	person, err := p.accounts.CreatePerson(ctx, in)
	if err != nil {
		return uuid.Nil, err
	}
	return person.ID, nil
}

// acceptFor accepts an invitation for a person and opens a session. It ends
// oldSession unless that is uuid.Nil.
func (p *People) acceptFor(ctx context.Context, token string, personOf func(context.Context, *ent.Client) (uuid.UUID, error), oldSession uuid.UUID) (authn.Tokens, error) {
	var tokens authn.Tokens
	err := p.inTransaction(ctx, "accept the invitation", func(ctx context.Context, client *ent.Client) error {
		row, err := p.findInvitation(ctx, client.Invitation.Query().ForUpdate(), token)
		if err != nil {
			return err
		}
		person, err := personOf(ctx, client)
		if err != nil {
			return err
		}
		if err := p.join(ctx, row, person); err != nil {
			return err
		}
		if tokens, err = p.accounts.OpenSession(ctx, person, row.WorkspaceID); err != nil || oldSession == uuid.Nil {
			return err
		}
		return p.accounts.EndSessionUnchecked(ctx, oldSession)
	})
	return tokens, err
}

// join makes a person a member by a locked invitation.
func (p *People) join(ctx context.Context, row *ent.Invitation, person uuid.UUID) error {
	if _, err := p.accounts.Join(ctx, row.WorkspaceID, person, membership.Role(row.Role)); err != nil {
		return err
	}
	return row.Update().SetAcceptedAt(p.timestamp()).Exec(ctx)
}

// NotInvited is the message of the error for a person without an account.
const NotInvited = "There is no account for this email address; ask for an invitation"

// SignInVerified signs in the person with an email address that a trusted sign-in
// provider has verified. name is the provider's and replaces an empty one. A new
// person joins by all open invitations of the address; without one, the error is
// forbidden with the message NotInvited.
func (p *People) SignInVerified(ctx context.Context, email, name string) (authn.Tokens, error) {
	email, err := authn.CleanEmail(email)
	if err != nil {
		return authn.Tokens{}, err
	}
	if name, err = authn.CleanName("name", name, true); err != nil {
		name = ""
	}
	var tokens authn.Tokens
	err = p.inTransaction(ctx, "sign in", func(ctx context.Context, client *ent.Client) error {
		person, exists, err := p.findMember(ctx, client, email)
		if err != nil {
			return err
		}
		if exists {
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
		id, err := p.createPerson(ctx, client, authn.PersonDraft{Email: email, Name: name, Verified: true})
		if err != nil {
			return err
		}
		for _, row := range open {
			if err := p.join(ctx, row, id); err != nil {
				return err
			}
		}
		tokens, err = p.accounts.OpenSession(ctx, id, open[0].WorkspaceID)
		return err
	})
	return tokens, err
}
