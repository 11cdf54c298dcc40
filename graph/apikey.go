package graph

import (
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/identity/authn"
)

func newKey(in model.CreateAPIKeyInput) authn.KeyDraft {
	return authn.KeyDraft{
		Name:             in.Name,
		AllCollections:   orZero(in.AllowAllCollections),
		Collections:      in.AllowedCollections,
		Default:          in.DefaultCollection,
		Hosts:            in.AllowedHosts,
		Referers:         in.AllowedReferers,
		ChatModel:        in.WidgetModelID,
		ChatContext:      in.WidgetContext,
		RequireSignature: orZero(in.RequireSignature),
		DatabaseTools:    orZero(in.DatabaseTools),
		RatePerMinute:    in.RateLimitPerMinute,
		ExpiresAt:        in.ExpiresAt,
	}
}

func keyChange(in model.UpdateAPIKeyInput) authn.KeyChange {
	return authn.KeyChange{
		Name:             field(in.Name),
		AllCollections:   field(in.AllowAllCollections),
		Collections:      listField(in.AllowedCollections),
		Default:          nullableField(in.DefaultCollection),
		Hosts:            listField(in.AllowedHosts),
		Referers:         listField(in.AllowedReferers),
		ChatModel:        nullableField(in.WidgetModelID),
		ChatContext:      nullableField(in.WidgetContext),
		RequireSignature: field(in.RequireSignature),
		DatabaseTools:    field(in.DatabaseTools),
		RatePerMinute:    nullableField(in.RateLimitPerMinute),
		ExpiresAt:        nullableField(in.ExpiresAt),
	}
}

func overlap(minutes *int) int {
	if minutes == nil {
		return authn.DefaultOverlapMinutes
	}
	return *minutes
}

func createdKey(made *authn.CreatedKey, err error) (*model.CreatedAPIKey, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedAPIKey{PublishableKey: made.Publishable, SecretKey: made.Secret, APIKey: made.Row}, nil
}
