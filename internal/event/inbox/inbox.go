package inbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/inboundintegration"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/queue"
	"github.com/magpie-search/magpie/internal/secret"
	"github.com/magpie-search/magpie/internal/store/transaction"
)

// Root is the path below which deliveries arrive: Root, family, provider and, if the
// address has one, the id of the integration.
const Root = "/api/v1/webhooks/"

// Options configure an Inbox. Zero means the default in the comment.
type Options struct {
	Ent       *ent.Client
	Pool      *pgxpool.Pool
	Providers []event.Provider
	Box       *secret.Box
	Queue     queue.Enqueuer
	// BaseURL is the address at which platforms reach the service.
	BaseURL string
	// Overlap is how long a secret is accepted after its rotation: 24 hours.
	Overlap time.Duration
	// LostAfter is the silence after which a worker counts as dead and others take its
	// events: 45 seconds.
	LostAfter time.Duration
	// Retention is how long payloads are kept: 30 days. Rows are kept RowRetention, to
	// recognize repeated deliveries: 365 days.
	Retention, RowRetention time.Duration
	Now                     func() time.Time
	Log                     *slog.Logger
}

// Inbox manages integrations and receives deliveries. It is safe for concurrent use.
type Inbox struct {
	opt      Options
	refusals refusals
}

// New returns an Inbox.
func New(o Options) *Inbox {
	o.Overlap = cmp.Or(o.Overlap, 24*time.Hour)
	o.LostAfter = cmp.Or(o.LostAfter, 45*time.Second)
	o.Retention, o.RowRetention = cmp.Or(o.Retention, 30*24*time.Hour), cmp.Or(o.RowRetention, 365*24*time.Hour)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Inbox{opt: o, refusals: refusals{pending: map[uuid.UUID]pendingRefusals{}}}
}

// Providers returns all providers, sorted by family and name.
func (b *Inbox) Providers() []event.Provider { return slices.Clone(b.opt.Providers) }

func (b *Inbox) provider(name string) (event.Provider, bool) {
	i := slices.IndexFunc(b.opt.Providers, func(p event.Provider) bool { return p.Name == name })
	if i < 0 {
		return event.Provider{}, false
	}
	return b.opt.Providers[i], true
}

// Instructions returns what to do at the platform of a provider.
func (b *Inbox) Instructions(provider string) string {
	p, _ := b.provider(provider)
	return p.Hint
}

// providerOf returns the provider of a row.
func (b *Inbox) providerOf(row *ent.InboundIntegration) (event.Provider, error) {
	p, ok := b.provider(row.Provider)
	if !ok {
		return event.Provider{}, apierr.New(apierr.Conflict, "This version of Magpie has no provider "+row.Provider)
	}
	return p, nil
}

// client returns the client of the transaction of ctx or, outside of one, the plain client.
func (b *Inbox) client(ctx context.Context) *ent.Client { return transaction.Client(ctx, b.opt.Ent) }

// KindOf returns the kind of the integrations of a family.
func KindOf(f event.Family) inboundintegration.Kind {
	switch f {
	case event.Email:
		return inboundintegration.KindEmail
	case event.Meetings:
		return inboundintegration.KindMeetings
	case event.Slack:
		return inboundintegration.KindSlack
	default:
		return inboundintegration.KindEvents
	}
}

// Address returns the address at which a platform reaches an integration, without secrets.
func (b *Inbox) Address(row *ent.InboundIntegration) string {
	p, ok := b.provider(row.Provider)
	if !ok {
		return ""
	}
	return b.address(p, row.ID)
}

func (b *Inbox) address(p event.Provider, id uuid.UUID) string {
	base := strings.TrimRight(b.opt.BaseURL, "/") + Root
	if p.Family == event.Slack {
		return base + "slack/approvals?integration=" + id.String()
	}
	return base + string(p.Family) + "/" + p.Name + "/" + id.String()
}

// pasteAddress returns the address to enter at the platform. It has the secret where
// the platform knows no other place for it.
func (b *Inbox) pasteAddress(p event.Provider, id uuid.UUID, word string) string {
	address := b.address(p, id)
	u, err := url.Parse(address)
	if err != nil || word == "" {
		return address
	}
	if p.Basic {
		u.User = url.UserPassword(event.BasicUser, word)
	}
	if p.TokenInQuery {
		u.RawQuery = url.Values{"token": {word}}.Encode()
	}
	return u.String()
}

// newSecret returns a secret with 130 random bits.
func newSecret() string { return rand.Text() }

// Settings returns the settings of an integration with its credentials opened.
func (b *Inbox) Settings(row *ent.InboundIntegration) (connectors.Settings, error) {
	s := connectors.Settings{ConnectorID: row.ID.String(), Config: row.Config}
	var err error
	if s.Credentials, err = b.open(row.Credentials, currentAAD(row.ID)); err != nil {
		return s, &connectors.OptionError{Field: "credentials", Message: secret.LostMessage("The integration's credentials", "enter them again", err)}
	}
	return s, nil
}

func currentAAD(id uuid.UUID) []byte { return secret.AAD("inbound_integrations", id.String()) }
func previousAAD(id uuid.UUID) []byte {
	return secret.AAD("inbound_integrations.previous", id.String())
}

func (b *Inbox) seal(credentials map[string]string, aad []byte) ([]byte, error) {
	plain, err := json.Marshal(credentials)
	if err != nil {
		return nil, fmt.Errorf("encode credentials: %w", err)
	}
	sealed, err := b.opt.Box.Seal(plain, aad)
	if err != nil {
		return nil, fmt.Errorf("seal credentials: %w", err)
	}
	return sealed, nil
}

func (b *Inbox) open(sealed, aad []byte) (map[string]string, error) {
	credentials := map[string]string{}
	if len(sealed) == 0 {
		return credentials, nil
	}
	plain, err := b.opt.Box.Open(sealed, aad)
	if err != nil {
		return nil, fmt.Errorf("open credentials: %w", err)
	}
	if json.Unmarshal(plain, &credentials) != nil {
		return nil, fmt.Errorf("open credentials: %w", secret.ErrMalformed) // the cause could quote a secret
	}
	return credentials, nil
}

// merge lays the values of a change over old ones. A null value removes a key.
func merge(old, change map[string]any) map[string]any {
	out := maps.Clone(old)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range change {
		if value == nil {
			delete(out, name)
			continue
		}
		out[name] = value
	}
	return out
}
