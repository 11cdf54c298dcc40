package schema

import (
	"time"

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

func timeNow() time.Time { return now() }

// A SyncItem is an entry of a connector's ledger: an item of the source, what the last job
// that saw it did with it, and why.
type SyncItem struct{ ent.Schema }

// Mixin of SyncItem.
func (SyncItem) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.SyncItem}, tenant{}} }

// Fields of SyncItem.
func (SyncItem) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("connector_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("job_id", uuid.UUID{}).Annotations(entgql.Type("ID")).Comment("the last job that saw the item"),
		field.UUID("document_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
		field.String("source_id").NotEmpty().MaxLen(1024).Immutable(),
		field.String("path").MaxLen(2048).Annotations(entgql.OrderField("PATH")),
		field.Enum("status").
			NamedValues("Pending", "PENDING", "Indexed", "INDEXED", "Unchanged", "UNCHANGED", "Skipped", "SKIPPED", "Failed", "FAILED", "Deleted", "DELETED").
			Default("PENDING").
			Annotations(entgql.OrderField("STATUS")),
		field.Bool("added").Default(false).Annotations(hidden()).Comment("with status indexed: the document is new"),
		field.String("reason").Optional().Nillable().MaxLen(2000).Comment("why it was skipped or failed, or a note"),
		field.Bool("retryable").Default(false),
		field.Bool("suppressed").Default(false).Comment("deleted by hand; later syncs skip it"),
		field.Enum("hold").NamedValues("Quarantined", "QUARANTINED", "Dismissed", "DISMISSED", "Restored", "RESTORED").Optional().Nillable().
			Comment("why its document is kept although the item is missing from the source; null if it is not missing"),
		field.Time("waiting_since").Optional().Nillable().Comment("when a change that cannot be searched yet became known"),
		field.String("source_version").Default("").MaxLen(1024).Annotations(hidden()).Comment("the version of the outcome"),
		field.Int("pipeline_version").Default(0).Annotations(hidden()).Comment("version of the code that decided the outcome"),
		field.String("container").Default("").MaxLen(1024).Annotations(hidden()).Comment("the part of the source that it belongs to"),
		field.UUID("gone_job_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("the job that the source told that it is gone"),
	}
}

// Edges of SyncItem.
func (SyncItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("connector", Connector.Type).Ref("items").Field("connector_id").Unique().Required().Immutable(),
	}
}

// Indexes of SyncItem.
func (SyncItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("connector_id", "source_id").Unique(),
		index.Fields("job_id", "status"),
		index.Fields("connector_id", "hold").Annotations(entsql.IndexWhere("hold is not null")),
		index.Fields("connector_id", "waiting_since").Annotations(entsql.IndexWhere("waiting_since is not null")),
		index.Fields("connector_id", "gone_job_id").Annotations(entsql.IndexWhere("gone_job_id is not null")),
	}
}

// Policy of SyncItem.
func (SyncItem) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, OfConnector: true, Guard: rule.Items}
}

// Annotations of SyncItem.
func (SyncItem) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
