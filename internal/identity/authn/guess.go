package authn

import (
	"context"
	"strings"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/ratelimit"
)

// What wrong passwords a guesser has. Each may come at once; they come back
// evenly over the time, so that who is locked out may try again after a part of
// it. A right password gives back what it took.
const (
	pairGuesses    = 10 // of one client for one account
	pairPeriod     = 10 * time.Minute
	accountGuesses = 100 // of all clients together for one account
	accountPeriod  = time.Hour
	clientGuesses  = 60 // of one client for all accounts together
	clientPeriod   = 10 * time.Minute
	// knownFor is how long a client that gave an account's password is known. The
	// account's own bound does not hold it up, else guessers could lock people
	// out of their accounts.
	knownFor = 30 * 24 * time.Hour
)

// What a client may ask for that makes accounts.
const (
	signUps      = 20
	signUpPeriod = time.Hour
)

// Attempts counts tries; ratelimit.Limiter does.
type Attempts interface {
	AllowIn(ctx context.Context, key string, most int, period time.Duration) (ratelimit.Result, error)
	PeekIn(ctx context.Context, key string, most int, period time.Duration) (ratelimit.Result, error)
	RefundIn(ctx context.Context, key string, most int, period time.Duration)
	Reset(ctx context.Context, key string)
}

// Guesses keeps guessers of passwords off. It counts in Redis, for all nodes
// together, and does not know which accounts there are.
type Guesses struct{ Attempts Attempts }

// counter is one of the bounds of a try.
type counter struct {
	key    string
	most   int
	period time.Duration
}

// Try counts one try of the request's client (ratelimit.ClientOf) at an account,
// by its email in whatever form. Rate_limited says when to come back. Whoever may try must call
// ended with how it went: right is true only when the password was right, and
// fault when it was not looked at.
func (g Guesses) Try(ctx context.Context, email string) (ended func(right, fault bool), err error) {
	client := ratelimit.ClientOf(ctx)
	account, err := CleanEmail(email)
	if err != nil {
		account = strings.ToLower(strings.TrimSpace(email))
	}
	account = Fingerprint(account)
	known := "signin:known:" + client + ":" + account
	counters := []counter{
		{"signin:client:" + client, clientGuesses, clientPeriod},
		{"signin:pair:" + client + ":" + account, pairGuesses, pairPeriod},
	}
	seen, err := g.Attempts.PeekIn(ctx, known, 1, knownFor)
	if err != nil {
		return nil, apierr.Wrap("count the sign-in", err)
	}
	if seen.Remaining > 0 {
		counters = append(counters, counter{"signin:account:" + account, accountGuesses, accountPeriod})
	}
	for i, c := range counters {
		standing, err := g.Attempts.AllowIn(ctx, c.key, c.most, c.period)
		if err == nil && standing.Allowed {
			continue
		}
		for _, taken := range counters[:i] {
			g.Attempts.RefundIn(ctx, taken.key, taken.most, taken.period)
		}
		if err != nil {
			return nil, apierr.Wrap("count the sign-in", err)
		}
		return nil, tooMany(standing)
	}
	return func(right, fault bool) {
		switch {
		case right:
			g.Attempts.Reset(ctx, counters[1].key)
			g.Attempts.RefundIn(ctx, counters[0].key, clientGuesses, clientPeriod)
			if len(counters) == 3 {
				g.Attempts.RefundIn(ctx, counters[2].key, accountGuesses, accountPeriod)
				_, _ = g.Attempts.AllowIn(ctx, known, 1, knownFor) // without it the client is a stranger next time
			}
		case fault:
			for _, c := range counters {
				g.Attempts.RefundIn(ctx, c.key, c.most, c.period)
			}
		}
	}, nil
}

// SignUp counts one account that the request's client wants to make.
func (g Guesses) SignUp(ctx context.Context) error {
	standing, err := g.Attempts.AllowIn(ctx, "signup:"+ratelimit.ClientOf(ctx), signUps, signUpPeriod)
	if err != nil {
		return apierr.Wrap("count the sign-up", err)
	}
	if !standing.Allowed {
		return tooMany(standing)
	}
	return nil
}

func tooMany(standing ratelimit.Result) error {
	return &apierr.Error{Code: apierr.RateLimited, Message: "Too many attempts; wait a little", RetryAfter: max(standing.RetryAfter, time.Second)}
}
