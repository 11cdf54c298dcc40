package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
)

// A ToolGrant lets calls of one tool happen without asking again: in one run, in one
// conversation, or whenever an agent makes them.
type ToolGrant struct{ ent.Schema }

// Mixin of ToolGrant.
func (ToolGrant) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.ToolGrant}, tenant{}} }

// Fields of ToolGrant.
func (ToolGrant) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("agent_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.String("tool").NotEmpty().MaxLen(200).Immutable(),
		field.Enum("scope").NamedValues("Run", "RUN", "Conversation", "CONVERSATION", "Agent", "AGENT").Immutable(),
		field.UUID("run_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")),
		field.UUID("conversation_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the person of the run or conversation; null for all people"),
		field.UUID("approval_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).Comment("the approval with which it was given"),
		field.UUID("created_by", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")).Comment("the person who gave it"),
		field.Time("revoked_at").Optional().Nillable(),
		field.UUID("revoked_by", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
	}
}

// Indexes of ToolGrant.
func (ToolGrant) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("agent_id", "tool").Annotations(entsql.IndexWhere("revoked_at is null")),
		index.Fields("workspace_id", "created_at"),
	}
}

// Policy of ToolGrant: the person of a run or conversation and who gave the grant see it;
// everybody sees what an agent may do.
func (ToolGrant) Policy() ent.Policy { return rule.Grants{} }

// Annotations of ToolGrant.
func (ToolGrant) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "tool_grants"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
