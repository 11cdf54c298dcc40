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

	"magpie/ent"
	"magpie/ent/membership"
	"magpie/ent/user"
	"magpie/internal/apierr"
	"magpie/internal/authn"
	"magpie/internal/transaction"
	"magpie/internal/viewer"
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

// Invitations are the open invitations.
type Invitations interface {
	// AcceptVerified makes a person, whose address is proven, a member of every
	// workspace that has an open invitation for it, in ctx's transaction. It says
	// how many.
	AcceptVerified(ctx context.Context, person uuid.UUID, email string) (int, error)
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

// person is who an identity stands for: by issuer and subject, and the first
// time by the email address, for which the provider vouches. Somebody who is not
// known is made when they are invited or of a domain that may join.
func (s *SignOn) person(ctx context.Context, who identity) (uuid.UUID, error) {
	for again := false; ; again = true {
		person, err := s.known(ctx, who)
		if err != nil || person != uuid.Nil {
			return person, err
		}
		found, err := s.people.FindPerson(ctx, who.Email)
		switch {
		case err == nil:
			if err := s.link(ctx, who, found.ID); err != nil {
				return uuid.Nil, err
			}
			return found.ID, s.enter(ctx, found.ID, who, false)
		case apierr.From(err).Code != apierr.CodeNotFound:
			return uuid.Nil, fmt.Errorf("look the person up: %w", err)
		}
		person, err = s.create(ctx, who)
		if err == nil {
			return person, s.link(ctx, who, person)
		}
		if again || apierr.From(err).Code != apierr.Conflict {
			return uuid.Nil, err
		}
		// Somebody made the person at the same time: look again.
	}
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

// create makes a person who may come in.
func (s *SignOn) create(ctx context.Context, who identity) (person uuid.UUID, err error) {
	err = s.inTransaction(ctx, func(ctx context.Context) error {
		made, err := s.people.CreatePerson(ctx, authn.NewPerson{Email: who.Email, Name: who.Name, Verified: true})
		if err != nil && apierr.From(err).Code == apierr.InvalidRequest {
			return &apierr.Error{Code: apierr.Forbidden, Message: "Your email address at " + s.o.Name + " cannot be used here", Cause: err}
		}
		if err != nil {
			return err //nolint:wrapcheck // an error of the interface
		}
		person = made.ID
		return s.enter(ctx, person, who, true)
	})
	return person, err
}

// enter makes somebody who signs in for the first time a member of what they
// are invited to, and of what their domain may join. Who was known and has been
// removed from a workspace does not come back by that.
func (s *SignOn) enter(ctx context.Context, person uuid.UUID, who identity, needed bool) error {
	joined := 0
	if s.o.Invitations != nil {
		n, err := s.o.Invitations.AcceptVerified(ctx, person, who.Email)
		if err != nil {
			return fmt.Errorf("accept invitations: %w", err)
		}
		joined += n
	}
	if s.o.Join.covers(who.Email) {
		member, err := s.member(ctx, person)
		if err == nil && !member {
			_, err = s.people.Join(ctx, s.o.Join.Workspace, person, s.o.Join.Role)
		}
		if err != nil && (needed || apierr.From(err).Code != apierr.Conflict) {
			return fmt.Errorf("join the workspace of OIDC_AUTO_JOIN_WORKSPACE: %w", err)
		}
		joined++
	}
	if needed && joined == 0 {
		return notInvited()
	}
	return nil
}

// member reports whether a person is in the workspace that people join: an
// invitation may have come first.
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
