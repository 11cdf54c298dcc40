package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/index"

	"github.com/magpie-search/magpie/ent/gid"
	"github.com/magpie-search/magpie/ent/rule"
	"github.com/magpie-search/magpie/internal/viewer"
)

// An AgentTemplate is a workspace's own template of agents. Built-in templates are not
// rows.
type AgentTemplate struct{ ent.Schema }

// Mixin of AgentTemplate.
func (AgentTemplate) Mixin() []ent.Mixin {
	return []ent.Mixin{base{kind: gid.AgentTemplate}, tenant{}}
}

// Fields of AgentTemplate.
func (AgentTemplate) Fields() []ent.Field {
	return []ent.Field{
		field.String("name").NotEmpty().MaxRuneLen(200),
		field.Text("description").Default("").MaxRuneLen(4000),
		field.String("category").Default("custom").MaxRuneLen(100),
		field.Text("system_prompt").NotEmpty().MaxRuneLen(32000),
		field.JSON("tools", []string{}).Default([]string{}),
		field.Text("start_message").Optional().Nillable().MaxRuneLen(4000),
	}
}

// Indexes of AgentTemplate.
func (AgentTemplate) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of AgentTemplate.
func (AgentTemplate) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleEditor} }

// Annotations of AgentTemplate: GraphQL has one type for both kinds of templates.
func (AgentTemplate) Annotations() []schema.Annotation { return []schema.Annotation{hidden()} }
