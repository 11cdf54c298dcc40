package event

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/magpie-search/magpie/connectors"
)

// A Family groups providers by the form of their content.
type Family string

// The families, as they are named in addresses.
const (
	Email    Family = "email"
	Events   Family = "events"
	Meetings Family = "meetings"
	Slack    Family = "slack"
)

// CollectionOption is the option with the collection that gets transcripts.
const CollectionOption = "collection"

// SendersOption is the option with the senders whose mails are processed.
const SendersOption = "allowed_senders"

// A Request is one delivery. Nothing of it is trusted before Verify.
type Request struct {
	Header http.Header
	Query  url.Values
	// URL is the public address of the request with its query, as the platform knows it.
	URL string
	// Body is the body on the wire, byte for byte.
	Body []byte
}

// A Provider describes one platform. Its functions call nobody unless their comment says
// so. Config and credentials are connectors.Settings, so that forms are made in the same
// way as those of connectors.
type Provider struct {
	Family Family
	// Name is the provider in addresses; Title and Description are for people.
	Name, Title, Description string
	// Documentation is the page of the platform about its deliveries.
	Documentation string
	// Options are the fields of config, Credentials those of credentials.
	Options, Credentials []connectors.Option
	// Secret names the credential that deliveries are verified with; empty for a
	// platform that signs with a published key.
	Secret string
	// Published reports whether deliveries are verified with a published key instead of a
	// secret. Anybody can know the settings then: a delivery that names its integration
	// by these alone is refused if integrations of several workspaces have them. Nil is
	// true for a provider without a secret.
	Published func(s connectors.Settings) bool
	// Generated says that Magpie makes the secret unless one is given.
	Generated bool
	// Basic says that the secret is the password of basic authentication, which the
	// address has. TokenInQuery says that the address has the secret as token.
	Basic, TokenInQuery bool
	// Hint tells people what to do with the address and the secret.
	Hint string
	// Check checks what concerns more than one option. It returns a
	// *connectors.OptionError and may be nil.
	Check func(s connectors.Settings) error
	// Keys returns the names by which deliveries without an id address an integration,
	// in lower case. The address token is added to them.
	Keys func(s connectors.Settings) []string
	// Route returns the names that a delivery has. It is not verified yet. ErrDelivery
	// says that the request is no delivery of the platform.
	Route func(r *Request) (keys []string, err error)
	// IsChallenge reports whether a delivery without keys only tests the address, so
	// that the newest integrations of the provider are tried. It may be nil.
	IsChallenge func(r *Request) bool
	// Open answers requests that only test the address and that anybody may send.
	// It may be nil.
	Open func(r *Request) (Answer, bool)
	// Verify checks, in constant time, that the sender knows the secret, and that the
	// delivery is recent where the scheme has a time. Its error is a *Refusal, or
	// another one where the key of a platform could not be read.
	Verify func(ctx context.Context, r *Request, s connectors.Settings, secret string, now time.Time) error
	// Receive reads a verified delivery. It may confirm a subscription at the platform.
	Receive func(ctx context.Context, r *Request, s connectors.Settings, secret string) (Delivery, error)
	// Headers are the headers that Read needs.
	Headers []string
	// Read returns the common form of an event.
	Read func(p Payload) (Content, error)
	// Complete reads from the platform what the delivery only names. A *Refusal is final;
	// other errors are tried again. It may be nil.
	Complete func(ctx context.Context, c *Content, s connectors.Settings) error
	// Transcript returns the transcript of a meeting, which it fetches from the
	// platform. ErrNotReady says that it may come later. Nil for other families.
	Transcript func(ctx context.Context, m *Meeting, s connectors.Settings) (Transcript, error)
	// Subscriber keeps the subscription at the platform; nil where people make it.
	Subscriber *Subscriber
	// Probe checks the access to the platform. It may be nil.
	Probe func(ctx context.Context, s connectors.Settings) error
}

// An Answer is the response that a platform expects.
type Answer struct {
	ContentType string // text/plain if empty
	Body        []byte
}

// A Delivery is what a verified request says.
type Delivery struct {
	// Events are its events; empty for a test of the address.
	Events []Event
	// Answer is the response; nil for the usual one.
	Answer *Answer
	// Failing is why the platform will send nothing any more; empty for none.
	Failing string
	// Notices are about subscriptions at the platform.
	Notices []Notice
}

// A Notice is the message of a platform about a subscription.
type Notice struct {
	// Subscription is its id at the platform.
	Subscription string
	// Lost says that the platform has ended it. Otherwise it asks for a renewal.
	Lost bool
	// Failing is the text for people if Magpie does not keep the subscription.
	Failing string
}

// A Subscriber keeps the subscription of an integration at its platform, which ends
// unless it is renewed. Its functions call the platform. A *Refusal is the platform's
// reason, which is safe to show.
type Subscriber struct {
	// Wanted reports whether the settings have what it needs.
	Wanted func(s connectors.Settings) bool
	// Subscribe renews the subscription with an id. If the id is empty, or the platform
	// does not know it any more, it makes one for deliveries to an address instead, in
	// place of those that the same address already has.
	Subscribe func(ctx context.Context, s connectors.Settings, id, address string) (Subscription, error)
	// Unsubscribe ends a subscription. One that the platform does not know is no error.
	Unsubscribe func(ctx context.Context, s connectors.Settings, id string) error
}

// A Subscription is the registration of the deliveries of an integration at its platform.
type Subscription struct {
	ID      string
	Expires time.Time
}

// An Event is one event of a delivery.
type Event struct {
	// ID is the platform's id, the same for each repetition.
	ID string
	// Type is the platform's name of the event.
	Type string
	// At is when it happened; zero if unknown.
	At time.Time
	// Summary is one line about it.
	Summary string
	// Body is the part of the request's body that is the event; nil for all of it.
	Body []byte
}

// A Payload is what was kept of an event.
type Payload struct {
	Type   string      `json:"type"`
	Header http.Header `json:"header"`
	Body   []byte      `json:"-"`
}
