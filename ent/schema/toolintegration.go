package schema

import (
	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// A ToolIntegration gives agents the tools of one platform, webhook host or tool server.
type ToolIntegration struct{ ent.Schema }

// Mixin of ToolIntegration.
func (ToolIntegration) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.ToolIntegration, manualUpdatedAt: true}, tenant{}}
}

// Fields of ToolIntegration.
func (ToolIntegration) Fields() []ent.Field {
	return []ent.Field{
		field.Enum("kind").NamedValues("Pack", "PACK", "Webhook", "WEBHOOK", "MCP", "MCP").Immutable().
			Comment("where its tools come from: a platform that Magpie knows, a host with an API, a tool server"),
		field.String("provider").NotEmpty().MaxLen(64).Immutable().Comment("name of the provider: jira, slack, …; webhook; mcp"),
		field.String("name").NotEmpty().MaxRuneLen(200).Annotations(entgql.OrderField("NAME")),
		field.String("slug").NotEmpty().MaxLen(24).Immutable().Comment("the first part of the names of its tools, as jira in jira.create_issue"),
		field.Enum("owner_scope").NamedValues("Workspace", "WORKSPACE", "Personal", "PERSONAL").Immutable(),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the person who alone sees and uses it; null for the workspace's"),
		field.Enum("credentials_of").NamedValues("Person", "PERSON", "Shared", "SHARED").Default("PERSON").
			Comment("whose credentials its calls use: those of the person of the run, or the ones that an administrator shares"),
		field.Bool("enabled").Default(true).Comment("whether agents may call its tools"),
		field.JSON("config", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")),
		field.Time("discovered_at").Optional().Nillable().Comment("when its tools were last read"),
		field.UUID("discovered_by", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).
			Comment("the person whose credentials read its tools, and read them again; null for shared credentials"),
		field.Time("refresh_at").Optional().Nillable().Annotations(hidden()).Comment("when its tools are read again; null: by people only"),
		field.String("schema_hash").Default("").MaxLen(64).Comment("SHA-256 of the names, descriptions and schemas of its tools"),
		field.String("last_error").Optional().Nillable().MaxLen(500).Comment("why its tools could not be read, safe to show"),
	}
}

// Edges of ToolIntegration.
func (ToolIntegration) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("tools", IntegrationTool.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
		edge.To("connections", ToolConnection.Type).Annotations(entsql.OnDelete(entsql.Cascade)),
	}
}

// Indexes of ToolIntegration.
func (ToolIntegration) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of ToolIntegration: a personal one is private to its person; editors write those of
// the workspace.
func (ToolIntegration) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Person: "person_id", SharedRole: viewer.RoleEditor}
}

// Annotations of ToolIntegration.
func (ToolIntegration) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "tool_integrations"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
