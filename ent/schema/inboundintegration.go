package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An InboundIntegration receives mails, events or meetings of one account at a platform.
type InboundIntegration struct{ ent.Schema }

// Mixin of InboundIntegration.
func (InboundIntegration) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.InboundIntegration, manualUpdatedAt: true}, tenant{}}
}

// Fields of InboundIntegration.
func (InboundIntegration) Fields() []ent.Field {
	return []ent.Field{
		field.Enum("kind").NamedValues("Email", "EMAIL", "Events", "EVENTS", "Meetings", "MEETINGS", "Slack", "SLACK").Immutable(),
		field.String("provider").NotEmpty().MaxLen(64).Immutable().Comment("name of the provider: postmark, jira, zoom, …"),
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.Bool("enabled").Default(true).Comment("whether deliveries are accepted"),
		field.JSON("config", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")),
		field.Bytes("credentials").Optional().Sensitive().Annotations(hidden()).Comment("sealed; never shown"),
		field.Bytes("previous_credentials").Optional().Sensitive().Annotations(hidden()).Comment("sealed; accepted during a rotation"),
		field.Time("previous_until").Optional().Nillable().Comment("until when deliveries with the secret before the rotation are accepted"),
		field.String("token").NotEmpty().MaxLen(64).Unique().Immutable().Comment("names the integration in a mail address"),
		field.Strings("routing_keys").Default([]string{}).Annotations(hidden()).Comment("names by which deliveries without an id address it"),
		field.Enum("status").NamedValues("Unverified", "UNVERIFIED", "OK", "OK", "Failing", "FAILING").Default("UNVERIFIED"),
		field.Time("last_event_at").Optional().Nillable().Comment("when the last verified delivery arrived"),
		field.String("last_error").Optional().Nillable().MaxLen(500).Comment("why the last delivery was refused, safe to show"),
		field.Int64("rejected").Default(0).NonNegative().Annotations(entgql.Type("Int64")).Comment("number of deliveries that were refused"),
	}
}

// Indexes of InboundIntegration.
func (InboundIntegration) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of InboundIntegration.
func (InboundIntegration) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Reader: viewer.RoleEditor}
}

// Annotations of InboundIntegration.
func (InboundIntegration) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "inbound_integrations"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
