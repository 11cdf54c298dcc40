package graph

import (
	"context"

	"github.com/99designs/gqlgen/graphql"

	"github.com/magpie-search/magpie/ent"
	"github.com/magpie-search/magpie/ent/document"
	"github.com/magpie-search/magpie/graph/model"
	"github.com/magpie-search/magpie/internal/apierr"
	"github.com/magpie-search/magpie/internal/connector"
	"github.com/magpie-search/magpie/internal/connector/sourcefile"
	"github.com/magpie-search/magpie/internal/viewer"
)

func connectorDraft(in model.CreateConnectorInput) connector.Draft {
	return connector.Draft{
		Name: in.Name, Type: in.Type, Collection: in.Collection,
		Settings: connectorSettings(in.Config, in.Credentials), Schedules: schedules(in.DocSync, in.SchemaSync),
		Disabled: in.Enabled != nil && !*in.Enabled,
	}
}

func connectorChange(in model.UpdateConnectorInput) connector.Change {
	return connector.Change{
		Name: in.Name, Settings: connectorSettings(in.Config, in.Credentials), Schedules: schedules(in.DocSync, in.SchemaSync),
		Enabled: in.Enabled,
	}
}

func connectorSettings(config, credentials map[string]any) connector.Settings {
	return connector.Settings{Config: jsonObject(config), Credentials: credentials}
}

func schedules(documents, schema *model.DocSyncInput) connector.Schedules {
	schedule := func(in *model.DocSyncInput) *connector.Schedule {
		if in == nil {
			return nil
		}
		return &connector.Schedule{Strategy: in.SyncStrategy, Interval: in.ScheduleInterval}
	}
	return connector.Schedules{Documents: schedule(documents), Schema: schedule(schema)}
}

func docSync(row *ent.Connector) *model.DocSync {
	return &model.DocSync{SyncStrategy: row.SyncStrategy, ScheduleInterval: row.ScheduleInterval}
}

// schemaSync returns the schedule of a connector that attaches a database.
func (r *Resolver) schemaSync(row *ent.Connector) *model.DocSync {
	if kind, ok := r.Kinds.Lookup(row.Type); !ok || !kind.AttachesDatabase() {
		return nil
	}
	return docSync(row)
}

func connectionTest(p connector.Probe, err error) (*model.ConnectionTest, error) {
	if err != nil {
		return nil, err
	}
	test := &model.ConnectionTest{Ok: p.OK, Message: p.Message, Details: p.Details, Tiers: make([]*model.ConnectionTier, len(p.Tiers))}
	for i, t := range p.Tiers {
		test.Tiers[i] = &model.ConnectionTier{Name: t.Name, Ok: t.OK, Message: unlessEmpty(t.Message)}
	}
	return test, nil
}

func documentCounts(counts connector.Counts) *model.DocumentCounts {
	return &model.DocumentCounts{
		Pending: counts[document.StatusPending], Processing: counts[document.StatusProcessing], Indexed: counts[document.StatusIndexed],
		Failed: counts[document.StatusFailed], Deleted: counts[document.StatusDeleted],
	}
}

func (r *Resolver) connectorPermissions(row *ent.Connector) *model.ConnectorPermissions {
	p, ok := r.Connectors.Permissions(row)
	if !ok {
		return nil
	}
	return &model.ConnectorPermissions{
		Mode: p.Mode, ReadersReadAt: p.ReadersReadAt, GroupsReadAt: p.GroupsReadAt, Warning: nilIfZero(p.Warning),
	}
}

// hiddenDocuments returns the number of documents that nobody finds because their
// readers are not known.
func (r *Resolver) hiddenDocuments(ctx context.Context, row *ent.Connector) (int, error) {
	if r.Principals == nil {
		return 0, nil
	}
	scope, err := viewer.ScopeOf(ctx)
	if err != nil {
		return 0, apierr.Wrap("count hidden documents", err)
	}
	n, err := r.Principals.Hidden(ctx, scope, row.ID)
	return n, apierr.Wrap("count hidden documents", err)
}

// connectorWebhook returns nil for a connector whose kind takes no deliveries.
func (r *Resolver) connectorWebhook(ctx context.Context, row *ent.Connector) (out *model.ConnectorWebhook, err error) {
	if !r.Connectors.TakesDeliveries(row) {
		return out, nil
	}
	status, err := loadersOf(ctx).webhook.Load(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	hook := r.Connectors.Webhook(row, status)
	out = &model.ConnectorWebhook{URL: hook.URL, LastDelivery: status.LastReceivedAt, Waiting: status.Pending, Ready: hook.Ready}
	if s := status.Subscription; s != nil {
		out.Subscription = &model.WebhookSubscription{Active: s.Active, ExpiresAt: s.ExpiresAt, Error: s.Error}
	}
	return out, nil
}

// uploads pairs files with their paths. A file without a path keeps its name.
func uploads(files []*graphql.Upload, paths []string) ([]sourcefile.Upload, error) {
	if len(paths) > 0 && len(paths) != len(files) {
		return nil, apierr.Invalid("paths", "must name a path for each file, or be left out")
	}
	out := make([]sourcefile.Upload, len(files))
	for i, f := range files {
		out[i] = sourcefile.Upload{Path: f.Filename, MediaType: f.ContentType, Content: f.File, Size: f.Size}
		if len(paths) > 0 && paths[i] != "" {
			out[i].Path = paths[i]
		}
	}
	return out, nil
}
