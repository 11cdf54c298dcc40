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

// A ToolConnection holds the credentials of a person, or those that an administrator shares
// with the workspace, for one integration.
type ToolConnection struct{ ent.Schema }

// Mixin of ToolConnection.
func (ToolConnection) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.ToolConnection, manualUpdatedAt: true}, tenant{}}
}

// Fields of ToolConnection.
func (ToolConnection) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("integration_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the person whose credentials they are; null for shared ones"),
		field.Bytes("credentials").Optional().Sensitive().Annotations(hidden()).Comment("sealed; never shown"),
		field.UUID("grant_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).Comment("the OAuth grant"),
		field.Enum("status").NamedValues("Active", "ACTIVE", "NeedsAuth", "NEEDS_AUTH", "Error", "ERROR").Default("ACTIVE"),
		field.Time("last_checked_at").Optional().Nillable().Comment("when it was last tested"),
		field.String("last_error").Optional().Nillable().MaxLen(500).Comment("why the last test or call failed, safe to show"),
	}
}

// Edges of ToolConnection.
func (ToolConnection) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("integration", ToolIntegration.Type).Ref("connections").Field("integration_id").Unique().Required().Immutable().Annotations(hidden()),
	}
}

// Indexes of ToolConnection.
func (ToolConnection) Indexes() []ent.Index {
	return []ent.Index{index.Fields("integration_id", "person_id").Unique()}
}

// Policy of ToolConnection: a person's credentials are private; administrators write shared ones.
func (ToolConnection) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Person: "person_id", SharedRole: viewer.RoleAdmin}
}

// Annotations of ToolConnection.
func (ToolConnection) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "tool_connections"}}
}
