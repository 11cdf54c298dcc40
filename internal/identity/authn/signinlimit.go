package authn

import (
	"context"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ratelimit"
)

// Limits of wrong passwords. They recover evenly over the period, so that a locked
// client can try again after a part of it. A correct password does not count.
const (
	pairAttempts    = 10 // of one client for one account
	pairPeriod      = 10 * time.Minute
	accountAttempts = 100 // of all clients for one account
	accountPeriod   = time.Hour
	clientAttempts  = 60 // of one client for all accounts
	clientPeriod    = 10 * time.Minute
	// knownClientPeriod is how long a client is known after it has signed in to an
	// account. The limit of the account does not apply to known clients, or an
	// attacker could lock people out.
	knownClientPeriod = 30 * 24 * time.Hour
)

// Limit of accounts that a client may create.
const (
	signUps      = 20
	signUpPeriod = time.Hour
)

// Attempts counts attempts. ratelimit.Limiter implements it.
type Attempts interface {
	AllowIn(ctx context.Context, key string, limit int, period time.Duration) (ratelimit.Result, error)
	PeekIn(ctx context.Context, key string, limit int, period time.Duration) (ratelimit.Result, error)
	RefundIn(ctx context.Context, key string, limit int, period time.Duration)
	Reset(ctx context.Context, key string)
}

// SignInLimiter limits attempts to guess passwords. It counts in Redis for all
// nodes and does not reveal whether an account exists.
type SignInLimiter struct{ Attempts Attempts }

// counter is a limit of attempts.
type counter struct {
	key    string
	limit  int
	period time.Duration
}

// Begin counts an attempt of the request's client (ratelimit.ClientOf) to sign in
// with an email address. The error is rate_limited if there were too many. If Begin
// succeeds, the caller must call done: right reports whether the password was
// correct, fault whether it could not be checked.
func (g SignInLimiter) Begin(ctx context.Context, email string) (done func(right, fault bool), err error) {
	client := ratelimit.ClientOf(ctx)
	account, err := CleanEmail(email)
	if err != nil {
		account = strings.ToLower(strings.TrimSpace(email))
	}
	account = Fingerprint(account)
	known := "signin:known:" + client + ":" + account
	counters := []counter{
		{"signin:client:" + client, clientAttempts, clientPeriod},
		{"signin:pair:" + client + ":" + account, pairAttempts, pairPeriod},
	}
	seen, err := g.Attempts.PeekIn(ctx, known, 1, knownClientPeriod)
	if err != nil {
		return nil, apierr.Wrap("count the sign-in", err)
	}
	if seen.Remaining > 0 {
		counters = append(counters, counter{"signin:account:" + account, accountAttempts, accountPeriod})
	}
	for i, c := range counters {
		result, err := g.Attempts.AllowIn(ctx, c.key, c.limit, c.period)
		if err == nil && result.Allowed {
			continue
		}
		for _, taken := range counters[:i] {
			g.Attempts.RefundIn(ctx, taken.key, taken.limit, taken.period)
		}
		if err != nil {
			return nil, apierr.Wrap("count the sign-in", err)
		}
		return nil, errTooManyAttempts(result)
	}
	return func(right, fault bool) {
		switch {
		case right:
			g.Attempts.Reset(ctx, counters[1].key)
			g.Attempts.RefundIn(ctx, counters[0].key, clientAttempts, clientPeriod)
			if len(counters) == 3 {
				g.Attempts.RefundIn(ctx, counters[2].key, accountAttempts, accountPeriod)
				_, _ = g.Attempts.AllowIn(ctx, known, 1, knownClientPeriod) // on failure the client stays unknown
			}
		case fault:
			for _, c := range counters {
				g.Attempts.RefundIn(ctx, c.key, c.limit, c.period)
			}
		}
	}, nil
}

// SignUp counts an account that the request's client creates.
func (g SignInLimiter) SignUp(ctx context.Context) error {
	result, err := g.Attempts.AllowIn(ctx, "signup:"+ratelimit.ClientOf(ctx), signUps, signUpPeriod)
	if err != nil {
		return apierr.Wrap("count the sign-up", err)
	}
	if !result.Allowed {
		return errTooManyAttempts(result)
	}
	return nil
}

func errTooManyAttempts(result ratelimit.Result) error {
	return &apierr.Error{Code: apierr.RateLimited, Message: "Too many attempts; wait a little", RetryAfter: max(result.RetryAfter, time.Second)}
}
