package authn

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/token"
	"github.com/magpie-search/magpie/ent/workspace"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/apierr/check"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// The default and the maximum lifetime of a personal token.
const (
	TokenLifetime    = 90 * 24 * time.Hour
	MaxTokenLifetime = 366 * 24 * time.Hour
)

// The maximum numbers of valid tokens of a person and of service tokens, in a workspace.
const (
	MaxPersonalTokens = 50
	MaxServiceTokens  = 100
)

// maxListedTokens is the maximum number of a person's tokens in a list.
const maxListedTokens = 200

// tokenRetention is how long the row of an ended token is kept.
const tokenRetention = 90 * 24 * time.Hour

// TokenDraft describes a token to create.
type TokenDraft struct {
	Name string
	// Role is the most that the token may do. Empty is the current role of the person;
	// a service token needs one.
	Role viewer.Role
	// Groups are the groups of operations; nil for all. A service token needs some.
	Groups []viewer.Group
	// ExpiresAt is nil for the default: TokenLifetime for a personal token, never for a
	// service token.
	ExpiresAt *time.Time
	// Numbered adds a number to a name that a valid token has, instead of failing.
	Numbered bool
}

// CreatedToken is a new token. Secret is not stored.
type CreatedToken struct {
	Secret string
	Row    *ent.Token
}

// CreatePersonalToken creates a token that acts as the viewer in their workspace. The
// viewer must have signed in.
func (a *Accounts) CreatePersonalToken(ctx context.Context, in TokenDraft) (*CreatedToken, error) {
	in, err := a.CheckPersonalToken(ctx, in)
	if err != nil {
		return nil, err
	}
	v, _ := viewer.From(ctx) // checked
	return a.createToken(ctx, v, in, PersonalTokenPrefix)
}

// CheckPersonalToken returns the draft with its defaults, or the error of CreatePersonalToken,
// as far as it does not depend on other tokens.
func (a *Accounts) CheckPersonalToken(ctx context.Context, in TokenDraft) (TokenDraft, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return in, err
	}
	now := a.timestamp()
	if in.ExpiresAt == nil {
		until := now.Add(TokenLifetime)
		in.ExpiresAt = &until
	}
	switch {
	case in.ExpiresAt.After(now.Add(MaxTokenLifetime)):
		return in, apierr.Invalid("expiresAt", "must be at most 366 days from now")
	case in.Groups != nil && len(in.Groups) == 0:
		return in, apierr.Invalid("groups", "must name at least one group, or be left out")
	case in.Role != "" && !v.Role.AtLeast(in.Role):
		return in, errRoleAboveMaker()
	}
	return a.checkToken(v, in)
}

// CreateServiceToken creates a token of the viewer's workspace. Its role is not above
// the viewer's and not owner.
func (a *Accounts) CreateServiceToken(ctx context.Context, in TokenDraft) (*CreatedToken, error) {
	v, ok := viewer.From(ctx)
	if !ok || v.Workspace == uuid.Nil || v.Kind != viewer.KindSession && v.Kind != viewer.KindSystem {
		return nil, errSessionRequired()
	}
	switch {
	case len(in.Groups) == 0:
		return nil, apierr.Invalid("groups", "must name at least one group")
	case !in.Role.AtLeast(viewer.RoleViewer):
		return nil, apierr.Invalid("role", "is required")
	case in.Role == viewer.RoleOwner:
		return nil, apierr.Invalid("role", "must not be owner")
	}
	return a.createToken(ctx, v, in, ServiceTokenPrefix)
}

// checkToken checks what holds for all tokens, except the role of their maker.
func (a *Accounts) checkToken(v viewer.Viewer, in TokenDraft) (TokenDraft, error) {
	if v.Token != uuid.Nil {
		return in, apierr.New(apierr.Forbidden, "A token cannot create tokens; sign in")
	}
	name, err := check.Label("name", in.Name, check.MaxName)
	if err != nil {
		return in, err
	}
	if strings.ContainsFunc(name, func(c rune) bool { return unicode.Is(unicode.Bidi_Control, c) }) {
		return in, apierr.Invalid("name", "must not have control characters") // those that reorder the text, too
	}
	in.Name = name
	slices.Sort(in.Groups)
	return in, a.checkTokenExpiry(&in.ExpiresAt)
}

func errRoleAboveMaker() error {
	return apierr.New(apierr.Forbidden, "Your role does not allow this; a token has no role above its maker's")
}

func (a *Accounts) createToken(ctx context.Context, v viewer.Viewer, in TokenDraft, prefix string) (*CreatedToken, error) {
	in, err := a.checkToken(v, in)
	if err != nil {
		return nil, err
	}
	made := &CreatedToken{Secret: newAccessToken(prefix)}
	err = transaction.In(ctx, a.ent, func(ctx context.Context, client *ent.Client) error {
		system := asSystem(ctx)
		role, err := a.lockMaker(system, client, v)
		if err != nil {
			return err
		}
		personal := prefix == PersonalTokenPrefix
		switch {
		case !personal && !role.AtLeast(viewer.RoleAdmin):
			return apierr.New(apierr.Forbidden, "Your role does not allow this; it needs the role admin")
		case in.Role != "" && !role.AtLeast(in.Role):
			return errRoleAboveMaker()
		}
		create := client.Token.Create().SetWorkspaceID(v.Workspace).SetHash(hash(made.Secret)).SetHint(made.Secret[:tokenHint]).
			SetNillableExpiresAt(in.ExpiresAt)
		owner, most := token.UserIDIsNil(), MaxServiceTokens
		if personal {
			owner, most = token.UserID(v.Subject), MaxPersonalTokens
			create.SetUserID(v.Subject)
		}
		if v.Kind == viewer.KindSession {
			create.SetCreatedBy(v.Subject)
		}
		if in.Role != "" {
			create.SetRole(token.Role(strings.ToUpper(string(in.Role))))
		}
		if in.Groups != nil {
			create.SetGroups(groupNames(in.Groups))
		}
		name, err := a.checkRoom(system, client, v.Workspace, owner, in, most)
		if err != nil {
			return err
		}
		create.SetName(name)
		made.Row, err = create.Save(system)
		return err
	})
	if err != nil {
		return nil, apierr.Wrap("create the token", err)
	}
	made.Row = transaction.Detach(ctx, made.Row)
	return made, nil
}

// lockMaker locks the tokens of the viewer's workspace and returns the viewer's current
// role.
func (a *Accounts) lockMaker(system context.Context, client *ent.Client, v viewer.Viewer) (viewer.Role, error) {
	_, err := client.Workspace.Query().Where(workspace.ID(v.Workspace)).ForUpdate(entsql.WithLockClause("FOR NO KEY UPDATE")).Only(system)
	if ent.IsNotFound(err) {
		return "", apierr.NotFound("Workspace")
	}
	if err != nil || v.Kind == viewer.KindSystem {
		return viewer.RoleOwner, err
	}
	row, err := client.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.UserID(v.Subject)).Only(system)
	if ent.IsNotFound(err) {
		return "", errSessionRequired()
	}
	if err != nil {
		return "", err
	}
	return roleOf(row.Role), nil
}

// checkRoom deletes tokens of an owner that ended long ago, and returns the name of a new
// one. It fails if the valid ones are too many, or one has the name.
func (a *Accounts) checkRoom(system context.Context, client *ent.Client, workspace uuid.UUID, owner predicate.Token, in TokenDraft, most int) (string, error) {
	now := a.now()
	before := now.Add(-tokenRetention)
	if _, err := client.Token.Delete().Where(token.WorkspaceID(workspace), owner, token.Or(token.RevokedAtLT(before), token.ExpiresAtLT(before))).Exec(system); err != nil {
		return "", err
	}
	names, err := client.Token.Query().Where(token.WorkspaceID(workspace), owner, token.RevokedAtIsNil(), token.Or(token.ExpiresAtIsNil(), token.ExpiresAtGT(now))).
		Select(token.FieldName).Strings(system)
	if err != nil {
		return "", err
	}
	if len(names) >= most {
		return "", apierr.New(apierr.Conflict, fmt.Sprintf("There are %d valid tokens already, which is the most; revoke some", len(names)))
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(other, name) })
	}
	name := in.Name
	for number := 2; taken(name); number++ {
		if !in.Numbered {
			return "", apierr.New(apierr.Conflict, "A valid token has this name already")
		}
		suffix := fmt.Sprintf(" (%d)", number)
		name = safetext.Truncate(in.Name, check.MaxName-len(suffix)) + suffix
	}
	return name, nil
}

func (a *Accounts) checkTokenExpiry(at **time.Time) error {
	if *at == nil {
		return nil
	}
	if !(*at).After(a.now()) {
		return apierr.Invalid("expiresAt", "must be in the future")
	}
	if (*at).Year() > 9999 {
		return apierr.Invalid("expiresAt", "is too far away")
	}
	exact := (*at).Truncate(time.Microsecond) // the precision of the database
	*at = &exact
	return nil
}

func groupNames(groups []viewer.Group) []string {
	names := make([]string, 0, len(groups))
	for _, g := range slices.Compact(groups) {
		names = append(names, string(g))
	}
	return names
}

// MyTokens returns the viewer's own tokens in the workspace, the newest first.
func (a *Accounts) MyTokens(ctx context.Context) ([]*ent.Token, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := transaction.Client(ctx, a.ent).Token.Query().Where(token.UserID(v.Subject)).
		Order(token.ByCreatedAt(entsql.OrderDesc()), token.ByID(entsql.OrderDesc())).Limit(maxListedTokens).All(ctx)
	return rows, apierr.Wrap("list the tokens", err)
}

// RevokeToken ends a token that the viewer may see: their own or, as an administrator,
// any of the workspace. A token that has ended stays as it is.
func (a *Accounts) RevokeToken(ctx context.Context, id uuid.UUID) (*ent.Token, error) {
	var row *ent.Token
	err := transaction.In(ctx, a.ent, func(ctx context.Context, client *ent.Client) error {
		if err := lookup.Exists(ctx, "Token", client.Token.Query().Where(token.ID(id))); err != nil {
			return err
		}
		_, err := a.revokeTokens(ctx, func(v viewer.Viewer) bool { return v.Token == id }, token.ID(id))
		if err != nil {
			return err
		}
		row, err = client.Token.Get(ctx, id)
		return err
	})
	if err != nil {
		return nil, apierr.Wrap("revoke the token", err)
	}
	return transaction.Detach(ctx, row), nil
}

// RevokePresented ends a personal token for its holder. That needs no other right: it also
// works while the person is suspended and beyond the token's limit of requests. A token that
// is malformed or unknown is ignored, and one that has ended stays as it is.
func (a *Accounts) RevokePresented(ctx context.Context, presented string) error {
	if !isWellFormed(presented) {
		return nil
	}
	system := asSystem(ctx)
	row, err := a.ent.Token.Query().Where(token.Hash(hash(presented)), token.UserIDNotNil()).Only(system)
	if ent.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return apierr.Wrap("look the token up", err)
	}
	person, err := a.ent.User.Get(system, *row.UserID)
	if err != nil {
		return apierr.Wrap("read the person of the token", err)
	}
	// Of this viewer the audit log takes the person; its rights come from asSystem.
	by := viewer.Viewer{Workspace: row.WorkspaceID, Subject: person.ID, Email: person.Email, Token: row.ID, TokenName: row.Name, Kind: viewer.KindSession}
	_, err = a.revokeTokens(viewer.With(ctx, by), func(v viewer.Viewer) bool { return v.Token == row.ID }, token.ID(row.ID))
	return err
}

// revokeTokens ends tokens and returns how many. After the commit it removes the
// matching ones from the cache of this node; other nodes notice within CacheMaxAge.
func (a *Accounts) revokeTokens(ctx context.Context, match func(viewer.Viewer) bool, where ...predicate.Token) (int, error) {
	ended, err := transaction.Client(ctx, a.ent).Token.Update().Where(append(where, token.RevokedAtIsNil())...).SetRevokedAt(a.timestamp()).Save(asSystem(ctx))
	if err != nil {
		return 0, apierr.Wrap("revoke the token", err)
	}
	transaction.AfterCommit(ctx, func(context.Context) { a.InvalidateSessions(match) })
	return ended, nil
}

// revokeTokensOf ends all tokens of a person in all workspaces.
func (a *Accounts) revokeTokensOf(ctx context.Context, person uuid.UUID) error {
	_, err := a.revokeTokens(ctx, func(v viewer.Viewer) bool { return v.Subject == person }, token.UserID(person))
	return err
}

// TokenStatus returns the current state of a token: StatusActive, StatusExpired or
// StatusRevoked.
func (a *Accounts) TokenStatus(row *ent.Token) string {
	switch {
	case row.RevokedAt != nil:
		return StatusRevoked
	case row.ExpiresAt != nil && !a.now().Before(*row.ExpiresAt):
		return StatusExpired
	default:
		return StatusActive
	}
}
