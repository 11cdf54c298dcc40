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
	"github.com/magpie-search/magpie/internal/viewer"
)

// An AutomationRun is what an automation did, or did not do, with one event.
type AutomationRun struct{ ent.Schema }

// Mixin of AutomationRun.
func (AutomationRun) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.AutomationRun}, tenant{}}
}

// Fields of AutomationRun.
func (AutomationRun) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("automation_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.String("dedupe_key").NotEmpty().MaxLen(200).Immutable().Annotations(hidden()).Comment("what it answers; unique within the automation"),
		field.UUID("event_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).Comment("the event of an integration that started it"),
		field.String("title").Default("").MaxLen(500).Immutable().Comment("one line that says what started it"),
		field.String("sender").Default("").MaxLen(320).Immutable().Annotations(hidden()).Comment("the address of the sender, for the limit of each"),
		field.Bytes("event").Optional().Sensitive().Annotations(hidden()).Comment("the sealed event; null once its retention has passed"),
		field.UUID("subject_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("the person or service member as whom it runs"),
		field.Bool("private").Default(false).Immutable().Annotations(hidden()).Comment("only its subject sees the output, since it runs with the rights of a person"),
		field.UUID("conversation_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("the conversation of its agent run, from before that starts"),
		field.UUID("agent_run_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
		field.Enum("status").
			NamedValues("Queued", "QUEUED", "Running", "RUNNING", "Waiting", "WAITING", "Completed", "COMPLETED", "Failed", "FAILED", "Rejected", "REJECTED",
				"Expired", "EXPIRED", "Canceled", "CANCELED", "Skipped", "SKIPPED").
			Default("QUEUED"),
		field.Enum("step").NamedValues("Start", "START", "Agent", "AGENT", "Approval", "APPROVAL", "Delivery", "DELIVERY", "Done", "DONE").
			Default("START").Annotations(hidden()).Comment("what a worker does with it next"),
		field.String("reason").Optional().Nillable().MaxLen(500).Comment("why it was skipped, failed or rejected, or what it waits for"),
		field.Enum("error_class").
			NamedValues("ModelUnavailable", "MODEL_UNAVAILABLE", "Agent", "AGENT", "Rights", "RIGHTS", "Delivery", "DELIVERY", "Internal", "INTERNAL").
			Optional().Nillable(),
		field.Text("answer").Default("").Annotations(hidden()).Comment("shown as output, unless it is private"),
		field.JSON("deliveries", []map[string]any{}).Default([]map[string]any{}).Annotations(hidden()).
			Comment("kind, status, target and error of each delivery; a delivery begins by a change of its status, so that it happens at most once"),
		field.Int("tokens").Default(0).NonNegative(),
		field.UUID("replay_of", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).Comment("the run that it repeats"),
		field.Int("retries").Default(0).NonNegative().Comment("how often the agent was started again because the model was unavailable"),
		field.Int("attempts").Default(0).NonNegative().Annotations(hidden()).Comment("how often a worker has taken it; fences writes"),
		field.Time("due_at").Optional().Nillable().Annotations(hidden()).Comment("when a worker takes it next; null when it is done"),
		field.Time("started_at").Optional().Nillable(),
		field.Time("waiting_since").Optional().Nillable(),
		field.Time("finished_at").Optional().Nillable(),
	}
}

// Indexes of AutomationRun.
func (AutomationRun) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("automation_id", "dedupe_key").Unique(),
		index.Fields("automation_id", "created_at"),
		index.Fields("workspace_id", "created_at"),
		index.Fields("agent_run_id").Annotations(entsql.IndexWhere("due_at is not null")),
		index.Fields("due_at").Annotations(entsql.IndexWhere("due_at is not null")),
	}
}

// Policy of AutomationRun.
func (AutomationRun) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Reader: viewer.RoleEditor}
}

// Annotations of AutomationRun.
func (AutomationRun) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
