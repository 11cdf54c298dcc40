package graph

import (
	"context"
	"strings"

	"magpie/graph/model"
	"magpie/internal/apierr"
	"magpie/internal/authn"
	"magpie/internal/ratelimit"
)

// signInsPerMinute is how often one client may try one email address. It is
// for guessers: a sign-in that succeeds gives the whole of it back.
const signInsPerMinute = 10

// Attempts counts tries; ratelimit.Limiter does.
type Attempts interface {
	Allow(ctx context.Context, key string, perMinute int) (ratelimit.Result, error)
	Forget(ctx context.Context, key string)
}

func (r *Resolver) signIn(ctx context.Context, in model.SignInInput) (*model.SessionToken, error) {
	key := "signin:" + ratelimit.ClientOf(ctx) + ":" + authn.Fingerprint(strings.ToLower(strings.TrimSpace(in.Email)))
	standing, err := r.SignIns.Allow(ctx, key, signInsPerMinute)
	if err != nil {
		return nil, apierr.Wrap("count the sign-in", err)
	}
	if !standing.Allowed {
		return nil, &apierr.Error{Code: apierr.RateLimited, Message: "Too many attempts to sign in; wait a little", RetryAfter: max(standing.RetryAfter, 1)}
	}
	token, err := sessionToken(r.Accounts.SignIn(ctx, in.Email, in.Password))
	if err == nil {
		r.SignIns.Forget(ctx, key)
	}
	r.signInFailed(ctx, in.Email, err)
	return token, err
}

func sessionToken(t authn.Tokens, err error) (*model.SessionToken, error) {
	if err != nil {
		return nil, err
	}
	return &model.SessionToken{AccessToken: t.Access, RefreshToken: t.Refresh, ExpiresAt: t.ExpiresAt}, nil
}
