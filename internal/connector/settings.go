package connector

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/credential"
	"github.com/magpie-search/magpie/internal/store/lookup"
	"github.com/magpie-search/magpie/internal/viewer"
)

// Settings are the settings of a request: values of decoded JSON by option. A
// null value removes an option. Nil maps change nothing.
//
// The credential "grant" is special: it is the id of an OAuth grant, which takes
// the place of credentials.
type Settings struct {
	Config, Credentials map[string]any
}

func (s Settings) given() bool { return s.Config != nil || s.Credentials != nil }

// checked are the complete settings of a connector after a change.
type checked struct {
	connectors.Settings
	grant *uuid.UUID
}

// newSettings checks the settings of a connector that does not exist yet.
func (c *Connectors) newSettings(ctx context.Context, kind connectors.Kind, s Settings) (checked, error) {
	config, err := merge(nil, s.Config, jsonValue)
	if err != nil {
		return checked{}, err
	}
	given, grant, _, err := c.splitGrant(ctx, kind, s.Credentials)
	if err != nil {
		return checked{}, err
	}
	credentials, err := merge(nil, given, stringValue)
	if err != nil {
		return checked{}, err
	}
	out := checked{connectors.Settings{Config: config, Credentials: credentials}, grant}
	return out, c.check(ctx, kind, &out)
}

// changedSettings merges the settings of a request into those of a connector, and
// checks the result.
func (c *Connectors) changedSettings(ctx context.Context, row *ent.Connector, kind connectors.Kind, s Settings) (checked, error) {
	config, err := merge(row.Config, s.Config, jsonValue)
	if err != nil {
		return checked{}, err
	}
	old, err := c.o.Vault.Open(row.ID, row.Credentials)
	if err != nil {
		c.logLostCredentials(ctx, row.ID, err)
		if !hasValue(s.Credentials) {
			return checked{}, lostCredentials(err)
		}
	}
	given, grant, hasGrant, err := c.splitGrant(ctx, kind, s.Credentials)
	if err != nil {
		return checked{}, err
	}
	if !hasGrant {
		grant = row.GrantID
	}
	credentials, err := merge(old, given, stringValue)
	if err != nil {
		return checked{}, err
	}
	if err := checkDestination(kind, row.Config, config, old, credentials, s.Credentials); err != nil {
		return checked{}, err
	}
	out := checked{connectors.Settings{ConnectorID: row.ID.String(), Config: config, Credentials: credentials}, grant}
	return out, c.check(ctx, kind, &out)
}

// check checks complete settings against the kind's options and completes them
// with the token source of the grant.
func (c *Connectors) check(ctx context.Context, kind connectors.Kind, s *checked) error {
	if err := c.checkGrantHosts(ctx, kind, s.Config, s.grant); err != nil {
		return err
	}
	s.Token = c.tokenSource(ctx, s.grant)
	err := kind.ValidateSettings(s.Settings)
	if err == nil {
		return nil
	}
	if option, ok := errors.AsType[*connectors.OptionError](err); ok {
		return apierr.Invalid(option.Field, option.Message)
	}
	return apierr.Invalid("config", err.Error())
}

// merge lays the values of change over base. A null value removes a key.
func merge[V any](base map[string]V, change map[string]any, convert func(any) (V, error)) (map[string]V, error) {
	out := maps.Clone(base)
	if out == nil {
		out = map[string]V{}
	}
	for key, value := range change {
		if value == nil {
			delete(out, key)
			continue
		}
		v, err := convert(value)
		if err != nil {
			return nil, apierr.Invalid("credentials."+key, err.Error())
		}
		out[key] = v
	}
	return out, nil
}

func jsonValue(v any) (any, error) { return v, nil }

func stringValue(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", errors.New("must be a string")
	}
	return s, nil
}

func hasValue(given map[string]any) bool {
	for _, value := range given {
		if value != nil {
			return true
		}
	}
	return false
}

// splitGrant separates the OAuth grant from the credentials of a request. hasGrant
// reports whether the request has a value for it; grant is nil if that is null.
func (c *Connectors) splitGrant(ctx context.Context, kind connectors.Kind, given map[string]any) (credentials map[string]any, grant *uuid.UUID, hasGrant bool, err error) {
	value, hasGrant := given["grant"]
	if !hasGrant {
		return given, nil, false, nil
	}
	credentials = maps.Clone(given)
	delete(credentials, "grant")
	if value == nil {
		return credentials, nil, true, nil
	}
	text, _ := value.(string)
	id, err := uuid.Parse(text)
	if err != nil {
		return nil, nil, true, apierr.Invalid("credentials.grant", "must be the id of an OAuth grant")
	}
	if err := c.o.Grants.Check(ctx, c.client(ctx), id, kind.Name); err != nil {
		return nil, nil, true, err
	}
	return credentials, &id, true, nil
}

// checkDestination refuses a change that would send stored credentials to another
// place: a person who may edit a connector need not know its credentials. given
// are the credentials of the request.
func checkDestination(kind connectors.Kind, before, after map[string]any, old, merged map[string]string, given map[string]any) error {
	field := kind.ChangedDestination(before, after)
	if field == "" {
		return nil
	}
	var missing []string
	for _, option := range kind.Credentials {
		if _, again := given[option.Name]; option.Sensitive && !again && old[option.Name] != "" && merged[option.Name] != "" {
			missing = append(missing, "credentials."+option.Name)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return apierr.Invalid("config."+field, "decides where the credentials are sent; give them again in the same request: "+strings.Join(missing, ", "))
}

// checkGrantHosts refuses a config that would send the tokens of a grant to a host
// of somebody else than the grant's provider.
func (c *Connectors) checkGrantHosts(ctx context.Context, kind connectors.Kind, config map[string]any, grant *uuid.UUID) error {
	if grant == nil {
		return nil
	}
	row, err := c.client(ctx).OAuthGrant.Get(ctx, *grant)
	if err != nil {
		return lookup.Error("OAuth grant", err)
	}
	return c.o.Grants.CheckHosts(row.Provider, kind.Name, config)
}

// tokenSource returns the function that a source gets the tokens of a grant from;
// nil without a grant.
func (c *Connectors) tokenSource(ctx context.Context, grant *uuid.UUID) func(context.Context, string) (string, map[string]string, error) {
	v, ok := viewer.From(ctx)
	if grant == nil || !ok {
		return nil
	}
	return c.o.Grants.TokenSource(v.Workspace, *grant)
}

func (c *Connectors) logLostCredentials(ctx context.Context, id uuid.UUID, err error) {
	c.o.Log.WarnContext(ctx, "connector credentials do not open", slog.Any("connector", id), slog.Any("error", errors.Unwrap(err)))
}

// lostCredentials asks a client for credentials in the place of lost ones.
func lostCredentials(err error) error {
	if lost, ok := errors.AsType[*credential.LostError](err); ok {
		return apierr.Invalid("credentials", lost.Error())
	}
	return err
}
