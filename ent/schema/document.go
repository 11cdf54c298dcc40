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

// A Document is an indexed item of a source. Its text is in another table with row-level
// security (internal/index).
type Document struct{ ent.Schema }

// Mixin of Document.
func (Document) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.Document}, tenant{}} }

// Fields of Document.
func (Document) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("collection_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.UUID("connector_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.String("source_id").NotEmpty().MaxLen(1024).Immutable().Annotations(hidden()).Comment("the item's stable id in its source"),
		field.String("path").MaxLen(2048).Annotations(entgql.OrderField("PATH")),
		field.Text("title").Annotations(entgql.OrderField("TITLE")),
		field.Text("url").Optional().Nillable(),
		field.Enum("status").
			NamedValues("Pending", "PENDING", "Processing", "PROCESSING", "Indexed", "INDEXED", "Failed", "FAILED", "Deleted", "DELETED").
			Default("PENDING").
			Annotations(entgql.OrderField("STATUS")),
		field.String("section").Optional().Nillable().MaxLen(300),
		field.String("version").Optional().Nillable().MaxLen(100),
		field.JSON("tags", []string{}).Optional(),
		field.String("doc_type").Optional().Nillable().MaxLen(100),
		field.String("language").Optional().Nillable().MaxLen(16),
		field.String("author").Optional().Nillable().MaxLen(500),
		field.Int("pages").Optional().Nillable(),
		field.JSON("metadata", map[string]any{}).Optional().Annotations(entgql.Type("Map")),
		field.Time("source_created_at").Optional().Nillable(),
		field.Time("source_updated_at").Optional().Nillable(),
		field.String("source_version").Default("").MaxLen(1024).Annotations(hidden()).Comment("etag or revision of the stored content"),
		field.Bytes("content_hash").Optional().Annotations(hidden()).Comment("SHA-256 of the stored content and the pipeline version"),
		field.Int64("bytes").Default(0).NonNegative().Annotations(entgql.Type("Int64"), entgql.OrderField("BYTES")),
		field.Int("passage_count").Default(0).NonNegative(),
		field.String("failure").Optional().Nillable().MaxLen(2000).Comment("why the newest version could not be indexed"),
		field.Time("processed_at").Optional().Nillable().Annotations(hidden()).Comment("when it was last processed, for the idempotency window"),
		field.Time("indexed_at").Optional().Nillable(),
		field.Time("deleted_at").Optional().Nillable(),
		field.Bool("restricted").Default(false).Comment("an administrator restricted it to named people, domains and groups"),
	}
}

// Edges of Document.
func (Document) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("collection", Collection.Type).Ref("documents").Field("collection_id").Unique().Required().Immutable(),
		edge.From("connector", Connector.Type).Ref("documents").Field("connector_id").Unique().Required().Immutable(),
	}
}

// Indexes of Document.
func (Document) Indexes() []ent.Index {
	return []ent.Index{
		index.Fields("connector_id", "source_id").Unique(),
		index.Fields("workspace_id", "created_at"),
		index.Fields("collection_id", "status"),
		index.Fields("connector_id", "status").Annotations(entsql.IncludeColumns("workspace_id")),
		index.Fields("connector_id", "path").Annotations(entsql.IndexWhere("deleted_at is null")),
	}
}

// Policy of Document.
func (Document) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, Keys: rule.Read, Collection: "collection_id", OfConnector: true, Guard: rule.Documents}
}

// Annotations of Document.
func (Document) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
