package authn

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/membership"
	"magpie/ent/user"
	"magpie/internal/apierr"
	"magpie/internal/transaction"
	"magpie/internal/viewer"
)

// ErrNoWorkspace is inside the error for a person who is a member of nothing.
var ErrNoWorkspace = errors.New("the person is a member of no workspace")

// NewPerson is somebody to be made.
type NewPerson struct {
	Email, Name string
	// PasswordHash is empty for a person who signs in by a provider only.
	PasswordHash string
	// Verified says that a sign-in provider vouches for the address.
	Verified bool
}

// FindPerson is who has an email address; not_found when nobody has.
func (a *Accounts) FindPerson(ctx context.Context, email string) (*ent.User, error) {
	email, err := cleanEmail(email)
	if err != nil {
		return nil, apierr.NotFound("Person")
	}
	person, err := transaction.Client(ctx, a.ent).User.Query().Where(user.Email(email)).Only(asSystem(ctx))
	if ent.IsNotFound(err) {
		return nil, apierr.NotFound("Person")
	}
	return person, apierr.Wrap("look the person up", err)
}

// CreatePerson makes a person who is a member of nothing yet, in ctx's
// transaction if there is one. An address that somebody has is a conflict.
func (a *Accounts) CreatePerson(ctx context.Context, in NewPerson) (*ent.User, error) {
	email, err := cleanEmail(in.Email)
	if err != nil {
		return nil, err
	}
	create := transaction.Client(ctx, a.ent).User.Create().SetEmail(email).SetName(in.Name).SetEmailVerified(in.Verified)
	if in.PasswordHash != "" {
		create.SetPasswordHash(in.PasswordHash)
	}
	person, err := create.Save(asSystem(ctx))
	if ent.IsConstraintError(err) {
		return nil, apierr.New(apierr.Conflict, "A person with this email address exists already")
	}
	return person, apierr.Wrap("make the account", err)
}

// Join makes a person a member of a workspace, in ctx's transaction if there is
// one. One who is a member already is a conflict.
func (a *Accounts) Join(ctx context.Context, workspace, person uuid.UUID, role membership.Role) (*ent.Membership, error) {
	row, err := transaction.Client(ctx, a.ent).Membership.Create().SetWorkspaceID(workspace).SetUserID(person).SetRole(role).Save(asSystem(ctx))
	if ent.IsConstraintError(err) {
		return nil, apierr.New(apierr.Conflict, "This person is a member of the workspace already")
	}
	return row, apierr.Wrap("make the person a member", err)
}

// OpenSession signs a person in without asking for anything: whoever calls has
// checked who it is. The session is in the given workspace, not_found when the
// person is no member; for uuid.Nil in the first they joined, ErrNoWorkspace when
// there is none.
func (a *Accounts) OpenSession(ctx context.Context, person, workspace uuid.UUID) (Tokens, error) {
	client, system := transaction.Client(ctx, a.ent), asSystem(ctx)
	if workspace == uuid.Nil {
		member, err := client.Membership.Query().Where(membership.UserID(person)).
			Order(membership.ByCreatedAt(), membership.ByID()).First(system)
		if ent.IsNotFound(err) {
			return Tokens{}, &apierr.Error{Code: apierr.Forbidden, Message: "This person is a member of no workspace", Cause: ErrNoWorkspace}
		}
		if err != nil {
			return Tokens{}, apierr.Wrap("look the membership up", err)
		}
		workspace = member.WorkspaceID
	}
	refresh := random()
	row, err := client.Session.Create().SetWorkspaceID(workspace).SetUserID(person).
		SetRefreshHash(hash(refresh)).SetExpiresAt(a.now().Add(RefreshLifetime)).Save(system)
	if ent.IsConstraintError(err) {
		return Tokens{}, apierr.NotFound("Workspace")
	}
	if err != nil {
		return Tokens{}, apierr.Wrap("open the session", err)
	}
	return a.tokens(row.ID, refresh)
}

func asSystem(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}
