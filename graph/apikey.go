package graph

import (
	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/identity/authn"
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

func keyChange(in model.UpdateAPIKeyInput) authn.KeyChange {
	return authn.KeyChange{
		Name:             notNull(in.Name),
		AllCollections:   notNull(in.AllowAllCollections),
		Collections:      listed(in.AllowedCollections),
		Default:          nullable(in.DefaultCollection),
		Hosts:            listed(in.AllowedHosts),
		Referers:         listed(in.AllowedReferers),
		ChatModel:        nullable(in.WidgetModelID),
		ChatContext:      nullable(in.WidgetContext),
		RequireSignature: notNull(in.RequireSignature),
		RatePerMinute:    nullable(in.RateLimitPerMinute),
		ExpiresAt:        nullable(in.ExpiresAt),
	}
}

// notNull takes null for a setting that cannot be null as not given.
func notNull[T any](v *T) authn.Change[T] {
	if v == nil {
		return authn.Change[T]{}
	}
	return authn.Change[T]{Given: true, To: *v}
}

func listed[T any](v []T) authn.Change[[]T] { return authn.Change[[]T]{Given: v != nil, To: v} }

func nullable[T any](v graphql.Omittable[T]) authn.Change[T] {
	to, given := v.ValueOK()
	return authn.Change[T]{Given: given, To: to}
}

func overlap(minutes *int) int {
	if minutes == nil {
		return authn.DefaultOverlap
	}
	return *minutes
}

func createdKey(made *authn.CreatedKey, err error) (*model.CreatedAPIKey, error) {
	if err != nil {
		return nil, err
	}
	return &model.CreatedAPIKey{PublishableKey: made.Publishable, SecretKey: made.Secret, APIKey: made.Row}, nil
}
