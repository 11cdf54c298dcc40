package graph

import (
	"encoding/json"
	"time"

	"github.com/99designs/gqlgen/graphql"
	"github.com/google/uuid"

	"github.com/magpie-search/magpie/internal/patch"
)

// The functions of this file convert between the optional values of GraphQL, which
// are pointers, and those of the domains.

func orZero[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// nilIfZero returns nil for the zero value.
func nilIfZero[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// moment returns nil for the zero time.
func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func seconds(d time.Duration) *float64 {
	s := d.Seconds()
	return &s
}

// field returns the change of a value that cannot be null: nil changes nothing.
func field[T any](v *T) patch.Field[T] { return patch.SetIfNotNil(v) }

// listField returns the change of a list that cannot be null.
func listField[T any](v []T) patch.Field[[]T] { return patch.Field[[]T]{Given: v != nil, Value: v} }

// nullableField returns the change of a value that can be null.
func nullableField[T any](v graphql.Omittable[T]) patch.Field[T] {
	value, given := v.ValueOK()
	return patch.Field[T]{Given: given, Value: value}
}

// jsonObject converts the numbers of a decoded request into those of package
// encoding/json.
func jsonObject(m map[string]any) map[string]any {
	if m == nil {
		return nil
	}
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = jsonValue(v)
	}
	return out
}

func jsonValue(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case int64:
		return float64(v)
	case int:
		return float64(v)
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = jsonValue(v[i])
		}
		return out
	case map[string]any:
		return jsonObject(v)
	default:
		return v
	}
}

// namesNothing reports whether id is the zero id, which names no row. The domains
// read the zero id as "none given".
func namesNothing(id *uuid.UUID) bool { return id != nil && *id == uuid.Nil }
