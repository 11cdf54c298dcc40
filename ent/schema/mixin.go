package schema

import (
	"time"

	"entgo.io/contrib/entgql"
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema"
	"entgo.io/ent/schema/edge"
	"entgo.io/ent/schema/field"
	"entgo.io/ent/schema/mixin"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/ent/gid"
)

// base adds the id, created_at and updated_at to an entity.
type base struct {
	mixin.Schema
	kind gid.Kind
	// manualUpdatedAt is set if some writes do not count as changes of the entity. Code
	// that changes the entity sets updated_at itself.
	manualUpdatedAt bool
}

// now returns the time with the precision of the database, so that a row has the same
// times when it is created and when it is read.
func now() time.Time { return time.Now().Truncate(time.Microsecond) }

func (b base) Fields() []ent.Field {
	kind := b.kind
	updated := field.Time("updated_at").Default(now).Annotations(entgql.OrderField("UPDATED_AT"))
	if !b.manualUpdatedAt {
		updated.UpdateDefault(now)
	}
	return []ent.Field{
		field.UUID("id", uuid.UUID{}).
			Default(func() uuid.UUID { return gid.New(kind) }).
			Immutable(),
		field.Time("created_at").Default(now).Immutable().
			Annotations(entgql.OrderField("CREATED_AT")),
		updated,
	}
}

// tenant adds the workspace to an entity. Only the policy sets it. GraphQL does not show it.
type tenant struct{ mixin.Schema }

func (tenant) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("workspace_id", uuid.UUID{}).Immutable().Annotations(hidden()),
	}
}

// tombstoneField is the field of rows that are being deleted in the background.
const tombstoneField = "deleting_at"

// tombstone returns the field that marks a row as deleted. The row and its dependent rows
// are hidden except from the workers that delete them.
func tombstone() ent.Field {
	return field.Time(tombstoneField).Optional().Nillable().Annotations(hidden()).Comment("when its deletion began")
}

// hidden keeps a field, an edge or a whole entity out of GraphQL.
func hidden() schema.Annotation { return entgql.Skip(entgql.SkipAll) }

// owned returns an edge to rows that are deleted with their owner.
func owned[T any](name string, t T) ent.Edge {
	return edge.To(name, t).Annotations(entsql.OnDelete(entsql.Cascade), hidden())
}
