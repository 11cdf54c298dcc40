package authn

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// ResetLifetime is how long a password reset link works.
const ResetLifetime = 24 * time.Hour

// ChangePassword changes the viewer's password and ends their other sessions. The
// error is invalid_credentials if current is wrong. A person without a password
// needs a reset link from an administrator. ChangePassword must not be called in a
// transaction: it hashes.
func (a *Accounts) ChangePassword(ctx context.Context, current, next string) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	person, err := a.ent.User.Get(asSystem(ctx), v.Subject)
	if err != nil {
		return apierr.Wrap("look the person up", err)
	}
	if person.PasswordHash == "" {
		return apierr.New(apierr.Conflict, "This account has no password; an administrator can make a link that sets one")
	}
	ok, err := a.passwords.Match(ctx, current, person.PasswordHash)
	if err != nil {
		return apierr.Wrap("check the password", err)
	}
	if !ok {
		return apierr.New(apierr.InvalidCredentials, "The present password is wrong")
	}
	if err := checkNewPassword("newPassword", next, person.Email); err != nil {
		return err
	}
	phc, err := a.passwords.Hash(ctx, next)
	if err != nil {
		return apierr.Wrap("hash the password", err)
	}
	return a.inTransaction(asSystem(ctx), "change the password", func(ctx context.Context, client *ent.Client) error {
		// The condition on the old hash lets one of two concurrent changes fail.
		n, err := client.User.Update().Where(user.ID(person.ID), user.PasswordHash(person.PasswordHash)).
			SetPasswordHash(phc).ClearResetHash().ClearResetExpiresAt().ClearResetWorkspaceID().Save(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return apierr.New(apierr.Conflict, "The password was changed by somebody else just now")
		}
		return a.EndSessionsOf(ctx, person.ID, v.Session)
	})
}

// CreateReset creates a token that sets a new password once, until the returned
// time. It replaces an earlier token. workspace is that of the administrator,
// uuid.Nil for the operator. The caller has checked the permission.
func (a *Accounts) CreateReset(ctx context.Context, person, workspace uuid.UUID) (token string, until time.Time, err error) {
	token, until = randomToken(), a.timestamp().Add(ResetLifetime)
	update := transaction.Client(ctx, a.ent).User.UpdateOneID(person).SetResetHash(hash(token)).SetResetExpiresAt(until)
	if workspace == uuid.Nil {
		update.ClearResetWorkspaceID()
	} else {
		update.SetResetWorkspaceID(workspace)
	}
	if err := update.Exec(asSystem(ctx)); err != nil {
		if ent.IsNotFound(err) {
			return "", time.Time{}, apierr.NotFound("Person")
		}
		return "", time.Time{}, apierr.Wrap("make the link", err)
	}
	return token, until, nil
}

// UseReset sets the password of the person that a token of CreateReset is for, ends
// their sessions and tokens and signs them in. The error is not_found if the token is unknown,
// used or expired, or if the person belongs to another workspace than the
// administrator's. UseReset must not be called in a transaction: it hashes.
func (a *Accounts) UseReset(ctx context.Context, token, password string) (Tokens, error) {
	person, err := a.personOfReset(ctx, a.ent, token)
	if err != nil {
		return Tokens{}, err
	}
	phc, err := a.HashPassword(ctx, person.Email, password)
	if err != nil {
		return Tokens{}, err
	}
	var tokens Tokens
	err = a.inTransaction(asSystem(ctx), "set the password", func(ctx context.Context, client *ent.Client) error {
		if _, err := a.personOfReset(ctx, client, token); err != nil {
			return err
		}
		n, err := client.User.Update().Where(user.ID(person.ID), user.ResetHash(hash(token))).
			SetPasswordHash(phc).ClearResetHash().ClearResetExpiresAt().ClearResetWorkspaceID().Save(ctx)
		if err != nil {
			return err
		}
		if n == 0 {
			return apierr.NotFound("Link")
		}
		if err := a.EndSessionsOf(ctx, person.ID, uuid.Nil); err != nil {
			return err
		}
		if err := a.revokeTokensOf(ctx, person.ID); err != nil {
			return err
		}
		tokens, err = a.OpenSession(ctx, person.ID, uuid.Nil)
		return err
	})
	return tokens, err
}

// personOfReset returns the person of a valid token.
func (a *Accounts) personOfReset(ctx context.Context, client *ent.Client, token string) (*ent.User, error) {
	person, err := client.User.Query().Where(user.ResetHash(hash(token)), user.ResetExpiresAtGT(a.now())).WithMemberships().Only(asSystem(ctx))
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Link")
	}
	if err != nil {
		return nil, apierr.Wrap("look the link up", err)
	}
	// The administrator of one workspace must not take over a member of others.
	if person.ResetWorkspaceID != nil {
		for _, m := range person.Edges.Memberships {
			if m.WorkspaceID != *person.ResetWorkspaceID {
				return nil, apierr.NotFound("Link")
			}
		}
	}
	return person, nil
}
