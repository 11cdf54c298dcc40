package schema

import (
	"encoding/json"

	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

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
		field.JSON("tool_policy", json.RawMessage{}).Default(json.RawMessage("{}")).Annotations(hidden()).
			Comment("which calls of agents ask or are denied, on top of all other policies"),
		field.UUID("approval_integration_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).
			Comment("the inbound integration that posts approvals which name no channel"),
		field.String("approval_channel").Optional().Nillable().MaxLen(100).Annotations(hidden()).Comment("the channel where it posts them"),
	}
}

// Edges of Workspace.
func (Workspace) Edges() []ent.Edge {
	return []ent.Edge{owned("memberships", Membership.Type)}
}

// Policy of Workspace.
func (Workspace) Policy() ent.Policy { return rule.Tenant{Field: "id"} }
