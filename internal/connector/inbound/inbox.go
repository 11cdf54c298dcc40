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
	// maxItems is how many items a delivery may name before the whole source is
	// looked at in their place.
	maxItems = 2000
	// maxIDBytes is how much of a platform's name of a delivery is taken.
	maxIDBytes = 1024
)

// Options are settings with useful zero values.
type Options struct {
	// Settle is how long a delivery waits for others of its connector: 1 s.
	// Negative is not at all.
	Settle time.Duration
	// Gap is the least time between two syncs of a connector that deliveries
	// start: 5 s. Negative is none.
	Gap time.Duration
	// Keep is for how long a delivery that was dealt with is known, so that it is
	// not taken again: 7 days.
	Keep time.Duration
	// Known is for how long it is known which connectors there are: 5 s.
	Known time.Duration
	// BaseURL is where platforms reach this service.
	BaseURL string
	Now     func() time.Time
	Log     *slog.Logger
}

func (o Options) withDefaults() Options {
	o.Settle, o.Gap = cmp.Or(o.Settle, time.Second), cmp.Or(o.Gap, 5*time.Second)
	o.Keep, o.Known = cmp.Or(o.Keep, 7*24*time.Hour), cmp.Or(o.Known, 5*time.Second)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Inbox takes deliveries. It is safe for concurrent use.
type Inbox struct {
	pool    *pgxpool.Pool
	kinds   *connectors.Registry
	opt     Options
	address *addressees
}

// New makes an Inbox over the application's pool and the connectors of a client.
func New(pool *pgxpool.Pool, client *ent.Client, kinds *connectors.Registry, box *secret.Box, o Options) *Inbox {
	o = o.withDefaults()
	return &Inbox{pool: pool, kinds: kinds, opt: o, address: newAddressees(pool, client, box, o)}
}

// Deliver takes a delivery of a platform for one connector or, with uuid.Nil,
// for all connectors of the kind that it names. It returns what the platform
// wants to hear at once, usually nothing. The errors are apierr: not_found for a
// kind that takes no deliveries and for a connector that does not exist,
// invalid_request for what is no delivery, invalid_signature for one that no
// secret matches.
func (b *Inbox) Deliver(ctx context.Context, kindName string, connector uuid.UUID, header http.Header, body []byte) (answer []byte, err error) {
	kind, known := b.kinds.Lookup(kindName)
	if !known || kind.Webhook == nil {
		return nil, apierr.NotFound("Webhook")
	}
	hook := kind.Webhook
	matched, err := b.addressed(ctx, kind, connector, header, body)
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
	if err := b.keep(ctx, matched, proper(delivery), body); err != nil {
		return nil, apierr.Wrap("keep a delivery", err)
	}
	return delivery.Response, nil
}

// addressed are the connectors that a delivery is for. When none of those known
// is, it asks for what is new: platforms send the first delivery at the moment in
// which a hook or its secret is made.
func (b *Inbox) addressed(ctx context.Context, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*addressee, error) {
	arrived := b.opt.Now()
	dir, err := b.address.known(ctx, kind)
	if err != nil {
		return nil, apierr.Wrap("look for a delivery's connectors", err)
	}
	matched, refusal := b.matching(dir, kind, connector, header, body)
	if refusal == nil || apierr.From(refusal).Code == apierr.InvalidRequest {
		return matched, refusal
	}
	newer, err := b.address.since(ctx, kind, arrived)
	if err != nil {
		return nil, apierr.Wrap("look for a delivery's connectors", err)
	}
	if newer == dir {
		return nil, refusal
	}
	return b.matching(newer, kind, connector, header, body)
}

// matching are the connectors whose secrets a delivery was made with, at least
// one.
func (b *Inbox) matching(dir *directory, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*addressee, error) {
	candidates, err := candidates(dir, kind, connector, header, body)
	if err != nil {
		return nil, err
	}
	now := b.opt.Now()
	var matched []*addressee
	for _, c := range candidates {
		// All are tried, so that the time tells nothing of which one matched.
		if c.verifies(kind.Webhook, header, body, now) {
			matched = append(matched, c)
		}
	}
	if len(matched) == 0 {
		return nil, apierr.New(apierr.InvalidSignature, "Invalid request signature")
	}
	return matched, nil
}

// candidates are the connectors that a delivery may be for.
func candidates(dir *directory, kind connectors.Kind, connector uuid.UUID, header http.Header, body []byte) ([]*addressee, error) {
	if connector != uuid.Nil {
		one := dir.byID[connector]
		if one == nil {
			return nil, apierr.NotFound("Connector")
		}
		return []*addressee{one}, nil
	}
	if kind.Webhook.Route == nil {
		return nil, apierr.NotFound("Webhook")
	}
	keys, err := kind.Webhook.Route(header, body)
	if err != nil {
		return nil, apierr.New(apierr.InvalidRequest, "body: "+connectors.ErrDelivery.Error())
	}
	if challenge := kind.Webhook.IsChallenge; len(keys) == 0 && challenge != nil && len(body) <= maxChallenge && challenge(body) {
		return dir.challenged(), nil
	}
	return dir.named(keys), nil
}

// Validates reports whether the platform of a kind looks for its address by a
// GET request before it sends deliveries there. Those whose connectors are still
// to come answer already, so that their subscriptions can be prepared.
func (b *Inbox) Validates(kindName string) bool {
	if kind, known := b.kinds.Lookup(kindName); known {
		return kind.Webhook != nil && kind.Webhook.ProbesAddress
	}
	return kindName == "google_drive" || kindName == "sharepoint"
}

// proper bounds what a delivery may ask for.
func proper(d connectors.Delivery) connectors.Delivery {
	items := make([]string, 0, len(d.Items))
	seen := make(map[string]bool, len(d.Items))
	for _, item := range d.Items {
		switch {
		case seen[item]:
		case item == "", len(item) > connectors.MaxIDBytes, !utf8.ValidString(item), bytes.IndexByte([]byte(item), 0) >= 0:
			d.AllChanged = true // it cannot be looked for by name
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

// keep stores a delivery for each connector that it is for. One that is there
// already is left as it is.
func (b *Inbox) keep(ctx context.Context, to []*addressee, d connectors.Delivery, body []byte) error {
	looks := d.AllChanged || len(d.Items) > 0
	if !looks && !d.PermissionsChanged {
		return nil
	}
	name := []byte(d.ID)
	if d.ID == "" || len(d.ID) > maxIDBytes {
		name = body
	}
	now := b.opt.Now()
	due := now.Add(max(b.opt.Settle, 0))
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
	put := func(part string, items []string, whole, permissions bool) error {
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
	if looks {
		if err := put("items/", d.Items, d.AllChanged, false); err != nil {
			return err
		}
	}
	if d.PermissionsChanged {
		return put("permissions/", nil, false, true)
	}
	return nil
}
