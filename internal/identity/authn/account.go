package authn

import (
	"context"
	"crypto/sha256"
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

// Accounts creates people, signs them in and out, and authenticates their tokens.
// It caches sessions and tokens; Close ends its goroutines.
type Accounts struct {
	ent       *ent.Client
	passwords *Passwords
	key       []byte
	keys      [][]byte // that verify; key is the first
	now       func() time.Time
	log       *slog.Logger
	sessions  *ttlcache.Cache[uuid.UUID, cachedSession]

	accessTokens    *ttlcache.Cache[[sha256.Size]byte, cachedToken]
	tokenLimiter    TokenLimiter // nil: no limit
	tokensPerMinute int
}

// AccountOption configures Accounts.
type AccountOption func(*Accounts)

// WithAccountLog sets the log for warnings. Default: discard.
func WithAccountLog(log *slog.Logger) AccountOption { return func(a *Accounts) { a.log = log } }

// WithOlderKeys sets keys that verify tokens beside the one that signs them, so that a
// change of the key ends no session.
func WithOlderKeys(keys [][]byte) AccountOption {
	return func(a *Accounts) { a.keys = append(a.keys, keys...) }
}

// NewAccounts returns the accounts of a database. key signs the tokens, has at
// least 32 bytes and is the same on all nodes. If now is nil, NewAccounts uses
// time.Now. A clock that is set back may keep an ended session valid.
func NewAccounts(client *ent.Client, passwords *Passwords, key []byte, now func() time.Time, options ...AccountOption) (*Accounts, error) {
	if len(key) < 32 {
		return nil, errors.New("the session key needs at least 32 bytes")
	}
	if now == nil {
		now = time.Now
	}
	a := &Accounts{ent: client, passwords: passwords, key: key, keys: [][]byte{key}, now: now, log: slog.New(slog.DiscardHandler)}
	for _, o := range options {
		o(a)
	}
	a.sessions = ttlcache.New(a.loadSession, ttlcache.Options{MaxAge: CacheMaxAge, MaxEntries: maxCachedSessions, Now: now})
	a.accessTokens = ttlcache.New(a.loadToken, ttlcache.Options{MaxAge: CacheMaxAge, MaxEntries: maxCachedTokens, Now: now})
	return a, nil
}

// Close ends the loads of sessions and tokens and waits for them.
func (a *Accounts) Close() {
	a.sessions.Close()
	a.accessTokens.Close()
}

// timestamp returns the time with the precision of the database.
func (a *Accounts) timestamp() time.Time { return a.now().Truncate(time.Microsecond) }

// asSystem returns ctx with Magpie itself as the viewer. It keeps the transaction.
func asSystem(ctx context.Context) context.Context {
	return viewer.With(ctx, viewer.System(uuid.Nil))
}

// inTransaction calls do in the transaction of ctx or in a new one.
func (a *Accounts) inTransaction(ctx context.Context, what string, do func(ctx context.Context, client *ent.Client) error) error {
	return apierr.Wrap(what, transaction.In(ctx, a.ent, do))
}

// PersonDraft describes a person to create.
type PersonDraft struct {
	Email, Name string
	// PasswordHash is a result of HashPassword; empty for a person who signs in by
	// a provider only.
	PasswordHash string
	// Verified reports whether a sign-in provider has verified the address.
	Verified bool
}

// FindPerson returns the person with an email address, in any spelling, or
// not_found.
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

// CreatePerson creates a person without a membership, in the transaction of ctx if
// there is one. It is a conflict if the address is taken. The name may be empty,
// but not blank.
func (a *Accounts) CreatePerson(ctx context.Context, in PersonDraft) (*ent.User, error) {
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

// Join makes a person a member of a workspace, in the transaction of ctx if there
// is one. It is a conflict if the person is a member already.
func (a *Accounts) Join(ctx context.Context, workspace, person uuid.UUID, role membership.Role) (*ent.Membership, error) {
	row, err := transaction.Client(ctx, a.ent).Membership.Create().SetWorkspaceID(workspace).SetUserID(person).SetRole(role).Save(asSystem(ctx))
	if ent.IsConstraintError(err) {
		return nil, apierr.New(apierr.Conflict, "This person is a member of the workspace already")
	}
	return row, apierr.Wrap("make the person a member", err)
}

// CreateWorkspace creates a workspace and its first owner, in the transaction of
// ctx if there is one.
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

// CreateOwner creates a person and a workspace that the person owns. It is a
// conflict if the address is taken.
func (a *Accounts) CreateOwner(ctx context.Context, workspace, email, name, password string) (*ent.User, error) {
	return a.add(ctx, email, name, password, func(ctx context.Context, person *ent.User) error {
		_, err := a.CreateWorkspace(ctx, workspace, person.ID)
		return err
	})
}

// AddMember creates a person who is a member of a workspace.
func (a *Accounts) AddMember(ctx context.Context, workspace uuid.UUID, email, name, password string, role membership.Role) (*ent.User, error) {
	return a.add(ctx, email, name, password, func(ctx context.Context, person *ent.User) error {
		_, err := a.Join(ctx, workspace, person.ID, role)
		return err
	})
}

func (a *Accounts) add(ctx context.Context, email, name, password string, join func(context.Context, *ent.User) error) (*ent.User, error) {
	phc, err := a.HashPassword(ctx, email, password)
	if err != nil {
		return nil, err
	}
	var person *ent.User
	err = a.inTransaction(asSystem(ctx), "make the account", func(ctx context.Context, _ *ent.Client) error {
		if person, err = a.CreatePerson(ctx, PersonDraft{Email: email, Name: name, PasswordHash: phc}); err != nil {
			return err
		}
		return join(ctx, person)
	})
	if err != nil {
		return nil, err
	}
	return person, nil
}

// errWrongCredentials returns the error of every failed sign-in.
func errWrongCredentials() error {
	return apierr.New(apierr.InvalidCredentials, "Email or password is wrong")
}

// SignIn checks email and password and opens a session in the workspace that the
// person used last, or else joined first. The error does not say whether the email
// or the password is wrong, and an unknown address takes the same time. SignIn
// renews a hash with outdated parameters.
func (a *Accounts) SignIn(ctx context.Context, email, password string) (Tokens, error) {
	person, err := a.CheckPassword(ctx, email, password)
	if err != nil {
		return Tokens{}, err
	}
	tokens, err := a.OpenSession(ctx, person.ID, uuid.Nil)
	if errors.Is(err, ErrNoWorkspace) {
		return Tokens{}, errWrongCredentials()
	}
	return tokens, err
}

// CheckPassword returns the person with this email and password, or
// invalid_credentials.
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
		return nil, errWrongCredentials()
	}
	if a.passwords.Outdated(phc) {
		a.rehash(ctx, person, password)
	}
	return person, nil
}

// rehash stores a hash with the current parameters. A failure is only logged: the
// next sign-in tries again.
func (a *Accounts) rehash(ctx context.Context, person *ent.User, password string) {
	phc, err := a.passwords.Hash(ctx, password)
	if err == nil {
		err = a.ent.User.Update().Where(user.ID(person.ID), user.PasswordHash(person.PasswordHash)).SetPasswordHash(phc).Exec(asSystem(ctx))
	}
	if err != nil {
		a.log.WarnContext(ctx, "password rehash failed", slog.Any("person", person.ID), slog.Any("error", err))
	}
}

// HashPassword checks a new password of a person and returns its hash. It is slow:
// call it before a transaction.
func (a *Accounts) HashPassword(ctx context.Context, email, password string) (string, error) {
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

// MarkVerified records that a sign-in provider has verified a person's address, and
// sets the name if it is empty. The first time, it deletes the password and ends
// all sessions and tokens: somebody other than the owner of the address may have created the
// account.
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
		if err := a.revokeTokensOf(ctx, person.ID); err != nil {
			return err
		}
	}
	return apierr.Wrap("note the verified address", update.Exec(asSystem(ctx)))
}

// requirePerson returns the viewer if it is a person.
func requirePerson(ctx context.Context) (viewer.Viewer, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Kind != viewer.KindSession {
		return viewer.Viewer{}, errSessionRequired()
	}
	return v, nil
}

func errSessionRequired() error { return apierr.New(apierr.Unauthorized, "Session required") }

// roleOf converts a stored role.
func roleOf(role membership.Role) viewer.Role { return viewer.Role(strings.ToLower(string(role))) }
