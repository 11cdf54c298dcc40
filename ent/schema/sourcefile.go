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

// A SourceFile is a file that was uploaded to a file_upload connector; its bytes
// are in the blob store.
type SourceFile struct{ ent.Schema }

// Mixin of SourceFile.
func (SourceFile) Mixin() []ent.Mixin { return []ent.Mixin{base{kind: gid.SourceFile}, tenant{}} }

// Fields of SourceFile.
func (SourceFile) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("connector_id", uuid.UUID{}).Immutable().Annotations(entgql.Type("ID")),
		field.String("path").NotEmpty().MaxLen(1024).Immutable().Annotations(entgql.OrderField("PATH")),
		field.String("media_type").MaxLen(200).Default(""),
		field.Int64("bytes").NonNegative().Annotations(entgql.Type("Int64"), entgql.OrderField("BYTES")),
		field.String("sha256").MaxLen(64),
		field.String("blob_key").NotEmpty().MaxLen(500).Annotations(hidden()),
	}
}

// Edges of SourceFile.
func (SourceFile) Edges() []ent.Edge {
	return []ent.Edge{
		edge.From("connector", Connector.Type).Ref("files").Field("connector_id").Unique().Required().Immutable(),
	}
}

// Indexes of SourceFile.
func (SourceFile) Indexes() []ent.Index {
	return []ent.Index{index.Fields("connector_id", "path").Unique()}
}

// Policy of SourceFile.
func (SourceFile) Policy() ent.Policy {
	return rule.Tenant{Role: viewer.RoleEditor, OfConnector: true, Guard: rule.Files}
}

// Annotations of SourceFile.
func (SourceFile) Annotations() []schema.Annotation {
	return []schema.Annotation{entgql.RelayConnection(), entgql.MultiOrder()}
}
