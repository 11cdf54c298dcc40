package signon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

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
	// MarkVerified records that the address of a person is verified. The first time it
	// removes the password and ends the sessions.
	MarkVerified(ctx context.Context, person *ent.User, name string) error
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
	// Groups give people of a group of the provider another role. The first that
	// applies counts.
	Groups []GroupRole
	// Setting is the name of the setting with the workspace, for errors.
	Setting string
}

// GroupRole is the role of the people in a group of the provider.
type GroupRole struct {
	Group string
	Role  membership.Role
}

// role returns the role of a person who joins.
func (j Join) role(who identity) membership.Role {
	for _, g := range j.Groups {
		if slices.Contains(who.Groups, g.Group) {
			return g.Role
		}
	}
	return j.Role
}

// admission decides which person an identity is, and opens their session.
type admission struct {
	db       *ent.Client
	pool     *pgxpool.Pool
	people   People
	guests   Guests // may be nil
	join     Join
	provider string // its name
	now      func() time.Time
}

// errNotInvited returns the error for a valid identity that has no access.
func errNotInvited() error {
	return apierr.New(apierr.Forbidden, "You have signed in, but you are a member of no workspace here; ask to be invited")
}

// openSession opens a session for an identity. It is that of the person who is
// linked to the issuer and subject or, the first time, of the person with the
// verified email address. An unknown person needs an invitation or a domain that
// may join.
func (a *admission) openSession(ctx context.Context, who identity) (authn.Tokens, error) {
	person, err := a.linkedPerson(ctx, who)
	if err != nil {
		return authn.Tokens{}, err
	}
	if person != uuid.Nil {
		tokens, err := a.people.OpenSession(ctx, person, lastWorkspace)
		if !errors.Is(err, authn.ErrNoWorkspace) {
			return tokens, err
		}
		// A removed person needs an invitation.
		return a.signInByAddress(ctx, who, false)
	}
	found, err := a.people.FindPerson(ctx, who.Email)
	switch {
	case err == nil:
		if err := a.link(ctx, who, found.ID); err != nil {
			return authn.Tokens{}, err
		}
		if err := a.joinDomain(ctx, found.ID, who); err != nil {
			return authn.Tokens{}, err
		}
	case apierr.From(err).Code != apierr.CodeNotFound:
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return a.signInByAddress(ctx, who, true)
}

// signInByAddress opens a session for the person with the address, and links the
// identity to them.
func (a *admission) signInByAddress(ctx context.Context, who identity, mayJoin bool) (authn.Tokens, error) {
	tokens, err := a.signInVerified(ctx, who)
	switch {
	case err == nil:
	case apierr.From(err).Code != apierr.Forbidden:
		return authn.Tokens{}, err
	default:
		if !mayJoin || !a.join.includes(who.Email) {
			return authn.Tokens{}, errNotInvited()
		}
		if tokens, err = a.createAndJoin(ctx, who); err != nil {
			return authn.Tokens{}, err
		}
	}
	// Now the person exists. If the identity cannot be linked, the session is not
	// returned.
	found, err := a.people.FindPerson(ctx, who.Email)
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return tokens, a.link(ctx, who, found.ID)
}

// signInVerified opens a session for a member or an invited person.
func (a *admission) signInVerified(ctx context.Context, who identity) (authn.Tokens, error) {
	if a.guests != nil {
		return a.guests.SignInVerified(ctx, who.Email, who.Name)
	}
	found, err := a.people.FindPerson(ctx, who.Email)
	if err != nil && apierr.From(err).Code == apierr.CodeNotFound {
		return authn.Tokens{}, errNotInvited()
	}
	if err != nil {
		return authn.Tokens{}, fmt.Errorf("look the person up: %w", err)
	}
	return a.people.OpenSession(ctx, found.ID, lastWorkspace)
}

// linkedPerson returns the person that an identity is linked to, or uuid.Nil.
func (a *admission) linkedPerson(ctx context.Context, who identity) (person uuid.UUID, err error) {
	err = a.pool.QueryRow(ctx, `update identities set used_at = $3 where issuer = $1 and subject = $2 returning user_id`,
		who.Issuer, who.Subject, a.now()).Scan(&person)
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
func (a *admission) link(ctx context.Context, who identity, person uuid.UUID) error {
	var linked uuid.UUID
	err := a.pool.QueryRow(ctx, `insert into identities (issuer, subject, user_id) values ($1, $2, $3)
		on conflict (issuer, subject) do update set used_at = now() returning user_id`, who.Issuer, who.Subject, person).Scan(&linked)
	var state *pgconn.PgError
	if errors.As(err, &state) && state.Code == "23505" {
		// Either the person has another identity, or a concurrent sign-in linked this one.
		linked, err = a.linkedPerson(ctx, who)
	}
	if err == nil && linked != person {
		return apierr.New(apierr.Forbidden, "The account of this email address belongs to another identity at "+a.provider+"; ask your administrator")
	}
	if err != nil {
		return fmt.Errorf("link the identity: %w", err)
	}
	return a.markVerified(ctx, person, who.Name)
}

// markVerified records that the provider vouches for the address of a person.
func (a *admission) markVerified(ctx context.Context, person uuid.UUID, name string) error {
	return transaction.In(viewer.With(ctx, viewer.System(uuid.Nil)), a.db, func(ctx context.Context, client *ent.Client) error {
		row, err := client.User.Query().Where(user.ID(person)).ForUpdate().Only(ctx)
		if err != nil {
			return fmt.Errorf("read the person: %w", err)
		}
		if row.EmailVerified {
			return nil
		}
		return a.people.MarkVerified(ctx, row, name)
	})
}

// createAndJoin creates a person and makes them a member of the workspace of their
// domain. Concurrent sign-ins create one person.
func (a *admission) createAndJoin(ctx context.Context, who identity) (authn.Tokens, error) {
	err := transaction.In(transaction.Outside(ctx), a.db, func(ctx context.Context, _ *ent.Client) error {
		created, err := a.people.CreatePerson(ctx, authn.PersonDraft{Email: who.Email, Name: who.Name, Verified: true})
		if err != nil {
			return err
		}
		return a.joinDomain(ctx, created.ID, who)
	})
	switch {
	case err == nil, apierr.From(err).Code == apierr.Conflict:
	case apierr.From(err).Code == apierr.InvalidRequest:
		return authn.Tokens{}, &apierr.Error{Code: apierr.Forbidden, Message: "Your email address at " + a.provider + " cannot be used here", Cause: err}
	default:
		return authn.Tokens{}, err
	}
	tokens, err := a.signInVerified(ctx, who)
	if err != nil && apierr.From(err).Code == apierr.Forbidden {
		return authn.Tokens{}, errNotInvited() // the address belongs to a person without access
	}
	return tokens, err
}

// joinDomain makes a person a member of the workspace of their domain.
func (a *admission) joinDomain(ctx context.Context, person uuid.UUID, who identity) error {
	if !a.join.includes(who.Email) {
		return nil
	}
	member, err := a.member(ctx, person)
	if err != nil || member {
		return err
	}
	if _, err := a.people.Join(ctx, a.join.Workspace, person, a.join.role(who)); err != nil && apierr.From(err).Code != apierr.Conflict {
		return fmt.Errorf("join the workspace of %s: %w", a.join.Setting, err)
	}
	return nil
}

// member reports whether a person is a member of the workspace to join.
func (a *admission) member(ctx context.Context, person uuid.UUID) (bool, error) {
	is, err := transaction.Client(ctx, a.db).Membership.Query().
		Where(membership.WorkspaceID(a.join.Workspace), membership.UserID(person)).Exist(viewer.With(ctx, viewer.System(uuid.Nil)))
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
