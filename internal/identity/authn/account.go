package authn

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Accounts are the people of a database: it makes them, signs them in and out,
// and recognises their tokens. It owns goroutines while it reads or watches
// sessions; Close ends them.
type Accounts struct {
	ent       *ent.Client
	passwords *Passwords
	key       []byte
	now       func() time.Time
	log       *slog.Logger
	known     *ttlcache.Cache[uuid.UUID, standing]
}

// AccountOption changes what NewAccounts makes.
type AccountOption func(*Accounts)

// WithAccountLog gives the log that receives warnings, with ids only; none
// without.
func WithAccountLog(log *slog.Logger) AccountOption { return func(a *Accounts) { a.log = log } }

// NewAccounts returns the accounts of a database. key signs the tokens and has
// at least 32 bytes; every node needs the same. A nil clock is the system's; one
// that is not monotonic may keep an ended session alive when it is set back.
// Close it once.
func NewAccounts(client *ent.Client, passwords *Passwords, key []byte, now func() time.Time, options ...AccountOption) (*Accounts, error) {
	if len(key) < 32 {
		return nil, errors.New("the session key needs at least 32 bytes")
	}
	if now == nil {
		now = time.Now
	}
	a := &Accounts{ent: client, passwords: passwords, key: key, now: now, log: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(a)
	}
	a.known = ttlcache.New(a.readStanding, ttlcache.Options{MaxAge: FreshFor, MaxEntries: maxKnownSessions, Now: now})
	return a, nil
}

// Close ends what reads sessions, and waits for it.
func (a *Accounts) Close() {
	a.known.Close()
}

// stamp is the time as exact as the database keeps it.
func (a *Accounts) stamp() time.Time { return a.now().Truncate(time.Microsecond) }

// asSystem is ctx with Magpie itself as its viewer; a transaction in it stays.
func asSystem(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// inTransaction does something in ctx's transaction, or in one of its own.
// What is to follow the commit is left to transaction.AfterCommit.
func (a *Accounts) inTransaction(ctx context.Context, what string, do func(ctx context.Context, client *ent.Client) error) error {
	return apierr.Wrap(what, transaction.In(ctx, a.ent, do))
}

// NewPerson is somebody to be made.
type NewPerson struct {
	Email, Name string
	// PasswordHash is what HashNew gave; empty for a person who signs in by a
	// provider only.
	PasswordHash string
	// Verified says that a sign-in provider vouches for the address.
	Verified bool
}

// FindPerson is who has an email address, in any way of writing it; not_found
// when nobody has.
func (a *Accounts) FindPerson(ctx context.Context, email string) (*ent.User, error) {
	email, err := CleanEmail(email)
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
// transaction if there is one. An address that somebody has is a conflict. A
// name may be empty, not blank.
func (a *Accounts) CreatePerson(ctx context.Context, in NewPerson) (*ent.User, error) {
	email, err := CleanEmail(in.Email)
	if err != nil {
		return nil, err
	}
	name, err := CleanName("name", in.Name, in.Name == "")
	if err != nil {
		return nil, err
	}
	create := transaction.Client(ctx, a.ent).User.Create().SetEmail(email).SetName(name).SetEmailVerified(in.Verified)
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

// CreateWorkspace makes a workspace with its first owner, in ctx's transaction
// if there is one.
func (a *Accounts) CreateWorkspace(ctx context.Context, name string, owner uuid.UUID) (*ent.Workspace, error) {
	name, err := CleanName("workspace", name, false)
	if err != nil {
		return nil, err
	}
	var made *ent.Workspace
	err = a.inTransaction(ctx, "make the workspace", func(ctx context.Context, client *ent.Client) error {
		if made, err = client.Workspace.Create().SetID(gid.New(gid.Workspace)).SetName(name).Save(asSystem(ctx)); err != nil {
			return err
		}
		_, err = a.Join(ctx, made.ID, owner, membership.RoleOwner)
		return err
	})
	if err != nil {
		return nil, err
	}
	return made, nil
}

// CreateOwner makes a workspace with its first owner. An email that is in use
// already is a conflict.
func (a *Accounts) CreateOwner(ctx context.Context, workspace, email, name, password string) (*ent.User, error) {
	return a.add(ctx, email, name, password, func(ctx context.Context, person *ent.User) error {
		_, err := a.CreateWorkspace(ctx, workspace, person.ID)
		return err
	})
}

// AddMember makes a person and puts them into a workspace.
func (a *Accounts) AddMember(ctx context.Context, workspace uuid.UUID, email, name, password string, role membership.Role) (*ent.User, error) {
	return a.add(ctx, email, name, password, func(ctx context.Context, person *ent.User) error {
		_, err := a.Join(ctx, workspace, person.ID, role)
		return err
	})
}

func (a *Accounts) add(ctx context.Context, email, name, password string, join func(context.Context, *ent.User) error) (*ent.User, error) {
	phc, err := a.HashNew(ctx, email, password)
	if err != nil {
		return nil, err
	}
	var person *ent.User
	err = a.inTransaction(asSystem(ctx), "make the account", func(ctx context.Context, _ *ent.Client) error {
		if person, err = a.CreatePerson(ctx, NewPerson{Email: email, Name: name, PasswordHash: phc}); err != nil {
			return err
		}
		return join(ctx, person)
	})
	if err != nil {
		return nil, err
	}
	return person, nil
}

// wrongCredentials is all that a failed sign-in tells.
func wrongCredentials() error {
	return apierr.New(apierr.InvalidCredentials, "Email or password is wrong")
}

// SignIn checks email and password and opens a session in the workspace that
// the person last worked in, else in the first they joined. What is wrong of the
// two is not told, and an unknown address costs the same work. A hash of other
// parameters than the present ones is made anew.
func (a *Accounts) SignIn(ctx context.Context, email, password string) (Tokens, error) {
	person, err := a.CheckPassword(ctx, email, password)
	if err != nil {
		return Tokens{}, err
	}
	tokens, err := a.OpenSession(ctx, person.ID, uuid.Nil)
	if errors.Is(err, ErrNoWorkspace) {
		return Tokens{}, wrongCredentials()
	}
	return tokens, err
}

// CheckPassword is the person whose email and password these are;
// invalid_credentials in every other case.
func (a *Accounts) CheckPassword(ctx context.Context, email, password string) (*ent.User, error) {
	person, err := a.FindPerson(ctx, email)
	phc := ""
	switch {
	case err == nil:
		phc = person.PasswordHash
	case apierr.From(err).Code != apierr.CodeNotFound:
		return nil, err
	}
	ok, err := a.passwords.Match(ctx, password, phc)
	if err != nil {
		return nil, apierr.Wrap("check the password", err)
	}
	if !ok {
		return nil, wrongCredentials()
	}
	if a.passwords.Outdated(phc) {
		a.rehash(ctx, person, password)
	}
	return person, nil
}

// rehash stores a hash of the present parameters. It is of no consequence when
// that fails: the next sign-in tries again.
func (a *Accounts) rehash(ctx context.Context, person *ent.User, password string) {
	phc, err := a.passwords.Hash(ctx, password)
	if err == nil {
		err = a.ent.User.Update().Where(user.ID(person.ID), user.PasswordHash(person.PasswordHash)).SetPasswordHash(phc).Exec(asSystem(ctx))
	}
	if err != nil {
		a.log.WarnContext(ctx, "a password's hash could not be renewed", slog.Any("person", person.ID), slog.Any("error", err))
	}
}

// HashNew checks a new password of a person and hashes it; do it before a
// transaction is opened, since it takes its time.
func (a *Accounts) HashNew(ctx context.Context, email, password string) (string, error) {
	email, err := CleanEmail(email)
	if err != nil {
		return "", err
	}
	if err := checkNewPassword("password", password, email); err != nil {
		return "", err
	}
	phc, err := a.passwords.Hash(ctx, password)
	return phc, apierr.Wrap("hash the password", err)
}

// Rename changes the name of the viewer.
func (a *Accounts) Rename(ctx context.Context, name string) (*ent.User, error) {
	v, err := signedIn(ctx)
	if err != nil {
		return nil, err
	}
	if name, err = CleanName("name", name, false); err != nil {
		return nil, err
	}
	row, err := transaction.Client(ctx, a.ent).User.UpdateOneID(v.Subject).SetName(name).Save(asSystem(ctx))
	return row, apierr.Wrap("change the name", err)
}

// MarkVerified notes that a sign-in provider vouches for a person's address, and
// fills an empty name. At the first time the password goes and all sessions end:
// the account may have been made, or a link been used, by somebody else than the
// owner of the address.
func (a *Accounts) MarkVerified(ctx context.Context, person *ent.User, name string) error {
	update := transaction.Client(ctx, a.ent).User.UpdateOneID(person.ID)
	if person.Name == "" && name != "" {
		update.SetName(name)
	}
	if !person.EmailVerified {
		update.SetEmailVerified(true).ClearPasswordHash().ClearResetHash().ClearResetExpiresAt().ClearResetWorkspaceID()
		if err := a.EndSessionsOf(ctx, person.ID, uuid.Nil); err != nil {
			return err
		}
	}
	return apierr.Wrap("note the verified address", update.Exec(asSystem(ctx)))
}

// signedIn is the viewer, who must be a person.
func signedIn(ctx context.Context) (viewer.Viewer, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return viewer.Viewer{}, sessionRequired()
	}
	return v, nil
}

func sessionRequired() error { return apierr.New(apierr.Unauthorized, "Session required") }

// roleOf is a stored role as viewers have it.
func roleOf(role membership.Role) viewer.Role { return viewer.Role(strings.ToLower(string(role))) }
