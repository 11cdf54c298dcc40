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

// An AgentMemory is a memory of an agent that outlives conversations.
type AgentMemory struct{ ent.Schema }

// Mixin of AgentMemory.
func (AgentMemory) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.AgentMemory, manualUpdatedAt: true}, tenant{}}
}

// Fields of AgentMemory.
func (AgentMemory) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("agent_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the person it is about, and for whom alone it is recalled; null for a shared memory"),
		field.Enum("kind").NamedValues("Fact", "FACT", "Preference", "PREFERENCE", "Insight", "INSIGHT", "Procedure", "PROCEDURE").
			Default("FACT"),
		field.Text("content").NotEmpty().MaxRuneLen(4000),
		field.Float("importance").Default(0.5).Min(0).Max(1),
		field.UUID("run_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the run that wrote it; null if a person wrote it"),
		field.Time("recalled_at").Optional().Nillable().Comment("when a run last recalled it"),
		field.Bytes("embedding").Optional().Annotations(hidden()).Comment("little-endian float32 of the content"),
		field.String("embedding_model").Default("").MaxLen(200).Annotations(hidden()).Comment("the model of the embedding; empty without one"),
	}
}

// Edges of AgentMemory.
func (AgentMemory) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("agent", Agent.Type).Ref("memories").Field("agent_id").Unique().Required().Immutable(),
	}
}

// Indexes of AgentMemory.
func (AgentMemory) Indexes() []ent.Index {
	return []ent.Index{index.Fields("agent_id", "created_at")}
}

// Policy of AgentMemory: a memory about a person is private to that person; editors write
// shared ones.
func (AgentMemory) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Person: "person_id", SharedRole: viewer.RoleEditor}
}

// Annotations of AgentMemory.
func (AgentMemory) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
