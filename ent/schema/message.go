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

// A Message is one turn of a conversation. It has the subject of its conversation, so that
// its own policy protects it.
type Message struct{ ent.Schema }

// Mixin of Message.
func (Message) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Message}, tenant{}} }

// Fields of Message.
func (Message) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("conversation_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("subject_id", uuid.UUID{}).Immutable().Annotations(hidden()).Comment("the user or API key that owns it"),
		field.Enum("role").NamedValues("User", "USER", "Assistant", "ASSISTANT").Immutable(),
		field.Text("content").Immutable(),
		field.JSON("sources", []map[string]any{}).Optional().Immutable().Annotations(entgql.Type("[Map!]")).
			Comment("id, title, url and passages of each source that was cited: id, headingPath and excerpt of each"),
		field.UUID("run_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the run of an agent that wrote it"),
		field.Int("prompt_tokens").Default(0).Immutable(),
		field.Int("completion_tokens").Default(0).Immutable(),
		field.String("request_id").MaxLen(128).Optional().Immutable().Annotations(hidden()).
			Comment("id of the request of the question or answer; joins feedback to the query log"),
	}
}

// Edges of Message.
func (Message) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("conversation", Conversation.Type).Ref("messages").Field("conversation_id").Unique().Required().Immutable(),
		owned("feedback", Feedback.Type),
	}
}

// Indexes of Message.
func (Message) Indexes() []ent.Index {
	return []ent.Index{index.Fields("conversation_id", "created_at")}
}

// Policy of Message.
func (Message) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Keys: rule.Write, Subject: "subject_id"}
}

// Annotations of Message.
func (Message) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
