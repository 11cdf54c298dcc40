package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A Collection is a group of documents that are searched together and embedded by one model.
type Collection struct{ ent.Schema }

// Mixin of Collection.
func (Collection) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Collection}, tenant{}} }

// Fields of Collection.
func (Collection) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.Text("description").Optional().Nillable().MaxRuneLen(4000),
		field.String("embedding_model").NotEmpty().MaxLen(200).Immutable(),
		field.String("next_embedding_model").StorageKey("next_model").Optional().Nillable().MaxLen(200).
			Comment("The model that the collection is changing to; null if it is not changing."),
		field.Enum("search_tier").NamedValues("Auto", "AUTO", "PostgreSQL", "POSTGRESQL", "Engine", "ENGINE").Default("AUTO").
			Comment("Which tier may search it; AUTO chooses by its size."),
		tombstone(),
	}
}

// Edges of Collection.
func (Collection) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("connectors", Connector.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
		edge.To("documents", Document.Type).
			Annotations(entsql.OnDelete(entsql.Cascade), entgql.RelayConnection()),
	}
}

// Indexes of Collection.
func (Collection) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of Collection.
func (Collection) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Keys: rule.Read, Collection: "id", Tombstone: tombstoneField}
}

// Annotations of Collection.
func (Collection) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
