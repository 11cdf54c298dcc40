package graph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/google/uuid"

	"magpie/connectors"
	"magpie/ent"
	"magpie/ent/connector"
	"magpie/graph/model"
	"magpie/internal/apierr"
	"magpie/internal/gid"
	"magpie/internal/secret"
)

// credentialsAAD binds sealed credentials to their connector; the sync engine
// opens them with the same.
func credentialsAAD(id uuid.UUID) []byte { return secret.AAD("connectors", id.String()) }

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
func checkSettings(k connectors.Kind, config map[string]any, credentials map[string]string) error {
	err := k.Validate(config, credentials)
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
	credentials, err := merged(nil, in.Credentials, asText)
	if err != nil {
		return nil, err
	}
	if err := checkSettings(kind, config, credentials); err != nil {
		return nil, err
	}
	client := r.client(ctx)
	target, err := client.Collection.Get(ctx, in.Collection)
	if _, err := found("Collection", target, err); err != nil {
		return nil, err
	}
	id := gid.New(gid.Connector)
	create := client.Connector.Create().SetID(id).SetName(name).SetType(kind.Name).
		SetCollectionID(in.Collection).SetConfig(config)
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
	schedule, err := r.schedule(in.DocSync, "", "")
	if err != nil {
		return nil, err
	}
	if schedule != nil {
		create.SetSyncStrategy(schedule.strategy).SetScheduleInterval(schedule.interval).SetNillableNextSyncAt(schedule.next)
	}
	return create.Save(ctx)
}

func (r *Resolver) seal(id uuid.UUID, credentials map[string]string) ([]byte, error) {
	text, err := json.Marshal(credentials)
	if err != nil {
		return nil, apierr.Wrap("encode credentials", err)
	}
	sealed, err := r.Secrets.Seal(text, credentialsAAD(id))
	return sealed, apierr.Wrap("seal credentials", err)
}

func (r *Resolver) credentials(row *ent.Connector) (map[string]string, error) {
	if len(row.Credentials) == 0 {
		return map[string]string{}, nil
	}
	text, err := r.Secrets.Open(row.Credentials, credentialsAAD(row.ID))
	if err != nil {
		return nil, apierr.Wrap("open credentials", err)
	}
	var credentials map[string]string
	return credentials, apierr.Wrap("decode credentials", json.Unmarshal(text, &credentials))
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
	if err := r.updateSettings(update, row, kind, in); err != nil {
		return nil, err
	}
	status := row.Status
	if in.Credentials != nil && (status == connector.StatusNeedsAuth || status == connector.StatusError) {
		status = connector.StatusActive
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
	schedule, err := r.schedule(in.DocSync, row.SyncStrategy, row.ScheduleInterval)
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
	return update.Save(ctx)
}

func (r *Resolver) updateSettings(update *ent.ConnectorUpdateOne, row *ent.Connector, kind connectors.Kind, in model.UpdateConnectorInput) error {
	if in.Config == nil && in.Credentials == nil {
		return nil
	}
	config, err := merged(row.Config, in.Config, asIs)
	if err != nil {
		return err
	}
	old, err := r.credentials(row)
	if err != nil {
		return err
	}
	credentials, err := merged(old, in.Credentials, asText)
	if err != nil {
		return err
	}
	if err := checkSettings(kind, config, credentials); err != nil {
		return err
	}
	update.SetConfig(config)
	if in.Credentials == nil {
		return nil
	}
	sealed, err := r.seal(row.ID, credentials)
	if err != nil {
		return err
	}
	update.SetCredentials(sealed)
	return nil
}

// deleteConnector ends a connector with its documents, files and history.
func (r *Resolver) deleteConnector(ctx context.Context, id uuid.UUID) error {
	client := r.client(ctx)
	row, err := client.Connector.Get(ctx, id)
	if _, err := found("Connector", row, err); err != nil {
		return err
	}
	blobs, err := r.Files.BlobKeys(ctx, id)
	if err != nil {
		return err
	}
	if err := client.Connector.DeleteOne(row).Exec(ctx); err != nil {
		return err
	}
	r.afterCommit(ctx, "delete uploaded files", func(ctx context.Context) error {
		return r.Files.DeleteBlobs(ctx, blobs)
	})
	return nil
}

func (r *Resolver) connectorExists(ctx context.Context, id uuid.UUID) error {
	exists, err := r.client(ctx).Connector.Query().Where(connector.ID(id)).Exist(ctx)
	if err == nil && !exists {
		err = apierr.NotFound("Connector")
	}
	return err
}

func (r *Resolver) testConnector(ctx context.Context, id uuid.UUID) (*model.ConnectionTest, error) {
	row, err := r.Ent.Connector.Get(ctx, id)
	if _, err := found("Connector", row, err); err != nil {
		return nil, err
	}
	credentials, err := r.credentials(row)
	if err != nil {
		return nil, err
	}
	kind, err := r.kind(row.Type)
	if err != nil {
		return nil, err
	}
	test := try(ctx, kind, connectors.Settings{ConnectorID: id.String(), Config: row.Config, Credentials: credentials})
	return r.tested(ctx, id, row.Name, test)
}

func (r *Resolver) testConnection(ctx context.Context, kindName string, config, secrets map[string]any) (*model.ConnectionTest, error) {
	kind, err := r.kind(kindName)
	if err != nil {
		return nil, err
	}
	settings := connectors.Settings{}
	if settings.Config, err = merged(nil, config, asIs); err != nil {
		return nil, err
	}
	if settings.Credentials, err = merged(nil, secrets, asText); err != nil {
		return nil, err
	}
	if err := checkSettings(kind, settings.Config, settings.Credentials); err != nil {
		return nil, err
	}
	return r.tested(ctx, uuid.Nil, kind.Name, try(ctx, kind, settings))
}

// try opens a source and asks it whether it can be reached. What it answers is
// a result, not an error of the request.
func try(ctx context.Context, kind connectors.Kind, settings connectors.Settings) *model.ConnectionTest {
	source, err := kind.New(ctx, settings)
	if err == nil {
		defer func() { _ = source.Close() }()
		err = source.Check(ctx)
	}
	test := &model.ConnectionTest{Ok: err == nil, Message: "The connection works", Details: map[string]any{"type": kind.Name}}
	if err != nil {
		test.Message = err.Error()
		test.Details["needsAuth"] = connectors.IsNeedsAuth(err)
	}
	return test
}

func kinds(registry *connectors.Registry) []*model.ConnectorKind {
	var out []*model.ConnectorKind
	for _, k := range registry.Kinds() {
		out = append(out, &model.ConnectorKind{
			Name: k.Name, Title: k.Title, Description: k.Description, Aliases: append([]string{}, k.Aliases...),
			Options: options(k.Options), Credentials: options(k.Credentials), AcceptsFiles: k.AcceptsFiles,
		})
	}
	return out
}

func options(in []connectors.Option) []*model.ConnectorOption {
	out := make([]*model.ConnectorOption, len(in))
	for i, o := range in {
		out[i] = &model.ConnectorOption{
			Name: o.Name, Title: o.Title, Help: o.Help, Type: fmt.Sprint(o.Type),
			Required: o.Required, Sensitive: o.Sensitive,
		}
		if o.Example != "" {
			out[i].Example = &o.Example
		}
	}
	return out
}
