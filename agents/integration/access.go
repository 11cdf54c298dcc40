package integration

import (
	"context"
	"time"
)

// Access keeps the OAuth grant of one account at a server that names its own authorization
// server. What it keeps is sealed.
type Access interface {
	// Load returns the content of the grant; nil if there is none.
	Load(ctx context.Context) ([]byte, error)
	// Save replaces the grant.
	Save(ctx context.Context, g Grant) error
	// Lock runs f while nobody else, in any process, runs one for the same grant.
	Lock(ctx context.Context, f func(ctx context.Context) error) error
	// MayBegin reports whether the caller can connect the account.
	MayBegin() bool
	// Begin keeps a connection that waits for the person, and returns the state that
	// the browser brings back. g is kept if there is no grant yet.
	Begin(ctx context.Context, flow []byte, g Grant) (state string, err error)
}

// Grant is a grant in an [Access].
type Grant struct {
	Content []byte
	// Works is false if a person must connect, for the Reason.
	Works     bool
	Reason    string
	Scopes    []string
	ExpiresAt time.Time // zero if unknown
}

// Redirect has the parameters with which an authorization server sends a browser back.
type Redirect struct{ Code, Issuer, Error, Description string }
