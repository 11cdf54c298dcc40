package signon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/identity/authn"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

var noWorkspace = uuid.Nil // the one that the person usually works in

// People are the accounts; authn.Accounts are.
type People interface {
	// FindPerson is who has an email address; not_found when nobody has.
	FindPerson(ctx context.Context, email string) (*ent.User, error)
	// CreatePerson makes somebody who is a member of nothing; a conflict when
	// the address is taken.
	CreatePerson(ctx context.Context, in authn.NewPerson) (*ent.User, error)
	// Join makes a person a member; a conflict when they are.
	Join(ctx context.Context, workspace, person uuid.UUID, role membership.Role) (*ent.Membership, error)
	// OpenSession signs a person in.
	OpenSession(ctx context.Context, person, workspace uuid.UUID) (authn.Tokens, error)
}

// Guests lets in who has a verified address; people.People does.
type Guests interface {
	// SignInVerified opens a session for the member who has an address, or for
	// somebody who is invited, who becomes one by that; forbidden for all others.
	SignInVerified(ctx context.Context, email, name string) (authn.Tokens, error)
}

// Join lets people in who are not known.
type Join struct {
	// Domains are those of the email addresses, lower case; none lets nobody in.
	Domains []string
	// Workspace is what they become members of, in this role.
	Workspace uuid.UUID
	Role      membership.Role
}

// notInvited is the refusal of somebody whose sign-in is in order.
func notInvited() error {
	return apierr.New(apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited")
}

// session opens the session of an identity: of the person that it was linked
// with by issuer and subject, and the first time of the one with its email
// address, for which the provider vouches. Who is not known comes in by an
// invitation, or by being of a domain that may join.
func (s *SignOn) session(ctx context.Context, who identity) (authn.Tokens, error) {
	person, err := s.known(ctx, who)
	if err != nil {
		return authn.Tokens{}, err
	}
	if person != uuid.Nil {
		tokens, err := s.people.OpenSession(ctx, person, noWorkspace)
		if !errors.Is(err, authn.ErrNoWorkspace) {
			return tokens, err
		}
		// Somebody who was removed comes back by an invitation only.
		return s.byAddress(ctx, who, false)
	}
	found, err := s.people.FindPerson(ctx, who.Email)
	switch {
	case err == nil:
		if err := s.link(ctx, who, found.ID); err != nil {
			return authn.Tokens{}, err
		}
		if err := s.join(ctx, found.ID, who); err != nil {
			return authn.Tokens{}, err
		}
	case apierr.From(err).Code != apierr.CodeNotFound:
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return s.byAddress(ctx, who, true)
}

// byAddress opens the session of whoever has the address, and links the identity
// with them.
func (s *SignOn) byAddress(ctx context.Context, who identity, mayJoin bool) (authn.Tokens, error) {
	tokens, err := s.verified(ctx, who)
	switch {
	case err == nil:
	case apierr.From(err).Code != apierr.Forbidden:
		return authn.Tokens{}, err
	default:
		if !mayJoin || !s.o.Join.covers(who.Email) {
			return authn.Tokens{}, notInvited()
		}
		if tokens, err = s.enter(ctx, who); err != nil {
			return authn.Tokens{}, err
		}
	}
	// Only now there is surely somebody. The session is not given out when the
	// identity turns out to be another one's.
	found, err := s.people.FindPerson(ctx, who.Email)
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return tokens, s.link(ctx, who, found.ID)
}

// verified opens the session of a member or of somebody who is invited.
func (s *SignOn) verified(ctx context.Context, who identity) (authn.Tokens, error) {
	if s.o.Guests != nil {
		return s.o.Guests.SignInVerified(ctx, who.Email, who.Name)
	}
	found, err := s.people.FindPerson(ctx, who.Email)
	if err != nil && apierr.From(err).Code == apierr.CodeNotFound {
		return authn.Tokens{}, notInvited()
	}
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return s.people.OpenSession(ctx, found.ID, noWorkspace)
}

// known is the person that an identity is linked with; zero when there is none.
func (s *SignOn) known(ctx context.Context, who identity) (person uuid.UUID, err error) {
	err = s.pool.QueryRow(ctx, `update identities set used_at = $3 where issuer = $1 and subject = $2 returning user_id`,
		who.Issuer, who.Subject, s.o.Now()).Scan(&person)
	if errors.Is(err, pgx.ErrNoRows) {
		return uuid.Nil, nil
	}
	if err != nil {
		return uuid.Nil, fmt.Errorf("look the identity up: %w", err)
	}
	return person, nil
}

// link ties an identity to a person. A person who is tied to another subject of
// the same issuer is somebody else: the provider has given the address away.
func (s *SignOn) link(ctx context.Context, who identity, person uuid.UUID) error {
	var linked uuid.UUID
	err := s.pool.QueryRow(ctx, `insert into identities (issuer, subject, user_id) values ($1, $2, $3)
		on conflict (issuer, subject) do update set used_at = now() returning user_id`, who.Issuer, who.Subject, person).Scan(&linked)
	var state *pgconn.PgError
	if errors.As(err, &state) && state.Code == "23505" || err == nil && linked != person {
		return apierr.New(apierr.Forbidden, "The account of this email address belongs to another identity at "+s.o.Name+"; ask your administrator")
	}
	if err != nil {
		return fmt.Errorf("link the identity: %w", err)
	}
	ctx = viewer.With(ctx, viewer.System(uuid.Nil))
	if err := s.db.User.Update().Where(user.ID(person), user.EmailVerified(false)).SetEmailVerified(true).Exec(ctx); err != nil {
		return fmt.Errorf("note that the address is verified: %w", err)
	}
	return nil
}

// enter makes somebody a person and a member of the workspace that people of
// their domain join. Two sign-ins at once make one person.
func (s *SignOn) enter(ctx context.Context, who identity) (authn.Tokens, error) {
	err := s.inTransaction(ctx, func(ctx context.Context) error {
		made, err := s.people.CreatePerson(ctx, authn.NewPerson{Email: who.Email, Name: who.Name, Verified: true})
		if err != nil {
			return err
		}
		return s.join(ctx, made.ID, who)
	})
	switch {
	case err == nil, apierr.From(err).Code == apierr.Conflict:
	case apierr.From(err).Code == apierr.InvalidRequest:
		return authn.Tokens{}, &apierr.Error{Code: apierr.Forbidden, Message: "Your email address at " + s.o.Name + " cannot be used here", Cause: err}
	default:
		return authn.Tokens{}, err
	}
	tokens, err := s.verified(ctx, who)
	if err != nil && apierr.From(err).Code == apierr.Forbidden {
		return authn.Tokens{}, notInvited() // a person whom nobody wants has the address
	}
	return tokens, err
}

// join makes somebody a member of the workspace that people of their domain join.
func (s *SignOn) join(ctx context.Context, person uuid.UUID, who identity) error {
	if !s.o.Join.covers(who.Email) {
		return nil
	}
	member, err := s.member(ctx, person)
	if err != nil || member {
		return err
	}
	if _, err := s.people.Join(ctx, s.o.Join.Workspace, person, s.o.Join.Role); err != nil && apierr.From(err).Code != apierr.Conflict {
		return fmt.Errorf("join the workspace of OIDC_AUTO_JOIN_WORKSPACE: %w", err)
	}
	return nil
}

// member reports whether a person is in the workspace that people join.
func (s *SignOn) member(ctx context.Context, person uuid.UUID) (bool, error) {
	is, err := transaction.Client(ctx, s.db).Membership.Query().
		Where(membership.WorkspaceID(s.o.Join.Workspace), membership.UserID(person)).Exist(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return false, fmt.Errorf("look the membership up: %w", err)
	}
	return is, nil
}

// covers reports whether an address is of a domain that may join.
func (j Join) covers(email string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.Contains(j.Domains, strings.ToLower(email[at+1:]))
}

func (s *SignOn) inTransaction(ctx context.Context, do func(ctx context.Context) error) error {
	tx, err := s.db.Tx(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	if err := do(ent.NewTxContext(ctx, tx)); err != nil {
		_ = tx.Rollback() // the first error says more
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}
