package connectors

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"time"
)

// A Webhook describes how a platform notifies of changes. Its functions read one
// delivery. They neither call the platform nor wait.
type Webhook struct {
	// Secret names the credential that deliveries are verified with. For a
	// connector without that credential, Magpie makes a secret if the sources are a
	// [Subscriber], and accepts no deliveries otherwise.
	Secret string
	// Subscribes says that the sources are a [Subscriber].
	Subscribes bool
	// Keys returns the names by which deliveries address a connector with these
	// settings, in lower case, such as "acme/handbook" or "T024BE7LD". A connector
	// without keys only gets deliveries whose address names the connector.
	Keys func(s Settings) []string
	// Route returns the keys that a delivery names. The delivery is not verified
	// yet: the keys select the connectors whose secrets are tried. Route returns
	// ErrDelivery if the request is not a delivery of the platform.
	Route func(header http.Header, body []byte) (keys []string, err error)
	// IsChallenge reports whether a delivery without keys only tests the address.
	// The secrets of the newest connectors of the kind are tried then. It is called
	// with small bodies only. It may be nil.
	IsChallenge func(body []byte) bool
	// Challenge reports whether a POST request only tests the address, and returns the
	// text that the platform expects. It is asked before the request is routed and
	// verified. The response is sent as plain text. It may be nil.
	Challenge func(query url.Values, header http.Header, body []byte) (response string, ok bool)
	// ProbesAddress says that the platform sends a GET request to the address before
	// its first delivery.
	ProbesAddress bool
	// Verify checks, in constant time, that the sender of a delivery knows the secret
	// and that the delivery is recent, where the scheme has a time. The body is the
	// one on the wire, byte for byte. ErrSignature is the only error.
	Verify func(secret string, header http.Header, body []byte, now time.Time) error
	// Parse reads a verified delivery.
	Parse func(header http.Header, body []byte) (Delivery, error)
}

// Errors of deliveries.
var (
	ErrDelivery  = errors.New("this is no delivery of the platform")
	ErrSignature = errors.New("the signature does not match")
)

// VerifyHMAC returns nil if signature is the HMAC-SHA256 of the parts in
// hexadecimal, and [ErrSignature] otherwise, as for an empty secret.
func VerifyHMAC(secret, signature string, parts ...[]byte) error {
	given, err := hex.DecodeString(signature)
	if err != nil || secret == "" {
		return ErrSignature
	}
	mac := hmac.New(sha256.New, []byte(secret))
	for _, part := range parts {
		_, _ = mac.Write(part)
	}
	if !hmac.Equal(given, mac.Sum(nil)) {
		return ErrSignature
	}
	return nil
}

// A Delivery is one webhook request: a notification of changes.
type Delivery struct {
	// ID identifies the delivery. A repeated delivery has the same ID. If it is empty,
	// the hash of the body is used.
	ID string
	// Response is the body that the platform expects in return, as for a challenge.
	// It is nil for an ordinary delivery.
	Response []byte
	// Items are ids or paths of items that changed or were deleted; a [Resolver] determines
	// which.
	Items []string
	// AllChanged says that any item may have changed.
	AllChanged bool
	// PermissionsChanged says that the readers of items changed.
	PermissionsChanged bool
	// RenewSubscription says that the platform asks to renew the subscription, or has
	// ended it: [Subscriber].Subscribe is called soon.
	RenewSubscription bool
	// ChangedAt is the time of the change at the source, zero if unknown.
	ChangedAt time.Time
}

// A Subscriber is a [Source] that can subscribe to the platform's webhooks.
type Subscriber interface {
	// Subscribe requests deliveries to an address, signed with a secret. It renews or
	// replaces a subscription of the same address, so that calling it again repairs a
	// broken one. The error is NeedsAuth if the credentials lack the right.
	Subscribe(ctx context.Context, address, secret string) (Subscription, error)
	// Unsubscribe ends a subscription. It is no error if the subscription is gone.
	Unsubscribe(ctx context.Context, s Subscription) error
}

// A Subscription is a registration for webhooks at a platform.
type Subscription struct {
	// ID is the platform's id, at most 1,000 bytes. A source that needs several
	// registrations encodes all their ids.
	ID string
	// Expires is when the subscription ends unless it is renewed, zero for never.
	Expires time.Time
}
