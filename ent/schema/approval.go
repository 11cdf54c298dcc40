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

// An Approval is a question of a run to a person: whether a call may be made, what
// happened to a call with an unknown outcome, or what an agent wants to know. It is
// decided once.
type Approval struct{ ent.Schema }

// Mixin of Approval.
func (Approval) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Approval}, tenant{}} }

// Fields of Approval.
func (Approval) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("run_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("agent_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("subject_id", uuid.UUID{}).Immutable().Annotations(hidden()).Comment("the person for whom the run acts"),
		field.String("call_id").NotEmpty().MaxLen(200).Immutable().Comment("the call; unique within the run together with the kind"),
		field.String("tool").NotEmpty().MaxLen(200).Immutable(),
		field.String("tool_title").Default("").MaxRuneLen(200).Immutable(),
		field.UUID("integration_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).Comment("the integration of the tool"),
		field.Enum("kind").NamedValues("Consent", "CONSENT", "UnknownEffect", "UNKNOWN_EFFECT", "Question", "QUESTION").Default("CONSENT").Immutable().
			Comment("consent to a call; what to do about a call whose outcome is unknown; a question"),
		field.Enum("risk").NamedValues("Read", "READ", "Write", "WRITE", "Send", "SEND", "Delete", "DELETE", "Question", "QUESTION").Immutable(),
		field.String("title").NotEmpty().MaxRuneLen(300).Immutable().Comment("one line"),
		field.Text("preview").Default("").Immutable().Comment("Markdown: what will happen"),
		field.Text("reason").Default("").Immutable().Comment("why, in the model's own words"),
		field.Text("arguments").Immutable().Comment("the exact JSON of the call"),
		field.String("arguments_hash").MaxLen(64).Immutable().Comment("SHA-256 of arguments, in hexadecimal"),
		field.String("configuration_hash").Default("").MaxLen(128).Immutable().Annotations(hidden()).Comment("of the agent and the tool when it was asked"),
		field.Strings("options").Default([]string{}).Immutable().Comment("answers that the agent suggests"),
		field.Enum("status").
			NamedValues("Pending", "PENDING", "Approved", "APPROVED", "Edited", "EDITED", "Answered", "ANSWERED", "Rejected", "REJECTED", "Expired", "EXPIRED", "Canceled", "CANCELED").
			Default("PENDING").Comment("EDITED: approved with other arguments"),
		field.Text("comment").Optional().Nillable().MaxRuneLen(4000),
		field.Text("edited_arguments").Optional().Nillable().Comment("the JSON that is used instead of arguments"),
		field.Text("answer").Optional().Nillable().MaxRuneLen(10000),
		field.Time("requested_at").Immutable(),
		field.Time("expires_at").Immutable(),
		field.Time("decided_at").Optional().Nillable(),
		field.UUID("decided_by", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).Comment("the person who decided"),
		field.Enum("decided_via").NamedValues("Dashboard", "DASHBOARD", "Slack", "SLACK", "API", "API", "Rule", "RULE").Optional().Nillable(),
		field.Enum("approver_role").NamedValues("Owner", "OWNER", "Admin", "ADMIN", "Editor", "EDITOR", "Viewer", "VIEWER").Optional().Nillable().Immutable().
			Annotations(hidden()).Comment("members with this role or more may decide; shown as Role"),
		field.JSON("approver_ids", []uuid.UUID{}).Default([]uuid.UUID{}).Immutable().Annotations(entgql.Type("[ID!]")).Comment("people who may decide"),
		field.Bool("self_approval").Default(true).Immutable().Comment("whether the person of the run may decide"),
		field.UUID("slack_integration_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(hidden()).Comment("the inbound integration that posts it"),
		field.String("slack_channel").Optional().Nillable().MaxLen(100).Comment("the channel where it is posted"),
		field.String("slack_ts").Optional().Nillable().MaxLen(100).Annotations(hidden()).Comment("Slack's name of the message"),
		field.String("slack_error").Optional().Nillable().MaxLen(500).Comment("why it could not be posted"),
		field.Int("slack_attempts").Default(0).NonNegative().Annotations(hidden()),
		field.Time("slack_due_at").Optional().Nillable().Annotations(hidden()).Comment("when the message is posted or replaced; null for nothing to do"),
		field.Time("notified_at").Optional().Nillable().Comment("when it was posted"),
		field.String("nonce").NotEmpty().MaxLen(64).Immutable().Sensitive().Annotations(hidden()).Comment("in the values of the buttons"),
	}
}

// Indexes of Approval.
func (Approval) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("run_id", "call_id", "kind").Unique(),
		index.Fields("workspace_id", "created_at"),
		index.Fields("workspace_id", "updated_at"),
		index.Fields("expires_at").Annotations(entsql.IndexWhere("status = 'PENDING'")),
		index.Fields("slack_due_at").Annotations(entsql.IndexWhere("slack_due_at is not null")),
	}
}

// Policy of Approval.
func (Approval) Policy() ent.Policy {
	return rule.Deciders{Subject: "subject_id", People: "approver_ids", Role: "approver_role"}
}

// Annotations of Approval.
func (Approval) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "approvals"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
