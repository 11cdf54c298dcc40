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

// An AgentRun is one run of an agent's loop. Only the person who started it sees it. Its
// events are in the table agent_run_events.
type AgentRun struct{ ent.Schema }

// Mixin of AgentRun.
func (AgentRun) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.AgentRun}, tenant{}} }

// Fields of AgentRun.
func (AgentRun) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("agent_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("subject_id", uuid.UUID{}).Immutable().Annotations(hidden()).Comment("the user who owns it"),
		field.UUID("conversation_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.Enum("status").
			NamedValues("Running", "RUNNING", "Completed", "COMPLETED", "Failed", "FAILED", "Canceled", "CANCELED").
			Default("RUNNING"),
		field.Text("message").Immutable(),
		field.Text("answer").Default(""),
		field.String("model").Default("").Comment("the chat model; empty if none is configured"),
		field.Int("iterations").Default(0).NonNegative(),
		field.Int("tool_calls").Default(0).NonNegative(),
		field.Int("prompt_tokens").Default(0).NonNegative(),
		field.Int("completion_tokens").Default(0).NonNegative(),
		field.String("error").Optional().Nillable().MaxLen(2000).Comment("why it failed, safe to show"),
		field.Time("heartbeat_at").Default(timeNow).Annotations(hidden()).Comment("when its process was last alive"),
		field.Time("finished_at").Optional().Nillable(),
	}
}

// Edges of AgentRun.
func (AgentRun) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("agent", Agent.Type).Ref("runs").Field("agent_id").Unique().Required().Immutable(),
	}
}

// Indexes of AgentRun.
func (AgentRun) Indexes() []ent.Index {
	return []ent.Index{index.Fields("agent_id", "subject_id", "created_at"), index.Fields("conversation_id", "created_at")}
}

// Policy of AgentRun.
func (AgentRun) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Subject: "subject_id"}
}

// Annotations of AgentRun.
func (AgentRun) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
