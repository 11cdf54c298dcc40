package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An Invitation invites a person into a workspace with a role. Its token works once; only
// the hash of the token is stored.
type Invitation struct{ ent.Schema }

// Mixin of Invitation.
func (Invitation) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Invitation}, tenant{}} }

// Fields of Invitation.
func (Invitation) Fields() []ent.Field {
	return []ent.Field{
		field.String("email").NotEmpty().MaxLen(320).Immutable().Comment("lower case"),
		field.Enum("role").NamedValues("Owner", "OWNER", "Admin", "ADMIN", "Editor", "EDITOR", "Viewer", "VIEWER").
			Immutable().Annotations(hidden()).Comment("shown as Role, which the directives use, too"),
		field.Bytes("token_hash").Unique().Sensitive().Annotations(hidden()),
		field.UUID("invited_by", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).
			Comment("the person who invited; null for the operator, and after that person was deleted"),
		field.Time("sent_at").Default(now).Comment("when its current token was made"),
		field.Time("expires_at"),
		field.Time("accepted_at").Optional().Nillable(),
		field.Time("revoked_at").Optional().Nillable(),
	}
}

// Indexes of Invitation.
func (Invitation) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at"), index.Fields("email")}
}

// Policy of Invitation.
func (Invitation) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleAdmin} }

// Annotations of Invitation.
func (Invitation) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
