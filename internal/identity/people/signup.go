package people

import (
	"context"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// SignUp is somebody who makes a workspace of their own.
type SignUp struct{ Workspace, Email, Name, Password string }

// firstOwner is the lock under which the first owner is made.
const firstOwner = "select pg_advisory_xact_lock(hashtext('magpie first owner'))"

// SignUpAllowed says whether a stranger may sign up just now.
func (p *People) SignUpAllowed(ctx context.Context) (bool, error) {
	switch p.o.SignUp {
	case SignUpOpen:
		return true, nil
	case SignUpOff:
		return false, nil
	}
	somebody, err := transaction.Client(ctx, p.ent).User.Query().Exist(asSystem(ctx))
	return !somebody, apierr.Wrap("look for people", err)
}

// SignUp makes a workspace with its owner and signs them in; forbidden where
// sign-up is closed. Of any number of strangers at once only one becomes the
// first owner. It must not be called in a transaction: it hashes.
func (p *People) SignUp(ctx context.Context, in SignUp) (authn.Tokens, error) {
	closed := apierr.New(apierr.Forbidden, "Sign-up is closed; ask for an invitation")
	allowed, err := p.SignUpAllowed(ctx)
	if err != nil {
		return authn.Tokens{}, err
	}
	if !allowed {
		return authn.Tokens{}, closed
	}
	if err := p.guesses.SignUp(ctx); err != nil {
		return authn.Tokens{}, err
	}
	if in.Workspace, err = authn.CleanName("workspace", in.Workspace, false); err != nil {
		return authn.Tokens{}, err
	}
	if in.Name, err = authn.CleanName("name", in.Name, false); err != nil {
		return authn.Tokens{}, err
	}
	phc, err := p.accounts.HashNew(ctx, in.Email, in.Password)
	if err != nil {
		return authn.Tokens{}, err
	}
	var tokens authn.Tokens
	err = p.in(ctx, "sign up", func(ctx context.Context, client *ent.Client) error {
		if p.o.SignUp == SignUpFirst {
			if _, err := client.ExecContext(ctx, firstOwner); err != nil {
				return err
			}
			if allowed, err := p.SignUpAllowed(ctx); err != nil || !allowed {
				if err == nil {
					err = closed
				}
				return err
			}
		}
		person, err := p.accounts.CreatePerson(ctx, authn.NewPerson{Email: in.Email, Name: in.Name, PasswordHash: phc})
		if err != nil {
			return err
		}
		made, err := p.accounts.CreateWorkspace(ctx, in.Workspace, person.ID)
		if err != nil {
			return err
		}
		tokens, err = p.accounts.OpenSession(ctx, person.ID, made.ID)
		return err
	})
	return tokens, err
}

// SignIn opens a session for an email address and its password, as
// authn.Accounts.SignIn does. It limits attempts and records wrong credentials.
func (p *People) SignIn(ctx context.Context, email, password string) (authn.Tokens, error) {
	var tokens authn.Tokens
	err := p.unguessed(ctx, email, func() (err error) {
		tokens, err = p.accounts.SignIn(ctx, email, password)
		return err
	})
	if err != nil && p.o.SignIns != nil && apierr.From(err).Code == apierr.InvalidCredentials {
		p.o.SignIns.Failed(ctx, email, "wrong credentials")
	}
	return tokens, err
}

// ChangePassword is authn's, for those who do not guess.
func (p *People) ChangePassword(ctx context.Context, current, next string) error {
	v, err := own(ctx)
	if err != nil {
		return err
	}
	return p.unguessed(ctx, v.Email, func() error { return p.accounts.ChangePassword(ctx, current, next) })
}

// unguessed lets a client try a password while it may.
func (p *People) unguessed(ctx context.Context, email string, try func() error) error {
	ended, err := p.guesses.Try(ctx, email)
	if err != nil {
		return err
	}
	err = try()
	wrong := err != nil && apierr.From(err).Code == apierr.InvalidCredentials
	ended(err == nil, err != nil && !wrong)
	return err
}
