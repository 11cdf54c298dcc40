package graph

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/magpie-search/magpie/connectors"
	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/connector"
	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector/credential"
)

func (r *Resolver) kind(name string) (connectors.Kind, error) {
	k, ok := r.Kinds.Lookup(name)
	if !ok {
		names := make([]string, 0, 18)
		for _, k := range r.Kinds.Kinds() {
			names = append(names, k.Name)
		}
		return connectors.Kind{}, apierr.Invalid("type", "must be one of "+strings.Join(names, ", "))
	}
	return k, nil
}

// checkSettings says which option is wrong.
func checkSettings(k connectors.Kind, s connectors.Settings) error {
	err := k.ValidateSettings(s)
	var option *connectors.OptionError
	switch {
	case errors.As(err, &option):
		return apierr.Invalid(option.Field, option.Message)
	case err != nil:
		return apierr.Invalid("config", err.Error())
	}
	return nil
}

// merged lays change over base, key by key; null removes a key.
func merged[V any](base map[string]V, change map[string]any, convert func(any) (V, error)) (map[string]V, error) {
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

func asIs(v any) (any, error) { return plain(v), nil }

// plain turns the numbers of a decoded request into those of decoded JSON.
func plain(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = plain(v[i])
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k := range v {
			out[k] = plain(v[k])
		}
		return out
	default:
		return v
	}
}

func asText(v any) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", errors.New("must be a string")
	}
	return s, nil
}

func (r *Resolver) createConnector(ctx context.Context, in model.CreateConnectorInput) (*ent.Connector, error) {
	name, err := checkName(in.Name)
	if err != nil {
		return nil, err
	}
	kind, err := r.kind(in.Type)
	if err != nil {
		return nil, err
	}
	config, err := merged(nil, in.Config, asIs)
	if err != nil {
		return nil, err
	}
	secrets, grant, _, err := r.granted(ctx, kind.Name, in.Credentials)
	if err != nil {
		return nil, err
	}
	credentials, err := merged(nil, secrets, asText)
	if err != nil {
		return nil, err
	}
	if err := r.suits(ctx, kind, config, grant); err != nil {
		return nil, err
	}
	if err := checkSettings(kind, connectors.Settings{Config: config, Credentials: credentials, Token: r.tokens(ctx, grant)}); err != nil {
		return nil, err
	}
	client := r.client(ctx)
	target, err := client.Collection.Get(ctx, in.Collection)
	if _, err := found("Collection", target, err); err != nil {
		return nil, err
	}
	id := gid.New(gid.Connector)
	create := client.Connector.Create().SetID(id).SetName(name).SetType(kind.Name).
		SetCollectionID(in.Collection).SetConfig(config).SetNillableGrantID(grant)
	if len(credentials) > 0 {
		sealed, err := r.seal(id, credentials)
		if err != nil {
			return nil, err
		}
		create.SetCredentials(sealed)
	}
	if in.Enabled != nil && !*in.Enabled {
		create.SetEnabled(false).SetStatus(connector.StatusPaused)
	}
	wanted, err := wantedSchedule(kind, in.DocSync, in.SchemaSync)
	if err != nil {
		return nil, err
	}
	schedule, err := r.schedule(wanted, "", "")
	if err != nil {
		return nil, err
	}
	if schedule != nil {
		create.SetSyncStrategy(schedule.strategy).SetScheduleInterval(schedule.interval).SetNillableNextSyncAt(schedule.next)
	}
	return create.Save(ctx)
}

func (r *Resolver) seal(id uuid.UUID, credentials map[string]string) ([]byte, error) {
	sealed, err := credential.NewVault(r.Secrets).Seal(id, credentials)
	return sealed, apierr.Wrap("seal credentials", err)
}

func (r *Resolver) updateConnector(ctx context.Context, id uuid.UUID, in model.UpdateConnectorInput) (*ent.Connector, error) {
	client := r.client(ctx)
	row, err := client.Connector.Query().Where(connector.ID(id)).ForUpdate().Only(ctx)
	if _, err := found("Connector", row, err); err != nil {
		return nil, err
	}
	kind, err := r.kind(row.Type)
	if err != nil {
		return nil, err
	}
	update := client.Connector.UpdateOne(row)
	if in.Name != nil {
		name, err := checkName(*in.Name)
		if err != nil {
			return nil, err
		}
		update.SetName(name)
	}
	if err := r.updateSettings(ctx, update, row, kind, in); err != nil {
		return nil, err
	}
	status := row.Status
	repaired := in.Credentials != nil && status == connector.StatusNeedsAuth ||
		(in.Credentials != nil || in.Config != nil) && status == connector.StatusError
	if repaired { // as far as anybody knows before the next sync
		status = connector.StatusActive
		update.ClearLastError()
	}
	if in.Enabled != nil {
		update.SetEnabled(*in.Enabled)
		switch {
		case !*in.Enabled:
			status = connector.StatusPaused
		case status == connector.StatusPaused:
			status = connector.StatusActive
		}
	}
	update.SetStatus(status)
	wanted, err := wantedSchedule(kind, in.DocSync, in.SchemaSync)
	if err != nil {
		return nil, err
	}
	schedule, err := r.schedule(wanted, row.SyncStrategy, row.ScheduleInterval)
	if err != nil {
		return nil, err
	}
	if schedule != nil {
		update.SetSyncStrategy(schedule.strategy).SetScheduleInterval(schedule.interval)
		if schedule.next == nil {
			update.ClearNextSyncAt()
		} else {
			update.SetNextSyncAt(*schedule.next)
		}
	}
	after, err := update.Save(ctx)
	return r.woken(ctx, row, after, err)
}

func (r *Resolver) updateSettings(ctx context.Context, update *ent.ConnectorUpdateOne, row *ent.Connector, kind connectors.Kind, in model.UpdateConnectorInput) error {
	if in.Config == nil && in.Credentials == nil {
		return nil
	}
	s, grant, err := r.changedSettings(ctx, row, kind, in.Config, in.Credentials)
	if err != nil {
		return err
	}
	update.SetConfig(s.Config)
	repermit(update, row.Config, s.Config)
	if grant != nil {
		update.SetGrantID(*grant)
	} else {
		update.ClearGrantID()
	}
	if in.Credentials == nil {
		return nil
	}
	sealed, err := r.seal(row.ID, s.Credentials)
	if err != nil {
		return err
	}
	update.SetCredentials(sealed)
	return nil
}

// changedSettings are those of a connector with changes merged into them, checked.
func (r *Resolver) changedSettings(ctx context.Context, row *ent.Connector, kind connectors.Kind, config, given map[string]any) (s connectors.Settings, grant *uuid.UUID, err error) {
	s.ConnectorID = row.ID.String()
	if s.Config, err = merged(row.Config, config, asIs); err != nil {
		return s, nil, err
	}
	old, lost := r.opened(ctx, row)
	if lost != "" && !slices.ContainsFunc(slices.Collect(maps.Values(given)), func(v any) bool { return v != nil }) {
		return s, nil, lostCredentials(lost)
	}
	secrets, grant, named, err := r.granted(ctx, kind.Name, given)
	if err != nil {
		return s, nil, err
	}
	if s.Credentials, err = merged(old, secrets, asText); err != nil {
		return s, nil, err
	}
	if !named {
		grant = row.GrantID
	}
	if err := staysPut(kind, row.Config, s.Config, old, s.Credentials, given); err != nil {
		return s, nil, err
	}
	if err := r.suits(ctx, kind, s.Config, grant); err != nil {
		return s, nil, err
	}
	s.Token = r.tokens(ctx, grant)
	return s, grant, checkSettings(kind, s)
}

// connectors are those that fit what is asked for; nil asks for nothing.
func (r *Resolver) connectors(ctx context.Context, collectionID *uuid.UUID, status []connector.Status, kindName, matching *string) (*ent.ConnectorQuery, error) {
	query := r.client(ctx).Connector.Query()
	if collectionID != nil {
		query.Where(connector.CollectionID(*collectionID))
	}
	if len(status) > 0 {
		query.Where(connector.StatusIn(status...))
	}
	if kindName != nil {
		kind, err := r.kind(*kindName)
		if err != nil {
			return nil, err
		}
		query.Where(connector.Type(kind.Name))
	}
	if text := sought(matching); text != "" {
		query.Where(connector.NameContainsFold(text))
	}
	return query, nil
}

func (r *Resolver) connectorExists(ctx context.Context, id uuid.UUID) error {
	exists, err := r.client(ctx).Connector.Query().Where(connector.ID(id)).Exist(ctx)
	if err == nil && !exists {
		err = apierr.NotFound("Connector")
	}
	return err
}

// woken queues the job of a connector whose pause an update ended.
func (r *Resolver) woken(ctx context.Context, before, after *ent.Connector, err error) (*ent.Connector, error) {
	if err != nil || before.Status != connector.StatusPaused || after.Status == connector.StatusPaused {
		return after, err
	}
	return after, r.Jobs.Wake(ctx, after.ID)
}
