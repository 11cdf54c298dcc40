package authn

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/session"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxCachedSessions is the maximum number of cached sessions.
const maxCachedSessions = 50_000

// cachedSession is the state of a session.
type cachedSession struct {
	viewer  viewer.Viewer
	ended   bool
	expires time.Time
}

// Authenticate returns the viewer of an access token of the dashboard, or of a personal
// or service token. The error is unauthorized if the token is forged, expired or revoked,
// or the session has ended, and rate_limited beyond the limit of a personal or service token. The session and the
// role are at most CacheMaxAge old, so a sign-out or a changed role takes effect on
// every node within a second. The caller sets the surface.
func (a *Accounts) Authenticate(ctx context.Context, token string) (viewer.Viewer, error) {
	if IsAccessToken(token) {
		return a.authenticateToken(ctx, token)
	}
	id, ok := a.parseAccess(token, "")
	if !ok {
		return viewer.Viewer{}, errSessionRequired()
	}
	return a.SessionViewer(ctx, id)
}

// SessionViewer returns the viewer of a session, as Authenticate does.
func (a *Accounts) SessionViewer(ctx context.Context, id uuid.UUID) (viewer.Viewer, error) {
	s, found, err := a.sessions.Get(ctx, id)
	switch {
	case errors.Is(err, ttlcache.ErrClosed):
		return viewer.Viewer{}, &apierr.Error{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment.", Cause: err}
	case err != nil:
		return viewer.Viewer{}, apierr.Wrap("read the session", err)
	case !found, s.ended, !a.now().Before(s.expires):
		return viewer.Viewer{}, errSessionRequired()
	}
	return s.viewer, nil
}

// InvalidateSessions removes the matching sessions and tokens from the cache of this node.
// Call it after the commit of a change (transaction.AfterCommit).
func (a *Accounts) InvalidateSessions(match func(viewer.Viewer) bool) {
	a.sessions.Invalidate(func(s cachedSession) bool { return match(s.viewer) })
	a.accessTokens.Invalidate(func(t cachedToken) bool { return match(t.viewer) })
}

// loadSession reads a session with its person and role, and records its use.
func (a *Accounts) loadSession(ctx context.Context, id uuid.UUID) (cachedSession, bool, error) {
	system := asSystem(ctx)
	row, err := a.ent.Session.Query().Where(session.ID(id)).WithUser().Only(system)
	if ent.IsNotFound(err) {
		return cachedSession{}, false, nil
	}
	if err != nil {
		return cachedSession{}, false, err
	}
	member, err := a.ent.Membership.Query().
		Where(membership.WorkspaceID(row.WorkspaceID), membership.UserID(row.UserID)).Only(system)
	if ent.IsNotFound(err) {
		return cachedSession{}, false, nil
	}
	if err != nil {
		return cachedSession{}, false, err
	}
	if now := a.timestamp(); row.RevokedAt == nil && now.Sub(row.LastUsedAt) >= useInterval {
		// Authentication works with a read-only database, too.
		if err := a.recordUse(system, id, now); err != nil {
			a.log.WarnContext(ctx, "recording session use failed", slog.Any("session", id), slog.Any("error", err))
		}
	}
	return cachedSession{
		viewer: viewer.Viewer{
			Workspace: row.WorkspaceID, Subject: row.UserID, Session: row.ID, Kind: viewer.KindSession,
			Role: roleOf(member.Role), AllCollections: true, Email: row.Edges.User.Email, Verified: row.Edges.User.EmailVerified,
		},
		ended: row.RevokedAt != nil, expires: row.ExpiresAt,
	}, true, nil
}

// recordUse stores when a session was last used, once a minute. Plain SQL keeps
// updated_at: nobody has changed the session.
func (a *Accounts) recordUse(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := a.ent.ExecContext(ctx, "update sessions set last_used_at = $2, address = coalesce(nullif($4, ''), address) where id = $1 and last_used_at <= $3",
		id, now, now.Add(-useInterval), ClientOf(ctx).storable().Address)
	return err
}
