package authn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/ent/token"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/safetext"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Lifetimes of the two session tokens.
const (
	// The lifetimes of the two session tokens.
	AccessLifetime  = 15 * time.Minute
	RefreshLifetime = 30 * 24 * time.Hour
)

// RefreshGrace is how long a refresh token can be exchanged again for the same new
// one: two tabs of a browser may use it at once, or a response may be lost.
const RefreshGrace = 10 * time.Second

// MaxSessions is the maximum number of sessions of a person. A further sign-in ends
// the least recently used one.
const MaxSessions = 100

// endedRetention is how long the row of an ended session is kept.
const endedRetention = 24 * time.Hour

const (
	maxAddress   = 64  // bytes
	maxUserAgent = 300 // characters
)

// ErrNoWorkspace is wrapped by the error for a person without a membership.
var ErrNoWorkspace = errors.New("the person is a member of no workspace")

// Tokens are the tokens of a session: a signed access token, and a refresh token
// that works once.
type Tokens struct {
	Access, Refresh string
	ExpiresAt       time.Time // of the access token
}

// ClientInfo describes the device of a request.
type ClientInfo struct {
	Address   string // the network, for an IPv6 client
	UserAgent string
}

type clientKey struct{}

// WithClient returns a context with the device of a request.
func WithClient(ctx context.Context, c ClientInfo) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf returns the device of a request, or the zero value.
func ClientOf(ctx context.Context) ClientInfo {
	c, _ := ctx.Value(clientKey{}).(ClientInfo)
	return c
}

// storable returns the device as it is stored.
func (c ClientInfo) storable() ClientInfo {
	return ClientInfo{
		Address: safetext.TruncateBytes(c.Address, maxAddress), UserAgent: safetext.Truncate(safetext.Line(c.UserAgent), maxUserAgent),
	}
}

// OpenSession signs a person in. The caller has authenticated them. The session is
// in the given workspace; the error is not_found if the person is no member. For
// uuid.Nil it is in the workspace that they used last, or else joined first; the
// error wraps ErrNoWorkspace if there is none. OpenSession joins the transaction of
// ctx.
func (a *Accounts) OpenSession(ctx context.Context, person, workspace uuid.UUID) (Tokens, error) {
	return a.openSession(ctx, person, workspace, Application{})
}

func (a *Accounts) openSession(ctx context.Context, person, workspace uuid.UUID, app Application) (Tokens, error) {
	client, system := transaction.Client(ctx, a.ent), asSystem(ctx)
	if workspace == uuid.Nil {
		var err error
		if workspace, err = a.defaultWorkspace(ctx, person); err != nil {
			return Tokens{}, err
		}
	} else if member, err := client.Membership.Query().Where(membership.WorkspaceID(workspace), membership.UserID(person)).Exist(system); err != nil || !member {
		return Tokens{}, errors.Join(apierr.Wrap("look the membership up", err), apierr.NotFound("Workspace"))
	}
	if err := a.limitSessions(ctx, person); err != nil {
		return Tokens{}, err
	}
	now, device := a.timestamp(), ClientOf(ctx).storable()
	row, err := client.Session.Create().SetID(gid.New(gid.Session)).SetWorkspaceID(workspace).SetUserID(person).
		SetExpiresAt(now.Add(RefreshLifetime)).SetLastUsedAt(now).SetApplication(app.Name).SetApplicationHash(app.hash()).
		SetUserAgent(device.UserAgent).SetAddress(device.Address).Save(system)
	if ent.IsConstraintError(err) {
		return Tokens{}, apierr.NotFound("Workspace")
	}
	if err != nil {
		return Tokens{}, apierr.Wrap("open the session", err)
	}
	return a.tokens(row.ID, row.Generation, app.Audience)
}

// defaultWorkspace returns the workspace that a person used last, or else joined
// first.
func (a *Accounts) defaultWorkspace(ctx context.Context, person uuid.UUID) (uuid.UUID, error) {
	client, system := transaction.Client(ctx, a.ent), asSystem(ctx)
	members, err := client.Membership.Query().Where(membership.UserID(person)).
		Order(membership.ByCreatedAt(), membership.ByID()).All(system)
	if err != nil {
		return uuid.Nil, apierr.Wrap("look the membership up", err)
	}
	if len(members) == 0 {
		return uuid.Nil, &apierr.Error{Code: apierr.Forbidden, Message: "This person is a member of no workspace", Cause: ErrNoWorkspace}
	}
	workspaces := make([]uuid.UUID, len(members))
	for i, m := range members {
		workspaces[i] = m.WorkspaceID
	}
	last, err := client.Session.Query().Where(session.UserID(person), session.WorkspaceIDIn(workspaces...)).
		Order(session.ByLastUsedAt(entsql.OrderDesc()), session.ByID(entsql.OrderDesc())).First(system)
	if ent.IsNotFound(err) {
		return members[0].WorkspaceID, nil
	}
	if err != nil {
		return uuid.Nil, apierr.Wrap("look the last session up", err)
	}
	return last.WorkspaceID, nil
}

// limitSessions deletes a person's old ended sessions and ends the oldest ones
// beyond MaxSessions.
func (a *Accounts) limitSessions(ctx context.Context, person uuid.UUID) error {
	client, system, before := transaction.Client(ctx, a.ent), asSystem(ctx), a.now().Add(-endedRetention)
	if _, err := client.Session.Delete().Where(session.UserID(person),
		session.Or(session.RevokedAtLT(before), session.ExpiresAtLT(before))).Exec(system); err != nil {
		return apierr.Wrap("drop ended sessions", err)
	}
	surplus, err := client.Session.Query().Where(session.UserID(person), session.RevokedAtIsNil()).
		Order(session.ByLastUsedAt(entsql.OrderDesc()), session.ByID(entsql.OrderDesc())).
		Offset(MaxSessions - 1).Limit(MaxSessions).IDs(system)
	if err != nil {
		return apierr.Wrap("count the sessions", err)
	}
	if len(surplus) == 0 {
		return nil
	}
	_, err = a.endWhere(ctx, func(v viewer.Viewer) bool { return slices.Contains(surplus, v.Session) }, session.IDIn(surplus...))
	return err
}

// Refresh exchanges a refresh token for new tokens. The use of an old token shows
// that it was copied, so it ends the session. The previous token is accepted for
// RefreshGrace.
func (a *Accounts) Refresh(ctx context.Context, token string) (Tokens, error) {
	return a.refresh(ctx, token, Application{})
}

// refresh exchanges a refresh token of an application, or of the dashboard for the
// zero value.
func (a *Accounts) refresh(ctx context.Context, token string, app Application) (Tokens, error) {
	id, generation, ok := a.parseRefresh(token)
	if !ok {
		return Tokens{}, errSessionRequired()
	}
	stolen := false
	err := a.inTransaction(asSystem(ctx), "refresh the session", func(ctx context.Context, client *ent.Client) error {
		row, err := client.Session.Query().Where(session.ID(id)).ForUpdate().Only(ctx)
		if ent.IsNotFound(err) {
			return errSessionRequired()
		}
		if err != nil {
			return err
		}
		now, device := a.timestamp(), ClientOf(ctx).storable()
		switch {
		case row.ApplicationHash != app.hash(), row.RevokedAt != nil, !now.Before(row.ExpiresAt), generation > row.Generation:
			return errSessionRequired()
		case generation == row.Generation:
			update := client.Session.UpdateOne(row).AddGeneration(1).SetRotatedAt(now).SetExpiresAt(now.Add(RefreshLifetime)).SetLastUsedAt(now)
			if device.Address != "" {
				update.SetAddress(device.Address)
			}
			return update.Exec(ctx)
		case generation == row.Generation-1 && row.RotatedAt != nil && now.Sub(*row.RotatedAt) < RefreshGrace:
			return nil
		default:
			stolen = true
			return client.Session.UpdateOne(row).SetRevokedAt(now).Exec(ctx)
		}
	})
	if err != nil {
		return Tokens{}, err
	}
	if stolen {
		a.InvalidateSessions(func(v viewer.Viewer) bool { return v.Session == id })
		a.log.WarnContext(ctx, "refresh token reused, session ended", slog.Any("session", id))
		return Tokens{}, errSessionRequired()
	}
	return a.tokens(id, generation+1, app.Audience)
}

// Sessions returns the viewer's valid sessions in all workspaces, the last used
// first.
func (a *Accounts) Sessions(ctx context.Context) ([]*ent.Session, error) {
	v, err := requirePerson(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := transaction.Client(ctx, a.ent).Session.Query().
		Where(session.UserID(v.Subject), session.RevokedAtIsNil(), session.ExpiresAtGT(a.now())).
		Order(session.ByLastUsedAt(entsql.OrderDesc()), session.ByID(entsql.OrderDesc())).Limit(MaxSessions).All(asSystem(ctx))
	return rows, apierr.Wrap("list the sessions", err)
}

// SignOut ends the viewer's session.
func (a *Accounts) SignOut(ctx context.Context) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	_, err = a.endWhere(ctx, func(other viewer.Viewer) bool { return other.Session == v.Session }, session.ID(v.Session))
	return err
}

// EndSession ends one of the viewer's sessions. Other sessions are not_found.
func (a *Accounts) EndSession(ctx context.Context, id uuid.UUID) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	ended, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Session == id }, session.ID(id), session.UserID(v.Subject))
	if err == nil && ended == 0 {
		return apierr.NotFound("Session")
	}
	return err
}

// SignOutEverywhere ends all sessions of the viewer in all workspaces, including
// the current one.
func (a *Accounts) SignOutEverywhere(ctx context.Context) error {
	v, err := requirePerson(ctx)
	if err != nil {
		return err
	}
	return a.EndSessionsOf(ctx, v.Subject, uuid.Nil)
}

// EndSessionsOf ends all sessions of a person except one, which may be uuid.Nil.
// The caller has checked the permission.
func (a *Accounts) EndSessionsOf(ctx context.Context, person, except uuid.UUID) error {
	_, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Subject == person }, session.UserID(person), session.IDNEQ(except))
	return err
}

// EndAccess ends all sessions and tokens of a person in a workspace. The caller has
// checked the permission.
func (a *Accounts) EndAccess(ctx context.Context, workspace, person uuid.UUID) error {
	match := func(v viewer.Viewer) bool { return v.Subject == person && v.Workspace == workspace }
	if _, err := a.endWhere(ctx, match, session.UserID(person), session.WorkspaceID(workspace)); err != nil {
		return err
	}
	_, err := a.revokeTokens(ctx, match, token.UserID(person), token.WorkspaceID(workspace))
	return err
}

// EndSessionUnchecked ends a session. The caller has checked the permission.
func (a *Accounts) EndSessionUnchecked(ctx context.Context, id uuid.UUID) error {
	_, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Session == id }, session.ID(id))
	return err
}

// endWhere ends valid sessions and returns how many. After the commit it removes
// the matching sessions from the cache of this node; other nodes notice within
// CacheMaxAge.
func (a *Accounts) endWhere(ctx context.Context, match func(viewer.Viewer) bool, where ...predicate.Session) (int, error) {
	ended, err := transaction.Client(ctx, a.ent).Session.Update().
		Where(append(where, session.RevokedAtIsNil(), session.ExpiresAtGT(a.now()))...).
		SetRevokedAt(a.timestamp()).Save(asSystem(ctx))
	if err != nil {
		return 0, apierr.Wrap("end the session", err)
	}
	transaction.AfterCommit(ctx, func(context.Context) { a.InvalidateSessions(match) })
	return ended, nil
}
