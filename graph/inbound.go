package graph

import (
	"context"

	"entgo.io/contrib/entgql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/event"
	"github.com/magpie-search/magpie/internal/event/inbox"
)

// inboundProviders describes the providers, so that forms can be drawn from it.
func inboundProviders(providers []event.Provider) []*model.InboundProvider {
	var out []*model.InboundProvider
	for _, p := range providers {
		out = append(out, &model.InboundProvider{
			Name: p.Name, Title: p.Title, Description: p.Description, Kind: inbox.KindOf(p.Family), Instructions: p.Hint,
			Options: options(p.Options), Credentials: options(p.Credentials), Secret: unlessEmpty(p.Secret), GeneratesSecret: p.Generated,
			Documentation: unlessEmpty(p.Documentation),
		})
	}
	return out
}

func (r *Resolver) inboundSecret(s inbox.Shown, err error) (*model.InboundIntegrationSecret, error) {
	if err != nil {
		return nil, err
	}
	return &model.InboundIntegrationSecret{
		Integration: s.Integration, URL: s.URL, Secret: unlessEmpty(s.Secret), Instructions: r.Events.Instructions(s.Integration.Provider),
	}, nil
}

func inboundSubscription(s inbox.Subscription, ok bool, err error) (*model.InboundSubscription, error) {
	if err != nil || !ok {
		return nil, err
	}
	return &model.InboundSubscription{ExpiresAt: s.ExpiresAt, RenewsAt: s.RenewsAt, Error: unlessEmpty(s.Error)}, nil
}

func inboundTest(c inbox.Check, err error) (*model.InboundIntegrationTest, error) {
	if err != nil {
		return nil, err
	}
	return &model.InboundIntegrationTest{Ok: c.OK, Message: c.Message, Details: c.Details}, nil
}

func inboundDraft(in model.CreateInboundIntegrationInput) inbox.Draft {
	return inbox.Draft{
		Provider: in.Provider, Name: in.Name, Config: in.Config, Credentials: in.Credentials, Disabled: in.Enabled != nil && !*in.Enabled,
	}
}

func inboundChange(in model.UpdateInboundIntegrationInput) inbox.Change {
	return inbox.Change{Name: in.Name, Enabled: in.Enabled, Config: in.Config, Credentials: in.Credentials}
}

// newestEvents is the default order of events.
func newestEvents(order []*ent.InboundEventOrder) []*ent.InboundEventOrder {
	if len(order) > 0 {
		return order
	}
	return []*ent.InboundEventOrder{{Direction: entgql.OrderDirectionDesc, Field: ent.InboundEventOrderFieldCreatedAt}}
}

func (r *Resolver) deleteInbound(ctx context.Context, id uuid.UUID) (uuid.UUID, error) {
	return id, r.Events.Delete(ctx, id)
}
