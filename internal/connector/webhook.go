package connector

import (
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/connector/inbound"
)

// A Webhook describes how the platform of a connector reports changes.
type Webhook struct {
	URL string // where the platform sends deliveries
	// Ready reports whether deliveries can be verified: the connector has a secret
	// of its own or an active subscription.
	Ready bool
}

// TakesDeliveries reports whether the kind of a connector has webhooks.
func (c *Connectors) TakesDeliveries(row *ent.Connector) bool {
	kind, known := c.o.Kinds.Lookup(row.Type)
	return known && kind.Webhook != nil
}

// Webhook returns the webhook of a connector that takes deliveries, given their
// status.
func (c *Connectors) Webhook(row *ent.Connector, status inbound.Status) Webhook {
	kind, _ := c.o.Kinds.Lookup(row.Type)
	// Credentials that do not open verify nothing.
	credentials, _ := c.o.Vault.Open(row.ID, row.Credentials)
	return Webhook{
		URL:   c.o.Inbox.Address(kind.Name, row.ID),
		Ready: credentials[kind.Webhook.Secret] != "" || status.Subscription != nil && status.Subscription.Active,
	}
}
