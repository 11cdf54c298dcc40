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

// An APIKey is a pair of keys for the public surface: a publishable and a secret one. Only
// their SHA-256 hashes are stored. Both are shown once, when they are created. The pair
// before the last rotation works until previous_expires_at.
type APIKey struct{ ent.Schema }

// Mixin of APIKey.
func (APIKey) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.APIKey}, tenant{}} }

// Fields of APIKey.
func (APIKey) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200),
		field.Bytes("publishable_hash").Unique().Sensitive().Annotations(hidden()),
		field.Bytes("secret_hash").Unique().Sensitive().Annotations(hidden()),
		field.Bytes("previous_publishable_hash").Optional().Unique().Sensitive().Annotations(hidden()),
		field.Bytes("previous_secret_hash").Optional().Unique().Sensitive().Annotations(hidden()),
		field.String("publishable_hint").MaxLen(32).Comment("its first characters, for identification"),
		field.String("secret_hint").MaxLen(32).Comment("its first characters, for identification"),
		field.Bool("allow_all_collections").Default(false),
		field.JSON("allowed_collections", []uuid.UUID{}).Default([]uuid.UUID{}).Annotations(entgql.Type("[ID!]")),
		field.UUID("default_collection", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")),
		field.JSON("allowed_hosts", []string{}).Default([]string{}),
		field.JSON("allowed_referers", []string{}).Default([]string{}),
		field.String("widget_model_id").Optional().Nillable().MaxRuneLen(200),
		field.Text("widget_context").Optional().Nillable().MaxRuneLen(8000),
		field.Bool("require_signature").Default(false),
		field.Bool("database_tools").Default(false).Comment("whether programs at /mcp query attached databases by the secret key"),
		field.Int("rate_limit_per_minute").Optional().Nillable().NonNegative(),
		field.Time("expires_at").Optional().Nillable(),
		field.Time("revoked_at").Optional().Nillable(),
		field.Time("last_used_at").Optional().Nillable().Comment("exact to a minute"),
		field.Time("rotated_at").Optional().Nillable().Comment("when the pair was last replaced by a new one"),
		field.Time("previous_expires_at").Optional().Nillable().
			Comment("when the previous pair expires; null if it expired at once"),
		field.Time("leaked_at").Optional().Nillable().
			Comment("when a browser first sent the secret key; a rotation clears it"),
		field.String("leaked_origin").Optional().Nillable().MaxLen(300).Comment("the page that sent it"),
	}
}

// Indexes of APIKey.
func (APIKey) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of APIKey.
func (APIKey) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleAdmin} }

// Annotations of APIKey.
func (APIKey) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
