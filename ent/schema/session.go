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

// A Session is a sign-in of a person on a device, or an application that the person has
// connected. Its refresh tokens are numbered. Only the number of the current token is stored.
type Session struct{ ent.Schema }

// Mixin of Session.
func (Session) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Session}, tenant{}} }

// Fields of Session.
func (Session) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("user_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.Int64("generation").Default(0).NonNegative().Comment("the number of the current refresh token; the use of an older one ends the session"),
		field.Time("rotated_at").Optional().Nillable().Comment("when the refresh token was last exchanged"),
		field.Time("expires_at"),
		field.Time("revoked_at").Optional().Nillable(),
		field.String("user_agent").Default("").MaxRuneLen(300).Comment("User-Agent of the device"),
		field.String("application").Default("").MaxRuneLen(200).Comment("name of a connected application; empty for a device"),
		field.String("application_hash").Default("").MaxLen(64).Comment("SHA-256 of the client id of a connected application, in hexadecimal"),
		field.String("address").Default("").MaxLen(64).Comment("network address that last used the session"),
		field.Time("last_used_at").Default(now).Comment("exact to a minute"),
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
	return []ent.Index{index.Fields("user_id", "last_used_at")}
}

// Policy of Session: people see and end their own.
func (Session) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Subject: "user_id"}
}

// Annotations of Session.
func (Session) Annotations() []schema.Annotation { return []schema.Annotation{hidden()} }
