package authn

import (
	"context"
	"errors"
	"net/mail"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"

	"magpie/ent"
	"magpie/ent/membership"
	"magpie/ent/session"
	"magpie/ent/user"
	"magpie/internal/apierr"
	"magpie/internal/gid"
	"magpie/internal/transaction"
	"magpie/internal/viewer"
)

// Lifetimes of the two session tokens.
const (
	AccessLifetime  = 15 * time.Minute
	RefreshLifetime = 30 * 24 * time.Hour
)

// MinPassword is the least number of characters of a password.
const MinPassword = 10

// Tokens is what a sign-in gives: a signed access token that is checked without
// the database's session row being changed, and a refresh token that works once.
type Tokens struct {
	Access, Refresh string
	ExpiresAt       time.Time // of the access token
}

// Accounts signs people in and out.
type Accounts struct {
	ent       *ent.Client
	passwords *Passwords
	key       []byte
	now       func() time.Time
}

// NewAccounts returns the accounts of a database. key signs the access tokens
// (HS256) and has at least 32 bytes; every node needs the same. A nil clock is
// the system's.
func NewAccounts(client *ent.Client, passwords *Passwords, key []byte, now func() time.Time) (*Accounts, error) {
	if len(key) < 32 {
		return nil, errors.New("the session key needs at least 32 bytes")
	}
	if now == nil {
		now = time.Now
	}
	return &Accounts{ent: client, passwords: passwords, key: key, now: now}, nil
}

// CreateOwner makes a workspace with its first owner. An email that is in use
// already is a conflict.
func (a *Accounts) CreateOwner(ctx context.Context, workspace, email, name, password string) (*ent.User, error) {
	return a.add(ctx, uuid.Nil, workspace, email, name, password, membership.RoleOwner)
}

// AddMember makes a person and puts them into a workspace.
func (a *Accounts) AddMember(ctx context.Context, workspace uuid.UUID, email, name, password string, role membership.Role) (*ent.User, error) {
	return a.add(ctx, workspace, "", email, name, password, role)
}

func (a *Accounts) add(ctx context.Context, workspace uuid.UUID, title, email, name, password string, role membership.Role) (*ent.User, error) {
	email, err := cleanEmail(email)
	if err != nil {
		return nil, err
	}
	if len([]rune(password)) < MinPassword {
		return nil, apierr.Invalid("password", "must have at least 10 characters")
	}
	phc, err := a.passwords.Hash(ctx, password)
	if err != nil {
		return nil, apierr.Wrap("hash the password", err)
	}
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	tx, err := a.ent.Tx(system)
	if err != nil {
		return nil, apierr.Wrap("begin", err)
	}
	person, err := create(system, tx, workspace, title, email, name, phc, role)
	if err != nil {
		_ = tx.Rollback()
		if ent.IsConstraintError(err) {
			return nil, apierr.New(apierr.Conflict, "A person with this email address exists already")
		}
		return nil, apierr.Wrap("make the account", err)
	}
	if err := tx.Commit(); err != nil {
		return nil, apierr.Wrap("make the account", err)
	}
	return person.Unwrap(), nil
}

func create(ctx context.Context, tx *ent.Tx, workspace uuid.UUID, title, email, name, phc string, role membership.Role) (*ent.User, error) {
	if workspace == uuid.Nil {
		workspace = gid.New(gid.Workspace)
		if err := tx.Workspace.Create().SetID(workspace).SetName(title).Exec(ctx); err != nil {
			return nil, err
		}
	}
	person, err := tx.User.Create().SetEmail(email).SetName(name).SetPasswordHash(phc).Save(ctx)
	if err != nil {
		return nil, err
	}
	return person, tx.Membership.Create().SetWorkspaceID(workspace).SetUserID(person.ID).SetRole(role).Exec(ctx)
}

func cleanEmail(email string) (string, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	if parsed, err := mail.ParseAddress(email); err != nil || parsed.Address != email || len(email) > 320 {
		return "", apierr.Invalid("email", "must be an email address")
	}
	return email, nil
}

// SignIn checks email and password and opens a session in the first workspace
// that the person joined. What is wrong of the two is not told.
func (a *Accounts) SignIn(ctx context.Context, email, password string) (Tokens, error) {
	refused := apierr.New(apierr.InvalidCredentials, "Email or password is wrong")
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	person, err := a.ent.User.Query().Where(user.Email(strings.ToLower(strings.TrimSpace(email)))).Only(system)
	if err != nil && !ent.IsNotFound(err) {
		return Tokens{}, apierr.Wrap("look the person up", err)
	}
	phc := ""
	if person != nil {
		phc = person.PasswordHash
	}
	ok, err := a.passwords.Match(ctx, password, phc)
	if err != nil {
		return Tokens{}, apierr.Wrap("check the password", err)
	}
	if !ok {
		return Tokens{}, refused
	}
	member, err := a.ent.Membership.Query().Where(membership.UserID(person.ID)).
		Order(membership.ByCreatedAt(), membership.ByID()).First(system)
	if ent.IsNotFound(err) {
		return Tokens{}, refused
	}
	if err != nil {
		return Tokens{}, apierr.Wrap("look the membership up", err)
	}
	refresh := random()
	row, err := a.ent.Session.Create().SetWorkspaceID(member.WorkspaceID).SetUserID(person.ID).
		SetRefreshHash(hash(refresh)).SetExpiresAt(a.now().Add(RefreshLifetime)).Save(system)
	if err != nil {
		return Tokens{}, apierr.Wrap("open the session", err)
	}
	return a.tokens(row.ID, refresh)
}

func (a *Accounts) tokens(id uuid.UUID, refresh string) (Tokens, error) {
	now := a.now()
	expires := now.Add(AccessLifetime)
	access, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.RegisteredClaims{
		Issuer: "magpie", ID: id.String(), IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(expires),
	}).SignedString(a.key)
	if err != nil {
		return Tokens{}, apierr.Wrap("sign the session token", err)
	}
	return Tokens{Access: access, Refresh: refresh, ExpiresAt: expires}, nil
}

// Refresh exchanges a refresh token for new tokens. A token that was exchanged
// before has been copied by somebody: the session ends.
func (a *Accounts) Refresh(ctx context.Context, token string) (Tokens, error) {
	refused := apierr.New(apierr.Unauthorized, "Session required")
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	given, next := hash(token), random()
	rotated, err := a.ent.Session.Update().
		Where(session.RefreshHash(given), session.RevokedAtIsNil(), session.ExpiresAtGT(a.now())).
		SetPreviousHash(given).SetRefreshHash(hash(next)).SetExpiresAt(a.now().Add(RefreshLifetime)).
		Save(system)
	if err != nil {
		return Tokens{}, apierr.Wrap("rotate the session", err)
	}
	if rotated == 0 {
		if _, err := a.ent.Session.Update().Where(session.PreviousHash(given), session.RevokedAtIsNil()).
			SetRevokedAt(a.now()).Save(system); err != nil {
			return Tokens{}, apierr.Wrap("end the session", err)
		}
		return Tokens{}, refused
	}
	row, err := a.ent.Session.Query().Where(session.RefreshHash(hash(next))).Only(system)
	if err != nil {
		return Tokens{}, apierr.Wrap("read the session", err)
	}
	return a.tokens(row.ID, next)
}

// SignOut ends the viewer's session.
func (a *Accounts) SignOut(ctx context.Context) error {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return apierr.New(apierr.Unauthorized, "Session required")
	}
	err := transaction.Client(ctx, a.ent).Session.Update().Where(session.ID(v.Session)).SetRevokedAt(a.now()).Exec(ctx)
	return apierr.Wrap("end the session", err)
}

// Authenticate makes a viewer of an access token. The session and the
// membership are read each time, so that a sign-out and a changed role bind at
// once. The caller sets the surface.
func (a *Accounts) Authenticate(ctx context.Context, token string) (viewer.Viewer, error) {
	refused := apierr.New(apierr.Unauthorized, "Session required")
	var claims jwt.RegisteredClaims
	_, err := jwt.ParseWithClaims(token, &claims, func(*jwt.Token) (any, error) { return a.key, nil },
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithIssuer("magpie"), jwt.WithTimeFunc(a.now))
	if err != nil {
		return viewer.Viewer{}, refused
	}
	id, err := uuid.Parse(claims.ID)
	if err != nil {
		return viewer.Viewer{}, refused
	}
	system := viewer.With(ctx, viewer.System(uuid.Nil))
	row, err := a.ent.Session.Query().Where(session.ID(id)).WithUser().Only(system)
	switch {
	case ent.IsNotFound(err):
		return viewer.Viewer{}, refused
	case err != nil:
		return viewer.Viewer{}, apierr.Wrap("read the session", err)
	case row.RevokedAt != nil, !a.now().Before(row.ExpiresAt):
		return viewer.Viewer{}, refused
	}
	member, err := a.ent.Membership.Query().
		Where(membership.WorkspaceID(row.WorkspaceID), membership.UserID(row.UserID)).Only(system)
	switch {
	case ent.IsNotFound(err):
		return viewer.Viewer{}, refused
	case err != nil:
		return viewer.Viewer{}, apierr.Wrap("read the membership", err)
	}
	return viewer.Viewer{
		Workspace: row.WorkspaceID, Subject: row.UserID, Session: row.ID, Kind: viewer.KindSession,
		Role: viewer.Role(strings.ToLower(string(member.Role))), AllCollections: true, Email: row.Edges.User.Email,
	}, nil
}
