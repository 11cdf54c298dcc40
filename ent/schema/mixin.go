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

// base gives an entity its self-describing id and its times.
type base struct {
	mixin.Schema
	kind gid.Kind
	// noted says that writes which are no change of the thing itself touch the
	// row, too: updated_at is then set by whoever changes it.
	noted bool
}

// now is the time as exact as the database keeps it, so that a row reads the
// same in the answer to its making as ever after.
func now() time.Time { return time.Now().Truncate(time.Microsecond) }

func (b base) Fields() []ent.Field {
	kind := b.kind
	updated := field.Time("updated_at").Default(now).Annotations(entgql.OrderField("UPDATED_AT"))
	if !b.noted {
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

// tenant gives an entity its workspace. The id is set by the policy, never by
// callers, and is not shown.
type tenant struct{ mixin.Schema }

func (tenant) Fields() []ent.Field {
	return []ent.Field{
		field.UUID("workspace_id", uuid.UUID{}).Immutable().Annotations(hidden()),
	}
}

// tombstoneField is set on rows that are being deleted in the background.
const tombstoneField = "deleting_at"

// tombstone marks a row as deleted: it is hidden, with everything that belongs to
// it, from everybody but the workers that delete the rows.
func tombstone() ent.Field {
	return field.Time(tombstoneField).Optional().Nillable().Annotations(hidden()).Comment("being deleted since")
}

// hidden keeps a field, an edge or a whole entity out of GraphQL.
func hidden() schema.Annotation { return entgql.Skip(entgql.SkipAll) }

// owned is an edge to rows that end with their owner.
func owned[T any](name string, t T) ent.Edge {
	return edge.To(name, t).Annotations(entsql.OnDelete(entsql.Cascade), hidden())
}
