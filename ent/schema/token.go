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
)

// A Token lets a program use the management surfaces: as its person, or as a service of
// the workspace. Only the SHA-256 hash is stored. The token is shown once, when it is
// created.
type Token struct{ ent.Schema }

// Mixin of Token.
func (Token) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Token}, tenant{}} }

// Fields of Token.
func (Token) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Immutable(),
		field.UUID("user_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).Comment("the person of a personal token"),
		field.UUID("created_by", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).
			Comment("the person who made it; null after that person has left"),
		field.Bytes("hash").Unique().Immutable().Sensitive().Annotations(hidden()),
		field.String("hint").MaxLen(32).Immutable().Comment("its first characters, for identification"),
		field.Enum("role").NamedValues("Owner", "OWNER", "Admin", "ADMIN", "Editor", "EDITOR", "Viewer", "VIEWER").
			Optional().Nillable().Immutable().Annotations(hidden()).Comment("shown as Role, which the directives use, too; null for that of the person"),
		field.JSON("groups", []string{}).Optional().Immutable().Annotations(hidden()).Comment("null for all"),
		field.Time("expires_at").Optional().Nillable().Immutable(),
		field.Time("revoked_at").Optional().Nillable(),
		field.Time("last_used_at").Optional().Nillable().Comment("exact to a minute"),
		field.String("last_address").Default("").MaxLen(64).Comment("the address that last used it; the network for an IPv6 address"),
	}
}

// Indexes of Token.
func (Token) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at"), index.Fields("workspace_id", "user_id")}
}

// Policy of Token: people see their own, administrators all.
func (Token) Policy() ent.Policy { return rule.Tokens{} }

// Annotations of Token.
func (Token) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
