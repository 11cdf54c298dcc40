package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema/field"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
)

// A User is a person who signs in. A person may be a member of several workspaces.
type User struct{ ent.Schema }

// Mixin of User.
func (User) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.User}} }

// Fields of User.
func (User) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").NotEmpty().MaxLen(320).Unique().Comment("lower case"),
		field.String("name").MaxRuneLen(200).Default(""),
		field.String("password_hash").Optional().Sensitive().Annotations(hidden()),
		field.Bool("email_verified").Default(false).Comment("verified by a sign-in provider"),
		field.String("language").Optional().MaxLen(35).Annotations(hidden()).Comment("a language tag; empty for the browser's"),
		field.Enum("theme").NamedValues("Light", "LIGHT", "Dark", "DARK", "System", "SYSTEM").Default("SYSTEM").Annotations(hidden()),
		field.String("time_zone").Optional().MaxLen(64).Annotations(hidden()).Comment("an IANA name; empty for the browser's"),
		field.JSON("hidden_steps", []uuid.UUID{}).Optional().Annotations(hidden()).
			Comment("the workspaces whose first steps the start of the dashboard leaves out"),
		field.Bytes("reset_hash").Optional().Unique().Sensitive().Annotations(hidden()).Comment("SHA-256 of the token that sets a new password once"),
		field.Time("reset_expires_at").Optional().Nillable().Annotations(hidden()),
		field.UUID("reset_workspace_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).
			Comment("the workspace whose administrator made the token; null for the operator"),
	}
}

// Edges of User.
func (User) Edges() []ent.Edge {
	return []ent.Edge{
		owned("memberships", Membership.Type),
		owned("sessions", Session.Type),
	}
}

// Policy of User.
func (User) Policy() ent.Policy { return rule.Person{} }
