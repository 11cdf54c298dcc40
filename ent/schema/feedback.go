package schema

import (
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

// Feedback is the rating of an answer by a person. There is at most one for a person and
// a message. It is deleted with the message.
type Feedback struct{ ent.Schema }

// Mixin of Feedback.
func (Feedback) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Feedback}, tenant{}} }

// Fields of Feedback.
func (Feedback) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("message_id", uuid.UUID{}).Immutable().Annotations(hidden()),
		field.UUID("subject_id", uuid.UUID{}).Immutable().Annotations(hidden()).Comment("the person who gave it"),
		field.Enum("rating").NamedValues("Positive", "POSITIVE", "Negative", "NEGATIVE"),
		field.Enum("reason").Optional().Nillable().
			NamedValues("Irrelevant", "IRRELEVANT", "Outdated", "OUTDATED", "Incorrect", "INCORRECT", "Incomplete", "INCOMPLETE", "Other", "OTHER"),
		field.String("comment").MaxRuneLen(500).Optional().Nillable(),
	}
}

// Edges of Feedback.
func (Feedback) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("message", Message.Type).Ref("feedback").Field("message_id").Unique().Required().Immutable().Annotations(hidden()),
	}
}

// Indexes of Feedback.
func (Feedback) Indexes() []ent.Index {
	return []ent.Index{index.Fields("message_id", "subject_id").Unique()}
}

// Policy of Feedback.
func (Feedback) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Subject: "subject_id"}
}

// Annotations of Feedback.
func (Feedback) Annotations() []schema.Annotation { return []schema.Annotation{hidden()} }
