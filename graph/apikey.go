package graph

import (
	"magpie/graph/model"
	"magpie/internal/authn"
)

func newKey(in model.CreateAPIKeyInput) authn.NewKey {
	return authn.NewKey{
		Name:             in.Name,
		AllCollections:   in.AllowAllCollections != nil && *in.AllowAllCollections,
		Collections:      in.AllowedCollections,
		Default:          in.DefaultCollection,
		Hosts:            in.AllowedHosts,
		Referers:         in.AllowedReferers,
		ChatModel:        in.WidgetModelID,
		ChatContext:      in.WidgetContext,
		RequireSignature: in.RequireSignature != nil && *in.RequireSignature,
		RatePerMinute:    in.RateLimitPerMinute,
		ExpiresAt:        in.ExpiresAt,
	}
}
