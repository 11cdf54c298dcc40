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

// maxKnownSessions bounds the sessions that a node keeps in memory.
const maxKnownSessions = 50_000

// standing is a session as the database had it a moment ago.
type standing struct {
	viewer  viewer.Viewer
	ended   bool
	expires time.Time
}

// Authenticate makes a viewer of an access token: unauthorized when it is forged
// or over, or its session has ended. Session and role are known from memory and
// at most FreshFor old, so that a sign-out, a removal and a changed role bind on
// every node within a second, however long the token has to live. The caller
// sets the surface.
func (a *Accounts) Authenticate(ctx context.Context, token string) (viewer.Viewer, error) {
	id, ok := a.readAccess(token)
	if !ok {
		return viewer.Viewer{}, sessionRequired()
	}
	return a.SessionViewer(ctx, id)
}

// SessionViewer is the viewer of a session, as Authenticate gives it.
func (a *Accounts) SessionViewer(ctx context.Context, id uuid.UUID) (viewer.Viewer, error) {
	s, found, err := a.known.Get(ctx, id)
	switch {
	case errors.Is(err, ttlcache.ErrClosed):
		return viewer.Viewer{}, &apierr.Error{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment.", Cause: err}
	case err != nil:
		return viewer.Viewer{}, apierr.Wrap("read the session", err)
	case !found, s.ended, !a.now().Before(s.expires):
		return viewer.Viewer{}, sessionRequired()
	}
	return s.viewer, nil
}

// Recheck makes this node read the matching sessions anew before it trusts them:
// a change that was made here binds here at once. Call it once the change is
// committed (transaction.AfterCommit).
func (a *Accounts) Recheck(match func(viewer.Viewer) bool) {
	a.known.Invalidate(func(s standing) bool { return match(s.viewer) })
}

// readStanding reads a session, with its person and their role, and notes its
// use.
func (a *Accounts) readStanding(ctx context.Context, id uuid.UUID) (standing, bool, error) {
	system := asSystem(ctx)
	row, err := a.ent.Session.Query().Where(session.ID(id)).WithUser().Only(system)
	if ent.IsNotFound(err) {
		return standing{}, false, nil
	}
	if err != nil {
		return standing{}, false, err
	}
	member, err := a.ent.Membership.Query().
		Where(membership.WorkspaceID(row.WorkspaceID), membership.UserID(row.UserID)).Only(system)
	if ent.IsNotFound(err) {
		return standing{}, false, nil
	}
	if err != nil {
		return standing{}, false, err
	}
	if now := a.stamp(); row.RevokedAt == nil && now.Sub(row.LastUsedAt) >= usedEvery {
		// A database that is read-only for now still tells who somebody is.
		if err := a.noteUse(system, id, now); err != nil {
			a.log.WarnContext(ctx, "the use of a session could not be noted", slog.Any("session", id), slog.Any("error", err))
		}
	}
	return standing{
		viewer: viewer.Viewer{
			Workspace: row.WorkspaceID, Subject: row.UserID, Session: row.ID, Kind: viewer.KindSession,
			Role: roleOf(member.Role), AllCollections: true, Email: row.Edges.User.Email, Verified: row.Edges.User.EmailVerified,
		},
		ended: row.RevokedAt != nil, expires: row.ExpiresAt,
	}, true, nil
}

// noteUse stores when a session was last used, once a minute. Plain SQL keeps
// updated_at, since nobody has changed the session.
func (a *Accounts) noteUse(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := a.ent.ExecContext(ctx, "update sessions set last_used_at = $2, address = coalesce(nullif($4, ''), address) where id = $1 and last_used_at <= $3",
		id, now, now.Add(-usedEvery), ClientOf(ctx).shown().Address)
	return err
}
