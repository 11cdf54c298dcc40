package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Connector brings the documents of one source into a collection.
type Connector struct{ ent.Schema }

// Mixin of Connector.
func (Connector) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Connector}, tenant{}} }

// Fields of Connector.
func (Connector) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.String("type").NotEmpty().MaxLen(64).Immutable().Comment("name of the connector kind"),
		field.Enum("status").
			NamedValues("Active", "ACTIVE", "Paused", "PAUSED", "NeedsAuth", "NEEDS_AUTH", "Error", "ERROR").
			Default("ACTIVE"),
		field.Bool("enabled").Default(true).Comment("whether syncs may run"),
		field.UUID("collection_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.JSON("config", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")),
		field.Bytes("credentials").Optional().Sensitive().Annotations(hidden()).Comment("sealed; never shown"),
		field.UUID("grant_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).
			Comment("the OAuth grant that it uses; null if it has its own credentials"),
		field.Enum("sync_strategy").NamedValues("Manual", "MANUAL", "Scheduled", "SCHEDULED").Default("MANUAL"),
		field.String("schedule_interval").Default("6h").MaxLen(8),
		field.Time("next_sync_at").Optional().Nillable().Comment("when the schedule starts the next sync"),
		field.Time("last_sync").Optional().Nillable().Comment("when the last sync finished with its documents stored"),
		field.String("last_error").Optional().Nillable().MaxLen(2000),
		field.Bool("closed").Default(false).Annotations(hidden()).Comment("its documents are hidden because their readers are not known yet"),
		field.Int("permissions_revision").Default(0).Annotations(hidden()).Comment("increases when the enforcement of permissions changes"),
		field.Int("readers_pending").Default(0).Annotations(hidden()).Comment("the revision of the job that reads the readers"),
		field.Int("readers_revision").Default(0).Annotations(hidden()).Comment("the revision of the stored readers"),
		field.Time("readers_at").Optional().Nillable().Annotations(hidden()).Comment("when all readers were last read completely"),
		field.Int64("groups_attempt").Default(0).Annotations(hidden()).Comment("number of the newest import of groups"),
		field.Int64("groups_generation").Default(0).Annotations(hidden()).Comment("number of the import in use"),
		field.Time("groups_at").Optional().Nillable().Annotations(hidden()).Comment("when the groups in use had been read"),
		field.Time("groups_due_at").Optional().Nillable().Annotations(hidden()).Comment("when they must be read again; null for immediately"),
		field.Time("groups_wanted_at").Optional().Nillable().Annotations(hidden()).Comment("when a document was last met that is shared with an unknown group"),
		field.String("groups_failure").Optional().Nillable().MaxLen(2000).Annotations(hidden()).Comment("why the newest import failed"),
		field.Text("feed_token").Default("").Annotations(hidden()).Comment("from which the next sync reads changes; empty for none"),
		field.String("feed_settings").Default("").MaxLen(64).Annotations(hidden()).Comment("hash of the settings of the last complete walk"),
		field.Time("walked_at").Optional().Nillable().Annotations(hidden()).Comment("when the last complete walk of a source with a feed began"),
		tombstone(),
	}
}

// Edges of Connector.
func (Connector) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("collection", Collection.Type).Ref("connectors").Field("collection_id").Unique().Required().Immutable(),
		edge.From("grant", OAuthGrant.Type).Ref("connectors").Field("grant_id").Unique().Annotations(hidden()),
		edge.To("documents", Document.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
		edge.To("jobs", SyncJob.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
		edge.To("files", SourceFile.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
		edge.To("items", SyncItem.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
		edge.To("planned", PlanItem.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), hidden()),
	}
}

// Indexes of Connector.
func (Connector) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "created_at"),
		index.Fields("next_sync_at").Annotations(entsql.IndexWhere("next_sync_at is not null")),
		index.Fields(tombstoneField).Annotations(entsql.IndexWhere("deleting_at is not null")),
	}
}

// Policy of Connector.
func (Connector) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Collection: "collection_id", Tombstone: tombstoneField}
}

// Annotations of Connector.
func (Connector) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
