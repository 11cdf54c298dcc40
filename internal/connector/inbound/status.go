package inbound

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/magpie-search/magpie/internal/viewer"
)

// Status is how deliveries for a connector stand.
type Status struct {
	// Last is when the last one that told of a change came, within [Options].Keep;
	// nil for none.
	Last *time.Time
	// Waiting is how many no sync has looked after to its end.
	Waiting int
	// Subscription is what the platform was asked for; nil where it was not.
	Subscription *Subscription
}

// Subscription is one that was asked for.
type Subscription struct {
	// Active says that the platform has given it.
	Active  bool
	Expires *time.Time
	// Error says why it could not be had or renewed the last time.
	Error *string
}

// Address is where a platform sends deliveries for a connector.
func (b *Inbox) Address(kind string, connector uuid.UUID) string {
	return strings.TrimRight(b.opt.BaseURL, "/") + "/webhooks/connectors/" + kind + "/" + connector.String()
}

// Statuses returns how deliveries for connectors of the scope's workspace stand.
func (b *Inbox) Statuses(ctx context.Context, scope viewer.Scope, ids []uuid.UUID) (map[uuid.UUID]Status, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read how deliveries stand: %w", err)
	}
	rows, err := b.pool.Query(ctx, `select c.id, e.last, coalesce(e.waiting, 0), s.connector_id is not null, coalesce(s.external_id, '') <> '', s.expires_at, s.error
		from unnest($2::uuid[]) as c (id)
		left join (select connector_id, max(received_at) as last, count(*) filter (where done_at is null) as waiting
			from inbound_events where workspace_id = $1 and connector_id = any($2) group by connector_id) e on e.connector_id = c.id
		left join connector_subscriptions s on s.workspace_id = $1 and s.connector_id = c.id`, workspace, ids)
	if err != nil {
		return nil, fmt.Errorf("read how deliveries stand: %w", err)
	}
	found := make(map[uuid.UUID]Status, len(ids))
	var id uuid.UUID
	var status Status
	var asked bool
	var subscription Subscription
	_, err = pgx.ForEachRow(rows, []any{&id, &status.Last, &status.Waiting, &asked, &subscription.Active, &subscription.Expires, &subscription.Error}, func() error {
		one := status
		if asked {
			s := subscription
			one.Subscription = &s
		}
		found[id] = one
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read how deliveries stand: %w", err)
	}
	return found, nil
}
