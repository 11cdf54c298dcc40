package schema

import (
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

// A Conversation is a chat of one person or one API key. Nobody else sees it.
type Conversation struct{ ent.Schema }

// Mixin of Conversation.
func (Conversation) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.Conversation}, tenant{}}
}

// Fields of Conversation.
func (Conversation) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("subject_id", uuid.UUID{}).Immutable().Annotations(hidden()).Comment("the user or API key that owns it"),
		field.UUID("collection_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
		field.UUID("agent_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("its agent; null for a chat"),
		field.String("named").Default("").MaxLen(320).Immutable().Annotations(hidden()).
			Comment("the address of the end user that requests with a secret key name; only that end user can continue it"),
		field.String("title").MaxRuneLen(300).Default(""),
		field.Text("summary").Default("").Annotations(hidden()).Comment("a summary of its first messages for the chat model, written when they no longer fit in a prompt"),
		field.Int("summarized").Default(0).Annotations(hidden()).Comment("the number of messages that the summary covers"),
	}
}

// Edges of Conversation.
func (Conversation) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("agent", Agent.Type).Ref("conversations").Field("agent_id").Unique().Immutable().Annotations(hidden()),
		edge.To("messages", Message.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
	}
}

// Indexes of Conversation.
func (Conversation) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "subject_id", "updated_at")}
}

// Policy of Conversation.
func (Conversation) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Keys: rule.Write, Subject: "subject_id"}
}

// Annotations of Conversation.
func (Conversation) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
