package schema

import (
	"encoding/json"

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

// An Agent answers questions by calling tools, as its system prompt directs.
type Agent struct{ ent.Schema }

// Mixin of Agent.
func (Agent) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Agent}, tenant{}} }

// Fields of Agent.
func (Agent) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.Text("description").Optional().Nillable().MaxRuneLen(4000),
		field.Text("system_prompt").NotEmpty().MaxRuneLen(32000),
		field.JSON("tools", []string{}).Default([]string{}).Comment("names of the tools that it may call"),
		field.JSON("collections", []uuid.UUID{}).Default([]uuid.UUID{}).Annotations(entgql.Type("[ID!]")).
			Comment("the collections that it may search, without deleted ones"),
		field.Bool("all_collections").Default(true).
			Comment("whether it may search all collections in the scope of the person who runs it, instead of those listed"),
		field.Text("start_message").Optional().Nillable().MaxRuneLen(4000).Comment("its greeting"),
		field.String("model").Optional().Nillable().MaxRuneLen(200).Comment("one of the chat models; null for the default one"),
		field.JSON("tool_policy", json.RawMessage{}).Default(json.RawMessage("{}")).Annotations(hidden()).
			Comment("which calls ask or are denied, on top of all other policies"),
	}
}

// Edges of Agent.
func (Agent) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("memories", AgentMemory.Type).Annotations(entsql.OnDelete(entsql.Cascade), hidden()),
		edge.To("runs", AgentRun.Type).Annotations(entsql.OnDelete(entsql.Cascade), hidden()),
		edge.To("conversations", Conversation.Type).Annotations(entsql.OnDelete(entsql.Cascade), hidden()),
	}
}

// Indexes of Agent.
func (Agent) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of Agent.
func (Agent) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleEditor} }

// Annotations of Agent.
func (Agent) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
