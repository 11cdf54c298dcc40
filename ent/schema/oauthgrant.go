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

// An OAuthGrant is the access to an account at another service that a person has granted.
// It belongs to the workspace and outlives the membership of that person.
type OAuthGrant struct{ ent.Schema }

// Mixin of OAuthGrant.
func (OAuthGrant) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.OAuthGrant}, tenant{}} }

// Fields of OAuthGrant.
func (OAuthGrant) Fields() []ent.Field {
	return []ent.Field{
		field.String("provider").NotEmpty().MaxLen(64).Immutable().Comment("name of the service: google, github, …"),
		field.UUID("person_id", uuid.UUID{}).Optional().Nillable().Annotations(entgql.Type("ID")).
			Comment("the person who gave it; null after that person has left the workspace"),
		field.UUID("owner_id", uuid.UUID{}).Optional().Nillable().Immutable().Annotations(entgql.Type("ID")).
			Comment("the person who alone sees it and whose tools use it; null for the workspace's grants"),
		field.String("account").Optional().Nillable().MaxLen(320).Comment("the name of the account at the service"),
		field.JSON("scopes", []string{}).Default([]string{}).Comment("the granted scopes"),
		field.Enum("status").NamedValues("Active", "ACTIVE", "NeedsAuth", "NEEDS_AUTH").Default("ACTIVE"),
		field.Bytes("tokens").Sensitive().Annotations(hidden()).Comment("sealed; never shown"),
		field.Time("expires_at").Optional().Nillable().Comment("when the access token expires; it is renewed earlier; null if it does not expire"),
		field.Time("refreshed_at").Optional().Nillable().Comment("when the access token was last renewed"),
		field.String("last_error").Optional().Nillable().MaxLen(500).Comment("why the last renewal failed"),
		field.Int("generation").Default(1).Annotations(hidden()).Comment("number of the set of tokens; a writer names the number of the previous set"),
		field.UUID("lease_id", uuid.UUID{}).Optional().Nillable().Annotations(hidden()).Comment("the process that is renewing the tokens"),
		field.Time("lease_until").Optional().Nillable().Annotations(hidden()).Comment("when the lease on the renewal expires"),
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

// Policy of OAuthGrant: a person's own grant is private; editors write those of the workspace.
func (OAuthGrant) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleViewer, Person: "owner_id", SharedRole: viewer.RoleEditor}
}

// Annotations of OAuthGrant.
func (OAuthGrant) Annotations() []schema.Annotation {
	return []schema.Annotation{entsql.Annotation{Table: "oauth_grants"}, entgql.RelayConnection(), entgql.MultiOrder()}
}
