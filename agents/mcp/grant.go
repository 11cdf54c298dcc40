package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/magpie-search/magpie/internal/apierr"
)

// Grant is the access of a person at a server. It is kept sealed: it has tokens.
type Grant struct {
	Server   string `json:"server"`   // the address of the server that it was given for
	Issuer   string `json:"issuer"`   // of the authorization server
	Resource string `json:"resource"` // the resource indicator
	TokenURL string `json:"tokenUrl"`

	ClientID     string `json:"clientId"`
	ClientSecret string `json:"clientSecret,omitempty"`
	// AuthMethod is the client's authentication: none, client_secret_post or
	// client_secret_basic.
	AuthMethod  string `json:"authMethod"`
	Registered  bool   `json:"registered,omitempty"` // the client was registered for this grant
	RedirectURL string `json:"redirectUrl"`

	// Access is empty if the person must connect again.
	Access     string    `json:"access,omitempty"`
	Refresh    string    `json:"refresh,omitempty"`
	ExpiresAt  time.Time `json:"expiresAt,omitzero"` // of Access; zero if unknown
	ObtainedAt time.Time `json:"obtainedAt,omitzero"`
	Scopes     []string  `json:"scopes,omitempty"`
}

// refreshBefore is how long before its end an access token is renewed; one that lives
// for less than four times as long is renewed in its last quarter.
const refreshBefore = time.Minute

func (g *Grant) endsSoon(now time.Time) bool {
	return !g.ExpiresAt.IsZero() && now.After(g.ExpiresAt.Add(-min(refreshBefore, g.ExpiresAt.Sub(g.ObtainedAt)/4)))
}

func (g *Grant) expired(now time.Time) bool { return !g.ExpiresAt.IsZero() && !now.Before(g.ExpiresAt) }

// ErrNoGrant says that the person has not connected an account.
var ErrNoGrant = errors.New("there is no grant")

// Tokens keeps the grant of one person at one server.
type Tokens interface {
	// Load returns the grant, or ErrNoGrant.
	Load(ctx context.Context) (Grant, error)
	// Save replaces the grant.
	Save(ctx context.Context, grant Grant) error
	// Lock runs f while nobody else, in any process, runs one for the same grant.
	Lock(ctx context.Context, f func(ctx context.Context) error) error
}

// Flow is a connection of an account that waits for the person. It is kept sealed.
type Flow struct {
	Grant
	AuthorizationURL string `json:"authorizationUrl"` // the endpoint
	Verifier         string `json:"verifier"`         // of PKCE
	Issued           bool   `json:"issued,omitempty"` // the redirect must name the issuer (RFC 9207)
}

// Flows keeps connections that wait for a person.
type Flows interface {
	// Begin keeps a flow and returns its state: an unguessable text that the redirect
	// brings back, once.
	Begin(ctx context.Context, flow Flow) (state string, err error)
}

// NeedsAuthError says that a person must connect an account before the server can be
// used.
type NeedsAuthError struct {
	Server string // its name
	// URL is where the person grants access. It is for that person only. It is empty if
	// the server refused the credentials of a session without an Authorizer, or of one
	// without Flows.
	URL    string
	Scopes []string // that are asked for
	// More says that the connected account works, and that this call needs further
	// permissions.
	More bool
}

// Error implements error. The text does not contain the URL.
func (e *NeedsAuthError) Error() string { return e.Server + " needs a person to connect an account" }

// NeedsAuth marks the error for connectors.IsNeedsAuth.
func (e *NeedsAuthError) NeedsAuth() bool { return true }

// Unwrap returns the error that models and people see.
func (e *NeedsAuthError) Unwrap() error {
	if e.URL == "" {
		return apierr.New(apierr.Unauthorized, e.Server+" does not accept the credentials; enter valid ones, then ask again.")
	}
	return apierr.New(apierr.Unauthorized, e.Server+" needs you to connect your account; follow the link that was sent to you, then ask again.")
}
