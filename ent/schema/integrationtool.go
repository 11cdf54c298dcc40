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

// An IntegrationTool is one tool of an integration, as it was when somebody accepted it.
type IntegrationTool struct{ ent.Schema }

// Mixin of IntegrationTool.
func (IntegrationTool) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.IntegrationTool, manualUpdatedAt: true}, tenant{}}
}

// Fields of IntegrationTool.
func (IntegrationTool) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("integration_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(hidden()).Comment("the person of a personal integration"),
		field.String("name").NotEmpty().MaxLen(64).Immutable().Annotations(entgql.OrderField("NAME")).Comment("the second part of its name, as create_issue in jira.create_issue"),
		field.String("title").Default("").MaxRuneLen(200),
		field.Text("description").Default("").MaxRuneLen(4000),
		field.JSON("input_schema", map[string]any{}).Default(map[string]any{}).Annotations(entgql.Type("Map")).Comment("JSON schema of the arguments"),
		field.JSON("output_schema", map[string]any{}).Optional().Annotations(entgql.Type("Map")).Comment("JSON schema of the result, if it is known"),
		field.JSON("definition", map[string]any{}).Optional().Annotations(hidden()).Comment("what its source needs to call it"),
		field.Enum("risk").NamedValues("Read", "READ", "Write", "WRITE", "Send", "SEND", "Delete", "DELETE"),
		field.Enum("call_policy").NamedValues("Allow", "ALLOW", "Ask", "ASK", "Deny", "DENY").Optional().Nillable().
			Comment("what happens with a call; null for the default of the risk"),
		field.JSON("argument_rules", []map[string]any{}).Default([]map[string]any{}).Annotations(entgql.Type("[Map!]")).
			Comment("rules that make the policy of calls with certain arguments stricter"),
		field.Int("timeout").Default(30).Range(1, 120).Comment("seconds that a call may take"),
		field.Bool("enabled").Default(true),
		field.String("pinned_hash").NotEmpty().MaxLen(64).Comment("SHA-256 of the accepted name, description, schemas and risk"),
		field.JSON("drift", map[string]any{}).Optional().Annotations(entgql.Type("Map")).
			Comment("the tool as its source describes it now, if that is not what was accepted; such a tool is not called; missing: true if it is gone"),
	}
}

// Edges of IntegrationTool.
func (IntegrationTool) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("integration", ToolIntegration.Type).Ref("tools").Field("integration_id").Unique().Required().Immutable(),
	}
}

// Indexes of IntegrationTool.
func (IntegrationTool) Indexes() []ent.Index {
	return []ent.Index{index.Fields("integration_id", "name").Unique()}
}

// Policy of IntegrationTool: as that of its integration.
func (IntegrationTool) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Person: "person_id", SharedRole: viewer.RoleEditor}
}

// Annotations of IntegrationTool.
func (IntegrationTool) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "integration_tools"}, entgql.MultiOrder()}
}
