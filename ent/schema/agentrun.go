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

// An AgentRun is one run of an agent's loop. Only the person for whom it runs sees it. Its
// events are in the table agent_run_events, what it needs to continue in
// agent_run_states, and its acting calls in agent_run_effects.
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
			NamedValues("Queued", "QUEUED", "Running", "RUNNING", "Waiting", "WAITING", "Completed", "COMPLETED", "Failed", "FAILED", "Canceled", "CANCELED").
			Default("RUNNING").Comment("QUEUED runs continue in a worker; WAITING ones when a person has decided"),
		field.Bool("background").Default(false).Annotations(hidden()).Comment("whether it continues without a follower"),
		field.Int("attempt").Default(1).Positive().Annotations(hidden()).Comment("counts the processes that worked on it and fences their writes"),
		field.Text("message").Immutable(),
		field.Text("answer").Default(""),
		field.String("model").Default("").Comment("the chat model; empty if none is configured"),
		field.Int("iterations").Default(0).NonNegative(),
		field.Int("tool_calls").Default(0).NonNegative(),
		field.Int("prompt_tokens").Default(0).NonNegative(),
		field.Int("completion_tokens").Default(0).NonNegative(),
		field.String("error").Optional().Nillable().MaxLen(2000).Comment("why it failed, safe to show"),
		field.Time("heartbeat_at").Default(timeNow).Annotations(hidden()).Comment("when its process was last alive"),
		field.Time("waiting_since").Optional().Nillable().Comment("since when it waits for a person"),
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
