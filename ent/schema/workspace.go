package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema/field"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
)

// A Workspace is a tenant. All other rows belong to one.
type Workspace struct{ ent.Schema }

// Mixin of Workspace.
func (Workspace) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Workspace}} }

// Fields of Workspace.
func (Workspace) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.Int64("query_limit").Optional().Nillable().NonNegative().Annotations(hidden()).
			Comment("searches and chat messages a month, set by the operator; 0 for no limit, null for the default"),
	}
}

// Edges of Workspace.
func (Workspace) Edges() []ent.Edge {
	return []ent.Edge{owned("memberships", Membership.Type)}
}

// Policy of Workspace.
func (Workspace) Policy() ent.Policy { return rule.Tenant{Field: "id"} }
