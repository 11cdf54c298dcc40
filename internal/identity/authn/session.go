package authn

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/predicate"
	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/transaction"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Lifetimes of the two session tokens.
const (
	AccessLifetime  = 15 * time.Minute
	RefreshLifetime = 30 * 24 * time.Hour
)

// RefreshGrace is how long a refresh token that was just exchanged may be
// exchanged again, for the same new one: two tabs of a browser, and a client
// that lost the answer, are no thieves.
const RefreshGrace = 10 * time.Second

// MaxSessions is how many sessions a person may have; a further sign-in ends the
// one that was not used for the longest time.
const MaxSessions = 100

// keepEnded is how long the row of an ended session is kept.
const keepEnded = 24 * time.Hour

// ErrNoWorkspace is inside the error for a person who is a member of nothing.
var ErrNoWorkspace = errors.New("the person is a member of no workspace")

// Tokens is what a sign-in gives: a signed access token, and a refresh token
// that works once.
type Tokens struct {
	Access, Refresh string
	ExpiresAt       time.Time // of the access token
}

// ClientInfo is what is kept of the device that a person uses.
type ClientInfo struct {
	Address   string // of an IPv6 client its network
	UserAgent string
}

type clientKey struct{}

// WithClient puts what is known of a request's device into its context.
func WithClient(ctx context.Context, c ClientInfo) context.Context {
	return context.WithValue(ctx, clientKey{}, c)
}

// ClientOf is what is known of a request's device; nothing where nothing was set.
func ClientOf(ctx context.Context) ClientInfo {
	c, _ := ctx.Value(clientKey{}).(ClientInfo)
	return c
}

// shown is the device as it may be stored.
func (c ClientInfo) shown() ClientInfo {
	agent := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return '?'
		}
		return r
	}, c.UserAgent)
	if runes := []rune(agent); len(runes) > 300 {
		agent = string(runes[:300])
	}
	if len(c.Address) > 64 {
		c.Address = c.Address[:64]
	}
	return ClientInfo{Address: c.Address, UserAgent: agent}
}

// OpenSession signs a person in without asking for anything: whoever calls has
// checked who it is. The session is in the given workspace, not_found when the
// person is no member; for uuid.Nil in the one they last worked in, else in the
// first they joined, ErrNoWorkspace when there is none. The device is that of
// ClientOf. It becomes part of ctx's transaction.
func (a *Accounts) OpenSession(ctx context.Context, person, workspace uuid.UUID) (Tokens, error) {
	client, system := transaction.Client(ctx, a.ent), asSystem(ctx)
	if workspace == uuid.Nil {
		var err error
		if workspace, err = a.usualWorkspace(ctx, person); err != nil {
			return Tokens{}, err
		}
	}
	if err := a.makeRoom(ctx, person); err != nil {
		return Tokens{}, err
	}
	now, device := a.stamp(), ClientOf(ctx).shown()
	row, err := client.Session.Create().SetID(gid.New(gid.Session)).SetWorkspaceID(workspace).SetUserID(person).
		SetExpiresAt(now.Add(RefreshLifetime)).SetLastUsedAt(now).
		SetUserAgent(device.UserAgent).SetAddress(device.Address).Save(system)
	if ent.IsConstraintError(err) {
		return Tokens{}, apierr.NotFound("Workspace")
	}
	if err != nil {
		return Tokens{}, apierr.Wrap("open the session", err)
	}
	return a.tokens(row.ID, row.Generation)
}

func (a *Accounts) usualWorkspace(ctx context.Context, person uuid.UUID) (uuid.UUID, error) {
	client, system := transaction.Client(ctx, a.ent), asSystem(ctx)
	last, err := client.Session.Query().Where(session.UserID(person)).
		Order(session.ByLastUsedAt(entsql.OrderDesc()), session.ByID(entsql.OrderDesc())).First(system)
	if err == nil {
		return last.WorkspaceID, nil // still a member: sessions end with the membership
	}
	if !ent.IsNotFound(err) {
		return uuid.Nil, apierr.Wrap("look the last session up", err)
	}
	member, err := client.Membership.Query().Where(membership.UserID(person)).
		Order(membership.ByCreatedAt(), membership.ByID()).First(system)
	if ent.IsNotFound(err) {
		return uuid.Nil, &apierr.Error{Code: apierr.Forbidden, Message: "This person is a member of no workspace", Cause: ErrNoWorkspace}
	}
	if err != nil {
		return uuid.Nil, apierr.Wrap("look the membership up", err)
	}
	return member.WorkspaceID, nil
}

// makeRoom drops a person's sessions that ended long ago and ends the oldest
// ones beyond MaxSessions.
func (a *Accounts) makeRoom(ctx context.Context, person uuid.UUID) error {
	client, system, before := transaction.Client(ctx, a.ent), asSystem(ctx), a.now().Add(-keepEnded)
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

// Refresh exchanges a refresh token for new tokens. The use of any token but the
// last shows that somebody copied one: the session ends, whoever uses it. The
// one before the last is forgiven for RefreshGrace.
func (a *Accounts) Refresh(ctx context.Context, token string) (Tokens, error) {
	id, generation, ok := a.readRefresh(token)
	if !ok {
		return Tokens{}, sessionRequired()
	}
	stolen := false
	err := a.inTransaction(asSystem(ctx), "refresh the session", func(ctx context.Context, client *ent.Client) error {
		row, err := client.Session.Query().Where(session.ID(id)).ForUpdate().Only(ctx)
		if ent.IsNotFound(err) {
			return sessionRequired()
		}
		if err != nil {
			return err
		}
		now, device := a.stamp(), ClientOf(ctx).shown()
		switch {
		case row.RevokedAt != nil, !now.Before(row.ExpiresAt), generation > row.Generation:
			return sessionRequired()
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
		a.Recheck(func(v viewer.Viewer) bool { return v.Session == id })
		a.log.WarnContext(ctx, "a refresh token was used a second time: its session has ended", slog.Any("session", id))
		return Tokens{}, sessionRequired()
	}
	return a.tokens(id, generation+1)
}

// Sessions are those of the viewer that have not ended, in all workspaces, the
// last used first: at most MaxSessions.
func (a *Accounts) Sessions(ctx context.Context) ([]*ent.Session, error) {
	v, err := signedIn(ctx)
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
	v, err := signedIn(ctx)
	if err != nil {
		return err
	}
	_, err = a.endWhere(ctx, func(other viewer.Viewer) bool { return other.Session == v.Session }, session.ID(v.Session))
	return err
}

// EndSession ends one of the viewer's sessions; not_found for all others.
func (a *Accounts) EndSession(ctx context.Context, id uuid.UUID) error {
	v, err := signedIn(ctx)
	if err != nil {
		return err
	}
	ended, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Session == id }, session.ID(id), session.UserID(v.Subject))
	if err == nil && ended == 0 {
		return apierr.NotFound("Session")
	}
	return err
}

// SignOutEverywhere ends all sessions of the viewer, in all workspaces, the
// present one included.
func (a *Accounts) SignOutEverywhere(ctx context.Context) error {
	v, err := signedIn(ctx)
	if err != nil {
		return err
	}
	return a.EndSessionsOf(ctx, v.Subject, uuid.Nil)
}

// EndSessionsOf ends all sessions of a person but one, which may be uuid.Nil.
// Whoever calls has checked that this may be.
func (a *Accounts) EndSessionsOf(ctx context.Context, person, except uuid.UUID) error {
	_, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Subject == person }, session.UserID(person), session.IDNEQ(except))
	return err
}

// EndOne ends one session. Whoever calls has checked that this may be.
func (a *Accounts) EndOne(ctx context.Context, id uuid.UUID) error {
	_, err := a.endWhere(ctx, func(v viewer.Viewer) bool { return v.Session == id }, session.ID(id))
	return err
}

// endWhere ends sessions that have not ended, and says how many. Those that
// match, and maybe some more, are read anew on this node once that is committed;
// others see it within FreshFor.
func (a *Accounts) endWhere(ctx context.Context, match func(viewer.Viewer) bool, where ...predicate.Session) (int, error) {
	ended, err := transaction.Client(ctx, a.ent).Session.Update().
		Where(append(where, session.RevokedAtIsNil(), session.ExpiresAtGT(a.now()))...).
		SetRevokedAt(a.stamp()).Save(asSystem(ctx))
	if err != nil {
		return 0, apierr.Wrap("end the session", err)
	}
	transaction.AfterCommit(ctx, func(context.Context) { a.Recheck(match) })
	return ended, nil
}
