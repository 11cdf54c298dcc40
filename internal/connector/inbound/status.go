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

// Status is the status of deliveries for a connector.
type Status struct {
	// LastReceivedAt is when the last delivery with a change arrived, within
	// [Options].Retention; nil if none did.
	LastReceivedAt *time.Time
	// Pending is the number of deliveries that no sync has completed.
	Pending int
	// Subscription is nil if none was requested from the platform.
	Subscription *Subscription
}

// Subscription is a subscription that was requested from a platform.
type Subscription struct {
	// Active reports whether the platform has confirmed it.
	Active    bool
	ExpiresAt *time.Time
	// Error is the reason why the last request or renewal failed.
	Error *string
}

// Address returns the address to which a platform sends deliveries for a connector.
func (b *Inbox) Address(kind string, connector uuid.UUID) string {
	return strings.TrimRight(b.opt.BaseURL, "/") + "/webhooks/connectors/" + kind + "/" + connector.String()
}

// Statuses returns the status of connectors in the scope's workspace.
func (b *Inbox) Statuses(ctx context.Context, scope viewer.Scope, ids []uuid.UUID) (map[uuid.UUID]Status, error) {
	workspace, err := scope.Workspace()
	if err != nil {
		return nil, fmt.Errorf("read the status of deliveries: %w", err)
	}
	rows, err := b.pool.Query(ctx, `select c.id, e.last, coalesce(e.waiting, 0), s.connector_id is not null, coalesce(s.external_id, '') <> '', s.expires_at, s.error
		from unnest($2::uuid[]) as c (id)
		left join (select connector_id, max(received_at) as last, count(*) filter (where done_at is null) as waiting
			from inbound_events where workspace_id = $1 and connector_id = any($2) group by connector_id) e on e.connector_id = c.id
		left join connector_subscriptions s on s.workspace_id = $1 and s.connector_id = c.id`, workspace, ids)
	if err != nil {
		return nil, fmt.Errorf("read the status of deliveries: %w", err)
	}
	found := make(map[uuid.UUID]Status, len(ids))
	var id uuid.UUID
	var status Status
	var subscribed bool
	var subscription Subscription
	_, err = pgx.ForEachRow(rows, []any{&id, &status.LastReceivedAt, &status.Pending, &subscribed, &subscription.Active, &subscription.ExpiresAt, &subscription.Error}, func() error {
		s := status
		if subscribed {
			own := subscription
			s.Subscription = &own
		}
		found[id] = s
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the status of deliveries: %w", err)
	}
	return found, nil
}
