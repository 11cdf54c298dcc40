package authn

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/membership"
	"github.com/magpie-search/magpie/ent/token"
	"github.com/magpie-search/magpie/ent/user"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ratelimit"
	"github.com/magpie-search/magpie/internal/store/ttlcache"
	"github.com/magpie-search/magpie/internal/viewer"
)

// maxCachedTokens is the maximum number of cached tokens, of which the unknown ones are
// part.
const maxCachedTokens = 10_000

// cachedToken is the state of a token.
type cachedToken struct {
	viewer  viewer.Viewer
	revoked bool
	expires *time.Time
}

// TokenLimiter limits the requests of a token. [ratelimit.Limiter] implements it.
type TokenLimiter interface {
	Allow(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
}

// WithTokenLimit limits the requests a minute of each token. By default they are not
// limited.
func WithTokenLimit(limiter TokenLimiter, perMinute int) AccountOption {
	return func(a *Accounts) { a.tokenLimiter, a.tokensPerMinute = limiter, perMinute }
}

func errInvalidToken() error { return apierr.New(apierr.Unauthorized, "Invalid token") }

// authenticateToken returns the viewer of a personal or service token. The error is
// unauthorized if the token is malformed, unknown, revoked or expired, or its person is
// not a member any more, and rate_limited beyond its limit. Token and role are at most
// CacheMaxAge old. A malformed token and one with a wrong checksum cost no statement.
func (a *Accounts) authenticateToken(ctx context.Context, presented string) (viewer.Viewer, error) {
	if !isWellFormed(presented) {
		return viewer.Viewer{}, errInvalidToken()
	}
	t, found, err := a.accessTokens.Get(ctx, sha256.Sum256([]byte(presented)))
	switch {
	case errors.Is(err, ttlcache.ErrClosed):
		return viewer.Viewer{}, &apierr.Error{Code: apierr.Unavailable, Message: "The server is shutting down; try again in a moment.", Cause: err}
	case err != nil:
		return viewer.Viewer{}, apierr.Wrap("look the token up", err)
	case !found, t.revoked:
		return viewer.Viewer{}, errInvalidToken()
	case t.expires != nil && !a.now().Before(*t.expires):
		return viewer.Viewer{}, apierr.New(apierr.Unauthorized, "The token has expired")
	}
	if a.tokenLimiter != nil {
		result, err := a.tokenLimiter.Allow(ctx, "token:"+t.viewer.Token.String(), a.tokensPerMinute)
		if err != nil {
			return viewer.Viewer{}, apierr.Wrap("count the request", err)
		}
		if !result.Allowed {
			return viewer.Viewer{}, &apierr.Error{Code: apierr.RateLimited, Message: "Rate limit exceeded", RetryAfter: max(result.RetryAfter, 1)}
		}
	}
	return t.viewer, nil
}

// loadToken reads a token with its person and role, and records its use.
func (a *Accounts) loadToken(ctx context.Context, hash [sha256.Size]byte) (cachedToken, bool, error) {
	system := asSystem(ctx)
	row, err := a.ent.Token.Query().Where(token.Hash(hash[:])).Only(system)
	if ent.IsNotFound(err) {
		return cachedToken{}, false, nil
	}
	if err != nil {
		return cachedToken{}, false, err
	}
	v := viewer.Viewer{
		Workspace: row.WorkspaceID, Subject: row.ID, Kind: viewer.KindService, Token: row.ID, TokenName: row.Name,
		AllCollections: true, AllGroups: row.Groups == nil,
	}
	for _, g := range row.Groups {
		v.Groups = append(v.Groups, viewer.Group(g))
	}
	if row.Role != nil {
		v.Role = roleOf(membership.Role(*row.Role))
	}
	if row.UserID != nil {
		found, err := a.actAsPerson(system, &v, *row.UserID, row.Role != nil)
		if err != nil || !found {
			return cachedToken{}, false, err
		}
	}
	if now := a.timestamp(); row.RevokedAt == nil && (row.ExpiresAt == nil || now.Before(*row.ExpiresAt)) &&
		(row.LastUsedAt == nil || now.Sub(*row.LastUsedAt) >= useInterval) {
		// Authentication works with a read-only database, too.
		if err := a.recordTokenUse(system, row.ID, now); err != nil {
			a.log.WarnContext(ctx, "recording token use failed", slog.Any("token", row.ID), slog.Any("error", err))
		}
	}
	return cachedToken{viewer: v, revoked: row.RevokedAt != nil, expires: row.ExpiresAt}, true, nil
}

// actAsPerson makes v the viewer of a member, with the lower one of the member's role
// and, if the token has one, its own. It reports false if the person is no member.
func (a *Accounts) actAsPerson(system context.Context, v *viewer.Viewer, person uuid.UUID, limited bool) (bool, error) {
	member, err := a.ent.Membership.Query().Where(membership.WorkspaceID(v.Workspace), membership.UserID(person)).WithUser(func(q *ent.UserQuery) {
		q.Select(user.FieldEmail, user.FieldEmailVerified)
	}).Only(system)
	if ent.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	role := roleOf(member.Role)
	if limited {
		role = viewer.Min(role, v.Role)
	}
	v.Subject, v.Kind, v.Role = person, viewer.KindSession, role
	v.Email, v.Verified = member.Edges.User.Email, member.Edges.User.EmailVerified
	return true, nil
}

// recordTokenUse stores when and from where a token was last used, once a minute. Plain
// SQL keeps updated_at: nobody has changed the token.
func (a *Accounts) recordTokenUse(ctx context.Context, id uuid.UUID, now time.Time) error {
	_, err := a.ent.ExecContext(ctx, `update tokens set last_used_at = $2, last_address = coalesce(nullif($4, ''), last_address)
		where id = $1 and (last_used_at is null or last_used_at <= $3)`, id, now, now.Add(-useInterval), ClientOf(ctx).storable().Address)
	return err
}
