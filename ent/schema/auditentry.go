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

// An AuditEntry records who changed what, and when. Package internal/audit writes entries
// in the transaction of the change. The application's database role cannot change them.
type AuditEntry struct{ ent.Schema }

// Mixin of AuditEntry.
func (AuditEntry) Mixin() []ent.Mixin { return []ent.Mixin{tenant{}} }

// Fields of AuditEntry.
func (AuditEntry) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).Default(func() uuid.UUID { return gid.New(gid.AuditEntry) }).Immutable(),
		field.Time("created_at").Default(now).Immutable().Annotations(entgql.OrderField("CREATED_AT")),
		field.Enum("actor_kind").Immutable().
			NamedValues("Person", "PERSON", "Key", "KEY", "Token", "TOKEN", "Command", "COMMAND", "Nobody", "NOBODY", "System", "SYSTEM").
			Comment("a person, an API key, a service token, the command line, a caller without credentials, or Magpie itself"),
		field.UUID("actor_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("id of the person, the key or the service token"),
		field.String("actor_name").Default("").Immutable().
			Comment("the person's email address, the name of the key or the service token, or the login at the command line, at that time"),
		field.UUID("session_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the session of a person"),
		field.UUID("token_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the token by which the request came"),
		field.String("token_name").Default("").Immutable().Comment("its name"),
		field.String("ip").Optional().Nillable().Immutable().Comment("address that the request came from"),
		field.String("request_id").Optional().Nillable().Immutable().Comment("X-Request-Id of the request"),
		field.String("action").NotEmpty().Immutable().Comment("the action, such as collection.create"),
		field.String("target_kind").NotEmpty().Immutable().Comment("the kind of the target, such as collection"),
		field.UUID("target_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")),
		field.String("target_name").Default("").Immutable().Comment("at that time"),
		field.JSON("changes", []map[string]any{}).Immutable().Annotations(entgql.Type("[AuditChange!]"), hidden()),
	}
}

// Indexes of AuditEntry.
func (AuditEntry) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("workspace_id", "created_at", "id"),
		index.Fields("workspace_id", "target_id", "created_at"),
		index.Fields("workspace_id", "actor_id", "created_at"),
		index.Fields("workspace_id", "action", "created_at"),
	}
}

// Policy of AuditEntry: admins read, and nobody writes with ent.
func (AuditEntry) Policy() ent.Policy {
	return rule.Tenant{Reader: viewer.RoleAdmin, Keys: rule.None, ReadOnly: true}
}

// Annotations of AuditEntry.
func (AuditEntry) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
