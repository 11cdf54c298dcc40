package people

import (
	"context"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// SignUp describes a person who creates a workspace.
type SignUp struct{ Workspace, Email, Name, Password string }

// firstOwnerLock is the lock for the creation of the first owner.
const firstOwnerLock = "select pg_advisory_xact_lock(hashtext('magpie first owner'))"

// SignUpAllowed reports whether anybody may sign up now.
func (p *People) SignUpAllowed(ctx context.Context) (bool, error) {
	switch p.o.SignUp {
	case SignUpOpen:
		return true, nil
	case SignUpOff:
		return false, nil
	}
	exists, err := transaction.Client(ctx, p.ent).User.Query().Exist(asSystem(ctx))
	return !exists, apierr.Wrap("look for people", err)
}

// SignUp creates a workspace with its owner and signs them in. The error is
// forbidden if sign-up is closed. Of concurrent calls, one creates the first owner.
// SignUp must not be called in a transaction: it hashes.
func (p *People) SignUp(ctx context.Context, in SignUp) (authn.Tokens, error) {
	closed := apierr.New(apierr.Forbidden, "Sign-up is closed; ask for an invitation")
	allowed, err := p.SignUpAllowed(ctx)
	if err != nil {
		return authn.Tokens{}, err
	}
	if !allowed {
		return authn.Tokens{}, closed
	}
	if err := p.limiter.SignUp(ctx); err != nil {
		return authn.Tokens{}, err
	}
	if in.Workspace, err = authn.CleanName("workspace", in.Workspace, false); err != nil {
		return authn.Tokens{}, err
	}
	if in.Name, err = authn.CleanName("name", in.Name, false); err != nil {
		return authn.Tokens{}, err
	}
	phc, err := p.accounts.HashPassword(ctx, in.Email, in.Password)
	if err != nil {
		return authn.Tokens{}, err
	}
	var tokens authn.Tokens
	err = p.inTransaction(ctx, "sign up", func(ctx context.Context, client *ent.Client) error {
		if p.o.SignUp == SignUpFirst {
			if _, err := client.ExecContext(ctx, firstOwnerLock); err != nil {
				return err
			}
			if allowed, err := p.SignUpAllowed(ctx); err != nil || !allowed {
				if err == nil {
					err = closed
				}
				return err
			}
		}
		person, err := p.accounts.CreatePerson(ctx, authn.PersonDraft{Email: in.Email, Name: in.Name, PasswordHash: phc})
		if err != nil {
			return err
		}
		workspace, err := p.accounts.CreateWorkspace(ctx, in.Workspace, person.ID)
		if err != nil {
			return err
		}
		tokens, err = p.accounts.OpenSession(ctx, person.ID, workspace.ID)
		return err
	})
	return tokens, err
}

// SignIn opens a session for an email address and its password, as
// authn.Accounts.SignIn does. It limits attempts and records wrong credentials.
func (p *People) SignIn(ctx context.Context, email, password string) (authn.Tokens, error) {
	var tokens authn.Tokens
	err := p.withAttempt(ctx, email, func() (err error) {
		tokens, err = p.accounts.SignIn(ctx, email, password)
		return err
	})
	if err != nil && p.o.SignIns != nil && apierr.From(err).Code == apierr.InvalidCredentials {
		p.o.SignIns.Failed(ctx, email, "wrong credentials")
	}
	return tokens, err
}

// CheckPassword returns the person with this email address and password, as SignIn
// does, and opens no session.
func (p *People) CheckPassword(ctx context.Context, email, password string) (*ent.User, error) {
	var person *ent.User
	err := p.withAttempt(ctx, email, func() (err error) {
		person, err = p.accounts.CheckPassword(ctx, email, password)
		return err
	})
	if err != nil && p.o.SignIns != nil && apierr.From(err).Code == apierr.InvalidCredentials {
		p.o.SignIns.Failed(ctx, email, "wrong credentials")
	}
	return person, err
}

// ChangePassword changes the viewer's password, as authn.Accounts.ChangePassword
// does. It limits attempts.
func (p *People) ChangePassword(ctx context.Context, current, next string) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	return p.withAttempt(ctx, v.Email, func() error { return p.accounts.ChangePassword(ctx, current, next) })
}

// withAttempt calls try, which checks a password, as an attempt of the client.
func (p *People) withAttempt(ctx context.Context, email string, try func() error) error {
	done, err := p.limiter.Begin(ctx, email)
	if err != nil {
		return err
	}
	err = try()
	wrong := err != nil && apierr.From(err).Code == apierr.InvalidCredentials
	done(err == nil, err != nil && !wrong)
	return err
}
