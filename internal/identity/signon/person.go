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

var lastWorkspace = uuid.Nil // for OpenSession: the workspace that the person used last

// People manages accounts. authn.Accounts implements it.
type People interface {
	// FindPerson returns the person with an email address, or not_found.
	FindPerson(ctx context.Context, email string) (*ent.User, error)
	// CreatePerson creates a person without a membership. It is a conflict if the
	// address is taken.
	CreatePerson(ctx context.Context, in authn.PersonDraft) (*ent.User, error)
	// Join makes a person a member. It is a conflict if they are one.
	Join(ctx context.Context, workspace, person uuid.UUID, role membership.Role) (*ent.Membership, error)
	// OpenSession signs a person in.
	OpenSession(ctx context.Context, person, workspace uuid.UUID) (authn.Tokens, error)
}

// Guests signs in people with a verified address. people.People implements it.
type Guests interface {
	// SignInVerified opens a session for the member with an address, or for an
	// invited person, whom it makes a member. Others are forbidden.
	SignInVerified(ctx context.Context, email, name string) (authn.Tokens, error)
}

// Join lets unknown people become members.
type Join struct {
	// Domains are the domains of email addresses, in lower case, that may join.
	Domains []string
	// Workspace and Role are the membership that they get.
	Workspace uuid.UUID
	Role      membership.Role
}

// errNotInvited returns the error for a valid identity that has no access.
func errNotInvited() error {
	return apierr.New(apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited")
}

// openSession opens a session for an identity. It is that of the person who is
// linked to the issuer and subject or, the first time, of the person with the
// verified email address. An unknown person needs an invitation or a domain that
// may join.
func (s *SignOn) openSession(ctx context.Context, who identity) (authn.Tokens, error) {
	person, err := s.linkedPerson(ctx, who)
	if err != nil {
		return authn.Tokens{}, err
	}
	if person != uuid.Nil {
		tokens, err := s.people.OpenSession(ctx, person, lastWorkspace)
		if !errors.Is(err, authn.ErrNoWorkspace) {
			return tokens, err
		}
		// A removed person needs an invitation.
		return s.signInByAddress(ctx, who, false)
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
	return s.signInByAddress(ctx, who, true)
}

// signInByAddress opens a session for the person with the address, and links the
// identity to them.
func (s *SignOn) signInByAddress(ctx context.Context, who identity, mayJoin bool) (authn.Tokens, error) {
	tokens, err := s.signInVerified(ctx, who)
	switch {
	case err == nil:
	case apierr.From(err).Code != apierr.Forbidden:
		return authn.Tokens{}, err
	default:
		if !mayJoin || !s.o.Join.includes(who.Email) {
			return authn.Tokens{}, errNotInvited()
		}
		if tokens, err = s.createAndJoin(ctx, who); err != nil {
			return authn.Tokens{}, err
		}
	}
	// Now the person exists. If the identity cannot be linked, the session is not
	// returned.
	found, err := s.people.FindPerson(ctx, who.Email)
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return tokens, s.link(ctx, who, found.ID)
}

// signInVerified opens a session for a member or an invited person.
func (s *SignOn) signInVerified(ctx context.Context, who identity) (authn.Tokens, error) {
	if s.o.Guests != nil {
		return s.o.Guests.SignInVerified(ctx, who.Email, who.Name)
	}
	found, err := s.people.FindPerson(ctx, who.Email)
	if err != nil && apierr.From(err).Code == apierr.CodeNotFound {
		return authn.Tokens{}, errNotInvited()
	}
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return s.people.OpenSession(ctx, found.ID, lastWorkspace)
}

// linkedPerson returns the person that an identity is linked to, or uuid.Nil.
func (s *SignOn) linkedPerson(ctx context.Context, who identity) (person uuid.UUID, err error) {
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

// link links an identity to a person. It is forbidden if the person is linked to
// another subject of the issuer: the provider may have reassigned the address.
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

// createAndJoin creates a person and makes them a member of the workspace of their
// domain. Concurrent sign-ins create one person.
func (s *SignOn) createAndJoin(ctx context.Context, who identity) (authn.Tokens, error) {
	err := transaction.In(transaction.Outside(ctx), s.db, func(ctx context.Context, _ *ent.Client) error {
		created, err := s.people.CreatePerson(ctx, authn.PersonDraft{Email: who.Email, Name: who.Name, Verified: true})
		if err != nil {
			return err
		}
		return s.join(ctx, created.ID, who)
	})
	switch {
	case err == nil, apierr.From(err).Code == apierr.Conflict:
	case apierr.From(err).Code == apierr.InvalidRequest:
		return authn.Tokens{}, &apierr.Error{Code: apierr.Forbidden, Message: "Your email address at " + s.o.Name + " cannot be used here", Cause: err}
	default:
		return authn.Tokens{}, err
	}
	tokens, err := s.signInVerified(ctx, who)
	if err != nil && apierr.From(err).Code == apierr.Forbidden {
		return authn.Tokens{}, errNotInvited() // the address belongs to a person without access
	}
	return tokens, err
}

// join makes a person a member of the workspace of their domain.
func (s *SignOn) join(ctx context.Context, person uuid.UUID, who identity) error {
	if !s.o.Join.includes(who.Email) {
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

// member reports whether a person is a member of the workspace to join.
func (s *SignOn) member(ctx context.Context, person uuid.UUID) (bool, error) {
	is, err := transaction.Client(ctx, s.db).Membership.Query().
		Where(membership.WorkspaceID(s.o.Join.Workspace), membership.UserID(person)).Exist(viewer.With(ctx, viewer.System(uuid.Nil)))
	if err != nil {
		return false, fmt.Errorf("look the membership up: %w", err)
	}
	return is, nil
}

// includes reports whether the domain of an address may join.
func (j Join) includes(email string) bool {
	at := strings.LastIndexByte(email, '@')
	return at > 0 && slices.Contains(j.Domains, strings.ToLower(email[at+1:]))
}
