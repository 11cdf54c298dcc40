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

// OAuthGrant is what a person allowed Magpie to do in an account at another
// service. It belongs to the workspace: it outlives the membership of whoever
// gave it.
type OAuthGrant struct{ ent.Schema }

// Mixin of OAuthGrant.
func (OAuthGrant) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.OAuthGrant}, tenant{}} }

// Fields of OAuthGrant.
func (OAuthGrant) Fields() []ent.Field {
	return []ent.Field{
		field.String("provider").NotEmpty().MaxLen(64).Immutable().Comment("name of the service: google, github, …"),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).
			Comment("who gave it; null once that person has left the workspace"),
		field.String("account").Optional().Nillable().MaxLen(320).Comment("the account at the service, as the service calls it"),
		field.JSON("scopes", []string{}).Default([]string{}).Comment("what was granted"),
		field.Enum("status").NamedValues("Active", "ACTIVE", "NeedsAuth", "NEEDS_AUTH").Default("ACTIVE"),
		field.Bytes("tokens").Sensitive().Annotations(hidden()).Comment("sealed; never shown"),
		field.Time("expires_at").Optional().Nillable().Comment("when the access token ends, which is renewed before; null when it does not end"),
		field.Time("refreshed_at").Optional().Nillable().Comment("when the access token was last renewed"),
		field.String("last_error").Optional().Nillable().MaxLen(500).Comment("why the last renewal failed"),
		field.Int("generation").Default(1).Annotations(hidden()).Comment("counts the sets of tokens: who stores one says which it follows"),
		field.UUID("lease_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("who is renewing the tokens"),
		field.Time("lease_until").Optional().Nillable().Annotations(hidden()).Comment("when that renewal counts as lost"),
	}
}

// Edges of OAuthGrant.
func (OAuthGrant) Edges() []ent.Edge {
	return []ent.Edge{
		edge.To("connectors", Connector.Type).Annotations(entsql.OnDelete(entsql.SetNull), hidden()),
	}
}

// Indexes of OAuthGrant.
func (OAuthGrant) Indexes() []ent.Index {
	return []ent.Index{index.Fields("workspace_id", "created_at")}
}

// Policy of OAuthGrant.
func (OAuthGrant) Policy() ent.Policy { return rule.Tenant{Role: viewer.RoleEditor} }

// Annotations of OAuthGrant.
func (OAuthGrant) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "oauth_grants"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
