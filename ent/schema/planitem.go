package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A PlanItem is an entry of a sync plan: an item of the source, or a document, and what a
// sync would do with it.
type PlanItem struct{ ent.Schema }

// Mixin of PlanItem.
func (PlanItem) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.PlanItem}, tenant{}} }

// Fields of PlanItem.
func (PlanItem) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("connector_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("job_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")).Comment("the plan"),
		field.UUID("document_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
		field.String("source_id").NotEmpty().MaxLen(1024).Immutable(),
		field.String("path").MaxLen(2048).Annotations(entgql.OrderField("PATH")),
		field.Enum("action").
			NamedValues("Add", "ADD", "Modify", "MODIFY", "Compare", "COMPARE", "Unchanged", "UNCHANGED", "Skip", "SKIP", "Fail", "FAIL",
				"Delete", "DELETE", "Quarantine", "QUARANTINE", "Keep", "KEEP").
			Annotations(entgql.OrderField("ACTION")),
		field.String("reason").Optional().Nillable().MaxLen(2000),
		field.Int64("size").Default(0).NonNegative().Annotations(entgql.Type("Int64")).Comment("in bytes according to the source; 0 if unknown"),
		field.String("version").Default("").MaxLen(1024).Comment("version according to the source; empty if unknown"),
	}
}

// Edges of PlanItem.
func (PlanItem) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("connector", Connector.Type).Ref("planned").Field("connector_id").Unique().Required().Immutable(),
	}
}

// Indexes of PlanItem.
func (PlanItem) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("job_id", "source_id").Unique(),
		index.Fields("job_id", "action", "path"),
		index.Fields("connector_id"),
	}
}

// Policy of PlanItem.
func (PlanItem) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, OfConnector: true, Guard: rule.Items}
}

// Annotations of PlanItem.
func (PlanItem) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
