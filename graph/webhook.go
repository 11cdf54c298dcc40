package graph

import (
	"context"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/connector/inbound"
)

func (r *Resolver) loadWebhooks(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]inbound.Status, error) {
	s, err := scope(ctx)
	if err != nil {
		return nil, err
	}
	return r.Inbox.Statuses(ctx, s, ids)
}

// webhook says how a connector's platform tells of changes, nil where it does not.
func (r *Resolver) webhook(ctx context.Context, row *ent.Connector) (*model.ConnectorWebhook, error) {
	kind, known := r.Kinds.Lookup(row.Type)
	if !known || kind.Webhook == nil {
		return nil, nil //nolint:nilnil // none is an ordinary answer
	}
	status, err := loadersOf(ctx).webhook.Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	credentials, _ := r.opened(ctx, row) // what does not open verifies nothing: the webhook is not ready
	hook := &model.ConnectorWebhook{
		URL: r.Inbox.Address(kind.Name, row.ID), LastDelivery: status.Last, Waiting: status.Waiting,
		Ready: credentials[kind.Webhook.Secret] != "",
	}
	if s := status.Subscription; s != nil {
		hook.Ready = hook.Ready || s.Active
		hook.Subscription = &model.WebhookSubscription{Active: s.Active, ExpiresAt: s.Expires, Error: s.Error}
	}
	return hook, nil
}
