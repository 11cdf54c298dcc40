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

// A Membership is the role of a person in a workspace.
type Membership struct{ ent.Schema }

// Mixin of Membership. The workspace is an edge here, so there is no tenant mixin.
func (Membership) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Membership}} }

// Fields of Membership.
func (Membership) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("workspace_id", uuid.UUID{}).Immutable().Annotations(hidden()),
		field.UUID("user_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.Enum("role").NamedValues("Owner", "OWNER", "Admin", "ADMIN", "Editor", "EDITOR", "Viewer", "VIEWER").
			Annotations(hidden()).Comment("shown as Role, which the directives use, too"),
		field.Time("suspended_at").Optional().Nillable().Comment("when the directory suspended the person, who has no access while it does; null otherwise"),
	}
}

// Edges of Membership.
func (Membership) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("workspace", Workspace.Type).Ref("memberships").Field("workspace_id").Unique().Required().Immutable().Annotations(hidden()),
		edge.From("user", User.Type).Ref("memberships").Field("user_id").Unique().Required().Immutable(),
	}
}

// Indexes of Membership.
func (Membership) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "user_id").Unique(), index.Fields("user_id")}
}

// Policy of Membership.
func (Membership) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleAdmin} }

// Annotations of Membership.
func (Membership) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.Type("Member"), entgql.RelayConnection(), entgql.MultiOrder()}
}
