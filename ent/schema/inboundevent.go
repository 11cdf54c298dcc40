package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An InboundEvent is one mail, event or meeting that an integration received. The table
// inbound_events has the deliveries for connectors, hence the other name of this one.
type InboundEvent struct{ ent.Schema }

// Mixin of InboundEvent.
func (InboundEvent) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.InboundEvent}, tenant{}}
}

// Fields of InboundEvent.
func (InboundEvent) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("integration_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.String("provider_event_id").NotEmpty().MaxLen(200).Immutable().Comment("the platform's id; unique within the integration"),
		field.String("type").NotEmpty().MaxLen(200).Immutable(),
		field.Time("received_at").Immutable(),
		field.Time("occurred_at").Optional().Nillable().Immutable().Comment("when it happened, as the platform says"),
		field.String("summary").Default("").MaxLen(500).Immutable().Comment("one line, safe to show"),
		field.Int64("size").Default(0).NonNegative().Immutable().Annotations(entgql.Type("Int64")).Comment("bytes of the payload"),
		field.Bytes("payload").Optional().Sensitive().Annotations(hidden()).Comment("sealed; null once its retention has passed"),
		field.Enum("status").
			NamedValues("Received", "RECEIVED", "Matched", "MATCHED", "Ignored", "IGNORED", "Rejected", "REJECTED", "Failed", "FAILED").
			Default("RECEIVED"),
		field.String("reason").Optional().Nillable().MaxLen(500).Comment("why it was ignored, rejected or failed, or what it waits for"),
		field.JSON("automation_ids", []uuid.UUID{}).Default([]uuid.UUID{}).Annotations(entgql.Type("[ID!]")).Comment("the automations that it started"),
		field.UUID("document_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).Comment("the document with the transcript of a meeting"),
		field.Int("attempts").Default(0).NonNegative().Comment("how often a worker has taken it"),
		field.Time("due_at").Optional().Nillable().Annotations(hidden()).Comment("when the sweep enqueues it again; null when it is done"),
		field.Time("processed_at").Optional().Nillable().Comment("when it was done"),
	}
}

// Indexes of InboundEvent.
func (InboundEvent) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("integration_id", "provider_event_id").Unique(),
		index.Fields("workspace_id", "received_at"),
		index.Fields("integration_id", "received_at"),
		index.Fields("due_at").Annotations(entsql.IndexWhere("due_at is not null")),
	}
}

// Policy of InboundEvent.
func (InboundEvent) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Reader: viewer.RoleEditor}
}

// Annotations of InboundEvent.
func (InboundEvent) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "integration_events"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
