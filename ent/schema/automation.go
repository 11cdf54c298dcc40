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

// An Automation runs an agent when something happens, and sends its answer on.
type Automation struct{ ent.Schema }

// Mixin of Automation.
func (Automation) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.Automation, manualUpdatedAt: true}, tenant{}}
}

// Fields of Automation.
func (Automation) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.Text("description").Optional().Nillable().MaxRuneLen(4000),
		field.Bool("enabled").Default(true),
		field.UUID("agent_id", uuid.UUID{}).Annotations(entgql.Type("ID")),
		field.UUID("owner_id", uuid.UUID{}).Annotations(entgql.Type("ID")).Comment("the person who is responsible for it"),
		field.Enum("run_as").NamedValues("Owner", "OWNER", "Service", "SERVICE").Default("OWNER").
			Comment("whose rights its runs have: those of its owner, or those of the workspace's service member"),
		field.Text("instructions").NotEmpty().MaxRuneLen(12000).Comment("what the agent shall do, with placeholders such as {{event.subject}}"),
		field.Enum("kind").NamedValues("Schedule", "SCHEDULE", "Email", "EMAIL", "Event", "EVENT", "Meeting", "MEETING", "Document", "DOCUMENT", "Manual", "MANUAL").
			Comment("the kind of its trigger"),
		field.JSON("trigger", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")).Comment("the settings of the trigger, without its kind"),
		field.UUID("integration_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("the integration of the trigger; null for any of its kind"),
		field.JSON("conditions", []map[string]any{}).Default([]map[string]any{}).Annotations(entgql.Type("[Map!]")).Comment("what must hold of the event: path, op, value"),
		field.JSON("approval", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")).Comment("what a person must approve, and who"),
		field.JSON("delivery", []map[string]any{}).Default([]map[string]any{}).Annotations(entgql.Type("[Map!]")).Comment("where the answer goes"),
		field.JSON("limits", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")),
		field.String("dedupe_key").Default("").MaxLen(200).Comment("path of the event; a second event with the same value starts nothing"),
		field.Int("failure_count").Default(0).NonNegative().Comment("failed runs since the last one that succeeded"),
		field.String("disabled_reason").Optional().Nillable().MaxLen(500).Comment("why Magpie disabled it"),
		field.Time("next_run_at").Optional().Nillable().Comment("when its schedule starts it next"),
		field.Time("last_run_at").Optional().Nillable(),
		field.JSON("cursors", map[string]int64{}).Default(map[string]int64{}).Annotations(hidden()).Comment("the change number of each collection up to which its documents were seen"),
		field.Time("checked_at").Optional().Nillable().Annotations(hidden()).Comment("when a worker last looked for its documents"),
	}
}

// Indexes of Automation.
func (Automation) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "created_at"),
		index.Fields("workspace_id", "kind").Annotations(entsql.IndexWhere("enabled")),
		index.Fields("next_run_at").Annotations(entsql.IndexWhere("next_run_at is not null")),
	}
}

// Policy of Automation.
func (Automation) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Reader: viewer.RoleEditor}
}

// Annotations of Automation.
func (Automation) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
