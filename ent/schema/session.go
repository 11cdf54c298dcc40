package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"magpie/ent/rule"
	"magpie/internal/gid"
	"magpie/internal/viewer"
)

// Session is one sign-in of a person. Its refresh token rotates: only the
// hashes of the present and of the previous one are kept.
type Session struct{ ent.Schema }

// Mixin of Session.
func (Session) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Session}, tenant{}} }

// Fields of Session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("user_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.Bytes("refresh_hash").Sensitive().Comment("SHA-256 of the refresh token in use"),
		field.Bytes("previous_hash").Optional().Sensitive().Comment("of the one before: its use ends the session"),
		field.Time("expires_at"),
		field.Time("revoked_at").Optional().Nillable(),
	}
}

// Edges of Session.
func (Session) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("user", User.Type).Ref("sessions").Field("user_id").Unique().Required().Immutable(),
	}
}

// Indexes of Session.
func (Session) Indexes() []ent.Index {
	return []ent.Index{index.Fields("refresh_hash").Unique(), index.Fields("previous_hash")}
}

// Policy of Session: people see and end their own.
func (Session) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Subject: "user_id"}
}

// Annotations of Session.
func (Session) Annotations() []schema.Annotation { return []schema.Annotation{hidden()} }
