package graph

import (
	"context"
	"log/slog"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/credential"
)

// opened are a connector's credentials. lost says what people are told of
// credentials that do not open, "" where they do; such a connector is as good as
// one without.
func (r *Resolver) opened(ctx context.Context, row *ent.Connector) (credentials map[string]string, lost string) {
	credentials, err := credential.NewVault(r.Secrets).Open(row.ID, row.Credentials)
	if err != nil {
		r.Log.WarnContext(ctx, "the credentials of a connector do not open", slog.Any("connector", row.ID), slog.Any("error", err))
		return map[string]string{}, err.Error()
	}
	return credentials, ""
}

// staysPut refuses a change that leads credentials which were not given with it
// to another place: whoever may edit a connector need not know what it signs in
// with. given are the credentials of the request.
func staysPut(kind connectors.Kind, before, after map[string]any, old, merged map[string]string, given map[string]any) error {
	field := kind.ChangedDestination(before, after)
	if field == "" {
		return nil
	}
	var kept []string
	for _, option := range kind.Credentials {
		if _, anew := given[option.Name]; option.Sensitive && !anew && old[option.Name] != "" && merged[option.Name] != "" {
			kept = append(kept, "credentials."+option.Name)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return apierr.Invalid("config."+field, "decides where the credentials are sent; give them again in the same request: "+strings.Join(kept, ", "))
}

// suits refuses a grant that a connector would send to a host that is not its
// provider's.
func (r *Resolver) suits(ctx context.Context, kind connectors.Kind, config map[string]any, grant *uuid.UUID) error {
	if grant == nil {
		return nil
	}
	row, err := r.client(ctx).OAuthGrant.Get(ctx, *grant)
	if _, err := found("OAuth grant", row, err); err != nil {
		return err
	}
	return r.Grants.Suits(row.Provider, kind.Name, config)
}

// lostCredentials asks for credentials in the place of those that do not open.
func lostCredentials(lost string) error { return apierr.Invalid("credentials", lost) }
