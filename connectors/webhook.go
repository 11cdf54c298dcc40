package connectors

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// Webhook is how a platform tells of changes. Everything in it looks at a
// delivery alone: nothing is asked of the platform, and nothing waits.
type Webhook struct {
	// Secret names the credential that deliveries are verified with. A connector
	// without one gets a secret of Magpie's own where its sources are a
	// [Subscriber], else no deliveries.
	Secret string
	// Subscribes says that the sources are a [Subscriber].
	Subscribes bool
	// Keys are the settings' side of Route: what deliveries for a connector with
	// these settings name, in lower case ("acme/handbook", "T024BE7LD"). None
	// means that only deliveries which name the connector in their path reach it.
	Keys func(s Settings) []string
	// Route reads what a delivery is about, before it was verified: from the
	// header and a bounded reading of the body. The keys only choose connectors
	// whose secrets are tried. It refuses what is no delivery with ErrDelivery.
	Route func(header http.Header, body []byte) (keys []string, err error)
	// Challenge reports whether a delivery only asks whether it is heard, and
	// names nothing that Route could find a connector by: the secrets of all
	// connectors of the kind are tried then, the newest first and a bounded
	// number of them. It looks at small bodies only. May be nil.
	Challenge func(body []byte) bool
	// Validates says that the platform looks for the address by a GET request
	// before it sends anything there.
	Validates bool
	// Verify says whether the delivery was made by who knows the secret, in
	// constant time, and not too long ago where the scheme can tell. The body is
	// that on the wire, byte for byte. ErrSignature is the only error.
	Verify func(secret string, header http.Header, body []byte, now time.Time) error
	// Read says what a verified delivery tells.
	Read func(header http.Header, body []byte) (Delivery, error)
}

// The refusals of deliveries.
var (
	ErrDelivery  = errors.New("this is no delivery of the platform")
	ErrSignature = errors.New("the signature does not match")
)

// Delivery is what a platform told.
type Delivery struct {
	// ID names the delivery: one that comes again has the same. Empty where the
	// platform gives none; the body's hash stands for it then.
	ID string
	// Answer is what the platform wants to get back at once (a challenge); nil
	// for an ordinary delivery, which is answered without a body.
	Answer []byte
	// Items are the ids or paths of the items that changed, or are gone: a
	// [Resolver] finds out which. All says that the whole source has to be looked
	// at, Permissions that who may see what did change. Nothing of them: there is
	// nothing to do.
	Items            []string
	All, Permissions bool
	// At is when the change happened at the source; zero where it does not tell.
	At time.Time
}

// Subscriber is an optional ability of a [Source]: having the platform send
// webhooks, where it has to be asked to.
type Subscriber interface {
	// Subscribe asks for deliveries to an address, signed or marked with a
	// secret. A subscription of the same address that is there already is renewed
	// or replaced, so that calling it again repairs what somebody broke. Errors
	// are those of every other method; [NeedsAuth] where the rights do not reach.
	Subscribe(ctx context.Context, address, secret string) (Subscription, error)
	// Unsubscribe ends a subscription; one that is gone is no error.
	Unsubscribe(ctx context.Context, s Subscription) error
}

// Subscription is one that a platform has given.
type Subscription struct {
	// ID is the platform's name of it, at most 1,000 bytes; a source that needs
	// several puts all their names here.
	ID string
	// Expires is when it ends unless it is renewed by then; zero for never.
	Expires time.Time
}
