package inbound

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/secret"
)

const (
	// maxItems is the maximum number of items in a delivery. A delivery with more
	// causes a sync of the whole source.
	maxItems = 2000
	// maxIDBytes is the maximum length of a platform's id of a delivery.
	maxIDBytes = 1024
)

// Options configure an Inbox and a Dispatcher.
type Options struct {
	// Debounce is how long a delivery waits for others of its connector. Default: 1
	// s; negative: not at all.
	Debounce time.Duration
	// MinInterval is the minimum time between two syncs of a connector that
	// deliveries start. Default: 5 s; negative: none.
	MinInterval time.Duration
	// Retention is how long completed deliveries are kept, to recognize duplicates.
	// Default: 7 days.
	Retention time.Duration
	// CacheFor is how long the list of connectors is cached. Default: 5 s.
	CacheFor time.Duration
	// BaseURL is the address at which platforms reach the service.
	BaseURL string
	Now     func() time.Time
	Log     *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Debounce, o.MinInterval = cmp.Or(o.Debounce, time.Second), cmp.Or(o.MinInterval, 5*time.Second)
	o.Retention, o.CacheFor = cmp.Or(o.Retention, 7*24*time.Hour), cmp.Or(o.CacheFor, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Inbox receives deliveries. It is safe for concurrent use.
type Inbox struct {
	pool        *pgxpool.Pool
	kinds       *connectors.Registry
	opt         Options
	directories *directories
}

// New returns an Inbox that uses the application's pool and ent client.
func New(pool *pgxpool.Pool, client *ent.Client, kinds *connectors.Registry, box *secret.Box, o Options) *Inbox {
	o = o.withDefaults()
	return &Inbox{pool: pool, kinds: kinds, opt: o, directories: newDirectories(pool, client, box, o)}
}

// Deliver stores a delivery of a platform for one connector or, with uuid.Nil, for
// all connectors of the kind that the delivery names. It returns the response that
// the platform expects, which is usually empty. Errors are apierr: not_found for an
// unknown connector or a kind without webhooks, invalid_request for a malformed
// delivery, invalid_signature if no secret matches.
func (b *Inbox) Deliver(ctx context.Context, kindName string, connector uuid.UUID, header http.Header, body []byte) (answer []byte, err error) {
	kind, ok := b.kinds.Lookup(kindName)
	if !ok || kind.Webhook == nil {
		return nil, apierr.NotFound("Webhook")
	}
	hook := kind.Webhook
	matched, err := b.recipients(ctx, kind, connector, header, body)
	if err != nil {
		return nil, err
	}
	delivery, err := hook.Parse(header, body)
	switch {
	case errors.Is(err, connectors.ErrDelivery):
		return nil, apierr.New(apierr.InvalidRequest, "body: "+connectors.ErrDelivery.Error())
	case err != nil:
		return nil, apierr.Wrap("read a delivery", err)
	}
	if err := b.store(ctx, matched, normalize(delivery), body); err != nil {
		return nil, apierr.Wrap("keep a delivery", err)
	}
	if delivery.RenewSubscription {
		if err := b.renew(ctx, matched); err != nil {
			return nil, apierr.Wrap("renew a subscription", err)
		}
	}
	return delivery.Response, nil
}

// renew makes the subscriptions of connectors due. One that failed keeps its backoff.
func (b *Inbox) renew(ctx context.Context, of []*recipient) error {
	var ids []uuid.UUID
	for _, r := range of {
		ids = append(ids, r.connector)
	}
	_, err := b.pool.Exec(ctx, "update connector_subscriptions set next_at = $2 where connector_id = any($1) and failures = 0 and next_at > $2", ids, b.opt.Now())
	if err != nil {
		return fmt.Errorf("make subscriptions due: %w", err)
	}
	return nil
}

// recipients returns the connectors that a delivery is for. If the cached directory
// has none, recipients reads the directory again: platforms send the first delivery
// as soon as a webhook is created.
func (b *Inbox) recipients(ctx context.Context, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*recipient, error) {
	arrived := b.opt.Now()
	dir, err := b.directories.cached(ctx, kind)
	if err != nil {
		return nil, apierr.Wrap("look for a delivery's connectors", err)
	}
	matched, refusal := b.verified(dir, kind, connector, header, body)
	if refusal == nil || apierr.From(refusal).Code == apierr.InvalidRequest {
		return matched, refusal
	}
	newer, err := b.directories.after(ctx, kind, arrived)
	if err != nil {
		return nil, apierr.Wrap("look for a delivery's connectors", err)
	}
	if newer == dir {
		return nil, refusal
	}
	return b.verified(newer, kind, connector, header, body)
}

// verified returns the connectors whose secrets signed a delivery, at least one.
func (b *Inbox) verified(dir *directory, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*recipient, error) {
	candidates, err := candidates(dir, kind, connector, header, body)
	if err != nil {
		return nil, err
	}
	now := b.opt.Now()
	var matched []*recipient
	for _, c := range candidates {
		// All are tried, so that the duration does not reveal the matching one.
		if c.verifies(kind.Webhook, header, body, now) {
			matched = append(matched, c)
		}
	}
	if len(matched) == 0 {
		return nil, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	}
	return matched, nil
}

// candidates returns the connectors that a delivery may be for.
func candidates(dir *directory, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*recipient, error) {
	if connector != uuid.Nil {
		one := dir.byID[connector]
		if one == nil {
			return nil, apierr.NotFound("Connector")
		}
		return []*recipient{one}, nil
	}
	if kind.Webhook.Route == nil {
		return nil, apierr.NotFound("Webhook")
	}
	keys, err := kind.Webhook.Route(header, body)
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "body: "+connectors.ErrDelivery.Error())
	}
	if challenge := kind.Webhook.IsChallenge; len(keys) == 0 && challenge != nil && len(body) <= maxChallengeBytes && challenge(body) {
		return dir.challengeCandidates(), nil
	}
	return dir.byKeys(keys), nil
}

// Challenge returns the response to a request that only tests the address of a kind.
// The request is not verified. It is false for any other request.
func (b *Inbox) Challenge(kindName string, query url.Values, header http.Header, body []byte) (response string, ok bool) {
	kind, known := b.kinds.Lookup(kindName)
	if !known || kind.Webhook == nil || kind.Webhook.Challenge == nil {
		return "", false
	}
	return kind.Webhook.Challenge(query, header, body)
}

// ProbesAddress reports whether the platform of a kind requests its address with
// GET before it sends deliveries. Planned kinds are included, so that their
// subscriptions can be prepared.
func (b *Inbox) ProbesAddress(kindName string) bool {
	if kind, ok := b.kinds.Lookup(kindName); ok {
		return kind.Webhook != nil && kind.Webhook.ProbesAddress
	}
	return kindName == "google_drive" || kindName == "sharepoint"
}

// normalize removes duplicates, and turns names that cannot be looked up into a
// sync of the whole source.
func normalize(d connectors.Delivery) connectors.Delivery {
	items := make([]string, 0, len(d.Items))
	seen := make(map[string]bool, len(d.Items))
	for _, item := range d.Items {
		switch {
		case seen[item]:
		case item == "", len(item) > connectors.MaxIDBytes, !utf8.ValidString(item), bytes.IndexByte([]byte(item), 0) >= 0:
			d.AllChanged = true
		default:
			seen[item] = true
			items = append(items, item)
		}
	}
	if d.Items = items; d.AllChanged || len(items) > maxItems {
		d.Items, d.AllChanged = nil, true
	}
	return d
}

// store stores a delivery for each connector. It ignores duplicates.
func (b *Inbox) store(ctx context.Context, to []*recipient, d connectors.Delivery, body []byte) error {
	hasItems := d.AllChanged || len(d.Items) > 0
	if !hasItems && !d.PermissionsChanged {
		return nil
	}
	name := []byte(d.ID)
	if d.ID == "" || len(d.ID) > maxIDBytes {
		name = body
	}
	now := b.opt.Now()
	due := now.Add(max(b.opt.Debounce, 0))
	var workspaces, connectorIDs []uuid.UUID
	for _, a := range to {
		workspaces, connectorIDs = append(workspaces, a.workspace), append(connectorIDs, a.connector)
	}
	const insert = `insert into inbound_events (workspace_id, connector_id, delivery, items, whole, permissions, happened_at, received_at, due_at)
		select c.workspace, c.connector, $3, $4, $5, $6, $7, $8, $9 from unnest($1::uuid[], $2::uuid[]) as c (workspace, connector)
		on conflict (connector_id, delivery) do nothing`
	var happened *time.Time
	if !d.ChangedAt.IsZero() {
		happened = &d.ChangedAt
	}
	insertPart := func(part string, items []string, whole, permissions bool) error {
		sum := sha256.Sum256(append([]byte(part), name...))
		if items == nil {
			items = []string{}
		}
		_, err := b.pool.Exec(ctx, insert, workspaces, connectorIDs, sum[:], items, whole, permissions, happened, now, due)
		if err != nil {
			return fmt.Errorf("store a delivery: %w", err)
		}
		return nil
	}
	if hasItems {
		if err := insertPart("items/", d.Items, d.AllChanged, false); err != nil {
			return err
		}
	}
	if d.PermissionsChanged {
		return insertPart("permissions/", nil, false, true)
	}
	return nil
}
